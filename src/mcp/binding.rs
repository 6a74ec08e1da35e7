//! Which server instance this process speaks of, and references that hold only there.

use super::failure::{Code, Failure};
use crate::model::{PaneId, SessionId, WindowId};
use serde::{Serialize, Serializer};
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// A random 128-bit number for one binding to one server instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Generation(u128);

impl Generation {
    /// A new one from the system's randomness.
    fn mint() -> Result<Self, Failure> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)
            .map_err(|_| Failure::new(Code::Unsupported, "The system gives no random bytes."))?;
        Ok(Self(u128::from_ne_bytes(bytes)))
    }

    /// Reads the form that [`fmt::Display`] writes: exactly 32 lower-case hex digits.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let plain =
            text.len() == 32 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        plain.then(|| u128::from_str_radix(text, 16).ok().map(Self)).flatten()
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// What a reference points at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// A session.
    Session(SessionId),
    /// A window.
    Window(WindowId),
    /// A pane.
    Pane(PaneId),
    /// A window at its place in one session.
    Link(WindowId, SessionId, u32),
}

impl Place {
    /// The kind on the wire.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::Session(_) => "session",
            Self::Window(_) => "window",
            Self::Pane(_) => "pane",
            Self::Link(..) => "window_link",
        }
    }
}

/// A place and the generation in which it means something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reference {
    /// The binding that gave it.
    pub(crate) generation: Generation,
    /// What it points at.
    pub(crate) place: Place,
}

impl Serialize for Reference {
    /// The `ref` of an answer.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Wire<'a> {
            generation: String,
            kind: &'a str,
            id: String,
            #[serde(skip_serializing_if = "Option::is_none")]
            session_id: Option<SessionId>,
            #[serde(skip_serializing_if = "Option::is_none")]
            index: Option<u32>,
        }
        let (id, session_id, index) = match self.place {
            Place::Session(id) => (id.to_string(), None, None),
            Place::Window(id) => (id.to_string(), None, None),
            Place::Pane(id) => (id.to_string(), None, None),
            Place::Link(id, session, index) => (id.to_string(), Some(session), Some(index)),
        };
        let (generation, kind) = (self.generation.to_string(), self.place.kind());
        Wire { generation, kind, id, session_id, index }.serialize(serializer)
    }
}

/// The binding to one server instance. `I` is the library's server identity: device and inode of the socket, pid and
/// start time; two identities are the same instance exactly when they are equal.
#[derive(Debug)]
pub(crate) struct Binding<I>(Mutex<Option<(I, Generation)>>);

impl<I: Clone + PartialEq> Binding<I> {
    /// Bound to nothing yet.
    pub(crate) fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Tells which instance answered. The same one keeps its generation; another gets a new one, and every reference
    /// of the old one is stale from then on.
    ///
    /// # Errors
    /// `unsupported` when there are no random bytes.
    pub(crate) fn observe(&self, identity: &I) -> Result<Generation, Failure> {
        let mut bound = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, generation)) = &*bound
            && known == identity
        {
            return Ok(*generation);
        }
        let generation = Generation::mint()?;
        *bound = Some((identity.clone(), generation));
        Ok(generation)
    }

    /// The identity that a generation demands of the server, to be checked in the same round trip as the operation.
    ///
    /// # Errors
    /// `stale_target` when the generation is not this binding's.
    pub(crate) fn demands(&self, demanded: Generation) -> Result<I, Failure> {
        match &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Some((identity, generation)) if *generation == demanded => Ok(identity.clone()),
            _ => Err(Failure::new(
                Code::StaleTarget,
                "The generation is of another server instance or another run; list again and use a new ref or id.",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_instance_has_one_generation_and_another_has_another() {
        let binding = Binding::new();
        let first = binding.observe(&("inode 1", 10)).unwrap();
        assert_eq!(binding.observe(&("inode 1", 10)).unwrap(), first);
        assert_eq!(binding.demands(first).unwrap(), ("inode 1", 10));
        let second = binding.observe(&("inode 1", 11)).unwrap();
        assert_ne!(first, second);
        assert_eq!(binding.demands(first).unwrap_err().code, Code::StaleTarget);
        // Going back to the first instance is no way back to its generation.
        assert_ne!(binding.observe(&("inode 1", 10)).unwrap(), first);
    }

    #[test]
    fn nothing_is_valid_before_the_first_contact() {
        let binding: Binding<u8> = Binding::new();
        let foreign = Generation::mint().unwrap();
        assert_eq!(binding.demands(foreign).unwrap_err().code, Code::StaleTarget);
    }

    #[test]
    fn generations_are_written_and_read_as_32_hex_digits() {
        let generation = Generation(0xab);
        let text = generation.to_string();
        assert_eq!(text, "000000000000000000000000000000ab");
        assert_eq!(Generation::read(&text), Some(generation));
        for bad in [
            "",
            "ab",
            &text[1..],
            &text.to_uppercase(),
            &format!("+{}", &text[1..]),
            &format!("{text}0"),
        ] {
            assert_eq!(Generation::read(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_link_also_names_its_session_and_index() {
        let place = Place::Link("@2".parse().unwrap(), "$1".parse().unwrap(), 4);
        assert_eq!(
            serde_json::to_value(Reference { generation: Generation(1), place }).unwrap(),
            serde_json::json!({"generation": Generation(1).to_string(), "kind": "window_link", "id": "@2",
                "session_id": "$1", "index": 4})
        );
    }
}
