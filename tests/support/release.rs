//! The releases of tmux under test.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use muxwire::model::Version;

/// One release: a program that runs it.
#[derive(Clone, Debug)]
pub(crate) struct Release {
    pub(crate) tmux: PathBuf,
    pub(crate) version: Version,
}

impl Release {
    fn new(tmux: PathBuf) -> Self {
        let ran = super::run(Command::new(&tmux).arg("-V"), None);
        Self { version: Version::parse(&ran.text()), tmux }
    }

    /// The version as `-V` gives it, without "tmux ".
    pub(crate) fn name(&self) -> &str {
        self.version.as_str().trim_start_matches("tmux ")
    }

    /// Whether this is that release or a later one.
    pub(crate) fn at_least(&self, major: u32, minor: u32) -> bool {
        self.version.at_least(major, minor)
    }
}

/// Every launcher in `$MUXWIRE_TMUX_MATRIX` (default: where `tests/tools/tmux-matrix
/// target/tmux-matrix` puts them) and the machine's own tmux, which must be there.
pub(crate) fn releases() -> &'static [Release] {
    static RELEASES: OnceLock<Vec<Release>> = OnceLock::new();
    RELEASES.get_or_init(|| {
        let directory = std::env::var_os("MUXWIRE_TMUX_MATRIX").map_or_else(
            || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/tmux-matrix/bin"),
            PathBuf::from,
        );
        let mut found: Vec<PathBuf> = match std::fs::read_dir(&directory) {
            Ok(entries) => entries.map(|entry| entry.expect("an entry").path()).collect(),
            Err(error) => {
                eprintln!("only the machine's own tmux: no matrix in {directory:?} ({error})");
                Vec::new()
            }
        };
        found.sort();
        found.push(machine_tmux());
        found.into_iter().map(Release::new).collect()
    })
}

fn machine_tmux() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).map(|directory| directory.join("tmux"));
    places.find(|place| place.is_file()).expect("these tests need a tmux in PATH")
}

/// Runs a test on each release, one after the other, in a thread that bears the release's name;
/// fails after all of them, with the releases on which it failed.
#[track_caller]
pub(crate) fn on_each_release(test: impl Fn(&Release) + Sync) {
    let failed: Vec<&str> = releases()
        .iter()
        .filter(|release| {
            let name = format!("tmux {}", release.name());
            std::thread::scope(|scope| {
                let thread = std::thread::Builder::new().name(name);
                thread.spawn_scoped(scope, || test(release)).expect("a thread").join().is_err()
            })
        })
        .map(Release::name)
        .collect();
    assert!(failed.is_empty(), "failed on tmux {}", failed.join(", "));
}
