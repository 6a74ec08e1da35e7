//! Where a server is looked for, and what is said when there is none.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::ffi::OsString;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use muxwire::transport::{Endpoint, EndpointError, Provenance, SocketChoice};
use muxwire::{Delivery, Error, ErrorKind, Tmux};
use support::{
    Ran, Release, block_on, eventually, has_ended, on_each_release, run, signal, tmux_command,
};

/// Runs a command on this socket, which must fail at once and with nothing sent.
#[track_caller]
fn fails(path: &Path) -> Error {
    let start = Instant::now();
    let tmux = Tmux::builder().socket_path(path).deadline(Some(support::PATIENCE)).build().unwrap();
    let error = block_on(tmux.run(["kill-server"])).unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert_eq!(error.delivery(), Delivery::NotSent);
    let (error_text, path) = (error.to_string(), path.display().to_string());
    assert!(error_text.contains(&path), "it does not name the path: {error_text}");
    error
}

#[test]
fn where_nothing_is_there_is_no_server() {
    let directory = support::directory();
    let missing = directory.path().join("missing");
    assert_eq!(fails(&missing).kind(), ErrorKind::NoServer);
    assert!(!missing.exists(), "looking makes nothing");
    assert_eq!(fails(&missing.join("below")).kind(), ErrorKind::NoServer);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "no lock file either");
}

#[test]
fn a_stale_socket_a_file_and_a_directory_are_told_apart() {
    let directory = support::directory();
    let place = |name: &str| directory.path().join(name);
    support::leave_stale(&place("stale"));
    std::fs::write(place("file"), b"").unwrap();
    std::fs::create_dir(place("folder")).unwrap();
    std::os::unix::fs::symlink(place("stale"), place("link")).unwrap();
    for (name, kind, words) in [
        ("stale", ErrorKind::NoServer, "left over"),
        ("link", ErrorKind::NoServer, "left over"),
        ("file", ErrorKind::NoServer, "not a socket"),
        ("folder", ErrorKind::NoServer, "not a socket"),
        ("file/below", ErrorKind::NoServer, "no socket"),
    ] {
        let error = fails(&place(name));
        assert_eq!(error.kind(), kind, "{name}: {error}");
        assert!(error.to_string().contains(words), "{name}: {error}");
        assert!(place(name).symlink_metadata().is_ok() || name.contains('/'), "it is left alone");
    }
}

#[test]
fn a_path_of_108_bytes_is_refused_by_its_length_and_one_of_107_is_used() {
    let directory = support::directory();
    let base = directory.path().as_os_str().len() + 1;
    let of = |length: usize| directory.path().join("x".repeat(length - base));
    let error = Tmux::builder().socket_path(of(108)).build().unwrap_err();
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Endpoint, Delivery::NotSent));
    assert!(error.to_string().contains("108"), "{error}");
    support::leave_stale(&of(107));
    assert_eq!(fails(&of(107)).kind(), ErrorKind::NoServer);
    for unusable in ["", "a\0b"] {
        let error = Tmux::builder().socket_path(unusable).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Endpoint);
    }
}

/// The socket that we would use for this choice with these variables.
fn ours(choice: &SocketChoice, variables: &[(&str, &Path)]) -> Result<Endpoint, EndpointError> {
    let variable = |name: &str| {
        let found = variables.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| OsString::from(value))
    };
    Endpoint::find(choice, variable, uid())
}

fn uid() -> u32 {
    support::directory().path().metadata().unwrap().uid()
}

/// Runs the release's own client, without `-S`, in an environment of these variables.
fn theirs(release: &Release, variables: &[(&str, &Path)], arguments: &[&str]) -> Ran {
    let home = support::directory();
    let mut command = tmux_command(release, home.path());
    // Nothing of this may reach a server that is not ours.
    assert!(variables.iter().any(|(name, _)| *name == "TMUX_TMPDIR"));
    command.envs(variables.iter().copied()).args(arguments);
    run(&mut command, None)
}

/// A server that the release's own client starts where it sees fit; ended on drop.
struct Found {
    socket: PathBuf,
    pid: u32,
}

impl Found {
    fn start(release: &Release, variables: &[(&str, &Path)], options: &[&str]) -> Self {
        let start = ["new-session", "-d", "-x", "80", "-y", "24", "exec sleep 100000"];
        let started = theirs(release, variables, &[options, &start].concat());
        assert_eq!(started.text(), "");
        let show = ["display-message", "-p", "#{pid} #{socket_path}"];
        let shown = theirs(release, variables, &[options, &show].concat()).text();
        let (pid, socket) = shown.split_once(' ').unwrap();
        Self { socket: socket.into(), pid: pid.parse().unwrap() }
    }
}

