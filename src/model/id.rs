//! Ids of sessions, windows and panes.

/// Why a text is not an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdError {
    sigil: char,
}

impl std::fmt::Display for IdError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "not an id: expected {} and a decimal number, such as {0}1", self.sigil)
    }
}

impl std::error::Error for IdError {}

macro_rules! id {
    ($name:ident, $sigil:literal, $what:literal) => {
        #[doc = concat!("The id of a ", $what, ", such as `", $sigil, "1`.")]
        ///
        /// The server never gives one twice while it lives; another server starts anew. Parsed
        /// strictly, since tmux reads a malformed one as something else.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            /// The id with this number.
            #[must_use]
            pub const fn new(number: u32) -> Self {
                Self(number)
            }

            /// The number behind the sign.
            #[must_use]
            pub const fn number(self) -> u32 {
                self.0
            }

            /// Reads an id.
            ///
            /// # Errors
            ///
            /// [`IdError`] for anything but the sign and a number without leading zeros under
            /// 2³².
            pub fn parse(text: &[u8]) -> Result<Self, IdError> {
                let error = IdError { sigil: $sigil };
                let digits = match text {
                    [sign, b'0'] if char::from(*sign) == $sigil => return Ok(Self(0)),
                    [sign, digits @ ..] if char::from(*sign) == $sigil => digits,
                    _ => return Err(error),
                };
                if !matches!(digits.first(), Some(b'1'..=b'9')) {
                    return Err(error);
                }
                std::str::from_utf8(digits)
                    .ok()
                    .and_then(|digits| digits.parse().ok())
                    .map(Self)
                    .ok_or(error)
            }
        }

        impl std::str::FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::parse(text.as_bytes())
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}{}", $sigil, self.0)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    };
}

id!(SessionId, '$', "session");
id!(WindowId, '@', "window");
id!(PaneId, '%', "pane");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_round_trips() {
        for number in [0, 1, 9, 10, 4_294_967_295] {
            assert_eq!(PaneId::new(number).to_string().parse(), Ok(PaneId::new(number)));
            assert_eq!(SessionId::new(number).to_string().parse(), Ok(SessionId::new(number)));
            assert_eq!(WindowId::new(number).to_string().parse(), Ok(WindowId::new(number)));
        }
    }

    #[test]
    fn what_tmux_would_read_as_something_else_is_refused() {
        for text in [
            "",
            "%",
            "1",
            "pane1",
            "%01",
            "%00",
            "%-1",
            "%+1",
            "% 1",
            "%1 ",
            "%1.0",
            "%4294967296",
            "%1%",
            "@1",
            "$1",
            "%99999999999999999999",
            "%\u{661}",
        ] {
            assert_eq!(text.parse::<PaneId>(), Err(IdError { sigil: '%' }), "{text:?}");
        }
    }
}
