//! Which commands may start something.

use crate::protocol::CommandList;

/// Commands that start nothing, sorted: readers, what types or pastes, and waiting.
///
/// Any other command may start a program or a session, run further commands, or set off a hook
/// that does. Such a list gets the caller's environment (without it a session loses DISPLAY and
/// SSH_AUTH_SOCK, and a program its PATH), and its connection stays open until the server is done
/// with it (a server may die of a client that leaves while a job of its runs).
///
/// # Wire
///
/// `protocol-notes/03-identify.md`, note 3.4, and `protocol-notes/04-commands.md`, note 4.16.
const STARTS_NOTHING: [&str; 21] = [
    "capture-pane",
    "delete-buffer",
    "display-message",
    "has-session",
    "list-buffers",
    "list-clients",
    "list-commands",
    "list-keys",
    "list-panes",
    "list-sessions",
    "list-windows",
    "load-buffer",
    "paste-buffer",
    "save-buffer",
    "send-keys",
    "set-buffer",
    "show-buffer",
    "show-environment",
    "show-hooks",
    "show-options",
    "wait-for",
];

/// Whether a command of `list` may start something.
///
/// Names are compared whole: an abbreviation or an alias may stand for anything.
pub(super) fn may_start(list: &CommandList) -> bool {
    let mut names = list.names().map(std::str::from_utf8);
    !names.all(|name| name.is_ok_and(|name| STARTS_NOTHING.binary_search(&name).is_ok()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Command;

    #[test]
    fn the_list_is_sorted() {
        assert!(STARTS_NOTHING.is_sorted());
    }

    #[test]
    fn whatever_may_start_something_is_told_from_what_does_not() {
        let list = CommandList::from(["list-panes", "-a"]);
        assert!(!may_start(&list));
        assert!(!may_start(&list.clone().then(Command::new("display-message"))));
        for name in [
            "new-session",
            "new",
            "new-s",
            "split-window",
            "if-shell",
            "source-file",
            "rename-window",
            "ls",
        ] {
            assert!(may_start(&CommandList::from([name])), "{name}");
            assert!(may_start(&list.clone().then(Command::new(name))), "{name} behind another");
        }
        assert!(may_start(&CommandList::from_command_line(["list-panes;", "new"])));
    }
}
