//! Sessions, windows, links, panes and clients.

use super::entity;
use super::id::{PaneId, SessionId, WindowId};
use super::text::Text;

entity! {
    /// A session.
    pub struct Session {
        /// Its id.
        id: SessionId = id("session_id"),
        /// When it was made, in seconds since the epoch.
        created: i64 = number("session_created"),
        /// When it was last used, in seconds since the epoch.
        activity: i64 = number("session_activity"),
        /// How many clients are attached to it.
        attached: u32 = number("session_attached"),
        /// How many windows are linked into it.
        window_count: u32 = number("session_windows"),
        /// Its name.
        name: Text = text("session_name"),
        /// The group that it shares its windows with, if any.
        group: Option<Text> = optional_text("session_group"),
    }
}

entity! {
    /// A window, however many sessions it is linked into.
    pub struct Window {
        /// Its id.
        id: WindowId = id("window_id"),
        /// Width in cells.
        width: u32 = number("window_width"),
        /// Height in cells.
        height: u32 = number("window_height"),
        /// How many panes it has.
        pane_count: u32 = number("window_panes"),
        /// One pane fills it and the others are hidden.
        zoomed: bool = flag("window_zoomed_flag"),
        /// When something last happened in it, in seconds since the epoch.
        activity: i64 = number("window_activity"),
        /// Its name.
        name: Text = text("window_name"),
        /// Its layout, as `select-layout` takes it: JSON from 3.8 on, a line of its own before.
        layout: Text = text("window_layout"),
    }
}

entity! {
    /// The place of a window in a session. A window has one in each session that it is linked
    /// into, and may have several in one.
    pub struct WindowLink {
        /// The session.
        session_id: SessionId = id("session_id"),
        /// The window.
        window_id: WindowId = id("window_id"),
        /// Where it stands in the session.
        index: u32 = number("window_index"),
        /// It is the session's current window.
        active: bool = flag("window_active"),
    }
}

entity! {
    /// A pane.
    pub struct Pane {
        /// Its id.
        id: PaneId = id("pane_id"),
        /// The window that it is in.
        window_id: WindowId = id("window_id"),
        /// Where it stands in the window.
        index: u32 = number("pane_index"),
        /// Process id of what was started in it; 0 for a pane without a program, and from 3.8 on
        /// for a dead one.
        pid: u32 = number_or_0("pane_pid"),
        /// It is the window's active pane.
        active: bool = flag("pane_active"),
        /// What was started in it has ended.
        dead: bool = flag("pane_dead"),
        /// The exit status of a dead pane that ended by itself.
        dead_status: Option<u8> = optional_number("pane_dead_status"),
        /// Width in cells.
        width: u32 = number("pane_width"),
        /// Height in cells.
        height: u32 = number("pane_height"),
        /// It is in copy mode or another mode, which keys go to.
        in_mode: bool = flag("pane_in_mode"),
        /// It shows the alternate screen of a full-screen program.
        alternate_on: bool = flag("alternate_on"),
        /// How many lines its history holds.
        history_size: u32 = number("history_size"),
        /// Name of the program in the foreground.
        current_command: Text = text("pane_current_command"),
        /// Working directory of that program, if it can be told.
        current_path: Option<Text> = optional_text("pane_current_path"),
        /// Its title.
        title: Text = text("pane_title"),
    }
}

entity! {
    /// A client that is attached to a session.
    pub struct ClientInfo {
        /// Process id.
        pid: u32 = number("client_pid"),
        /// When it came, in seconds since the epoch.
        created: i64 = number("client_created"),
        /// The session that it is attached to.
        session_id: Option<SessionId> = optional_number("session_id"),
        /// Width in cells.
        width: Option<u32> = optional_number("client_width"),
        /// Height in cells.
        height: Option<u32> = optional_number("client_height"),
        /// It may not change anything.
        read_only: bool = flag("client_readonly"),
        /// It reads UTF-8.
        utf8: bool = flag("client_utf8"),
        /// It is a control client.
        control_mode: bool = flag("client_control_mode"),
        /// Its name.
        name: Text = text("client_name"),
        /// Its terminal, if it has one.
        tty: Option<Text> = optional_text("client_tty"),
    }
}
