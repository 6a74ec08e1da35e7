//! What every command list ends with, and what it proves.

use bytes::Bytes;
use memchr::memmem;

use crate::protocol::{Command, CommandList};

/// 128 random bits that no output can hold by accident or by design.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Nonce([u8; 32]);

impl Nonce {
    /// The nonce of these bits; they must be fresh and random for each exchange.
    #[must_use]
    pub fn from_bits(bits: u128) -> Self {
        let mut hex = [b'0'; 32];
        for (digit, shift) in hex.iter_mut().rev().zip((0..128).step_by(4)) {
            let nibble = u8::try_from((bits >> shift) & 0xf).unwrap_or_default();
            *digit = if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 };
        }
        Self(hex)
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl std::fmt::Debug for Nonce {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Nonce")
    }
}

/// How a server passes on control and invalid bytes in what commands print.
///
/// # Wire
///
/// `protocol-notes/04-commands.md`, note 4.6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TextEncoding {
    /// Every byte as it is: all releases but those of the other two.
    Raw,
    /// Control and invalid bytes as backslash escapes: 3.5 and 3.5a.
    Escaped,
    /// As [`Escaped`](Self::Escaped), and a backslash before a `$` that a name could follow: 3.4.
    EscapedDollar,
}

/// What a server says of itself at the end of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerStamp {
    /// Process id of the server.
    pub pid: u32,
    /// When the server started, in seconds since the epoch.
    pub start_time: u64,
    /// The server's version as it gives it, such as `3.3a` or `next-3.8`.
    pub version: Bytes,
    /// How it passes on control bytes, as seen in this very reply.
    pub encoding: TextEncoding,
}

/// What the last command of a list prints: a nonce and the server's stamp.
///
/// A reply that ends in it is whole and came from the server that the stamp names. It took one
/// round trip if anything was printed before it: the server pushes everything at the second print
/// and waits at the first. A list that prints nothing gets a [`spacer`](Self::spacer) for that.
///
/// # Wire
///
/// `protocol-notes/04-commands.md`, notes 4.3 and 4.4.
#[derive(Clone, Copy, Debug)]
pub struct Proof {
    nonce: Nonce,
    group: usize,
}

impl Proof {
    /// The proof of the command list with number `group` of an exchange.
    #[must_use]
    pub fn new(nonce: Nonce, group: usize) -> Self {
        Self { nonce, group }
    }

    /// The nonce.
    #[must_use]
    pub fn nonce(&self) -> Nonce {
        self.nonce
    }

    /// The command that prints the proof.
    #[must_use]
    pub fn command(&self) -> Command {
        print(&format!("{} {}", self.mark_text(), ServerStamp::FORMAT))
    }

    /// The command that goes before the proof of a list that prints nothing by itself. Where it is
    /// missing the reply takes one round trip more and is the same.
    #[must_use]
    pub fn spacer(&self) -> Command {
        print(self.nonce.as_str())
    }

    /// The command that marks where the output of the group ends, however it ended.
    #[must_use]
    pub fn mark(&self) -> CommandList {
        print(&self.mark_text()).into()
    }

    /// Splits `stdout` at the mark: what was printed before it, and what after.
    #[must_use]
    pub fn split_at_mark(&self, stdout: &Bytes) -> Option<(Bytes, Bytes)> {
        let line = self.mark_text() + "\n";
        let start = memmem::find(stdout, line.as_bytes())?;
        Some((stdout.slice(..start), stdout.slice(start + line.len()..)))
    }

    /// Takes the proof out of `stdout`: what was printed without it, and the server's stamp.
    ///
    /// `None` when it is not there: the list stopped at an error, or the reply is not whole.
    #[must_use]
    pub fn take(&self, stdout: &Bytes) -> Option<(Bytes, ServerStamp)> {
        let start_of_line = self.mark_text() + " ";
        let start = memmem::rfind(stdout, start_of_line.as_bytes())?;
        let body = start + start_of_line.len();
        let end = body + memchr::memchr(b'\n', stdout.get(body..)?)?;
        let stamp = ServerStamp::parse(&stdout.slice(body..end))?;
        let rest = stdout.get(end + 1..)?;
        let spacer = [self.nonce.as_str().as_bytes(), b"\n"].concat();
        let printed = stdout.get(..start)?;
        let before = stdout.slice_ref(printed.strip_suffix(&spacer[..]).unwrap_or(printed));
        if rest.is_empty() {
            return Some((before, stamp));
        }
        if before.is_empty() {
            return Some((stdout.slice_ref(rest), stamp));
        }
        // Something printed from the background after the list had ended.
        Some((Bytes::from([&before, rest].concat()), stamp))
    }

