//! What the keys of a profile have to do with each other: a profile that contradicts itself cannot be met.

use crate::config::{Problem, span_text};

use super::Profile;
use super::read::Entries;

/// Bytes of headers that the kernel leaves room for when it derives an RDMA MTU from that of the interface
/// (`iboe_get_mtu` in include/rdma/ib_addr.h: GRH 40, UDP 8, BTH 12, extended headers 32, ICRC 4).
const RDMA_HEADERS_BYTES: u32 = 96;

/// Payloads that an RDMA packet can have, in bytes.
const RDMA_MTUS: [u32; 5] = [256, 512, 1024, 2048, 4096];

/// The payload of an RDMA packet on an interface with this MTU, in bytes; none where even the smallest does not fit.
#[must_use]
pub fn rdma_mtu(netdev: u32) -> Option<u32> {
    RDMA_MTUS.into_iter().rev().find(|active| active.saturating_add(RDMA_HEADERS_BYTES) <= netdev)
}

/// Everything that contradicts something else.
pub(super) fn contradictions(profile: &Profile, entries: &Entries) -> Vec<Problem> {
    let mut check = Check { entries, problems: Vec::new() };
    check.marking(profile);
    check.pause(profile);
    check.mtu(profile);
    check.problems
}

struct Check<'a> {
    entries: &'a Entries,
    problems: Vec<Problem>,
}

impl Check<'_> {
    fn unless(&mut self, fits: bool, section: &'static str, key: &'static str, expected: &str) {
        if let (false, Some(entry)) = (fits, self.entries.get(&(section, key))) {
            self.problems.push(Problem::expected(format!("{section}.{key}"), entry, expected));
        }
    }

    fn marking(&mut self, Profile { roce, cnp, nccl, pfc, .. }: &Profile) {
        if let Some(dscp) = roce.dscp {
            let (low, high) = (dscp << 2, (dscp << 2) + 3);
            let expected = format!("a traffic class of roce.dscp ({dscp}): from {low} to {high}");
            for (key, section, class) in
                [("traffic_class", "roce", roce.traffic_class), ("ib_tc", "nccl", nccl.ib_tc)]
            {
                self.unless(class.is_none_or(|class| class >> 2 == dscp), section, key, &expected);
            }
            if let Some(priority) = roce.priority {
                let fits = cnp.dscp != Some(dscp) || cnp.priority.is_none_or(|own| own == priority);
                let expected =
                    format!("{priority}, as roce.priority: cnp.dscp and roce.dscp are both {dscp}");
                self.unless(fits, "cnp", "priority", &expected);
            }
        }
        if let (Some(priority), Some(priorities)) = (roce.priority, &pfc.priorities) {
            let expected = format!("a list that holds roce.priority ({priority})");
            self.unless(priorities.contains(&priority), "pfc", "priorities", &expected);
        }
    }

    fn pause(&mut self, Profile { pfc, .. }: &Profile) {
        if let (Some(own), Some(switch)) = (pfc.prevention_timeout, pfc.switch_detection) {
            let expected = format!("less than pfc.switch_detection ({})", span_text(switch));
            self.unless(own < switch, "pfc", "prevention_timeout", &expected);
        }
    }

    fn mtu(&mut self, Profile { mtu, .. }: &Profile) {
        let Some(active) = mtu.rdma_active else { return };
        self.unless(RDMA_MTUS.contains(&active), "mtu", "rdma_active", "256, 512, 1024, 2048 or 4096");
        if let Some(netdev) = mtu.netdev {
            let need = active.saturating_add(RDMA_HEADERS_BYTES);
            let expected = format!("at least {need}, which mtu.rdma_active ({active}) needs");
            self.unless(netdev >= need, "mtu", "netdev", &expected);
        }
    }
}
