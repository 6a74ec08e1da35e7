//! The panes of a server and nothing else.

use bytes::Bytes;
use memchr::memmem::Finder;

use super::snapshot::list;
use super::{DecodeError, Pane, PaneId, Plan, Row, SessionId, Text, Token, entity};
use crate::client::{Delivery, Error, ErrorKind, Server, Tmux};
use crate::protocol::Command;

entity! {
    /// The place of a pane's window in a session.
    pub struct PanePlace {
        /// The session.
        session_id: SessionId = id("session_id"),
        /// Where the window stands in the session.
        index: u32 = number("window_index"),
        /// The window is the session's current one.
        active: bool = flag("window_active"),
        /// Name of the session.
        session_name: Text = text("session_name"),
        /// Name of the window.
        window_name: Text = text("window_name"),
    }
}

/// A pane and where its window is linked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListedPane {
    /// The pane.
    pub pane: Pane,
    /// The places of its window by session and index, at least one.
    pub places: Vec<PanePlace>,
}

/// The panes of a server at one instant; see [`Tmux::list_panes`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PaneListing {
    /// The server that was seen.
    pub server: Server,
    /// Panes by id, each once.
    pub panes: Vec<ListedPane>,
}

impl PaneListing {
    /// The pane of this id.
    #[must_use]
    pub fn pane(&self, id: PaneId) -> Option<&ListedPane> {
        let at = self.panes.binary_search_by_key(&id, |listed| listed.pane.id).ok()?;
        self.panes.get(at)
    }
}

impl Tmux {
    /// Lists the panes of the whole server in one round trip. Takes the server about two thirds of
    /// the time of a [`snapshot`](Tmux::snapshot), which also joins and checks.
    ///
    /// A server without sessions gives an empty list (and takes a second round trip to learn which
    /// server it is).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Decode`] when a field is not what it should be, and the errors of
    /// [`run`](Tmux::run).
    ///
    /// # Cancel safety
    ///
    /// Changes nothing; dropped, the connection is closed.
    ///
    /// # Wire
    ///
    /// `protocol-notes/06-formats.md`, notes 6.1 to 6.4.
    pub async fn list_panes(&self) -> Result<PaneListing, Error> {
        let token = Token::new()?;
        let format = PanePlace::format(&token) + &Pane::format(&token);
        let command = Command::new("list-panes").args(["-a", "-F"]).arg(format);
        let (stdout, server) = list(self, self.due(), command.into()).await?;
        let panes = decode(&stdout, &token, &server).map_err(|error| {
            Error::new(ErrorKind::Decode, Delivery::Observed, error.to_string())
        })?;
        Ok(PaneListing { server, panes })
    }
}

/// Reads the rows: one for each place of each pane.
fn decode(stdout: &Bytes, token: &Token, server: &Server) -> Result<Vec<ListedPane>, DecodeError> {
    let finder = Finder::new(token.as_str());
    let mut row = Row::new(stdout, &finder, server.encoding);
    let mut panes: Vec<ListedPane> = Vec::new();
    while !row.is_empty() {
        let place = PanePlace::decode(&mut row)?;
        panes.push(ListedPane { pane: row.row()?, places: vec![place] });
    }
    panes.sort_by_key(|listed| listed.pane.id);
    panes.dedup_by(|later, first| {
        let same = later.pane.id == first.pane.id;
        if same {
            first.places.append(&mut later.places);
        }
        same
    });
    for listed in &mut panes {
        listed.places.sort_by_key(|place| (place.session_id, place.index));
    }
    Ok(panes)
}
