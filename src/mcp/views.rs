//! What answers show of sessions, windows, panes and clients.

use super::binding::{Generation, Place, Reference};
use super::reach::Seen;
use crate::capture::PaneState;
use crate::model::{
    ClientInfo, ListedPane, Pane, PaneId, PanePlace, Session, SessionId, Snapshot, Text, Window,
    WindowId, WindowLink,
};
use crate::{Server, ServerIdentity};
use serde::Serialize;
use std::borrow::Cow;

/// A server instance, as `server_identity` tells it.
#[derive(Debug, Serialize)]
pub(crate) struct ServerView<'a> {
    generation: String,
    pid: u32,
    start_time: u64,
    tmux_version: Cow<'a, str>,
}

impl<'a> ServerView<'a> {
    /// The server that this process knows by `generation`.
    pub(crate) fn new(server: &'a Server, generation: Generation) -> Self {
        let ServerIdentity { pid, start_time, .. } = server.identity;
        let tmux_version = server.version();
        Self { generation: generation.to_string(), pid, start_time, tmux_version }
    }
}

/// A session.
#[derive(Debug, Serialize)]
pub(crate) struct SessionRow<'a> {
    id: SessionId,
    #[serde(rename = "ref")]
    reference: Reference,
    name: &'a Text,
    created: i64,
    activity: i64,
    attached: u32,
    window_count: u32,
    /// The group that it shares its windows with.
    group: Option<&'a Text>,
    current_window_id: Option<WindowId>,
}

/// A window, once however many sessions hold it.
#[derive(Debug, Serialize)]
pub(crate) struct WindowRow<'a> {
    id: WindowId,
    #[serde(rename = "ref")]
    reference: Reference,
    name: &'a Text,
    width: u32,
    height: u32,
    pane_count: u32,
    zoomed: bool,
    activity: i64,
    active_pane_id: Option<PaneId>,
    links: Vec<LinkRow<'a>>,
}

/// A window in its place in one session.
#[derive(Debug, Serialize)]
pub(crate) struct LinkedWindowRow<'a> {
    id: WindowId,
    #[serde(rename = "ref")]
    reference: Reference,
    index: u32,
    /// It is the session's current window.
    active: bool,
    name: &'a Text,
    pane_count: u32,
    active_pane_id: Option<PaneId>,
}

/// The place of a window in a session.
#[derive(Debug, Serialize)]
pub(crate) struct LinkRow<'a> {
    session_id: SessionId,
    session_name: Option<&'a Text>,
    index: u32,
    /// It is the session's current window.
    active: bool,
}

/// A pane, once however many sessions show it.
#[derive(Debug, Serialize)]
pub(crate) struct PaneRow<'a> {
    id: PaneId,
    #[serde(rename = "ref")]
    reference: Reference,
    index: u32,
    window_id: WindowId,
    window_name: Option<&'a Text>,
    session_id: Option<SessionId>,
    session_name: Option<&'a Text>,
    /// The other sessions that have its window.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    other_session_ids: Vec<SessionId>,
    active: bool,
    command: &'a Text,
    path: Option<&'a Text>,
    title: &'a Text,
    width: u32,
    height: u32,
    pid: u32,
    dead: bool,
    dead_status: Option<u8>,
    in_mode: bool,
    alternate_on: bool,
    history_size: u32,
    /// This MCP server runs in it.
    caller: bool,
}

/// A pane among those of its window.
#[derive(Debug, Serialize)]
pub(crate) struct WindowPaneRow<'a> {
    id: PaneId,
    #[serde(rename = "ref")]
    reference: Reference,
    index: u32,
    active: bool,
    command: &'a Text,
    path: Option<&'a Text>,
    title: &'a Text,
    width: u32,
    height: u32,
    dead: bool,
    caller: bool,
}

