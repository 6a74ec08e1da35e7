//! A whole server at one instant.

use std::time::Instant;

use bytes::Bytes;
use memchr::memmem::Finder;

use super::id::{PaneId, SessionId, WindowId};
use super::{ClientInfo, DecodeError, Pane, Plan, Row, Session, Token, Window, WindowLink};
use crate::client::{Delivery, Error, ErrorKind, Output, Server, Tmux};
use crate::exchange::TextEncoding;
use crate::protocol::{Command, CommandList};

/// What each kind of row starts with.
mod tag {
    pub(super) const SESSION: u8 = b's';
    pub(super) const LINK: u8 = b'w';
    pub(super) const PANE: u8 = b'p';
    pub(super) const CLIENT: u8 = b'c';
}

/// Everything that a server holds, seen at one instant.
///
/// Sessions, windows and panes are in the order of their ids, links in that of session and index,
/// clients in that of process id, time and name. The parts agree with each other: every link joins
/// a session and a window that are here, every window has the panes that it counts, one of them
/// active, and every session has one current window.
///
/// Numbers, flags and ids are all read or there is no snapshot: one that is not what its type says
/// fails the whole, whether or not it would be looked at, since no value in its place would be true.
/// Texts may hold any byte; what that means is up to who looks at them.
///
/// ```no_run
/// # async fn example() -> Result<(), muxwire::Error> {
/// let snapshot = muxwire::Tmux::builder().build()?.snapshot().await?;
/// for session in &snapshot.sessions {
///     let window = snapshot.current_window(session.id).expect("checked");
///     println!("{} shows {}", session.name, window.name);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// The server that was seen.
    pub server: Server,
    /// Sessions by id.
    pub sessions: Vec<Session>,
    /// Windows by id, each once.
    pub windows: Vec<Window>,
    /// Links by session and index.
    pub links: Vec<WindowLink>,
    /// Panes by id, each once.
    pub panes: Vec<Pane>,
    /// Attached clients by process id, time and name.
    pub clients: Vec<ClientInfo>,
    /// Length of the reply that the texts share, in bytes.
    pub(crate) reply_len: usize,
}

impl Tmux {
    /// Takes a snapshot of the whole server: one round trip, and one instant of the server's time.
    ///
    /// A server without sessions gives empty lists (and takes a second round trip to learn which
    /// server it is).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Inconsistent`] when what the server listed does not agree with itself twice in
    /// a row, [`ErrorKind::Decode`] when a field is not what it should be, and the errors of
    /// [`run`](Tmux::run).
    ///
    /// # Cancel safety
    ///
    /// Changes nothing; dropped, the connection is closed.
    ///
    /// # Wire
    ///
    /// `protocol-notes/06-formats.md`, notes 6.1 to 6.4.
    pub async fn snapshot(&self) -> Result<Snapshot, Error> {
        let query = SnapshotQuery::new()?;
        let due = self.due();
        let mut snapshot = query.take(self, due).await?;
        if snapshot.check().is_err() {
            snapshot = query.take(self, due).await?;
        }
        snapshot.check().map_err(|what| {
            let message = format!("what tmux listed does not agree with itself: {what}; try again");
            Error::new(ErrorKind::Inconsistent, Delivery::Observed, message)
        })?;
        Ok(snapshot)
    }
}

/// The command list that lists a server, and the token that its rows are read with.
#[derive(Debug)]
pub struct SnapshotQuery {
    token: Token,
}

impl SnapshotQuery {
    /// A query with a token of its own.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] when the system gives no random bits.
    pub fn new() -> Result<Self, Error> {
        Ok(Self { token: Token::new()? })
    }

    /// The command list.
    #[must_use]
    pub fn commands(&self) -> CommandList {
        let token = &self.token;
        let format = |tag: u8, format: String| format!("{}{format}", char::from(tag));
        let windows = WindowLink::format(token) + &Window::format(token);
        [
            Command::new("list-sessions")
                .arg("-F")
                .arg(format(tag::SESSION, Session::format(token))),
            Command::new("list-windows").args(["-a", "-F"]).arg(format(tag::LINK, windows)),
            Command::new("list-panes")
                .args(["-a", "-F"])
                .arg(format(tag::PANE, Pane::format(token))),
            Command::new("list-clients")
                .arg("-F")
                .arg(format(tag::CLIENT, ClientInfo::format(token))),
        ]
        .into_iter()
        .collect()
    }

