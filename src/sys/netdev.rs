//! What a network device is called and where it sits. Pure values: nothing here asks the kernel.

use std::fmt;

use super::uapi::IFNAMSIZ;

/// The longest name: the kernel's field holds a terminating NUL too.
const NAME_LEN_MAX: usize = IFNAMSIZ - 1;

/// The name of a network device, of the form the kernel accepts (`dev_valid_name`).
///
/// Checked once, because the kernel cuts a longer name off, takes what stands before a colon for the name, and would
/// then answer for another device; and because the name also becomes part of paths under `/sys`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NetdevName {
    /// NUL-padded; UTF-8 up to the first NUL.
    bytes: [u8; IFNAMSIZ],
}

impl NetdevName {
    /// The device called `name`.
    ///
    /// # Errors
    ///
    /// If no network device can have that name.
    pub fn new(name: &str) -> Result<Self, BadNetdevName> {
        let allowed = !name.is_empty()
            && name.len() <= NAME_LEN_MAX
            && name != "."
            && name != ".."
            && !name.contains(|c: char| c == '/' || c == ':' || c == '\0' || c.is_whitespace());
        if !allowed {
            return Err(BadNetdevName(name.to_owned()));
        }
        let mut bytes = [0; IFNAMSIZ];
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        Ok(Self { bytes })
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let len = self.bytes.iter().position(|byte| *byte == 0).unwrap_or(NAME_LEN_MAX);
        // The only constructor copies a whole `str` without NUL, so this is always valid.
        str::from_utf8(&self.bytes[..len]).unwrap_or_default()
    }

    /// The name as the kernel's structures carry it: NUL-padded, always terminated.
    pub(super) const fn padded(self) -> [u8; IFNAMSIZ] {
        self.bytes
    }
}

impl std::str::FromStr for NetdevName {
    type Err = BadNetdevName;

    fn from_str(name: &str) -> Result<Self, BadNetdevName> {
        Self::new(name)
    }
}

impl fmt::Display for NetdevName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for NetdevName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// A text that names no network device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "network device name {0:?} is not of 1 to {NAME_LEN_MAX} bytes without slash, colon or blank, or is a dot name"
)]
pub struct BadNetdevName(String);

/// A device on a bus: what a network device is a function of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusDevice {
    /// "pci", "virtio", "auxiliary" (a scalable function) and so on.
    pub bus: String,
    /// Its name there; on PCI the address, "0000:3b:00.0".
    pub address: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_the_kernel_would_cut_or_misread_is_refused() {
        for name in ["", ".", "..", "sixteen-letters0", "a/b", "eth0:1", "a b", "a\0b", "a\tb"] {
            assert!(NetdevName::new(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn fifteen_bytes_are_a_name_and_read_back() {
        for name in ["e", "enp59s0f0np0", "fifteen-letters", "größte"] {
            assert_eq!(NetdevName::new(name).unwrap().as_str(), name);
        }
        assert_eq!(NetdevName::new("fifteen-letters").unwrap().padded()[15], 0);
    }
}
