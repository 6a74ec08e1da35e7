//! Where the server's socket is, by tmux's own rules.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Greatest length of a socket path in bytes: `sun_path` less its NUL.
pub const MAX_PATH: usize = 107;

/// Permission bits that a socket directory must not have: anything for others.
const OTHERS: u32 = 0o007;

/// Which socket is meant.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum SocketChoice {
    /// As tmux without options: the server of `$TMUX`, else the socket named `default`.
    #[default]
    Default,
    /// The socket of this name in the user's socket directory (`tmux -L`).
    Name(OsString),
    /// The socket at this path (`tmux -S`).
    Path(PathBuf),
    /// The server of `$TMUX`, and no other.
    Current,
}

/// What led to an [`Endpoint`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Provenance {
    /// A path was given.
    Path,
    /// A name was given.
    Name,
    /// `$TMUX` named it.
    Tmux,
    /// Nothing named it.
    Default,
}

/// The path of a server's socket and what led to it. That a server answers there is not said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    path: PathBuf,
    provenance: Provenance,
}

/// Why there is no [`Endpoint`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndpointError {
    /// The path is longer than [`MAX_PATH`] bytes.
    TooLong {
        /// The path.
        path: PathBuf,
        /// Its length in bytes.
        length: usize,
    },
    /// The path or name is empty or holds a NUL byte.
    Unusable {
        /// The path or name.
        path: PathBuf,
    },
    /// The user's socket directory is not a directory.
    NotADirectory {
        /// The directory.
        path: PathBuf,
    },
    /// The user's socket directory belongs to somebody else.
    WrongOwner {
        /// The directory.
        path: PathBuf,
        /// User id of its owner.
        owner: u32,
    },
    /// The user's socket directory is open to others.
    UnsafePermissions {
        /// The directory.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// No directory to keep sockets in exists: neither `$TMUX_TMPDIR` nor `/tmp`.
    NoDirectory,
    /// `$TMUX` is asked for and names no server.
    NotInTmux,
}

impl std::fmt::Display for EndpointError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooLong { path, length } => write!(
                f,
                "socket path {} is {length} bytes long and the system takes {MAX_PATH}; use a \
                 shorter one (TMUX_TMPDIR, -S)",
                path.display()
            ),
            Self::Unusable { path } => {
                write!(f, "{:?} is not usable as a socket's path or name", path.as_os_str())
            }
            Self::NotADirectory { path } => {
                write!(f, "socket directory {} is not a directory", path.display())
            }
            Self::WrongOwner { path, owner } => write!(
                f,
                "socket directory {} belongs to user {owner} and is not used; use another (-S, \
                 TMUX_TMPDIR)",
                path.display()
            ),
            Self::UnsafePermissions { path, mode } => write!(
                f,
                "socket directory {} is open to others (mode {mode:03o}) and is not used; run \
                 chmod o-rwx on it",
                path.display()
            ),
            Self::NoDirectory => f.write_str(
                "there is no directory for sockets: neither $TMUX_TMPDIR nor /tmp exists",
            ),
            Self::NotInTmux => f.write_str(
                "$TMUX names no server: this process does not run inside tmux; name a socket (-L, \
                 -S)",
            ),
        }
    }
}

impl std::error::Error for EndpointError {}

impl Endpoint {
    /// Finds the socket of `choice`; `variable` looks up the environment, `uid` is the real user.
    ///
    /// Looks at the socket directory as tmux does and never creates it: where it is missing there
    /// is no server, which connecting will tell.
    ///
    /// # Errors
    ///
    /// [`EndpointError`], with the path that was tried.
    ///
    /// # Wire
    ///
    /// `protocol-notes/05-socket.md`, notes 5.1 and 5.2.
    pub fn find(
        choice: &SocketChoice,
        variable: impl Fn(&str) -> Option<OsString>,
        uid: u32,
    ) -> Result<Self, EndpointError> {
        let (path, provenance) = match choice {
            SocketChoice::Path(path) => (path.clone(), Provenance::Path),
            SocketChoice::Name(name) => (named(name, variable, uid)?, Provenance::Name),
            SocketChoice::Current => {
                let path = current(variable).ok_or(EndpointError::NotInTmux)?;
                (path, Provenance::Tmux)
            }
            SocketChoice::Default => match current(&variable) {
                Some(path) => (path, Provenance::Tmux),
                None => (named(OsStr::new("default"), variable, uid)?, Provenance::Default),
            },
        };
        let length = path.as_os_str().len();
        if length > MAX_PATH {
            return Err(EndpointError::TooLong { path, length });
        }
        if path.as_os_str().is_empty() || path.as_os_str().as_bytes().contains(&0) {
            return Err(EndpointError::Unusable { path });
        }
        Ok(Self { path, provenance })
    }

    /// The socket's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What led to it.
    #[must_use]
    pub fn provenance(&self) -> Provenance {
        self.provenance
    }
}

/// The path in `$TMUX`: what stands before its first comma.
fn current(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let value = variable("TMUX")?;
    let path = value.as_bytes().split(|&byte| byte == b',').next()?;
    (!path.is_empty()).then(|| PathBuf::from(OsString::from_vec(path.to_vec())))
}