impl Drop for Found {
    fn drop(&mut self) {
        signal(self.pid, "TERM");
        let mut left = 500;
        while !has_ended(self.pid) {
            if left == 0 {
                signal(self.pid, "KILL");
            }
            left -= 1;
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// A directory for sockets that nothing else uses, under its real name.
fn socket_root() -> (tempfile::TempDir, PathBuf) {
    let root = support::directory();
    let path = root.path().canonicalize().unwrap();
    (root, path)
}

#[test]
fn we_look_where_the_tmux_binary_puts_a_server() {
    on_each_release(|release| {
        let (_root, root) = socket_root();
        let variables: [(&str, &Path); 1] = [("TMUX_TMPDIR", &root)];
        let cases: [(SocketChoice, &[&str], Provenance); 2] = [
            (SocketChoice::Default, &[], Provenance::Default),
            (SocketChoice::Name("work".into()), &["-L", "work"], Provenance::Name),
        ];
        for (choice, options, provenance) in cases {
            let server = Found::start(release, &variables, options);
            let endpoint = ours(&choice, &variables).unwrap();
            assert_eq!((endpoint.path(), endpoint.provenance()), (&*server.socket, provenance));
            assert!(endpoint.path().starts_with(&root));
            let tmux = Tmux::builder().socket_path(endpoint.path()).build().unwrap();
            assert_eq!(block_on(tmux.server()).unwrap().identity.pid, server.pid);

            // What panes of that server have in `$TMUX` leads back to it, above all else.
            let pane = format!("{},{},0", server.socket.display(), server.pid);
            let inside = [("TMUX", Path::new(&pane)), ("TMUX_TMPDIR", Path::new("/nonexistent"))];
            for choice in [SocketChoice::Default, SocketChoice::Current] {
                let endpoint = ours(&choice, &inside).unwrap();
                assert_eq!(
                    (endpoint.path(), endpoint.provenance()),
                    (&*server.socket, Provenance::Tmux)
                );
            }
        }
    });
}

#[test]
fn a_directory_behind_a_link_is_named_by_its_real_name() {
    on_each_release(|release| {
        let (_root, root) = socket_root();
        std::fs::create_dir(root.join("real")).unwrap();
        std::os::unix::fs::symlink(root.join("real"), root.join("link")).unwrap();
        let link = root.join("link");
        let variables: [(&str, &Path); 1] = [("TMUX_TMPDIR", &link)];
        let server = Found::start(release, &variables, &["-L", "x"]);
        let endpoint = ours(&SocketChoice::Name("x".into()), &variables).unwrap();
        // 3.1 shows the name that it was given; the socket is the same.
        assert_eq!(endpoint.path(), server.socket.canonicalize().unwrap());
        assert!(endpoint.path().starts_with(root.join("real")));
    });
}

#[test]
fn a_socket_directory_that_tmux_does_not_trust_is_not_trusted_here() {
    on_each_release(|release| {
        let choice = SocketChoice::Name("x".into());
        for mode in [0o700u32, 0o750, 0o770, 0o701, 0o702, 0o704, 0o777] {
            let (_root, root) = socket_root();
            let directory = root.join(format!("tmux-{}", uid()));
            std::fs::create_dir(&directory).unwrap();
            std::fs::set_permissions(&directory, PermissionsExt::from_mode(mode)).unwrap();
            let variables: [(&str, &Path); 1] = [("TMUX_TMPDIR", &root)];
            let theirs = theirs(release, &variables, &["-L", "x", "list-sessions"]);
            let said = String::from_utf8_lossy(&theirs.stderr).into_owned();
            let they_refuse =
                said.contains("unsafe permissions") || said.contains("Permission denied");
            let ours = ours(&choice, &variables);
            assert_eq!(ours.is_err(), they_refuse, "mode {mode:o}: {ours:?}, theirs: {said}");
            if let Err(error) = ours {
                let expected = EndpointError::UnsafePermissions { path: directory.clone(), mode };
                assert_eq!(error, expected);
            }
        }
    });
}

#[test]
fn a_socket_directory_that_is_a_file_or_a_link_is_not_used() {
    on_each_release(|release| {
        for link in [false, true] {
            let (_root, root) = socket_root();
            let directory = root.join(format!("tmux-{}", uid()));
            if link {
                std::fs::create_dir(root.join("elsewhere")).unwrap();
                std::os::unix::fs::symlink(root.join("elsewhere"), &directory).unwrap();
            } else {
                std::fs::write(&directory, b"").unwrap();
            }
            let variables: [(&str, &Path); 1] = [("TMUX_TMPDIR", &root)];
            let error = ours(&SocketChoice::Default, &variables).unwrap_err();
            assert_eq!(error, EndpointError::NotADirectory { path: directory });
            let theirs = theirs(release, &variables, &["list-sessions"]);
            assert_eq!(theirs.status, 1);
        }
    });
}

#[test]
fn a_server_that_has_ended_leaves_no_server_and_a_new_one_is_another() {
    on_each_release(|release| {
        let (_root, root) = socket_root();
        let variables: [(&str, &Path); 1] = [("TMUX_TMPDIR", &root)];
        let first = Found::start(release, &variables, &[]);
        let socket = first.socket.clone();
        let tmux = Tmux::builder().socket_path(&socket).build().unwrap();
        let before = block_on(tmux.server()).unwrap().identity;
        drop(first);
        eventually("the end of the server", || {
            let kind = block_on(tmux.server()).unwrap_err().kind();
            (kind == ErrorKind::NoServer).then_some(())
        });
        assert_eq!(fails(&socket).kind(), ErrorKind::NoServer);
        let _second = Found::start(release, &variables, &[]);
        let after = block_on(tmux.server()).unwrap().identity;
        assert_ne!(before, after);
        let request = tmux.request(["list-sessions"]).expect_server(before);
        let error = block_on(request.run()).unwrap_err();
        assert_eq!(
            (error.kind(), error.delivery()),
            (ErrorKind::ServerChanged, Delivery::Observed)
        );
    });
}

mod other_user {
    //! A socket that belongs to somebody else: only root can become somebody else.

    use super::*;

    const NOBODY: &str = "65534";
    /// Tells the child which socket to try.
    const SOCKET: &str = "MUXWIRE_TEST_SOCKET";

    #[test]
    #[ignore = "run by the other tests as another user"]
    fn a_child_that_connects() {
        let Some(socket) = std::env::var_os(SOCKET) else { return };
        let tmux = Tmux::builder().socket_path(PathBuf::from(socket)).build().unwrap();
        match block_on(tmux.run(["list-sessions"])) {
            Ok(output) => println!("\nSAID Ok {}", output.status),
            Err(error) => {
                println!("\nSAID {:?} {}: {error}", error.kind(), error.delivery().as_str());
            }
        }
    }

    /// What a process of another user is told at this socket. The test program is copied to where
    /// that user can run it.
    fn as_nobody(socket: &Path) -> String {
        let place = support::directory();
        std::fs::set_permissions(place.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let program = place.path().join("program");
        // Not written by this process: a child that another test forks meanwhile would hold the
        // file open for writing, and then it cannot be run.
        let mut copy = std::process::Command::new("cp");
        copy.arg(std::env::current_exe().unwrap()).arg(&program);
        run(&mut copy, None).text();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        let mut child = std::process::Command::new("setpriv");
        child.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--"]).arg(&program);
        child.args(["--ignored", "--exact", "--nocapture", "other_user::a_child_that_connects"]);
        child.env(SOCKET, socket).current_dir("/");
        let said = run(&mut child, None).text();
        let line = said.lines().find_map(|line| line.strip_prefix("SAID ")).map(str::to_owned);
        line.unwrap_or_else(|| panic!("the child said {said:?}"))
    }

    #[test]
    fn a_socket_of_another_user_is_denied_by_the_system_or_refused_by_tmux() {
        if uid() != 0 {
            eprintln!("not tried: only root can become another user");
            return;
        }
        on_each_release(|release| {
            let server = support::Server::start(release);
            let said = as_nobody(server.socket());
            assert!(said.starts_with("Denied not_sent"), "{said}");
            assert!(said.contains(server.socket().to_str().unwrap()), "{said}");

            // With the file's permissions out of the way it is up to the server.
            let open = |path: &Path, mode| {
                std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
            };
            open(server.directory(), 0o755);
            open(server.socket(), 0o777);
            let said = as_nobody(server.socket());
            if release.at_least(3, 3) {
                assert!(said.starts_with("Refused observed"), "{said}");
                assert!(said.contains("access not allowed"), "{said}");
            } else {
                assert_eq!(said, "Ok 0", "before 3.3 only the file guards a server");
            }
            assert!(server.answers());
        });
    }
}
