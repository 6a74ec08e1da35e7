//! Which server instance this process speaks of, and references that hold only there.

use super::failure::{Code, Delivery, Failure};
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
pub(crate) struct Binding<I>(Mutex<State<I>>);

#[derive(Debug)]
struct State<I> {
    bound: Option<(I, Generation)>,
    /// How often it was bound.
    times: u64,
}

/// An exchange that has begun.
#[derive(Debug)]
#[must_use]
pub(crate) struct Begun<I> {
    /// The instance that must answer, if it must be a certain one.
    demanded: Option<I>,
    /// How often the binding had been bound before.
    times: u64,
}

impl<I: Clone + PartialEq> Binding<I> {
    /// Bound to nothing yet.
    pub(crate) fn new() -> Self {
        Self(Mutex::new(State { bound: None, times: 0 }))
    }

    /// Begins an exchange, before anything is sent. A generation demands that its instance answers.
    ///
    /// # Errors
    /// `stale_target` when the generation is not this binding's.
    pub(crate) fn begin(&self, demanded: Option<Generation>) -> Result<Begun<I>, Failure> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let demanded = match (demanded, &state.bound) {
            (None, _) => None,
            (Some(demanded), Some((identity, generation))) if *generation == demanded => {
                Some(identity.clone())
            }
            _ => {
                return Err(Failure::new(
                    Code::StaleTarget,
                    "The generation is of another server instance or another run; list again and use a new ref or id.",
                ));
            }
        };
        Ok(Begun { demanded, times: state.times })
    }

    /// Tells which instance answered an exchange. The same one keeps its generation; another gets a new one, and every
    /// reference of the old one is stale from then on.
    ///
    /// # Errors
    /// `stale_target` when another instance was demanded; `server_gone` when another was bound after the exchange began,
    /// so that which of the two is there now is not known; `unsupported` when there are no random bytes.
    pub(crate) fn observe(&self, begun: &Begun<I>, identity: &I) -> Result<Generation, Failure> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let generation = match &state.bound {
            Some((bound, generation)) if bound == identity => *generation,
            _ if state.times != begun.times => {
                let message = "The tmux server was replaced during the call, and the answer is another's than the one that is there now. List again.";
                return Err(
                    Failure::new(Code::ServerGone, message).delivery(Delivery::PossiblySent)
                );
            }
            _ => {
                let generation = Generation::mint()?;
                state.bound = Some((identity.clone(), generation));
                state.times += 1;
                generation
            }
        };
        match &begun.demanded {
            Some(demanded) if demanded != identity => {
                let message = "The server was restarted since the ref was given: its ids mean something else now. List again.";
                Err(Failure::new(Code::StaleTarget, message).delivery(Delivery::Observed))
            }
            _ => Ok(generation),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_instance_has_one_generation_and_another_has_another() {
        let binding = Binding::new();
        let seen = |identity| binding.observe(&binding.begin(None).unwrap(), &identity).unwrap();
        let first = seen(("inode 1", 10));
        assert_eq!(seen(("inode 1", 10)), first);
        assert!(binding.begin(Some(first)).is_ok());
        let second = seen(("inode 1", 11));
        assert_ne!(first, second);
        assert_eq!(binding.begin(Some(first)).unwrap_err().code, Code::StaleTarget);
        // Going back to the first instance is no way back to its generation.
        assert_ne!(seen(("inode 1", 10)), first);
    }

    #[test]
    fn another_instance_than_the_demanded_is_bound_and_its_answer_refused() {
        let binding = Binding::new();
        let first = binding.observe(&binding.begin(None).unwrap(), &10).unwrap();
        let begun = binding.begin(Some(first)).unwrap();
        let failure = binding.observe(&begun, &11).unwrap_err();
        assert_eq!((failure.code, failure.delivery), (Code::StaleTarget, Delivery::Observed));
        assert_eq!(binding.begin(Some(first)).unwrap_err().code, Code::StaleTarget);
    }

    #[test]
    fn a_reply_that_comes_late_never_binds_to_an_instance_that_was_replaced() {
        let binding = Binding::new();
        let slow = binding.begin(None).unwrap();
        binding.observe(&binding.begin(None).unwrap(), &10).unwrap();
        // Begun before the first binding or after it, as long as it was before the second.
        let (late, fast) = (binding.begin(None).unwrap(), binding.begin(None).unwrap());
        let new = binding.observe(&fast, &11).unwrap();
        for old in [&slow, &late] {
            let failure = binding.observe(old, &10).unwrap_err();
            assert_eq!(
                (failure.code, failure.delivery),
                (Code::ServerGone, Delivery::PossiblySent)
            );
            assert!(binding.begin(Some(new)).is_ok(), "it stays bound");
            // The one that is there now may have answered all the same.
            assert_eq!(binding.observe(old, &11).unwrap(), new);
        }
        // What begins now is believed again.
        assert_ne!(binding.observe(&binding.begin(None).unwrap(), &12).unwrap(), new);
    }

    #[test]
    fn nothing_is_valid_before_the_first_contact() {
        let binding: Binding<u8> = Binding::new();
        let foreign = Generation::mint().unwrap();
        assert_eq!(binding.begin(Some(foreign)).unwrap_err().code, Code::StaleTarget);
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
