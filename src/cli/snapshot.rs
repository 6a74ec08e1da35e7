//! `muxwire snapshot`.

use std::fmt::Write;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::{Failure, show};
use crate::client::Tmux;
use crate::model::{ClientInfo, Pane, Session, Snapshot, Window, WindowLink};
use crate::query::{Criteria, CriteriaError, Item, json_schema};

#[derive(Debug, Args)]
pub(super) struct Options {
    /// Print everything as JSON; with --where, what matches as one JSON object a line.
    #[arg(long)]
    json: bool,
    /// Print only what matches: a criteria document such as
    /// {"profile":"libtmux-ruby.where","version":1,"entity":"pane","where":{"dead":true}}.
    #[arg(long = "where", value_name = "JSON")]
    criteria: Option<String>,
    /// Print what --where may hold, fields and operators, as a JSON Schema; asks no server.
    #[arg(long)]
    criteria_schema: bool,
}

pub(super) async fn run(tmux: Tmux, options: Options) -> Result<ExitCode, Failure> {
    if options.criteria_schema {
        return show::print_json(&json_schema());
    }
    let criteria = options.criteria.map(|json| Criteria::from_json(json.as_bytes()));
    let criteria = criteria.transpose().map_err(refused)?;
    let snapshot = tmux.snapshot().await?;
    if let Some(criteria) = criteria {
        let items = criteria.select(&snapshot).map_err(|error| refused(error).with_status(5))?;
        let line = |item| if options.json { json_line(item) } else { item_line(&snapshot, item) };
        return show::print(items.into_iter().map(line).collect::<String>().as_bytes());
    }
    if options.json {
        return show::print_json(&as_json(&snapshot));
    }
    show::print(tree(&snapshot).as_bytes())
}

fn refused(error: CriteriaError) -> Failure {
    Failure::usage(format!("--where: {error} (muxwire snapshot --criteria-schema prints it)"))
}

fn json_line(item: Item<'_>) -> String {
    serde_json::to_string(&item).unwrap_or_default() + "\n"
}

/// What matches as a line of its own, with where it is.
fn item_line(snapshot: &Snapshot, item: Item<'_>) -> String {
    let line = match item {
        Item::Session(session) => session_line(session),
        Item::Window(window) => {
            let places = snapshot.links_of_window(window.id);
            let places: Vec<_> =
                places.map(|link| format!("{}:{}", link.session_id, link.index)).collect();
            format!("{} in {}", window_facts(window), places.join(", "))
        }
        Item::Pane(pane) => format!("{} {}", pane.window_id, pane_line(pane)),
        Item::WindowLink(link) => format!("{} {}", link.session_id, window_line(snapshot, link)),
        Item::Client(client) => client_line(snapshot, client),
    };
    line + "\n"
}

fn as_json(snapshot: &Snapshot) -> serde_json::Value {
    let server = &snapshot.server;
    json!({
        "server": {
            "version": server.version(),
            "pid": server.identity.pid,
            "start_time": server.identity.start_time,
        },
        "sessions": snapshot.sessions,
        "windows": snapshot.windows,
        "window_links": snapshot.links,
        "panes": snapshot.panes,
        "clients": snapshot.clients,
    })
}

/// Sessions with their windows and panes, then clients.
pub(super) fn tree(snapshot: &Snapshot) -> String {
    let server = &snapshot.server;
    let mut text = format!("tmux {}, process {}\n", server.version(), server.identity.pid);
    if snapshot.sessions.is_empty() {
        text.push_str("no sessions\n");
    }
    // Writing to a string cannot fail.
    for session in &snapshot.sessions {
        let _ = writeln!(text, "{}", session_line(session));
        for link in snapshot.links_of_session(session.id) {
            let _ = writeln!(text, "  {}", window_line(snapshot, link));
            for pane in snapshot.panes_of_window(link.window_id) {
                let _ = writeln!(text, "    {}", pane_line(pane));
            }
        }
    }
    for client in &snapshot.clients {
        let _ = writeln!(text, "{}", client_line(snapshot, client));
    }
    text
}

fn client_line(snapshot: &Snapshot, client: &ClientInfo) -> String {
    let session = client.session_id.and_then(|id| snapshot.session(id));
    let session = session.map(|session| visible(&session.name)).unwrap_or_default();
    let kind = if client.control_mode { "control client" } else { "client" };
    format!("{kind} {} on {session}", visible(&client.name))
}

fn session_line(session: &Session) -> String {
    let attached = match session.attached {
        0 => String::new(),
        count => format!(", {count} attached"),
    };
    let group = session.group.as_ref();
    let group = group.map(|name| format!(", group {}", visible(name))).unwrap_or_default();
    format!("{} {}{attached}{group}", session.id, visible(&session.name))
}

fn window_line(snapshot: &Snapshot, link: &WindowLink) -> String {
    let mark = if link.active { '*' } else { ' ' };
    let Some(window) = snapshot.window(link.window_id) else {
        return format!("{mark}{}: {}", link.index, link.window_id);
    };
    format!("{mark}{}: {}", link.index, window_facts(window))
}

fn window_facts(window: &Window) -> String {
    let zoomed = if window.zoomed { ", zoomed" } else { "" };
    let (width, height) = (window.width, window.height);
    format!("{} {} {width}x{height}{zoomed}", window.id, visible(&window.name))
}

fn pane_line(pane: &Pane) -> String {
    let mark = if pane.active { '*' } else { ' ' };
    let state = match (pane.dead, pane.dead_status) {
        (true, Some(status)) => format!(", dead with status {status}"),
        (true, None) => ", dead".to_owned(),
        (false, _) if pane.in_mode => ", in a mode".to_owned(),
        (false, _) => String::new(),
    };
    let path = pane.current_path.as_ref().map(visible_path).unwrap_or_default();
    let (width, height) = (pane.width, pane.height);
    let command = visible(&pane.current_command);
    format!("{mark}{}: {} {command}{path} {width}x{height}{state}", pane.index, pane.id)
}

fn visible(text: &crate::model::Text) -> String {
    show::visible(&text.to_str_lossy())
}

fn visible_path(path: &crate::model::Text) -> String {
    format!(" in {}", visible(path))
}
