//! Command lists, packed as the server reads them.

use bytes::{BufMut, BytesMut};

use super::{MessageError, Reader};
use crate::imsg::MAX_PAYLOAD;

/// Greatest length of a packed command list in bytes: every argument and its NUL.
pub const MAX_PACKED: usize = MAX_PAYLOAD - 4;
/// Greatest number of arguments of a command list, separators included (3.7 refuses more).
pub const MAX_ARGUMENTS: usize = 1_000;

/// What is reserved for a command at first: enough for most.
const TYPICAL_PACKED: usize = 128;
/// What stands between two commands.
const SEPARATOR: &[u8] = b";";

/// Why a command list cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CommandError {
    /// There is no command.
    Empty,
    /// A command has an empty name, which tmux would take as a prefix of every command.
    EmptyName,
    /// An argument holds a NUL byte, which would end it.
    Nul,
    /// The packed list is longer than the limit.
    TooLong {
        /// Its length in bytes, each argument with its NUL.
        length: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// Several lists that must arrive together are longer than the limit.
    BurstTooLong {
        /// Their length in bytes with what the client says of itself, its environment among it.
        length: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The list has more arguments than the limit.
    TooManyArguments {
        /// How many it has, separators included.
        count: usize,
        /// The limit.
        limit: usize,
    },
}

impl std::fmt::Display for CommandError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Empty => f.write_str("no command was given"),
            Self::EmptyName => f.write_str("a command has an empty name"),
            Self::Nul => f.write_str("an argument holds a NUL byte, which tmux cannot take"),
            Self::TooLong { length, limit } => write!(
                f,
                "the command list is {length} bytes long and {limit} fit into a message; send long \
                 data by standard input (load-buffer -, source-file -)"
            ),
            Self::BurstTooLong { length, limit } => write!(
                f,
                "the command lists and the environment are {length} bytes long and {limit} arrive \
                 together; run them one by one"
            ),
            Self::TooManyArguments { count, limit } => {
                write!(f, "the command list has {count} arguments and {limit} fit into a message")
            }
        }
    }
}

impl std::error::Error for CommandError {}

/// One tmux command: its name and arguments, each taken literally.
///
/// tmux ends a command at an argument that ends in `;`; such an argument is escaped here, so that
/// it arrives as it was given. Arguments that tmux itself expands (formats, times) still expand.
///
/// ```
/// use muxwire::protocol::Command;
///
/// let command = Command::new("send-keys").args(["-t", "%1", "-l", "--"]).arg("echo done;");
/// assert_eq!(command.name(), b"send-keys");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    packed: BytesMut,
    count: usize,
    fault: Option<CommandError>,
}

impl Command {
    /// A command without arguments.
    #[must_use]
    pub fn new(name: impl AsRef<[u8]>) -> Self {
        let fault = name.as_ref().is_empty().then_some(CommandError::EmptyName);
        let packed = BytesMut::with_capacity(TYPICAL_PACKED);
        Self { packed, count: 0, fault }.arg(name)
    }

