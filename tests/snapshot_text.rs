//! Names, titles and directories of any bytes come back from a snapshot as tmux holds them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use support::{
    IDLE, Server, eventually, new_window, on_each_release, pane, snapshot, snapshot_with,
};

/// What a name, a title or a directory may hold and a careless reader would trip over.
const AWKWARD: [&[u8]; 20] = [
    b"tab\there",
    b"new\nline",
    b"unit\x1fseparator",
    b"escape\x1b[31m",
    b"pipe|colon:comma,",
    b"$HOME ${HOME} $a $1",
    b"\\037 \\n \\\\ \\$HOME",
    b"#{pid}",
    b"#(cd; touch executed)",
    b"##{pid} #[fg=red] #S",
    b"%H:%M %%",
    b"quotes ' \" `cd; touch executed`",
    b"  spaces  ",
    b"semicolon;",
    "wide 日本 ☃ é \u{1f600}".as_bytes(),
    b"cut \xe2\x98 bad \xff\xfe\x80",
    b"del\x7f nul-less",
    b"-t",
    b"~",
    b"\\",
];

/// Nothing made the file that [`AWKWARD`] asks for in the home directory, where tmux would make it.
#[track_caller]
fn nothing_was_run(server: &Server) {
    let made = server.directory().join("executed");
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert!(!made.exists());
    eventually("the file", || {
        server.show("#(cd; touch executed)"); // it may end with the client that asks for it
        made.exists().then_some(())
    });
}

/// A name, doubled where tmux expands it when it is set: `##` stands for `#`, `%%` for `%`.
fn doubled(name: &[u8]) -> std::ffi::OsString {
    let mut doubled = Vec::new();
    for &byte in name {
        let twice = byte == b'#' || byte == b'%';
        doubled.extend(std::iter::repeat_n(byte, 1 + usize::from(twice)));
    }
    if doubled.ends_with(b";") {
        doubled.insert(doubled.len() - 1, b'\\');
    }
    std::os::unix::ffi::OsStringExt::from_vec(doubled)
}

/// What the JSON of a row says of bytes that it cannot show: their number, and nothing for 0.
fn replaced(row: &impl serde::Serialize) -> Option<u64> {
    let row = serde_json::to_value(row).unwrap();
    row.get("replaced_bytes").map(|count| count.as_u64().unwrap())
}

#[test]
fn directories_of_any_name_come_back_byte_for_byte() {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    on_each_release(|release| {
        let server = Server::start(release);
        let mut expected = Vec::new();
        for name in AWKWARD {
            let path = server.directory().join(std::ffi::OsStr::from_bytes(name));
            std::fs::create_dir(&path).unwrap();
            // The shell goes there, so that tmux takes nothing of the name for a format.
            let link = server.directory().join(format!("link{}", expected.len()));
            std::os::unix::fs::symlink(&path, &link).unwrap();
            let id = new_window(&server, &format!("cd -P {} && {IDLE}", link.display()));
            expected.push((id, path.into_os_string().into_vec()));
        }
        let found = snapshot_with(&server, "every pane in its directory", |found| {
            expected.iter().all(|(id, _)| pane(found, id).current_command == *"sleep")
        });
        for (id, path) in &expected {
            let pane = pane(&found, id);
            let found = pane.current_path.as_ref().unwrap();
            assert_eq!(found.as_bytes(), path, "{found:?}");
            let invalid = path.ends_with(b"\xff\xfe\x80");
            assert_eq!(replaced(pane), invalid.then_some(5), "{found:?}");
        }
        nothing_was_run(&server);
    });
}

#[test]
fn names_and_titles_come_back_as_tmux_holds_them_and_nothing_in_them_is_run() {
    use std::os::unix::ffi::OsStrExt;
    on_each_release(|release| {
        let server = Server::start(release);
        server.set(["set-option", "-g", "automatic-rename", "off"]);
        let mut made = Vec::new();
        for name in AWKWARD {
            let id = new_window(&server, IDLE);
            let doubled = &*doubled(name);
            let text = |text: &'static str| std::ffi::OsStr::new(text);
            let target = std::ffi::OsStr::from_bytes(id.as_bytes());
            // Some releases refuse some names: then the old one stays, which is as good.
            server.tmux([text("rename-window"), text("-t"), target, text("--"), doubled]);
            server.tmux([text("select-pane"), text("-t"), target, text("-T"), doubled]);
            made.push((id, name));
        }
        let found = snapshot(&server);
        let mut kept = (0, 0);
        for (id, name) in made {
            let pane = pane(&found, &id);
            let window = found.window(pane.window_id).unwrap();
            // tmux keeps no control bytes in them, so its own client shows them as they are.
            assert_eq!(window.name.to_string(), server.show_of(&id, "#{window_name}"), "{id}");
            assert_eq!(pane.title.to_string(), server.show_of(&id, "#{pane_title}"), "{id}");
            let invalid = window.name.replaced_bytes() as u64;
            assert_eq!(replaced(window), Some(invalid).filter(|count| *count > 0), "{id}");
            kept.0 += usize::from(window.name.as_bytes() == name);
            kept.1 += usize::from(pane.title.as_bytes() == name);
        }
        // Most are kept to the letter (tmux rewrites control bytes, 3.7 and later a little more).
        assert!(kept.0 >= 9 && kept.1 >= 9, "{kept:?} of {}", AWKWARD.len());
        nothing_was_run(&server);
    });
}

#[test]
fn session_names_come_back_as_tmux_holds_them() {
    on_each_release(|release| {
        let server = Server::start(release);
        let mut made = 1;
        for name in AWKWARD.into_iter().chain([&b"=x"[..], b"with space"]) {
            let text = |text: &'static str| std::ffi::OsStr::new(text);
            let new = [text("new-session"), text("-d"), text("-s"), &*doubled(name)];
            // Some releases refuse some names.
            let size = ["-x", "80", "-y", "24", IDLE].map(text);
            made += usize::from(server.tmux(new.into_iter().chain(size)).status == 0);
        }
        let found = snapshot(&server);
        assert_eq!(found.sessions.len(), made, "{found:#?}");
        let kept = found.sessions.iter().map(|session| session.name.as_bytes());
        let kept = kept.filter(|name| AWKWARD.contains(name)).count();
        assert!(kept >= 8, "{kept} of {}", AWKWARD.len());
        for session in &found.sessions {
            let target = format!("{}:", session.id);
            assert_eq!(session.name.to_string(), server.show_of(&target, "#{session_name}"));
            let invalid = session.name.replaced_bytes();
            assert_eq!(replaced(session), Some(invalid as u64).filter(|count| *count > 0));
            let named = found.session_named(&session.name.to_string());
            assert_eq!(named, Some(session).filter(|_| invalid == 0));
        }
        nothing_was_run(&server);
    });
}