    /// Reads what the command list printed.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] for the first field that is not what it should be.
    pub fn decode(
        &self,
        stdout: &Bytes,
        encoding: TextEncoding,
        server: Server,
    ) -> Result<Snapshot, DecodeError> {
        let token = Finder::new(self.token.as_str());
        let mut row = Row::new(stdout, &token, encoding);
        let mut snapshot = Snapshot {
            server,
            sessions: Vec::new(),
            windows: Vec::new(),
            links: Vec::new(),
            panes: Vec::new(),
            clients: Vec::new(),
            reply_len: stdout.len(),
        };
        while !row.is_empty() {
            if row.take(tag::PANE) {
                snapshot.panes.push(row.row()?);
            } else if row.take(tag::LINK) {
                snapshot.links.push(WindowLink::decode(&mut row)?);
                snapshot.windows.push(row.row()?);
            } else if row.take(tag::SESSION) {
                snapshot.sessions.push(row.row()?);
            } else if row.take(tag::CLIENT) {
                snapshot.clients.push(row.row()?);
            } else {
                let offset = stdout.len() - row.rest().len();
                return Err(DecodeError { field: "start of row", offset });
            }
        }
        snapshot.sort();
        Ok(snapshot)
    }

    async fn take(&self, tmux: &Tmux, due: Option<Instant>) -> Result<Snapshot, Error> {
        let (stdout, server) = list(tmux, due, self.commands()).await?;
        let encoding = server.encoding;
        self.decode(&stdout, encoding, server)
            .map_err(|error| Error::new(ErrorKind::Decode, Delivery::Observed, error.to_string()))
    }
}

/// What listing commands print, and the server that printed it.
pub(super) async fn list(
    tmux: &Tmux,
    due: Option<Instant>,
    commands: CommandList,
) -> Result<(Bytes, Server), Error> {
    let mut output = tmux.until(due).run(commands.clone()).await?;
    if has_no_sessions(&output) {
        // Nor could the proof be printed: once more, to learn from one reply which server it is.
        output = tmux.until(due).request(commands).stamped().run().await?;
    }
    if !has_no_sessions(&output) {
        output = output.ok()?;
    }
    Ok((output.stdout, output.server.ok_or_else(Error::no_proof)?))
}

/// Commands that list windows, panes or clients look for a current session first.
fn has_no_sessions(output: &Output) -> bool {
    output.status != 0 && output.stdout.is_empty() && output.complaint().starts_with("no current")
}

impl Snapshot {
    /// The session of this id.
    #[must_use]
    pub fn session(&self, id: SessionId) -> Option<&Session> {
        let at = self.sessions.binary_search_by_key(&id, |session| session.id).ok()?;
        self.sessions.get(at)
    }

    /// The window of this id.
    #[must_use]
    pub fn window(&self, id: WindowId) -> Option<&Window> {
        let at = self.windows.binary_search_by_key(&id, |window| window.id).ok()?;
        self.windows.get(at)
    }

    /// The pane of this id.
    #[must_use]
    pub fn pane(&self, id: PaneId) -> Option<&Pane> {
        let at = self.panes.binary_search_by_key(&id, |pane| pane.id).ok()?;
        self.panes.get(at)
    }

    /// The session of exactly this name; never one whose name only starts so.
    #[must_use]
    pub fn session_named(&self, name: &str) -> Option<&Session> {
        self.sessions.iter().find(|session| session.name == *name)
    }

    /// The links of a session, by index.
    #[must_use]
    pub fn links_of_session(&self, id: SessionId) -> &[WindowLink] {
        let start = self.links.partition_point(|link| link.session_id < id);
        let end = self.links.partition_point(|link| link.session_id <= id);
        self.links.get(start..end).unwrap_or_default()
    }

    /// The links of a window, by session and index. Looks at every link.
    pub fn links_of_window(&self, id: WindowId) -> impl Iterator<Item = &WindowLink> {
        self.links.iter().filter(move |link| link.window_id == id)
    }

    /// The panes of a window, by id. Looks at every pane.
    pub fn panes_of_window(&self, id: WindowId) -> impl Iterator<Item = &Pane> {
        self.panes.iter().filter(move |pane| pane.window_id == id)
    }

    /// The current window of a session.
    #[must_use]
    pub fn current_window(&self, id: SessionId) -> Option<&Window> {
        let link = self.links_of_session(id).iter().find(|link| link.active)?;
        self.window(link.window_id)
    }

    /// The active pane of a window. Looks at every pane.
    #[must_use]
    pub fn active_pane(&self, id: WindowId) -> Option<&Pane> {
        self.panes_of_window(id).find(|pane| pane.active)
    }

