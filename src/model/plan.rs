//! Which fields are asked for, and how each is read.

/// How a field is asked for and where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldKind {
    /// Never holds a space: ends at one.
    Plain,
    /// May hold any byte: quoted, and ends at a random token.
    Text,
}

/// One field: tmux's name for it and how it is read.
pub(crate) type Field = (&'static str, FieldKind);

/// What a row is asked for as and read as; made by [`entity!`].
pub(crate) trait Plan: Sized {
    /// The fields in the order of the row.
    const FIELDS: &'static [Field];

    /// Reads the fields in the same order.
    fn decode(row: &mut super::Row<'_>) -> Result<Self, super::DecodeError>;

    /// The format that makes the server print a row.
    fn format(token: &super::Token) -> String {
        let mut format = String::with_capacity(Self::FIELDS.len() * 32);
        for (name, kind) in Self::FIELDS {
            let (quote, end) = match kind {
                FieldKind::Plain => ("", " "),
                FieldKind::Text => ("q:", token.as_str()),
            };
            format.extend(["#{", quote, name, "}", end]);
        }
        format
    }
}

/// A struct whose fields are read from a row: each names its reader and tmux's variable.
///
/// Readers: `id`, `number`, `number_or_0`, `optional_number`, `flag` (plain), `text`,
/// `optional_text` (quoted).
///
/// As JSON it is an object of its fields, with `replaced_bytes` for what of its texts is not UTF-8,
/// if there is any.
macro_rules! entity {
    (@kind text) => { $crate::model::FieldKind::Text };
    (@kind optional_text) => { $crate::model::FieldKind::Text };
    (@kind $reader:ident) => { $crate::model::FieldKind::Plain };
    (@replaced text $value:expr) => { $value.replaced_bytes() };
    (@replaced optional_text $value:expr) => {
        $value.as_ref().map_or(0, $crate::model::Text::replaced_bytes)
    };
    (@replaced $reader:ident $value:expr) => { 0 };
    (
        $(#[$meta:meta])*
        $visibility:vis struct $name:ident {
            $($(#[$field_meta:meta])* $field:ident: $type:ty = $reader:ident($variable:literal),)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        $visibility struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        impl $crate::model::Plan for $name {
            const FIELDS: &'static [$crate::model::Field] = &[
                $(($variable, $crate::model::entity!(@kind $reader)),)*
            ];

            fn decode(
                row: &mut $crate::model::Row<'_>,
            ) -> Result<Self, $crate::model::DecodeError> {
                Ok(Self { $($field: row.$reader($variable)?,)* })
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(
                &self,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap;
                let mut map = serializer.serialize_map(None)?;
                $(map.serialize_entry(stringify!($field), &self.$field)?;)*
                let replaced: usize =
                    [$($crate::model::entity!(@replaced $reader self.$field)),*].into_iter().sum();
                if replaced > 0 {
                    map.serialize_entry("replaced_bytes", &replaced)?;
                }
                map.end()
            }
        }
    };
}
pub(crate) use entity;