/// A client; it has no ref.
#[derive(Debug, Serialize)]
pub(crate) struct ClientRow<'a> {
    #[serde(rename = "ref")]
    reference: (),
    name: &'a Text,
    pid: u32,
    created: i64,
    tty: Option<&'a Text>,
    width: Option<u32>,
    height: Option<u32>,
    read_only: bool,
    control_mode: bool,
}

/// The pane of `snapshot_pane`.
#[derive(Debug, Serialize)]
pub(crate) struct ScreenPane<'a> {
    id: PaneId,
    index: u32,
    window_id: WindowId,
    session_id: SessionId,
    session_name: &'a Text,
    window_name: &'a Text,
    active: bool,
    command: &'a Text,
    path: Option<&'a Text>,
    title: &'a Text,
    width: u32,
    height: u32,
    pid: u32,
    dead: bool,
    dead_status: Option<u8>,
    in_mode: bool,
    mode: Option<&'a Text>,
    alternate_on: bool,
    cursor_x: u32,
    cursor_y: u32,
    history_size: u32,
    caller: bool,
}

impl<'a> ScreenPane<'a> {
    /// A pane's state.
    pub(crate) fn new(pane: &'a PaneState, caller: Option<PaneId>) -> Self {
        Self {
            id: pane.id,
            index: pane.index,
            window_id: pane.window_id,
            session_id: pane.session_id,
            session_name: &pane.session_name,
            window_name: &pane.window_name,
            active: pane.active,
            command: &pane.command,
            path: pane.path.as_ref(),
            title: &pane.title,
            width: pane.width,
            height: pane.height,
            pid: pane.pid,
            dead: pane.dead,
            dead_status: pane.dead_status,
            in_mode: pane.in_mode,
            mode: pane.mode.as_ref(),
            alternate_on: pane.alternate_on,
            cursor_x: pane.cursor_x,
            cursor_y: pane.cursor_y,
            history_size: pane.history_size,
            caller: caller == Some(pane.id),
        }
    }
}

/// Makes rows of one snapshot.
#[derive(Debug)]
pub(crate) struct Views<'a> {
    snapshot: &'a Snapshot,
    generation: Generation,
    caller: Option<PaneId>,
    /// By window, then session and index.
    links: Vec<&'a WindowLink>,
    /// The active pane of each window, by window.
    active: Vec<(WindowId, PaneId)>,
}

impl<'a> Views<'a> {
    /// Rows of `seen`; `caller` is the pane that this process runs in.
    pub(crate) fn new(seen: &'a Seen<Snapshot>, caller: Option<PaneId>) -> Self {
        let Seen { what: snapshot, generation } = seen;
        let mut links: Vec<&WindowLink> = snapshot.links.iter().collect();
        links.sort_by_key(|link| link.window_id);
        let active = snapshot.panes.iter().filter(|pane| pane.active);
        let mut active: Vec<_> = active.map(|pane| (pane.window_id, pane.id)).collect();
        active.sort_unstable();
        Self { snapshot, generation: *generation, caller, links, active }
    }

    fn refer(&self, place: Place) -> Reference {
        Reference { generation: self.generation, place }
    }

    /// The links of a window, by session and index.
    pub(crate) fn links_of(&self, window: WindowId) -> &[&'a WindowLink] {
        let start = self.links.partition_point(|link| link.window_id < window);
        let end = self.links.partition_point(|link| link.window_id <= window);
        self.links.get(start..end).unwrap_or_default()
    }

    /// The row of a session.
    pub(crate) fn session(&self, session: &'a Session) -> SessionRow<'a> {
        SessionRow {
            id: session.id,
            reference: self.refer(Place::Session(session.id)),
            name: &session.name,
            created: session.created,
            activity: session.activity,
            attached: session.attached,
            window_count: session.window_count,
            group: session.group.as_ref(),
            current_window_id: self.snapshot.current_window(session.id).map(|window| window.id),
        }
    }

    fn active_pane(&self, window: WindowId) -> Option<PaneId> {
        let at = self.active.binary_search_by_key(&window, |(window, _)| *window).ok()?;
        self.active.get(at).map(|(_, pane)| *pane)
    }

    /// The row of a window in its place in a session.
    pub(crate) fn linked_window(&self, link: &WindowLink) -> Option<LinkedWindowRow<'a>> {
        let window = self.snapshot.window(link.window_id)?;
        Some(LinkedWindowRow {
            id: window.id,
            reference: self.refer(Place::Link(window.id, link.session_id, link.index)),
            index: link.index,
            active: link.active,
            name: &window.name,
            pane_count: window.pane_count,
            active_pane_id: self.active_pane(window.id),
        })
    }

