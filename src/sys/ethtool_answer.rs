//! Decodes what the kernel writes into the buffer of an ethtool request. Safe code on bytes: whatever stands there, the
//! result is an answer or a named error.

use super::ethtool::{DriverInfo, EthtoolError, PauseParam};
use super::ethtool_ioctl::STATS_MAX;
use super::netdev::NetdevName;
use super::uapi::*;

impl DriverInfo {
    /// What stands in a `struct ethtool_drvinfo`.
    #[must_use]
    pub fn decode(answer: &[u8; DRVINFO_LEN]) -> Self {
        let field = |offset: usize| text(&answer[offset..offset + DRVINFO_STRING_LEN]);
        let optional = |offset| Some(field(offset)).filter(|text| !text.is_empty());
        Self {
            driver: field(DRVINFO_DRIVER),
            version: optional(DRVINFO_VERSION),
            firmware_version: optional(DRVINFO_FW_VERSION),
            bus_info: optional(DRVINFO_BUS_INFO),
        }
    }
}

impl PauseParam {
    /// What stands in a `struct ethtool_pauseparam`.
    #[must_use]
    pub fn decode(answer: &[u8; PAUSEPARAM_LEN]) -> Self {
        let is_on = |offset| u32_at(answer, offset) != 0;
        Self { autoneg: is_on(PAUSEPARAM_AUTONEG), rx: is_on(PAUSEPARAM_RX), tx: is_on(PAUSEPARAM_TX) }
    }
}

/// The number in a `struct ethtool_sset_info` with room for one set.
///
/// # Errors
///
/// If the device claims more statistics than any driver is known to have.
pub fn stat_count(netdev: NetdevName, answer: &[u8; SSET_INFO_DATA + 4]) -> Result<u32, EthtoolError> {
    // The kernel clears the bit of a set that the device does not have.
    if u64_at(answer, SSET_INFO_MASK) == 0 {
        return Ok(0);
    }
    let count = u32_at(answer, SSET_INFO_DATA);
    if count > STATS_MAX {
        return Err(EthtoolError::TooManyStats { netdev, count });
    }
    Ok(count)
}

/// The names in a `struct ethtool_gstrings`, of which there have to be `expected`.
///
/// # Errors
///
/// If the answer says, or has room for, another number.
pub fn stat_names(netdev: NetdevName, expected: u32, answer: &[u8]) -> Result<Vec<String>, EthtoolError> {
    let entries = entries(netdev, expected, answer, GSTRINGS_COUNT, GSTRINGS_DATA, ETH_GSTRING_LEN)?;
    Ok(entries.chunks_exact(ETH_GSTRING_LEN).map(text).collect())
}

/// Adds the values in a `struct ethtool_stats`, of which there have to be `expected`.
///
/// # Errors
///
/// If the answer says, or has room for, another number; `values` is left alone then.
pub fn stats(
    netdev: NetdevName,
    expected: u32,
    answer: &[u8],
    values: &mut Vec<u64>,
) -> Result<(), EthtoolError> {
    let entries = entries(netdev, expected, answer, STATS_COUNT, STATS_DATA, size_of::<u64>())?;
    values.extend(entries.chunks_exact(size_of::<u64>()).map(|word| u64_at(word, 0)));
    Ok(())
}

/// The bytes of the entries behind a head that counts them.
fn entries(
    netdev: NetdevName,
    expected: u32,
    answer: &[u8],
    count_at: usize,
    data_at: usize,
    entry_len: usize,
) -> Result<&[u8], EthtoolError> {
    let short = EthtoolError::CountChanged { netdev, expected, got: 0 };
    let Some(count) = answer.get(count_at..count_at + size_of::<u32>()) else { return Err(short) };
    expect_count(netdev, expected, u32_at(count, 0))?;
    (expected as usize).checked_mul(entry_len).and_then(|len| answer.get(data_at..)?.get(..len)).ok_or(short)
}

/// That the device has as many statistics as names were read.
pub(super) const fn expect_count(netdev: NetdevName, expected: u32, got: u32) -> Result<(), EthtoolError> {
    if got == expected { Ok(()) } else { Err(EthtoolError::CountChanged { netdev, expected, got }) }
}

/// A fixed-width string of the kernel: padded with NUL but not always ended by one, and by some drivers (cxgb4) padded
/// with blanks. What is not UTF-8 is replaced, for a name has to be shown.
fn text(field: &[u8]) -> String {
    let used = field.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(used).trim().to_owned()
}

/// # Panics
///
/// If the field does not lie in `buffer`: the offsets are constants and the buffers are made for them.
fn u32_at(buffer: &[u8], offset: usize) -> u32 {
    let mut field = [0; 4];
    field.copy_from_slice(&buffer[offset..offset + 4]);
    u32::from_ne_bytes(field)
}

/// Like [`u32_at`], of eight bytes.
fn u64_at(buffer: &[u8], offset: usize) -> u64 {
    let mut field = [0; 8];
    field.copy_from_slice(&buffer[offset..offset + 8]);
    u64::from_ne_bytes(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn netdev() -> NetdevName {
        NetdevName::new("eth7").unwrap()
    }

    #[test]
    fn a_name_that_fills_its_field_has_no_terminator_and_is_whole() {
        assert_eq!(text(b"rx_prio3_pause_duration_of_queue"), "rx_prio3_pause_duration_of_queue");
        assert_eq!(text(b"rx_prio3_pause\0garbage behind it\0"), "rx_prio3_pause");
    }

    #[test]
    fn blanks_that_pad_a_name_are_cut_and_an_empty_name_stays_in_its_place() {
        assert_eq!(text(b"tx_ppp0_frames         \0\0\0\0\0\0\0\0"), "tx_ppp0_frames");
        assert_eq!(text(&[0; ETH_GSTRING_LEN]), "");
        assert_eq!(text(b"\xffpause\0"), "\u{fffd}pause");
    }

    #[test]
    fn a_count_other_than_expected_is_an_error_also_when_it_is_zero() {
        assert!(expect_count(netdev(), 20, 20).is_ok());
        for got in [0, 19, 21] {
            let error = expect_count(netdev(), 20, got).unwrap_err();
            assert!(matches!(error, EthtoolError::CountChanged { expected: 20, got: n, .. } if n == got));
        }
    }
}
