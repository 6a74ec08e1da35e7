//! Start-up options: flags and environment variables, checked before any contact with tmux.

use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::ops::RangeInclusive;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use super::catalogue::Toolset;

/// Request deadlines that are allowed, in seconds.
const TIMEOUTS: RangeInclusive<f64> = 0.1..=600.0;
/// Answer sizes that are allowed, in bytes.
const RESPONSE_BYTES: RangeInclusive<usize> = 4096..=64 * 1024 * 1024;
/// The longest alias of an endpoint.
const MAX_ALIAS: usize = 128;

/// The flags of `muxwire mcp`, as they were typed. A flag wins over its environment variable.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    /// `-L, --socket-name NAME`
    pub socket_name: Option<OsString>,
    /// `-S, --socket-path PATH`
    pub socket_path: Option<OsString>,
    /// `--current`
    pub current: bool,
    /// `--endpoint ALIAS`
    pub endpoint: Option<OsString>,
    /// `--config PATH`
    pub config: Option<OsString>,
    /// `--tmux PATH`
    pub tmux: Option<OsString>,
    /// `--toolsets LIST`
    pub toolsets: Option<OsString>,
    /// `--tools LIST`
    pub tools: Option<OsString>,
    /// `--exclude-tools LIST`
    pub exclude_tools: Option<OsString>,
    /// `--no-live`
    pub no_live: bool,
    /// `--timeout SECONDS`
    pub timeout: Option<OsString>,
    /// `--max-response-bytes N`
    pub max_response_bytes: Option<OsString>,
}

/// Options that hold together.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Which server is spoken to.
    pub socket: Socket,
    /// The public name of the endpoint.
    pub endpoint: String,
    /// Configuration for a server that we start.
    pub config: Option<PathBuf>,
    /// The tmux binary for starting a server.
    pub tmux: Option<PathBuf>,
    /// Which tools are offered.
    pub selection: Selection,
    /// Whether control streams may be opened.
    pub live: bool,
    /// The deadline of a request.
    pub timeout: Duration,
    /// The largest answer.
    pub max_response_bytes: usize,
}

/// Where the server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Socket {
    /// The private socket, used when nothing is chosen; its server is started when absent.
    Private,
    /// A socket by name.
    Name(String),
    /// A socket by absolute path.
    Path(PathBuf),
    /// The socket that `$TMUX` names.
    Current(PathBuf),
}

/// Which tools are offered. Not a sandbox: a shell command acts with the tmux user's authority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// The sets that were chosen; none means the default of the endpoint.
    toolsets: Option<Vec<Toolset>>,
    added: Vec<&'static str>,
    excluded: Vec<&'static str>,
}

impl Selection {
    /// Whether a tool is offered. `owned` says that this process is known to have started the server.
    pub(crate) fn enables(&self, name: &str, toolset: Toolset, owned: bool) -> bool {
        let chosen = match &self.toolsets {
            Some(sets) => sets.contains(&toolset),
            None => owned || toolset != Toolset::Teardown,
        };
        (chosen || self.added.contains(&name)) && !self.excluded.contains(&name)
    }
}

/// Why the server does not start: one line for stderr; the process ends with status 2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartError(String);

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for StartError {}

/// Variables of other servers that would be ignored in silence.
const RETIRED: &[(&str, &str)] = &[
    ("LIBTMUX_SAFETY", "LIBTMUX_TOOLSETS"),
    ("LIBTMUX_MCP_TOOLS", "LIBTMUX_TOOLS"),
    ("LIBTMUX_SOCKET_NAME", "LIBTMUX_SOCKET"),
];