    /// Adds one argument.
    #[must_use]
    pub fn arg(mut self, argument: impl AsRef<[u8]>) -> Self {
        let argument = argument.as_ref();
        if memchr::memchr(0, argument).is_some() {
            self.fault.get_or_insert(CommandError::Nul);
        }
        match argument.split_last() {
            Some((b';', before)) => {
                self.packed.put_slice(before);
                self.packed.put_slice(b"\\;\0");
            }
            _ => {
                self.packed.put_slice(argument);
                self.packed.put_u8(0);
            }
        }
        self.count += 1;
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(self, arguments: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Self {
        arguments.into_iter().fold(self, Self::arg)
    }

    /// The command's name.
    #[must_use]
    pub fn name(&self) -> &[u8] {
        self.packed.as_ref().split(|&byte| byte == 0).next().unwrap_or_default()
    }
}

/// Commands that the server runs one after the other, up to the first that fails.
///
/// ```
/// use muxwire::protocol::{Command, CommandList};
///
/// let one: CommandList = ["list-panes", "-a"].into();
/// let two = one.then(Command::new("display-message").args(["-p", "done"]));
/// assert_eq!(two.names().collect::<Vec<_>>(), [&b"list-panes"[..], b"display-message"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandList {
    packed: BytesMut,
    count: usize,
    fault: Option<CommandError>,
}

impl CommandList {
    /// A list without commands.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The list that a tmux command line gives: its arguments as they stand, where one that ends
    /// in `;` ends a command and one that ends in `\;` ends in a literal `;`.
    #[must_use]
    pub fn from_command_line(arguments: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Self {
        let mut list = Self::new();
        for argument in arguments {
            let argument = argument.as_ref();
            if memchr::memchr(0, argument).is_some() {
                list.fault.get_or_insert(CommandError::Nul);
            }
            list.push_packed(argument);
        }
        list
    }

    /// Adds a command behind the others.
    #[must_use]
    pub fn then(mut self, command: Command) -> Self {
        if self.count > 0 {
            self.packed.reserve(SEPARATOR.len() + 1 + command.packed.len());
            self.push_packed(SEPARATOR);
            self.packed.put_slice(&command.packed);
        } else {
            self.packed = command.packed;
        }
        self.count += command.count;
        self.fault = self.fault.or(command.fault);
        self
    }

    /// Adds the commands of another list behind these.
    #[must_use]
    pub fn join(mut self, other: &Self) -> Self {
        if self.count > 0 && other.count > 0 {
            self.push_packed(SEPARATOR);
        }
        self.packed.put_slice(&other.packed);
        self.count += other.count;
        self.fault = self.fault.or(other.fault);
        self
    }

    /// Length in bytes, each argument with its NUL.
    #[must_use]
    pub fn packed_len(&self) -> usize {
        self.packed.len()
    }

    /// Number of arguments, names and separators included.
    #[must_use]
    pub fn argument_count(&self) -> usize {
        self.count
    }

    /// The names of the commands, in order.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        let mut starts = true;
        self.arguments().filter_map(move |argument| {
            let (body, ends) = match argument.split_last() {
                Some((b';', before)) if before.last() != Some(&b'\\') => (before, true),
                _ => (argument, false),
            };
            let is_name = starts && !body.is_empty();
            starts = ends || (starts && body.is_empty());
            is_name.then_some(body)
        })
    }

    /// The packed arguments, in order, escapes included.
    fn arguments(&self) -> impl Iterator<Item = &[u8]> {
        self.packed
            .strip_suffix(b"\0")
            .into_iter()
            .flat_map(|packed| packed.split(|&byte| byte == 0))
    }

    /// Whether the list can be sent together with `reserve`, a list that is to stand behind it.
    ///
    /// # Errors
    ///
    /// [`CommandError`], with the limits less what `reserve` takes.
    pub fn check(&self, reserve: &Self) -> Result<(), CommandError> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        if self.count == 0 {
            return Err(CommandError::Empty);
        }
        let separator = if reserve.count > 0 { (SEPARATOR.len() + 1, 1) } else { (0, 0) };
        let limit = MAX_PACKED.saturating_sub(reserve.packed.len() + separator.0);
        if self.packed.len() > limit {
            return Err(CommandError::TooLong { length: self.packed.len(), limit });
        }
        let limit = MAX_ARGUMENTS.saturating_sub(reserve.count + separator.1);
        if self.count > limit {
            return Err(CommandError::TooManyArguments { count: self.count, limit });
        }
        Ok(())
    }

    /// Appends the `COMMAND` payload: the argument count and the packed arguments.
    pub(crate) fn encode(&self, to: &mut BytesMut) {
        to.put_i32_ne(i32::try_from(self.count).unwrap_or(i32::MAX));
        to.put_slice(&self.packed);
    }

    /// Reads a `COMMAND` payload.
    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, MessageError> {
        let count = reader.i32()?;
        let mut list = Self::new();
        while !reader.is_empty() {
            list.push_packed(reader.text()?);
        }
        if usize::try_from(count) == Ok(list.count) {
            Ok(list)
        } else {
            Err(MessageError::ArgumentCount { count })
        }
    }

    fn push_packed(&mut self, argument: &[u8]) {
        self.packed.put_slice(argument);
        self.packed.put_u8(0);
        self.count += 1;
    }
}

impl From<Command> for CommandList {
    fn from(command: Command) -> Self {
        Self::new().then(command)
    }
}

/// One command: a name and its arguments, taken literally.
impl<S: AsRef<[u8]>, const N: usize> From<[S; N]> for CommandList {
    fn from(command: [S; N]) -> Self {
        Self::from(&command[..])
    }
}

