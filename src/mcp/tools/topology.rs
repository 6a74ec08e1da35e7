//! Tools about sessions, windows and panes as tmux arranges them.

use super::super::answer::Answer;
use super::super::arguments::{Arguments, Target};
use super::super::binding::Place;
use super::super::call::Call;
use super::super::catalogue::{Bound, Effect, Tool, Toolset};
use super::super::failure::Failure;
use super::super::reach::missing;
use super::super::schema::{Rule, Schema};
use super::super::views::{ClientRow, LinkRow, PaneRow};
use crate::model::{ListedPane, Session, SessionId, Snapshot, Window, WindowId};
use serde::Serialize;

pub(crate) const TOOLS: &[Tool] = &[
    Tool {
        name: "list_sessions",
        toolset: Toolset::Inspect,
        title: "List sessions",
        description: "All sessions, one row each, with ids and refs.",
        effect: Effect::Reads,
        bound: Bound::Deadline,
        input: Schema::object,
        output: None,
        run: |call, arguments| Box::pin(list_sessions(call, arguments)),
    },
    Tool {
        name: "list_windows",
        toolset: Toolset::Inspect,
        title: "List windows",
        description: "Windows of the server or of one session, one row each, with ids and refs.",
        effect: Effect::Reads,
        bound: Bound::Deadline,
        input: || within(Schema::object().session_id().reference(&["session"])),
        output: None,
        run: |call, arguments| Box::pin(list_windows(call, arguments)),
    },
    Tool {
        name: "list_panes",
        toolset: Toolset::Inspect,
        title: "List panes",
        description: "Panes of the server, of one session or of one window, one row each, with ids, refs, size, program and directory.",
        effect: Effect::Reads,
        bound: Bound::Deadline,
        input: || {
            within(Schema::object().session_id().window_id().reference(&[
                "session",
                "window",
                "window_link",
            ]))
        },
        output: None,
        run: |call, arguments| Box::pin(list_panes(call, arguments)),
    },
    Tool {
        name: "get_session_info",
        toolset: Toolset::Inspect,
        title: "Session facts",
        description: "One session: name, creation time, attached clients, its windows.",
        effect: Effect::Reads,
        bound: Bound::Deadline,
        input: || Schema::object().one_session(),
        output: None,
        run: |call, arguments| Box::pin(get_session_info(call, arguments)),
    },
    Tool {
        name: "get_window_info",
        toolset: Toolset::Inspect,
        title: "Window facts",
        description: "One window: name, size, layout, its panes and the sessions that hold it.",
        effect: Effect::Reads,
        bound: Bound::Deadline,
        input: || Schema::object().one_window(),
        output: None,
        run: |call, arguments| Box::pin(get_window_info(call, arguments)),
    },
    Tool {
        name: "get_pane_info",
        toolset: Toolset::Inspect,
        title: "Pane facts",
        description: "One pane without its content: program, directory, title, size, state.",
        effect: Effect::Reads,
        bound: Bound::Deadline,
        input: || Schema::object().one_pane(),
        output: None,
        run: |call, arguments| Box::pin(get_pane_info(call, arguments)),
    },
];

/// Adds the exact session name as one more way to narrow a listing, of which at most one may be given.
fn within(schema: Schema) -> Schema {
    schema.text("session_name", "Exact session name").rule(Rule::AtMostOne(&[
        "session_id",
        "session_name",
        "window_id",
        "ref",
    ]))
}

pub(super) fn find_session(
    snapshot: &Snapshot,
    target: Target<SessionId>,
) -> Result<&Session, Failure> {
    snapshot.session(target.id).ok_or_else(|| missing("session", target.reference))
}

/// The window; by the ref of a link it must also stand where it stood.
pub(super) fn find_window(
    snapshot: &Snapshot,
    target: Target<WindowId>,
) -> Result<&Window, Failure> {
    let gone = || missing("window", target.reference);
    if let Some(Place::Link(window, session, index)) = target.reference.map(|it| it.place) {
        let mut links = snapshot.links_of_session(session).iter();
        let stands = links.any(|link| (link.window_id, link.index) == (window, index));
        if !stands {
            return Err(gone());
        }
    }
    snapshot.window(target.id).ok_or_else(gone)
}

/// The session that a listing of windows is about, if it is about one.
fn session_of(arguments: &Arguments, snapshot: &Snapshot) -> Result<Option<SessionId>, Failure> {
    if let Some(name) = arguments.text("session_name") {
        let session = snapshot.session_named(name).ok_or_else(|| missing("session", None))?;
        return Ok(Some(session.id));
    }
    let found = arguments.session().map(|target| find_session(snapshot, target)).transpose()?;
    Ok(found.map(|session| session.id))
}

/// What a listing of panes is about.
#[derive(Debug, Clone, Copy)]
enum Scope<'a> {
    Server,
    Session(Target<SessionId>),
    SessionNamed(&'a str),
    Window(Target<WindowId>),
}

impl<'a> Scope<'a> {
    fn of(arguments: &'a Arguments) -> Self {
        match (arguments.text("session_name"), arguments.session(), arguments.window()) {
            (Some(name), ..) => Self::SessionNamed(name),
            (_, Some(session), _) => Self::Session(session),
            (_, _, Some(window)) => Self::Window(window),
            (None, None, None) => Self::Server,
        }
    }