impl Options {
    /// Resolves flags and environment.
    ///
    /// An empty variable counts as absent, save for the lists, where empty means none.
    ///
    /// # Errors
    /// The first thing that does not hold.
    pub fn resolve(
        flags: &Flags,
        environment: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, StartError> {
        Self::resolve_among(flags, environment, &super::catalogue::tool_names())
    }

    /// The same with the known tools given.
    fn resolve_among(
        flags: &Flags,
        environment: impl Fn(&str) -> Option<OsString>,
        known: &[&'static str],
    ) -> Result<Self, StartError> {
        for (retired, instead) in RETIRED {
            if environment(retired).is_some() {
                return Err(StartError(format!("{retired} is no longer read; use {instead}")));
            }
        }
        let given = |flag: &Option<OsString>, name: &'static str, variable: &'static str| {
            let value = match flag {
                Some(value) => Some(Given { name, value: value.clone() }),
                None if variable.is_empty() => None,
                None => environment(variable).map(|value| Given { name: variable, value }),
            };
            value.filter(|given| flag.is_some() || !given.value.is_empty())
        };
        let list = |flag: &Option<OsString>, name: &'static str, variable: &'static str| match flag
        {
            Some(value) => Some(Given { name, value: value.clone() }),
            None => environment(variable).map(|value| Given { name: variable, value }),
        };
        let name = given(&flags.socket_name, "--socket-name", "LIBTMUX_SOCKET");
        let path = given(&flags.socket_path, "--socket-path", "LIBTMUX_SOCKET_PATH");
        let tools = |list: Option<Given>| match list {
            Some(list) => list
                .elements(|element| known.iter().find(|name| **name == element).copied(), "tool"),
            None => Ok(Vec::new()),
        };
        let selection = Selection {
            toolsets: list(&flags.toolsets, "--toolsets", "LIBTMUX_TOOLSETS")
                .map(|list| list.elements(Toolset::from_name, "toolset"))
                .transpose()?,
            added: tools(list(&flags.tools, "--tools", "LIBTMUX_TOOLS"))?,
            excluded: tools(list(
                &flags.exclude_tools,
                "--exclude-tools",
                "LIBTMUX_EXCLUDE_TOOLS",
            ))?,
        };
        Ok(Self {
            socket: socket(name, path, flags.current, environment("TMUX"))?,
            endpoint: match given(&flags.endpoint, "--endpoint", "") {
                Some(alias) => alias.alias()?,
                None => "default".to_owned(),
            },
            config: given(&flags.config, "--config", "LIBTMUX_TMUX_CONFIG")
                .map(Given::path)
                .transpose()?,
            tmux: given(&flags.tmux, "--tmux", "LIBTMUX_TMUX_BIN").map(Given::path).transpose()?,
            selection,
            live: !flags.no_live && live(environment("LIBTMUX_MCP_LIVE").as_deref())?,
            timeout: match given(&flags.timeout, "--timeout", "") {
                Some(seconds) => seconds.seconds()?,
                None => Duration::from_secs(5),
            },
            max_response_bytes: match given(&flags.max_response_bytes, "--max-response-bytes", "") {
                Some(bytes) => bytes.bytes()?,
                None => 1024 * 1024,
            },
        })
    }
}

/// Which server, of all the ways to say it.
fn socket(
    name: Option<Given>,
    path: Option<Given>,
    current: bool,
    tmux: Option<OsString>,
) -> Result<Socket, StartError> {
    match (name, path, current) {
        (None, None, false) => Ok(Socket::Private),
        (Some(name), None, false) => {
            let text = name.text()?;
            let plain =
                !text.is_empty() && text != "." && text != ".." && !text.contains(['/', '\0']);
            if plain {
                Ok(Socket::Name(text.to_owned()))
            } else {
                Err(name.wrong("must be a plain file name"))
            }
        }
        (None, Some(path), false) => {
            if PathBuf::from(&path.value).is_absolute() {
                Ok(Socket::Path(path.path()?))
            } else {
                Err(path.wrong("must be an absolute path"))
            }
        }
        (None, None, true) => {
            match tmux.as_deref().map(socket_of).filter(|path| !path.is_empty()) {
                Some(path) => Ok(Socket::Current(path.into())),
                None => Err(StartError("--current needs TMUX, which names no socket".to_owned())),
            }
        }
        (Some(name), Some(path), _) => {
            Err(StartError(format!("{} and {} exclude each other", name.name, path.name)))
        }
        (Some(given), None, true) | (None, Some(given), true) => {
            Err(StartError(format!("{} and --current exclude each other", given.name)))
        }
    }
}

/// The socket in a value of `$TMUX`: what stands before its first comma.
pub(crate) fn socket_of(tmux: &OsStr) -> &OsStr {
    let path = tmux.as_bytes().split(|&byte| byte == b',').next().unwrap_or_default();
    OsStr::from_bytes(path)
}

fn live(variable: Option<&OsStr>) -> Result<bool, StartError> {
    match variable.map(OsStr::as_encoded_bytes) {
        None | Some(b"" | b"1") => Ok(true),
        Some(b"0") => Ok(false),
        Some(_) => Err(StartError("LIBTMUX_MCP_LIVE must be 0 or 1".to_owned())),
    }
}

/// A value and where it came from.
struct Given {
    name: &'static str,
    value: OsString,
}

impl Given {
    fn wrong(&self, what: &str) -> StartError {
        StartError(format!("{} {what}", self.name))
    }

    fn text(&self) -> Result<&str, StartError> {
        self.value.to_str().ok_or_else(|| self.wrong("must be UTF-8"))
    }

    fn path(self) -> Result<PathBuf, StartError> {
        if self.value.is_empty() {
            Err(self.wrong("must not be empty"))
        } else {
            Ok(self.value.into())
        }
    }

    fn alias(&self) -> Result<String, StartError> {
        let text = self.text()?;
        let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-');
        let good = text.len() <= MAX_ALIAS
            && text.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric())
            && text.bytes().all(inner);
        if good {
            Ok(text.to_owned())
        } else {
            Err(self.wrong("must match [A-Za-z0-9][A-Za-z0-9_.-]{0,127}"))
        }
    }

    fn seconds(&self) -> Result<Duration, StartError> {
        let (low, high) = (TIMEOUTS.start(), TIMEOUTS.end());
        self.text()?
            .parse::<f64>()
            .ok()
            .filter(|seconds| TIMEOUTS.contains(seconds))
            .map(Duration::from_secs_f64)
            .ok_or_else(|| self.wrong(&format!("must be a number of seconds from {low} to {high}")))
    }

    fn bytes(&self) -> Result<usize, StartError> {
        let (low, high) = (RESPONSE_BYTES.start(), RESPONSE_BYTES.end());
        let text = self.text()?;
        let digits = text.bytes().all(|b| b.is_ascii_digit());
        text.parse()
            .ok()
            .filter(|bytes| digits && RESPONSE_BYTES.contains(bytes))
            .ok_or_else(|| self.wrong(&format!("must be a whole number from {low} to {high}")))
    }

    /// A comma list; the empty text is the empty list.
    fn elements<T>(
        &self,
        known: impl Fn(&str) -> Option<T>,
        what: &str,
    ) -> Result<Vec<T>, StartError> {
        let text = self.text()?.trim();
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let element = |element: &str| match element.trim() {
            "" => Err(self.wrong("has an empty element")),
            element => known(element)
                .ok_or_else(|| self.wrong(&format!("names an unknown {what}: {element:?}"))),
        };
        text.split(',').map(element).collect()
    }
}

#[cfg(test)]
mod tests;
