//! Message types.

/// The type of a message, as the header carries it. Unknown ones are kept.
///
/// ```
/// use muxwire::protocol::MessageType;
///
/// assert_eq!(MessageType::EXIT.to_string(), "EXIT");
/// assert_eq!(MessageType(999).to_string(), "type 999");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageType(pub u32);

macro_rules! message_types {
    ($($(#[$doc:meta])* $name:ident = $number:literal;)*) => {
        impl MessageType {
            $($(#[$doc])* pub const $name: Self = Self($number);)*

            /// Every type that is known, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// tmux's name without `MSG_`, or `None` for an unknown type.
            #[must_use]
            pub fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($number => Some(stringify!($name)),)*
                    _ => None,
                }
            }
        }
    };
}

message_types! {
    /// Both ways: the protocol versions differ.
    VERSION = 12;
    /// Client: flags, low 32 bits.
    IDENTIFY_FLAGS = 100;
    /// Client: terminal type.
    IDENTIFY_TERM = 101;
    /// Client: path of its terminal, empty for none.
    IDENTIFY_TTYNAME = 102;
    /// Unused.
    IDENTIFY_OLDCWD = 103;
    /// Client: its standard input, as a descriptor.
    IDENTIFY_STDIN = 104;
    /// Client: one variable of its environment.
    IDENTIFY_ENVIRON = 105;
    /// Client: identify is complete.
    IDENTIFY_DONE = 106;
    /// Client: its process id.
    IDENTIFY_CLIENTPID = 107;
    /// Client: its working directory.
    IDENTIFY_CWD = 108;
    /// Client: features of its terminal.
    IDENTIFY_FEATURES = 109;
    /// Client: its standard output, as a descriptor.
    IDENTIFY_STDOUT = 110;
    /// Client: flags, 64 bits.
    IDENTIFY_LONGFLAGS = 111;
    /// Client: one capability of its terminal.
    IDENTIFY_TERMINFO = 112;
    /// Client: a command list.
    COMMAND = 200;
    /// Server: the client was detached.
    DETACH = 201;
    /// Server: the client was detached and its parent is to be hung up.
    DETACHKILL = 202;
    /// Server: the commands are finished.
    EXIT = 203;
    /// Server: the answer to `EXITING`.
    EXITED = 204;
    /// Client: it is about to go.
    EXITING = 205;
    /// Server: lock the terminal with this shell command.
    LOCK = 206;
    /// Server: a terminal client is attached.
    READY = 207;
    /// Client: its terminal's size changed.
    RESIZE = 208;
    /// Both ways: the default shell is asked for, and given.
    SHELL = 209;
    /// Server: it is going down.
    SHUTDOWN = 210;
    /// Unused since 3.1.
    OLDSTDERR = 211;
    /// Unused since 3.1.
    OLDSTDIN = 212;
    /// Unused since 3.1.
    OLDSTDOUT = 213;
    /// Server: suspend the terminal client.
    SUSPEND = 214;
    /// Client: the terminal was unlocked.
    UNLOCK = 215;
    /// Client: it goes on after `SUSPEND`.
    WAKEUP = 216;
    /// Server: run a command in place of the client.
    EXEC = 217;
    /// Server: the client's new flags.
    FLAGS = 218;
    /// Server: open a file or standard input for reading.
    READ_OPEN = 300;
    /// Client: data that was read.
    READ = 301;
    /// Client: reading ended.
    READ_DONE = 302;
    /// Server: open a file or standard output for writing.
    WRITE_OPEN = 303;
    /// Server: data to write.
    WRITE = 304;
    /// Client: a stream can be written.
    WRITE_READY = 305;
    /// Server: writing ended.
    WRITE_CLOSE = 306;
    /// Server: stop reading.
    READ_CANCEL = 307;
    /// Client: what was written is stored (only asked for by clients that set a flag that is
    /// never set here).
    WRITE_DONE = 308;
}

impl std::fmt::Display for MessageType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "type {}", self.0),
        }
    }
}

impl std::fmt::Debug for MessageType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}