    /// Puts everything in order; a window or pane that was listed for each of its links stays once.
    fn sort(&mut self) {
        self.sessions.sort_by_key(|session| session.id);
        self.windows.sort_by_key(|window| window.id);
        self.windows.dedup_by_key(|window| window.id);
        self.links.sort_by_key(|link| (link.session_id, link.index));
        self.panes.sort_by_key(|pane| pane.id);
        self.panes.dedup_by_key(|pane| pane.id);
        // Of grouped sessions nearly all of the rows may go.
        self.windows.shrink_to_fit();
        self.panes.shrink_to_fit();
        self.clients.sort_by(|a, b| (a.pid, a.created, &a.name).cmp(&(b.pid, b.created, &b.name)));
    }

    /// About how many bytes of memory it takes, rather too many than too few: its rows, the reply
    /// that their texts share, and twice as much again for texts that had to be copied out of it.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        3 * self.reply_len
            + self.sessions.capacity() * size_of::<Session>()
            + self.windows.capacity() * size_of::<Window>()
            + self.links.capacity() * size_of::<WindowLink>()
            + self.panes.capacity() * size_of::<Pane>()
            + self.clients.capacity() * size_of::<ClientInfo>()
    }

    /// Whether the parts agree with each other; if not, what does not.
    ///
    /// # Errors
    ///
    /// A phrase that names the disagreement.
    pub fn check(&self) -> Result<(), &'static str> {
        if !self.links.is_sorted_by_key(|link| (link.session_id, link.index))
            || self.links.windows(2).any(
                |pair| matches!(pair, [a, b] if (a.session_id, a.index) == (b.session_id, b.index)),
            )
        {
            return Err("two windows at one index");
        }
        let mut linked = 0;
        for session in &self.sessions {
            let links = self.links_of_session(session.id);
            linked += links.len();
            if u32::try_from(links.len()) != Ok(session.window_count) {
                return Err("a session does not have the windows that it counts");
            }
            if links.iter().filter(|link| link.active).count() != 1 {
                return Err("a session does not have one current window");
            }
        }
        if linked != self.links.len() {
            return Err("a window in a session that is not there");
        }
        self.check_panes()?;
        let lost = self.clients.iter().filter_map(|client| client.session_id);
        if lost.into_iter().any(|id| self.session(id).is_none()) {
            return Err("a client in a session that is not there");
        }
        Ok(())
    }

    /// Every pane is in a window that is there and counts it, and one of a window's is active.
    fn check_panes(&self) -> Result<(), &'static str> {
        let mut seen = vec![(0u32, 0u32); self.windows.len()];
        for pane in &self.panes {
            let at = self.windows.binary_search_by_key(&pane.window_id, |window| window.id);
            let Some((count, active)) = at.ok().and_then(|at| seen.get_mut(at)) else {
                return Err("a pane in a window that is not there");
            };
            *count += 1;
            *active += u32::from(pane.active);
        }
        for (window, (count, active)) in self.windows.iter().zip(seen) {
            if count != window.pane_count {
                return Err("a window does not have the panes that it counts");
            }
            if active != 1 {
                return Err("a window does not have one active pane");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_none_fails_the_whole_snapshot_and_is_named() {
        let query = SnapshotQuery::new().unwrap();
        let token = query.token.as_str();
        let decode = |attached: &str| {
            let row = format!("s$0 100 200 {attached} 0 main{token}{token}\n");
            query.decode(&row.into(), TextEncoding::Raw, Server::for_tests())
        };
        assert_eq!(decode("4294967295").unwrap().sessions[0].attached, u32::MAX);
        for attached in ["", "-1", "4294967296", "1.0", "one", "0x1"] {
            let error = decode(attached).unwrap_err();
            assert_eq!(error.field, "session_attached", "{attached:?}");
        }
    }

    #[test]
    fn rows_are_put_in_order_by_number_not_as_text_and_clients_by_process_time_and_name() {
        let query = SnapshotQuery::new().unwrap();
        let token = query.token.as_str();
        let session = |number| format!("s${number} 1 1 0 1 main{token}{token}\n");
        let client =
            |pid, created, name| format!("c{pid} {created} $2 80 24 0 1 0 {name}{token}{token}\n");
        let rows = [
            session(10),
            session(9),
            session(2),
            client(10, 5, "b"),
            client(10, 5, "a"),
            client(10, 4, "c"),
            client(9, 6, "d"),
        ];
        let found =
            query.decode(&rows.concat().into(), TextEncoding::Raw, Server::for_tests()).unwrap();
        let ids: Vec<_> = found.sessions.iter().map(|session| session.id.number()).collect();
        assert_eq!(ids, [2, 9, 10]);
        let names: Vec<_> = found.clients.iter().map(|client| client.name.to_string()).collect();
        assert_eq!(names, ["d", "c", "a", "b"]);
    }
}