    fn mark_text(&self) -> String {
        format!("{} {}", self.nonce.as_str(), self.group)
    }
}

/// The command that prints a format. Unlike `display-message -p` it looks for no target, which on
/// 3.1 fails on a server without sessions, so that it cannot fail where the list succeeded.
fn print(format: &str) -> Command {
    Command::new("list-commands").args(["-F", format, "kill-server"])
}

impl ServerStamp {
    /// The format that gives a stamp. Its last field shows by how it arrives which
    /// [`TextEncoding`] the server has.
    const FORMAT: &str = "#{pid} #{start_time} #{version} \u{1}$a";

    /// Reads what [`FORMAT`](Self::FORMAT) gave, without a newline.
    fn parse(line: &Bytes) -> Option<Self> {
        let mut fields = line.splitn(4, |&byte| byte == b' ');
        let pid = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
        let start_time = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
        // A copy, for whoever holds it would hold the whole output with it.
        let version = Bytes::copy_from_slice(fields.next()?);
        let encoding = match fields.next()? {
            b"\x01$a" => TextEncoding::Raw,
            b"\\001$a" => TextEncoding::Escaped,
            b"\\001\\$a" => TextEncoding::EscapedDollar,
            _ => return None,
        };
        Some(Self { pid, start_time, version, encoding })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proof() -> Proof {
        Proof::new(Nonce::from_bits(0x0123_4567_89ab_cdef_0000_0000_0000_00ff), 2)
    }

    const LINE: &str = "0123456789abcdef00000000000000ff 2 42 1700000000 3.3a \u{1}$a\n";

    #[test]
    fn a_proof_is_taken_out_and_names_the_server() {
        let stdout = Bytes::from(format!("one\ntwo\n{LINE}"));
        let (before, stamp) = proof().take(&stdout).unwrap();
        assert_eq!(before, "one\ntwo\n");
        assert_eq!((stamp.pid, stamp.start_time), (42, 1_700_000_000));
        assert_eq!(stamp.version, "3.3a");
        assert_eq!(stamp.encoding, TextEncoding::Raw);
    }

    #[test]
    fn the_probe_tells_the_encodings_apart() {
        for (probe, encoding) in
            [("\\001$a", TextEncoding::Escaped), ("\\001\\$a", TextEncoding::EscapedDollar)]
        {
            let stdout = Bytes::from(LINE.replace("\u{1}$a", probe));
            assert_eq!(proof().take(&stdout).unwrap().1.encoding, encoding);
        }
        let stdout = Bytes::from(LINE.replace("\u{1}$a", "_$a"));
        assert_eq!(proof().take(&stdout), None, "a server that does not pass UTF-8 on");
    }

    #[test]
    fn every_cut_of_a_reply_is_seen_not_to_be_whole() {
        let whole = format!("x\n{LINE}");
        for end in 0..whole.len() {
            let stdout = Bytes::from(whole[..end].to_owned());
            assert_eq!(proof().take(&stdout), None, "cut to {end}");
        }
    }

    #[test]
    fn output_from_the_background_after_the_proof_is_kept() {
        let stdout = Bytes::from(format!("x\n{LINE}late\n"));
        assert_eq!(proof().take(&stdout).unwrap().0, "x\nlate\n");
    }

    #[test]
    fn a_spacer_is_taken_out_with_the_proof() {
        let nonce = "0123456789abcdef00000000000000ff";
        for before in ["", "x\n"] {
            let stdout = Bytes::from(format!("{before}{nonce}\n{LINE}"));
            assert_eq!(proof().take(&stdout).unwrap().0, before);
        }
    }

    #[test]
    fn a_mark_splits_groups_and_is_not_mistaken_for_a_proof() {
        let proof = proof();
        let mark = proof.mark_text();
        let stdout = Bytes::from(format!("x\n{LINE}{mark}\nnext\n"));
        let (own, rest) = proof.split_at_mark(&stdout).unwrap();
        assert_eq!(rest, "next\n");
        assert_eq!(proof.take(&own).unwrap().0, "x\n");
        let failed = Bytes::from(format!("x\n{mark}\n"));
        assert_eq!(proof.take(&proof.split_at_mark(&failed).unwrap().0), None);
    }
}
