//! Programs that are run with a deadline, and signals.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Instant;

use super::PATIENCE;

/// What a program gave.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// The exit status; −1 when a signal ended it.
    pub(crate) status: i32,
}

impl Ran {
    /// The output of a program that must have succeeded, without its last newline.
    #[track_caller]
    pub(crate) fn text(&self) -> String {
        assert_eq!(self.status, 0, "{self:?}");
        let text = String::from_utf8_lossy(&self.stdout);
        text.strip_suffix('\n').unwrap_or(&text).to_owned()
    }
}

impl std::fmt::Debug for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = |bytes: &[u8]| {
            let cut = bytes.len().min(400);
            format!("{} ({} bytes)", bytes[..cut].escape_ascii(), bytes.len())
        };
        let Self { stdout, stderr, status } = self;
        write!(f, "status {status}, stdout {}, stderr {}", shown(stdout), shown(stderr))
    }
}

/// Runs a program with this standard input; ends it and panics when it takes too long.
#[track_caller]
pub(crate) fn run(command: &mut Command, input: Option<&[u8]>) -> Ran {
    let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (mut to, mut out, mut err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        scope.spawn(move || {
            if let (Some(to), Some(input)) = (to.as_mut(), input) {
                let _ = to.write_all(input); // a program need not read it
            }
        });
        let stdout = scope.spawn(move || read_all(&mut out));
        let stderr = scope.spawn(move || read_all(&mut err));
        let status = wait(&mut child);
        let stdout = stdout.join().expect("read");
        let stderr = stderr.join().expect("read");
        let status = status.unwrap_or_else(|| panic!("{command:?} took longer than {PATIENCE:?}"));
        Ran { stdout, stderr, status: status.code().unwrap_or(-1) }
    })
}

fn read_all(source: &mut Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    source.as_mut().expect("piped").read_to_end(&mut bytes).expect("read");
    bytes
}

/// Waits for a child; past the deadline it is killed and `None` given.
fn wait(child: &mut Child) -> Option<std::process::ExitStatus> {
    let end = Instant::now() + PATIENCE;
    let mut pause = std::time::Duration::from_micros(500);
    loop {
        if let Some(status) = child.try_wait().expect("wait") {
            return Some(status);
        }
        if Instant::now() > end {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(std::time::Duration::from_millis(10));
    }
}

/// Sends a signal (`STOP`, `KILL`, …) to one process of ours.
pub(crate) fn signal(pid: u32, name: &str) -> bool {
    let mut kill = Command::new("kill");
    kill.arg(format!("-{name}")).arg(pid.to_string());
    kill.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Whether a process is over, be it reaped or not.
pub(crate) fn has_ended(pid: u32) -> bool {
    match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')),
        Err(_) if std::path::Path::new("/proc/self/stat").exists() => true,
        Err(_) => !signal(pid, "0"),
    }
}