/// The path of the socket named `name`.
fn named(
    name: &OsStr,
    variable: impl Fn(&str) -> Option<OsString>,
    uid: u32,
) -> Result<PathBuf, EndpointError> {
    if name.is_empty() {
        return Err(EndpointError::Unusable { path: PathBuf::new() });
    }
    let directory = variable("TMUX_TMPDIR")
        .into_iter()
        .chain([OsString::from("/tmp")])
        .find_map(|directory| std::fs::canonicalize(directory).ok())
        .ok_or(EndpointError::NoDirectory)?
        .join(format!("tmux-{uid}"));
    if let Ok(metadata) = std::fs::symlink_metadata(&directory) {
        let path = directory.clone();
        if !metadata.is_dir() {
            return Err(EndpointError::NotADirectory { path });
        }
        if metadata.uid() != uid {
            return Err(EndpointError::WrongOwner { path, owner: metadata.uid() });
        }
        let mode = metadata.mode() & 0o777;
        if mode & OTHERS != 0 {
            return Err(EndpointError::UnsafePermissions { path, mode });
        }
    }
    // Not `join`: a name that starts with `/` must stay inside the directory, as in tmux.
    let mut path = directory.into_os_string();
    path.push("/");
    path.push(name);
    Ok(path.into())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn find(
        choice: &SocketChoice,
        variables: &[(&str, &str)],
        uid: u32,
    ) -> Result<Endpoint, EndpointError> {
        let lookup = |name: &str| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| OsString::from(value))
        };
        Endpoint::find(choice, lookup, uid)
    }

    fn path(endpoint: Result<Endpoint, EndpointError>) -> String {
        endpoint.unwrap().path().to_str().unwrap().to_owned()
    }

    #[test]
    fn tmux_names_the_server_up_to_its_first_comma_and_an_empty_one_does_not() {
        let default = SocketChoice::Default;
        assert_eq!(path(find(&default, &[("TMUX", "/a/b,12,0")], 4711)), "/a/b");
        assert_eq!(path(find(&default, &[("TMUX", "/a/b")], 4711)), "/a/b");
        for value in ["", ",12,0"] {
            let directory = std::fs::canonicalize("/tmp").unwrap();
            let expected = format!("{}/tmux-4711/default", directory.display());
            assert_eq!(path(find(&default, &[("TMUX", value)], 4711)), expected);
            let error = find(&SocketChoice::Current, &[("TMUX", value)], 4711);
            assert_eq!(error, Err(EndpointError::NotInTmux));
        }
        let found = find(&SocketChoice::Current, &[("TMUX", "/a,1,2")], 0).unwrap();
        assert_eq!(found.provenance(), Provenance::Tmux);
    }

    #[test]
    fn a_directory_that_does_not_exist_gives_way_to_the_next() {
        let choice = SocketChoice::Name("x".into());
        let directory = tempfile::tempdir().unwrap();
        let here = directory.path().canonicalize().unwrap();
        let variables = [("TMUX_TMPDIR", directory.path().to_str().unwrap())];
        assert_eq!(
            path(find(&choice, &variables, 4711)),
            format!("{}/tmux-4711/x", here.display())
        );
        let gone = path(find(&choice, &[("TMUX_TMPDIR", "/nonexistent")], 4711));
        assert!(gone.ends_with("/tmux-4711/x") && !gone.starts_with("/nonexistent"), "{gone}");
    }

    #[test]
    fn an_unsafe_socket_directory_is_refused_by_what_is_wrong_with_it() {
        let root = tempfile::tempdir().unwrap();
        let variables = [("TMUX_TMPDIR", root.path().to_str().unwrap())];
        let uid = std::fs::metadata(root.path()).unwrap().uid();
        let directory = root.path().canonicalize().unwrap().join(format!("tmux-{uid}"));
        let choice = SocketChoice::Name("x".into());
        std::fs::write(&directory, b"").unwrap();
        let error = EndpointError::NotADirectory { path: directory.clone() };
        assert_eq!(find(&choice, &variables, uid), Err(error));
        std::fs::remove_file(&directory).unwrap();
        std::fs::create_dir(&directory).unwrap();
        for (mode, safe) in [(0o700, true), (0o770, true), (0o701, false), (0o777, false)] {
            std::fs::set_permissions(&directory, PermissionsExt::from_mode(mode)).unwrap();
            let error = EndpointError::UnsafePermissions { path: directory.clone(), mode };
            let found = find(&choice, &variables, uid);
            assert_eq!(found.is_ok(), safe, "{mode:o}");
            assert!(safe || found == Err(error));
        }
        std::fs::set_permissions(&directory, PermissionsExt::from_mode(0o700)).unwrap();
        let other = root.path().canonicalize().unwrap().join(format!("tmux-{}", uid + 1));
        std::fs::rename(&directory, &other).unwrap();
        let error = EndpointError::WrongOwner { path: other, owner: uid };
        assert_eq!(find(&choice, &variables, uid + 1), Err(error));
    }

    #[test]
    fn a_path_of_107_bytes_is_the_longest() {
        let of = |length: usize| SocketChoice::Path(format!("/{}", "x".repeat(length - 1)).into());
        assert!(find(&of(107), &[], 0).is_ok());
        let error = find(&of(108), &[], 0).unwrap_err();
        assert!(matches!(error, EndpointError::TooLong { length: 108, .. }), "{error}");
        for unusable in ["", "a\0b"] {
            let choice = SocketChoice::Path(unusable.into());
            let error = find(&choice, &[], 0).unwrap_err();
            assert!(matches!(error, EndpointError::Unusable { .. }), "{error}");
        }
    }
}
