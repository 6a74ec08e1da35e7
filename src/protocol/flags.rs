//! What a client may say of itself.

/// The bits of `IDENTIFY_FLAGS` and `IDENTIFY_LONGFLAGS` that a client may set.
///
/// The server ORs what a client sends into its own flags without masking, so a bit that is
/// internal to the server (attached, dead, identified …) would be believed. Those bits are absent
/// here and [`from_bits`](Self::from_bits) refuses them.
///
/// # Wire
///
/// `protocol-notes/02-messages.md`, note 2.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientFlags(u64);

impl ClientFlags {
    /// May not change anything.
    pub const READONLY: Self = Self(0x800);
    /// A control client (`-C`).
    pub const CONTROL: Self = Self(0x2000);
    /// A control client that speaks over one descriptor (`-CC`).
    pub const CONTROLCONTROL: Self = Self(0x4000);
    /// Reads UTF-8: without it every byte outside printable ASCII arrives as `_`.
    pub const UTF8: Self = Self(0x1_0000);
    /// Its size does not count for the windows that it shows (3.2 and later).
    pub const IGNORESIZE: Self = Self(0x2_0000);
    /// A control client that wants no pane output.
    pub const CONTROL_NOOUTPUT: Self = Self(0x400_0000);

    /// All bits that a client may set.
    const ALLOWED: u64 = Self::READONLY.0
        | Self::CONTROL.0
        | Self::CONTROLCONTROL.0
        | Self::UTF8.0
        | Self::IGNORESIZE.0
        | Self::CONTROL_NOOUTPUT.0;

    /// The flags of `bits`, or `None` if one is not a client's to set.
    #[must_use]
    pub fn from_bits(bits: u64) -> Option<Self> {
        (bits & !Self::ALLOWED == 0).then_some(Self(bits))
    }

    /// The bits as `IDENTIFY_LONGFLAGS` carries them.
    #[must_use]
    pub fn bits(self) -> u64 {
        self.0
    }

    /// The bits as `IDENTIFY_FLAGS` carries them; every allowed bit fits.
    #[must_use]
    pub fn low_bits(self) -> u32 {
        u32::try_from(self.0).unwrap_or_default()
    }
}

impl std::ops::BitOr for ClientFlags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_that_are_the_servers_own_cannot_be_built() {
        for bit in [0x2, 0x4, 0x40, 0x80, 0x100, 0x200, 0x40000, 0x40_0000_0000] {
            assert_eq!(ClientFlags::from_bits(bit), None, "{bit:#x}");
        }
        let both = ClientFlags::UTF8 | ClientFlags::CONTROL;
        assert_eq!(ClientFlags::from_bits(0x12000), Some(both));
        assert_eq!(both.low_bits(), 0x12000);
    }
}