/// One command: a name and its arguments, taken literally.
impl<S: AsRef<[u8]>> From<&[S]> for CommandList {
    fn from(command: &[S]) -> Self {
        match command.split_first() {
            Some((name, arguments)) => Command::new(name).args(arguments).into(),
            None => Self::new(),
        }
    }
}

/// One command: a name and its arguments, taken literally.
impl<S: AsRef<[u8]>> From<Vec<S>> for CommandList {
    fn from(command: Vec<S>) -> Self {
        Self::from(&command[..])
    }
}

impl FromIterator<Command> for CommandList {
    fn from_iter<I: IntoIterator<Item = Command>>(commands: I) -> Self {
        commands.into_iter().fold(Self::new(), Self::then)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(list: &CommandList) -> &[u8] {
        &list.packed
    }

    #[test]
    fn an_argument_that_ends_in_a_semicolon_is_escaped_and_no_other() {
        let list = CommandList::from(["a", ";", "b;", "c\\;", ";d", ";;", "\\"]);
        assert_eq!(packed(&list), b"a\0\\;\0b\\;\0c\\\\;\0;d\0;\\;\0\\\0");
        assert_eq!(list.names().collect::<Vec<_>>(), [b"a"]);
    }

    #[test]
    fn commands_are_separated_and_a_command_line_is_left_as_it_is() {
        let list: CommandList =
            [Command::new("a").arg("x"), Command::new("b")].into_iter().collect();
        assert_eq!(packed(&list), b"a\0x\0;\0b\0");
        let line = CommandList::from_command_line(["a", "x;", "b", ";", ";", "c", "d\\;", "e;"]);
        assert_eq!(packed(&line), b"a\0x;\0b\0;\0;\0c\0d\\;\0e;\0");
        assert_eq!(line.names().collect::<Vec<_>>(), [b"a", b"b", b"c"]);
    }

    #[test]
    fn limits_count_what_is_to_follow_and_name_the_size() {
        let none = CommandList::new();
        let tail = CommandList::from(["tail"]);
        let list = |length: usize| CommandList::from(["a".to_owned(), "x".repeat(length - 3)]);
        assert_eq!(list(MAX_PACKED).check(&none), Ok(()));
        let limit = MAX_PACKED;
        let error = CommandError::TooLong { length: limit + 1, limit };
        assert_eq!(list(limit + 1).check(&none), Err(error));
        let limit = MAX_PACKED - 7; // "tail" and ";" with their NULs
        assert_eq!(list(limit).check(&tail), Ok(()));
        let error = CommandError::TooLong { length: limit + 1, limit };
        assert_eq!(list(limit + 1).check(&tail), Err(error));

        let many = |count: usize| CommandList::from(vec!["a"; count]);
        assert_eq!(many(1_000).check(&none), Ok(()));
        let error = CommandError::TooManyArguments { count: 1_001, limit: 1_000 };
        assert_eq!(many(1_001).check(&none), Err(error));
        assert_eq!(many(998).check(&tail), Ok(()));
        let error = CommandError::TooManyArguments { count: 999, limit: 998 };
        assert_eq!(many(999).check(&tail), Err(error));
    }

    #[test]
    fn what_tmux_would_misread_is_refused() {
        let check = |list: CommandList| list.check(&CommandList::new());
        assert_eq!(check(CommandList::new()), Err(CommandError::Empty));
        assert_eq!(check(CommandList::from([""])), Err(CommandError::EmptyName));
        assert_eq!(check(CommandList::from(["a", "b\0c"])), Err(CommandError::Nul));
        assert_eq!(check(CommandList::from_command_line(["a\0"])), Err(CommandError::Nul));
        let second = CommandList::from(["a"]).then(Command::new(""));
        assert_eq!(check(second), Err(CommandError::EmptyName));
    }

    #[test]
    fn a_count_that_disagrees_with_the_arguments_is_refused() {
        let kind = super::super::MessageType::COMMAND;
        for count in [-1i32, 0, 1, 3, i32::MAX] {
            let payload = [&count.to_ne_bytes()[..], b"a\0b\0"].concat();
            let found = CommandList::decode(&mut Reader::new(kind, &payload));
            assert_eq!(found, Err(MessageError::ArgumentCount { count }));
        }
    }
}