    /// The row of a window.
    pub(crate) fn window(&self, window: &'a Window) -> WindowRow<'a> {
        WindowRow {
            id: window.id,
            reference: self.refer(Place::Window(window.id)),
            name: &window.name,
            width: window.width,
            height: window.height,
            pane_count: window.pane_count,
            zoomed: window.zoomed,
            activity: window.activity,
            active_pane_id: self.active_pane(window.id),
            links: self.links_of(window.id).iter().map(|link| self.link(link)).collect(),
        }
    }

    /// The row of a link.
    fn link(&self, link: &WindowLink) -> LinkRow<'a> {
        LinkRow {
            session_id: link.session_id,
            session_name: self.snapshot.session(link.session_id).map(|session| &session.name),
            index: link.index,
            active: link.active,
        }
    }

    /// The row of a pane in what is told of its window.
    pub(crate) fn pane(&self, pane: &'a Pane) -> WindowPaneRow<'a> {
        WindowPaneRow {
            id: pane.id,
            reference: self.refer(Place::Pane(pane.id)),
            index: pane.index,
            active: pane.active,
            command: &pane.current_command,
            path: pane.current_path.as_ref(),
            title: &pane.title,
            width: pane.width,
            height: pane.height,
            dead: pane.dead,
            caller: self.caller == Some(pane.id),
        }
    }
}

impl<'a> PaneRow<'a> {
    /// The row of a pane as it stands in `session` if its window is in it, else in the first that has it.
    pub(crate) fn new(
        listed: &'a ListedPane,
        session: Option<SessionId>,
        generation: Generation,
        caller: Option<PaneId>,
    ) -> Self {
        let ListedPane { pane, places, .. } = listed;
        let in_session = places.iter().find(|place| Some(place.session_id) == session);
        let place = in_session.or(places.first());
        let session_id = place.map(|place| place.session_id);
        let mut others: Vec<SessionId> = places.iter().map(|place| place.session_id).collect();
        others.dedup();
        others.retain(|id| Some(*id) != session_id);
        Self {
            id: pane.id,
            reference: Reference { generation, place: Place::Pane(pane.id) },
            index: pane.index,
            window_id: pane.window_id,
            window_name: place.map(|place| &place.window_name),
            session_id,
            session_name: place.map(|place| &place.session_name),
            other_session_ids: others,
            active: pane.active,
            command: &pane.current_command,
            path: pane.current_path.as_ref(),
            title: &pane.title,
            width: pane.width,
            height: pane.height,
            pid: pane.pid,
            dead: pane.dead,
            dead_status: pane.dead_status,
            in_mode: pane.in_mode,
            alternate_on: pane.alternate_on,
            history_size: pane.history_size,
            caller: caller == Some(pane.id),
        }
    }
}

impl<'a> LinkRow<'a> {
    /// The place of a pane's window.
    pub(crate) fn new(place: &'a PanePlace) -> Self {
        Self {
            session_id: place.session_id,
            session_name: Some(&place.session_name),
            index: place.index,
            active: place.active,
        }
    }
}

impl<'a> ClientRow<'a> {
    /// The row of a client.
    pub(crate) fn new(client: &'a ClientInfo) -> Self {
        Self {
            reference: (),
            name: &client.name,
            pid: client.pid,
            created: client.created,
            tty: client.tty.as_ref(),
            width: client.width,
            height: client.height,
            read_only: client.read_only,
            control_mode: client.control_mode,
        }
    }
}
