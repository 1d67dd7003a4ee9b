//! What a driver tells through ethtool's netlink family: 802.3x pause and what is counted of it, forward error
//! correction, coalescing, the state of the link, and the counters the standards name. What it does not tell is `None`.

use super::netlink_wire::{Malformed, attributes, u32_of, u64_of};
use super::uapi::*;

/// 802.3x (global) pause as configured, and what was counted of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PauseState {
    /// Pause is negotiated with the peer.
    pub autoneg: Option<bool>,
    /// Received pause frames are obeyed.
    pub rx: Option<bool>,
    /// Pause frames are sent.
    pub tx: Option<bool>,
    /// Pause frames received.
    pub rx_frames: Option<u64>,
    /// Pause frames sent.
    pub tx_frames: Option<u64>,
    /// Pause storms sent by this port that the NIC itself broke off.
    pub tx_storm_events: Option<u64>,
}

impl PauseState {
    /// The pause in the attributes of a reply.
    ///
    /// # Errors
    ///
    /// If they are malformed.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut pause = Self::default();
        for attribute in attributes(bytes) {
            match attribute? {
                (ETHTOOL_A_PAUSE_AUTONEG, value) => pause.autoneg = flag_of(value),
                (ETHTOOL_A_PAUSE_RX, value) => pause.rx = flag_of(value),
                (ETHTOOL_A_PAUSE_TX, value) => pause.tx = flag_of(value),
                (ETHTOOL_A_PAUSE_STATS, nest) => pause.take_counts(nest)?,
                _ => {}
            }
        }
        Ok(pause)
    }

    fn take_counts(&mut self, nest: &[u8]) -> Result<(), Malformed> {
        for attribute in attributes(nest) {
            match attribute? {
                (ETHTOOL_A_PAUSE_STAT_RX_FRAMES, value) => self.rx_frames = u64_of(value),
                (ETHTOOL_A_PAUSE_STAT_TX_FRAMES, value) => self.tx_frames = u64_of(value),
                (ETHTOOL_A_PAUSE_STAT_TX_PAUSE_STORM_EVENTS, value) => self.tx_storm_events = u64_of(value),
                _ => {}
            }
        }
        Ok(())
    }
}

/// What forward error correction has done, all lanes together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FecCounts {
    /// Blocks repaired.
    pub corrected_blocks: Option<u64>,
    /// Blocks that could not be repaired.
    pub uncorrectable_blocks: Option<u64>,
    /// Bits repaired.
    pub corrected_bits: Option<u64>,
}

impl FecCounts {
    /// The counts in the attributes of a reply: of each, the total stands before the lanes.
    ///
    /// # Errors
    ///
    /// If they are malformed.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut counts = Self::default();
        for attribute in attributes(bytes) {
            let (ETHTOOL_A_FEC_STATS, nest) = attribute? else { continue };
            for attribute in attributes(nest) {
                match attribute? {
                    (ETHTOOL_A_FEC_STAT_CORRECTED, value) => counts.corrected_blocks = u64_of(value),
                    (ETHTOOL_A_FEC_STAT_UNCORR, value) => counts.uncorrectable_blocks = u64_of(value),
                    (ETHTOOL_A_FEC_STAT_CORR_BITS, value) => counts.corrected_bits = u64_of(value),
                    _ => {}
                }
            }
        }
        Ok(counts)
    }
}

/// How the driver gathers interrupts and statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coalescing {
    /// The delay of receive interrupts follows the load.
    pub adaptive_rx: Option<bool>,
    /// The delay of transmit interrupts follows the load.
    pub adaptive_tx: Option<bool>,
    /// The statistics are copied from the NIC so often, in microseconds; 0 is never.
    pub stats_block_us: Option<u32>,
}

impl Coalescing {
    /// The settings in the attributes of a reply.
    ///
    /// # Errors
    ///
    /// If they are malformed.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut coalescing = Self::default();
        for attribute in attributes(bytes) {
            match attribute? {
                (ETHTOOL_A_COALESCE_USE_ADAPTIVE_RX, value) => coalescing.adaptive_rx = flag_of(value),
                (ETHTOOL_A_COALESCE_USE_ADAPTIVE_TX, value) => coalescing.adaptive_tx = flag_of(value),
                (ETHTOOL_A_COALESCE_STATS_BLOCK_USECS, value) => coalescing.stats_block_us = u32_of(value),
                _ => {}
            }
        }
        Ok(coalescing)
    }
}

/// What a driver tells of its link beside carrier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkState {
    /// Why the link is down.
    pub down_reason: Option<DownReason>,
    /// Times the physical link went down.
    pub downs: Option<u32>,
}

impl LinkState {
    /// The state in the attributes of a reply.
    ///
    /// # Errors
    ///
    /// If they are malformed.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut state = Self::default();
        for attribute in attributes(bytes) {
            match attribute? {
                (ETHTOOL_A_LINKSTATE_EXT_STATE, value) => {
                    state.down_reason = value.first().copied().and_then(DownReason::decode);
                }
                (ETHTOOL_A_LINKSTATE_EXT_DOWN_CNT, value) => state.downs = u32_of(value),
                _ => {}
            }
        }
        Ok(state)
    }
}

