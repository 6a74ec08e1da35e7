//! Rows of fields whose framing survives any byte in them.

use bytes::Bytes;
use memchr::memmem::Finder;

use super::id::{PaneId, SessionId, WindowId};
use super::text::unescape;
use super::{Plan, Text};
use crate::client::{Error, fresh_bits};
use crate::exchange::TextEncoding;

/// A field that does not hold what its type says, or rows that do not end where they should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// tmux's name for the field.
    pub field: &'static str,
    /// Where in the reply, in bytes.
    pub offset: usize,
}

impl std::fmt::Display for DecodeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} does not hold what was expected, at byte {}", self.field, self.offset)
    }
}

impl std::error::Error for DecodeError {}

/// What text fields end with: random, so that no text holds it, and printable, so that every
/// release passes it on.
#[derive(Clone, Debug)]
pub(crate) struct Token(String);

impl Token {
    /// A token that was never used before.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) when the system gives no random
    /// bits.
    pub(crate) fn new() -> Result<Self, Error> {
        let bits = fresh_bits()? & 0xffff_ffff_ffff;
        Ok(Self(format!("|{bits:012x}")))
    }

    /// The token.
    #[must_use]
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// A value that a plain field can be read as.
pub(crate) trait Plain: Sized {
    /// Reads it; `None` if it is something else.
    fn read(text: &[u8]) -> Option<Self>;
}

macro_rules! plain_number {
    ($($number:ty),*) => {$(
        impl Plain for $number {
            fn read(text: &[u8]) -> Option<Self> {
                std::str::from_utf8(text).ok()?.parse().ok()
            }
        }
    )*};
}
plain_number!(u8, u32, i64, u64);

macro_rules! plain_id {
    ($($id:ty),*) => {$(
        impl Plain for $id {
            fn read(text: &[u8]) -> Option<Self> {
                Self::parse(text).ok()
            }
        }
    )*};
}
plain_id!(SessionId, WindowId, PaneId);

/// Reads the rows of a reply from front to back.
///
/// A plain field ends at a space. A text field ends at a token that was random when it was asked
/// for, so that nothing a text holds can be taken for its end.
#[derive(Debug)]
pub(crate) struct Row<'a> {
    reply: &'a Bytes,
    offset: usize,
    token: &'a Finder<'a>,
    encoding: TextEncoding,
}

impl<'a> Row<'a> {
    /// A reader at the start of `reply`.
    #[must_use]
    pub(crate) fn new(reply: &'a Bytes, token: &'a Finder<'a>, encoding: TextEncoding) -> Self {
        Self { reply, offset: 0, token, encoding }
    }

    /// Whether everything was read.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.rest().is_empty()
    }

    /// The bytes not yet read.
    #[must_use]
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.reply.get(self.offset..).unwrap_or_default()
    }

    /// Takes one byte if it is this one.
    pub(crate) fn take(&mut self, byte: u8) -> bool {
        let found = self.rest().first() == Some(&byte);
        self.offset += usize::from(found);
        found
    }

    /// Reads one row as `plan` says, up to its newline.
    pub(crate) fn row<P: Plan>(&mut self) -> Result<P, DecodeError> {
        let row = P::decode(self)?;
        if self.take(b'\n') { Ok(row) } else { Err(self.error("end of row")) }
    }

    /// A plain field that must be there.
    pub(crate) fn number<T: Plain>(&mut self, field: &'static str) -> Result<T, DecodeError> {
        let text = self.plain(field)?;
        T::read(text).ok_or_else(|| self.error(field))
    }

    /// An id that must be there.
    pub(crate) fn id<T: Plain>(&mut self, field: &'static str) -> Result<T, DecodeError> {
        self.number(field)
    }

    /// A plain field that may be empty.
    pub(crate) fn optional_number<T: Plain>(
        &mut self,
        field: &'static str,
    ) -> Result<Option<T>, DecodeError> {
        match self.plain(field)? {
            b"" => Ok(None),
            text => T::read(text).map(Some).ok_or_else(|| self.error(field)),
        }
    }

    /// A number where empty means none of what it counts or names.
    pub(crate) fn number_or_0(&mut self, field: &'static str) -> Result<u32, DecodeError> {
        Ok(self.optional_number(field)?.unwrap_or_default())
    }

    /// A flag: empty or 0 is false. tmux counts in some, so any other number is true.
    pub(crate) fn flag(&mut self, field: &'static str) -> Result<bool, DecodeError> {
        Ok(self.number_or_0(field)? != 0)
    }

    /// A text field.
    pub(crate) fn text(&mut self, field: &'static str) -> Result<Text, DecodeError> {
        let rest = self.rest();
        let end = self.token.find(rest).ok_or_else(|| self.error(field))?;
        let start = self.offset;
        self.offset += end + self.token.needle().len();
        let raw = self.reply.slice(start..start + end);
        Ok(unescape(&raw, self.encoding).into())
    }

    /// A text field in which empty means absent.
    pub(crate) fn optional_text(
        &mut self,
        field: &'static str,
    ) -> Result<Option<Text>, DecodeError> {
        Ok(Some(self.text(field)?).filter(|text| !text.is_empty()))
    }

    fn plain(&mut self, field: &'static str) -> Result<&'a [u8], DecodeError> {
        let rest = self.rest();
        let end = memchr::memchr(b' ', rest).ok_or_else(|| self.error(field))?;
        self.offset += end + 1;
        Ok(rest.get(..end).unwrap_or_default())
    }

    fn error(&self, field: &'static str) -> DecodeError {
        DecodeError { field, offset: self.offset }
    }
}
