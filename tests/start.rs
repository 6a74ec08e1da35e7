//! A server is started where none is, and only there.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::path::{Path, PathBuf};

use muxwire::{Delivery, Error, ErrorKind, StartOptions, Started, Tmux};
use support::{Release, block_on, has_ended, on_each_release, signal};

/// A socket where nothing is yet; a server that is started there ends with it.
struct Place {
    tmux: Tmux,
    socket: PathBuf,
    _directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let directory = support::directory();
        let socket = directory.path().join("server");
        let tmux = Tmux::builder().socket_path(&socket).build().unwrap();
        Self { tmux, socket, _directory: directory }
    }

    fn start(&self, release: &Release) -> Result<Started, Error> {
        let options = StartOptions { tmux: release.tmux.clone(), ..StartOptions::default() };
        block_on(self.tmux.start_server(&options))
    }

    fn pid(&self) -> u32 {
        block_on(self.tmux.server()).unwrap().identity.pid
    }

    fn show(&self, line: &[&str]) -> String {
        let output = block_on(self.tmux.run(line)).unwrap();
        assert_eq!(output.status, 0, "{line:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Ok(server) = block_on(self.tmux.server()) else { return };
        let pid = server.identity.pid;
        signal(pid, "TERM");
        for left in (0..500).rev() {
            if has_ended(pid) {
                return;
            }
            if left == 0 {
                signal(pid, "KILL");
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

#[test]
fn a_server_is_started_once_and_is_ours_by_its_marker() {
    on_each_release(|release| {
        let place = Place::new();
        assert_eq!(block_on(place.tmux.server()).unwrap_err().kind(), ErrorKind::NoServer);
        assert_eq!(place.start(release).unwrap(), Started::Ours);
        let pid = place.pid();
        assert_eq!(block_on(place.tmux.server()).unwrap().version(), release.name());
        assert_eq!(place.start(release).unwrap(), Started::Theirs);
        assert_eq!(place.pid(), pid, "the second call starts nothing");

        assert_eq!(place.show(&["show-options", "-sv", "exit-empty"]), "off");
        assert_eq!(place.show(&["show-options", "-sv", "exit-unattached"]), "off");
        assert_eq!(place.show(&["show-options", "-gv", "history-limit"]), "50000");
        let marker = place.show(&["show-options", "-sv", "@muxwire-marker"]);
        assert!(
            marker.len() == 32 && marker.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{marker}"
        );
        let environment = place.show(&["show-environment", "-g"]);
        assert!(!environment.contains("MUXWIRE_MARKER"), "panes would inherit it");

        // It stays without sessions, and takes one.
        block_on(place.tmux.run(["new-session", "-d", "-s", "a", "exec sleep 100000"]))
            .unwrap()
            .ok()
            .unwrap();
        assert_eq!(block_on(place.tmux.snapshot()).unwrap().sessions.len(), 1);
        block_on(place.tmux.run(["kill-session", "-t", "=a"])).unwrap().ok().unwrap();
        assert_eq!(place.pid(), pid);
        assert!(block_on(place.tmux.snapshot()).unwrap().sessions.is_empty());
    });
}

#[test]
fn of_many_that_start_a_server_at_once_one_does_and_all_reach_it() {
    on_each_release(|release| {
        let place = Place::new();
        let found: Vec<Started> = std::thread::scope(|scope| {
            let all: Vec<_> =
                (0..6).map(|_| scope.spawn(|| place.start(release).unwrap())).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        let ours = found.iter().filter(|started| **started == Started::Ours).count();
        assert_eq!(ours, 1, "{found:?}");
        assert!(place.pid() > 0);
    });
}

#[test]
fn a_server_that_another_started_meanwhile_is_left_as_it_is() {
    use std::os::unix::fs::PermissionsExt;
    on_each_release(|release| {
        let place = Place::new();
        let program = place.socket.with_file_name("tmux");
        let (real, socket) = (release.tmux.display(), place.socket.display());
        // The other is there between the look and the start.
        let script = format!(
            "#!/bin/sh\nenv -u MUXWIRE_MARKER {real} -S {socket} -f /dev/null new-session -d 'exec sleep 100000'\n\
             exec {real} \"$@\"\n"
        );
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        let options = StartOptions { tmux: program, ..StartOptions::default() };
        assert_eq!(block_on(place.tmux.start_server(&options)).unwrap(), Started::Theirs);
        assert_eq!(place.show(&["show-options", "-sv", "exit-empty"]), "on");
        assert_eq!(place.show(&["show-options", "-gv", "history-limit"]), "2000");
        assert_eq!(place.show(&["show-options", "-s", "-q", "@muxwire-marker"]), "");
    });
}

#[test]
fn what_cannot_be_started_is_said() {
    let place = Place::new();
    let start = |tmux: &str| {
        let options = StartOptions { tmux: PathBuf::from(tmux), ..StartOptions::default() };
        block_on(place.tmux.start_server(&options)).unwrap_err()
    };
    for (program, words) in [("/nonexistent/tmux", "install tmux"), ("/bin/false", "/bin/false")] {
        let error = start(program);
        let ran = if program == "/bin/false" { Delivery::PossiblySent } else { Delivery::NotSent };
        assert_eq!((error.kind(), error.delivery()), (ErrorKind::StartFailed, ran));
        assert!(error.to_string().contains(words), "{error}");
    }
    assert!(!place.socket.exists());

    let missing = Path::new("/nonexistent/muxwire/server");
    let tmux = Tmux::builder().socket_path(missing).build().unwrap();
    let error = block_on(tmux.start_server(&StartOptions::default())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StartFailed);
    assert!(error.to_string().contains("/nonexistent/muxwire"), "{error}");
}