    /// The session in which a pane belongs to it; none if it does not belong.
    fn session_of(self, listed: &ListedPane) -> Option<SessionId> {
        let mut places = listed.places.iter();
        let place = match self {
            Self::Server => places.next(),
            Self::Session(session) => places.find(|place| place.session_id == session.id),
            Self::SessionNamed(name) => places.find(|place| place.session_name == *name),
            Self::Window(window) if window.id != listed.pane.window_id => None,
            Self::Window(window) => match window.reference.map(|it| it.place) {
                Some(Place::Link(_, session, index)) => {
                    places.find(|place| (place.session_id, place.index) == (session, index))
                }
                _ => places.next(),
            },
        };
        place.map(|place| place.session_id)
    }

    /// Whatever it names has panes: without one it is not there.
    fn missing(self) -> Option<Failure> {
        match self {
            Self::Server => None,
            Self::Session(session) => Some(missing("session", session.reference)),
            Self::SessionNamed(_) => Some(missing("session", None)),
            Self::Window(window) => Some(missing("window", window.reference)),
        }
    }
}

/// The answer of a listing.
fn listing(rows: &[impl Serialize], server_is_empty: bool) -> Result<Answer, Failure> {
    let answer = Answer::new().field("count", rows.len()).serialized("rows", &rows)?;
    if server_is_empty {
        return Ok(answer.field("note", "The server is up and has no sessions."));
    }
    Ok(answer)
}

async fn list_sessions(call: &Call, _: Arguments) -> Result<Answer, Failure> {
    let seen = call.snapshot(None).await?;
    let views = call.views(&seen);
    let rows: Vec<_> = seen.what.sessions.iter().map(|session| views.session(session)).collect();
    listing(&rows, rows.is_empty())
}

async fn list_windows(call: &Call, arguments: Arguments) -> Result<Answer, Failure> {
    let seen = call.snapshot(arguments.reference()).await?;
    let (session, views) = (session_of(&arguments, &seen.what)?, call.views(&seen));
    let windows = seen.what.windows.iter().filter(|window| {
        let mut links = views.links_of(window.id).iter();
        session.is_none() || links.any(|link| Some(link.session_id) == session)
    });
    let rows: Vec<_> = windows.map(|window| views.window(window)).collect();
    listing(&rows, seen.what.sessions.is_empty())
}

async fn list_panes(call: &Call, arguments: Arguments) -> Result<Answer, Failure> {
    let scope = Scope::of(&arguments);
    let seen = call.panes(arguments.reference()).await?;
    let (panes, caller) = (&seen.what.panes, call.caller_on(&seen.what.server.identity));
    let row = |listed| {
        let session = scope.session_of(listed)?;
        Some(PaneRow::new(listed, Some(session), seen.generation, caller))
    };
    let rows: Vec<_> = panes.iter().filter_map(row).collect();
    match scope.missing() {
        Some(failure) if rows.is_empty() => Err(failure),
        _ => listing(&rows, panes.is_empty()),
    }
}

async fn get_session_info(call: &Call, arguments: Arguments) -> Result<Answer, Failure> {
    let target = arguments.session().ok_or_else(|| Failure::invalid("Give a session."))?;
    let seen = call.snapshot(target.reference).await?;
    let (session, views) = (find_session(&seen.what, target)?, call.views(&seen));
    let windows = seen.what.links_of_session(session.id).iter();
    let windows: Vec<_> = windows.filter_map(|link| views.linked_window(link)).collect();
    let clients = seen.what.clients.iter();
    let clients = clients.filter(|client| client.session_id == Some(session.id));
    let clients: Vec<_> = clients.map(ClientRow::new).collect();
    Answer::of(&views.session(session))?
        .serialized("windows", &windows)?
        .serialized("clients", &clients)
}

async fn get_window_info(call: &Call, arguments: Arguments) -> Result<Answer, Failure> {
    let target = arguments.window().ok_or_else(|| Failure::invalid("Give a window."))?;
    let seen = call.snapshot(target.reference).await?;
    let (window, views) = (find_window(&seen.what, target)?, call.views(&seen));
    let panes = seen.what.panes_of_window(window.id);
    let panes: Vec<_> = panes.map(|pane| views.pane(pane)).collect();
    Answer::of(&views.window(window))?
        .serialized("layout", &window.layout)?
        .serialized("panes", &panes)
}

async fn get_pane_info(call: &Call, arguments: Arguments) -> Result<Answer, Failure> {
    let target = arguments.pane().ok_or_else(|| Failure::invalid("Give a pane."))?;
    let seen = call.panes(target.reference).await?;
    let listed = seen.what.pane(target.id).ok_or_else(|| missing("pane", target.reference))?;
    let links: Vec<_> = listed.places.iter().map(LinkRow::new).collect();
    let caller = call.caller_on(&seen.what.server.identity);
    Answer::of(&PaneRow::new(listed, None, seen.generation, caller))?.serialized("links", &links)
}
