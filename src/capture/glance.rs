//! Many panes at a glance: enough to tell which may have changed.

use memchr::memmem::Finder;

use super::PaneState;
use super::ask::undecodable;
use crate::client::{Delivery, Error, ErrorKind, Server, Tmux};
use crate::model::{PaneId, Plan, Row, SessionId, Text, Token, WindowId, entity};
use crate::protocol::Command;

/// About how many bytes of text are read in one round trip, one pane aside.
const MAX_AT_ONCE: usize = 8 * 1024 * 1024;

entity! {
    /// A pane at a glance: what is needed to read on in it, which costs the server little.
    pub struct Glance {
        /// Its id.
        id: PaneId = id("pane_id"),
        /// The window that it is in.
        window_id: WindowId = id("window_id"),
        /// The session that it was seen in.
        session_id: SessionId = id("session_id"),
        /// Process id of what was started in it; 0 for a pane without a program, and from 3.8 on
        /// for a dead one.
        pid: u32 = number_or_0("pane_pid"),
        /// Width in cells.
        width: u32 = number("pane_width"),
        /// Height in cells.
        height: u32 = number("pane_height"),
        /// How many lines its history holds.
        history_size: u32 = number("history_size"),
        /// How many lines its history may hold.
        history_limit: u32 = number("history_limit"),
        /// Column of the cursor, 0 at the left.
        cursor_x: u32 = number("cursor_x"),
        /// Row of the cursor, 0 at the top of the screen.
        cursor_y: u32 = number("cursor_y"),
        /// When something was last written in its window, in seconds since the epoch.
        activity: i64 = number("window_activity"),
        /// What was started in it has ended.
        dead: bool = flag("pane_dead"),
        /// The exit status of a dead pane that ended by itself.
        dead_status: Option<u8> = optional_number("pane_dead_status"),
        /// It shows the alternate screen of a full-screen program.
        alternate_on: bool = flag("alternate_on"),
        /// Name of the session.
        session_name: Text = text("session_name"),
    }
}

impl From<&PaneState> for Glance {
    fn from(pane: &PaneState) -> Self {
        Self {
            id: pane.id,
            window_id: pane.window_id,
            session_id: pane.session_id,
            pid: pane.pid,
            width: pane.width,
            height: pane.height,
            history_size: pane.history_size,
            history_limit: pane.history_limit,
            cursor_x: pane.cursor_x,
            cursor_y: pane.cursor_y,
            activity: pane.activity,
            dead: pane.dead,
            dead_status: pane.dead_status,
            alternate_on: pane.alternate_on,
            session_name: pane.session_name.clone(),
        }
    }
}

impl Glance {
    /// About how many bytes its screen holds, and so many rows above.
    pub(super) fn bytes(&self, above: u32) -> usize {
        self.height.saturating_add(above) as usize * self.width as usize
    }
}

/// How many of these, which are read one after the other, are read in one round trip.
pub(super) fn at_once(bytes: impl IntoIterator<Item = usize>) -> usize {
    let mut sum = 0_usize;
    let fits = |bytes: &usize| {
        sum = sum.saturating_add(*bytes);
        sum <= MAX_AT_ONCE
    };
    bytes.into_iter().take_while(fits).count().max(1)
}

/// Which panes are meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Those of the whole server.
    #[default]
    Server,
    /// Those of a session.
    Session(SessionId),
    /// Those of a window.
    Window(WindowId),
}

/// The panes, by id and each once, in one round trip.
pub(super) async fn glance(tmux: &Tmux, scope: Scope) -> Result<(Server, Vec<Glance>), Error> {
    let token = Token::new()?;
    let list = Command::new("list-panes");
    let list = match scope {
        Scope::Server => list.arg("-a"),
        Scope::Session(id) => list.args(["-s", "-t", &id.to_string()]),
        Scope::Window(id) => list.args(["-t", &id.to_string()]),
    };
    let list = list.arg("-F").arg(Glance::format(&token));
    let mut output = tmux.run(list).await?;
    if output.status != 0 && output.complaint().starts_with("no current") {
        let message = "can't find it: the server has no sessions";
        return Err(Error::new(ErrorKind::NotFound, Delivery::Observed, message));
    }
    output = output.ok()?;
    let server = output.server.take().ok_or_else(Error::no_proof)?;
    let finder = Finder::new(token.as_str());
    let mut row = Row::new(&output.stdout, &finder, server.encoding);
    let mut panes: Vec<Glance> = Vec::new();
    while !row.is_empty() {
        panes.push(row.row().map_err(undecodable)?);
    }
    panes.sort_by_key(|pane| (pane.id, pane.session_id));
    panes.dedup_by_key(|pane| pane.id);
    Ok((server, panes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_in_one_round_trip_is_bounded_one_pane_aside() {
        assert_eq!(at_once([2_000; 10]), 10);
        assert_eq!(at_once([MAX_AT_ONCE / 3; 10]), 3);
        assert_eq!(at_once([MAX_AT_ONCE + 1, 1]), 1);
        assert_eq!(at_once([1, usize::MAX, usize::MAX]), 1);
    }
}