/// Why a link is down (`enum ethtool_link_ext_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DownReason {
    /// Negotiation with the peer failed.
    Autoneg,
    /// Link training failed.
    LinkTraining,
    /// The two ends disagree about lanes, markers or error correction.
    LogicalMismatch,
    /// The signal is too bad.
    BadSignal,
    /// No cable.
    NoCable,
    /// A cable that does not fit.
    Cable,
    /// The module's description cannot be read.
    Eeprom,
    /// Calibration failed.
    Calibration,
    /// The module wants more power than there is.
    Power,
    /// The module is too hot.
    Overheat,
    /// The module is not ready.
    Module,
}

impl DownReason {
    /// `None` for a number that no kernel up to 7.0 has.
    const fn decode(number: u8) -> Option<Self> {
        Some(match number {
            ETHTOOL_LINK_EXT_STATE_AUTONEG => Self::Autoneg,
            ETHTOOL_LINK_EXT_STATE_LINK_TRAINING_FAILURE => Self::LinkTraining,
            ETHTOOL_LINK_EXT_STATE_LINK_LOGICAL_MISMATCH => Self::LogicalMismatch,
            ETHTOOL_LINK_EXT_STATE_BAD_SIGNAL_INTEGRITY => Self::BadSignal,
            ETHTOOL_LINK_EXT_STATE_NO_CABLE => Self::NoCable,
            ETHTOOL_LINK_EXT_STATE_CABLE_ISSUE => Self::Cable,
            ETHTOOL_LINK_EXT_STATE_EEPROM_ISSUE => Self::Eeprom,
            ETHTOOL_LINK_EXT_STATE_CALIBRATION_FAILURE => Self::Calibration,
            ETHTOOL_LINK_EXT_STATE_POWER_BUDGET_EXCEEDED => Self::Power,
            ETHTOOL_LINK_EXT_STATE_OVERHEAT => Self::Overheat,
            ETHTOOL_LINK_EXT_STATE_MODULE => Self::Module,
            _ => return None,
        })
    }

    /// As metrics write it.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Autoneg => "autoneg",
            Self::LinkTraining => "link_training",
            Self::LogicalMismatch => "logical_mismatch",
            Self::BadSignal => "bad_signal",
            Self::NoCable => "no_cable",
            Self::Cable => "cable",
            Self::Eeprom => "eeprom",
            Self::Calibration => "calibration",
            Self::Power => "power",
            Self::Overheat => "overheat",
            Self::Module => "module",
        }
    }
}

/// Counters that the standards name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StandardCounts {
    /// Symbol errors (30.3.2.1.5).
    pub symbol_errors: Option<u64>,
    /// Frames with a wrong check sequence (30.3.1.1.6).
    pub crc_errors: Option<u64>,
    /// MAC control frames sent, of which pause is the only kind in use (30.3.3.3).
    pub tx_control_frames: Option<u64>,
    /// MAC control frames received (30.3.3.4).
    pub rx_control_frames: Option<u64>,
}

impl StandardCounts {
    /// The counters in the attributes of a reply. A counter that the driver does not have is left out by the kernel.
    ///
    /// # Errors
    ///
    /// If they are malformed.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut counts = Self::default();
        for attribute in attributes(bytes) {
            if let (ETHTOOL_A_STATS_GRP, group) = attribute? {
                counts.take_group(group)?;
            }
        }
        Ok(counts)
    }

    /// The number of the group stands before its counters; each counter is in a nest of its own.
    fn take_group(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut group = None;
        for attribute in attributes(bytes) {
            match attribute? {
                (ETHTOOL_A_STATS_GRP_ID, value) => group = u32_of(value),
                (ETHTOOL_A_STATS_GRP_STAT, nest) => {
                    for counter in attributes(nest) {
                        let (number, value) = counter?;
                        self.take(group, number, u64_of(value));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    const fn take(&mut self, group: Option<u32>, number: u16, value: Option<u64>) {
        match (group, number) {
            (Some(ETHTOOL_STATS_ETH_PHY), ETHTOOL_A_STATS_ETH_PHY_5_SYM_ERR) => self.symbol_errors = value,
            (Some(ETHTOOL_STATS_ETH_MAC), ETHTOOL_A_STATS_ETH_MAC_6_FCS_ERR) => self.crc_errors = value,
            (Some(ETHTOOL_STATS_ETH_CTRL), ETHTOOL_A_STATS_ETH_CTRL_3_TX) => self.tx_control_frames = value,
            (Some(ETHTOOL_STATS_ETH_CTRL), ETHTOOL_A_STATS_ETH_CTRL_4_RX) => self.rx_control_frames = value,
            _ => {}
        }
    }
}

fn flag_of(value: &[u8]) -> Option<bool> {
    value.first().map(|flag| *flag != 0)
}
