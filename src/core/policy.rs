//! Whether a plan may be carried out: every condition of the design, in one place and in one order.
//! It looks at facts that the engine has gathered and answers with the first objection. An undo never comes here.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::action::Disruption;
use crate::settings::Mode;
use crate::units::MonoTime;

/// Budgets are counted over this time.
pub const BUDGET_WINDOW: Duration = Duration::from_secs(3600);

/// Why a plan is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Veto {
    /// The mode does not act.
    Mode,
    /// It would disrupt more than allowed.
    Disruption,
    /// The port or the node has spent its actions of this hour.
    Budget,
    /// Another port is mitigated, or being changed.
    OtherPort,
    /// The last action on the port was not long ago.
    HoldOff,
    /// The other slave of the bond is not up.
    BondPeer,
    /// The evidence is too old, or the port cannot be judged now.
    StaleData,
    /// The pause time is only an upper bound.
    Estimated,
    /// Nothing is known to want to send.
    DemandUnknown,
    /// Firmware or another agent owns the setting.
    NotOwner,
    /// The port carries the default route.
    InBand,
    /// Half of the node's ports or more are in a storm: it is not this port's.
    NodeWide,
    /// The port is in maintenance.
    Maintenance,
    /// The fleet guard does not agree, or there is none.
    FleetGuard,
    /// The undo could not be written down.
    Journal,
    /// The port, its driver or its state offers no such action.
    Unsupported,
}

impl Veto {
    /// All reasons.
    pub const ALL: [Self; 16] = [
        Self::Mode,
        Self::Disruption,
        Self::Budget,
        Self::OtherPort,
        Self::HoldOff,
        Self::BondPeer,
        Self::StaleData,
        Self::Estimated,
        Self::DemandUnknown,
        Self::NotOwner,
        Self::InBand,
        Self::NodeWide,
        Self::Maintenance,
        Self::FleetGuard,
        Self::Journal,
        Self::Unsupported,
    ];

    /// As metrics and logs write it.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Mode => "mode",
            Self::Disruption => "disruption",
            Self::Budget => "budget",
            Self::OtherPort => "other_port",
            Self::HoldOff => "hold_off",
            Self::BondPeer => "bond_peer",
            Self::StaleData => "stale_data",
            Self::Estimated => "estimated",
            Self::DemandUnknown => "demand_unknown",
            Self::NotOwner => "not_owner",
            Self::InBand => "in_band",
            Self::NodeWide => "node_wide",
            Self::Maintenance => "maintenance",
            Self::FleetGuard => "fleet_guard",
            Self::Journal => "journal",
            Self::Unsupported => "unsupported",
        }
    }
}

/// What is known about a plan, its port, the node and the fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Now.
    pub now: MonoTime,
    /// The mode.
    pub mode: Mode,
    /// What the plan disrupts.
    pub disruption: Disruption,
    /// What may be disrupted.
    pub disruption_max: Disruption,
    /// Whether the plan sets anything that has to be undone.
    pub undo: UndoNeed,
    /// The deciding reading.
    pub evidence_at: MonoTime,
    /// How old it may be.
    pub evidence_lifetime: Duration,
    /// What the pause itself forbids.
    pub pause: PauseFacts,
    /// The port's last action.
    pub last_action: Option<MonoTime>,
    /// The wait after it.
    pub hold_off: Duration,
    /// Actions of this hour on the port, and how many are allowed.
    pub spent_port: Spending,
    /// The same on the node.
    pub spent_node: Spending,
    /// The port itself.
    pub port: PortFacts,
    /// The other ports.
    pub node: NodeFacts,
    /// The fleet.
    pub guard: GuardFacts,
}

/// Whether a plan needs the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoNeed {
    /// It sets nothing that lasts.
    None,
    /// It does, and the journal can be written.
    Writable,
    /// It does, and the journal cannot be written.
    NotWritable,
}

/// What is known about the pause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PauseFacts {
    /// Its time is only an upper bound.
    pub estimated: bool,
    /// Nobody is known to want to send.
    pub demand_unknown: bool,
}

/// What is known about the port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortFacts {
    /// It cannot be judged now.
    pub blind: bool,
    /// It is in maintenance.
    pub maintenance: bool,
    /// Somebody else owns what the plan sets.
    pub foreign_owner: bool,
    /// It is a bond slave and no other slave is up.
    pub bond_alone: bool,
    /// It carries the default route.
    pub in_band: bool,
}

/// What is known about the other ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeFacts {
    /// An operation that disrupts a link is going on, on any port, its carrier not yet back.
    pub link_operation: bool,
    /// Ports mitigated now, this one not counted.
    pub ports_mitigated: u32,
    /// How many may be.
    pub ports_mitigated_max: u32,
    /// Two ports or more, and half of the node's or more, are in a storm of received pause.
    pub node_wide: bool,
}

/// What the fleet guard says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardFacts {
    /// There is no guard, or no answer newer than the storm, or it could not be asked.
    Silent,
    /// It answered with a number above the limit.
    Refuses,
    /// It answered with a number within the limit.
    Agrees,
}

/// How much of a budget is spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spending {
    /// Spent.
    pub spent: u32,
    /// Allowed.
    pub allowed: u32,
}

impl Spending {
    const fn exhausted(self) -> bool {
        self.spent >= self.allowed
    }
}

/// The first objection to a plan, if there is one.
///
/// The order is from what can never be helped to what the next minute may change, so that the reason an operator
/// reads is the one to do something about.
#[must_use]
pub fn objection(facts: &Facts) -> Option<Veto> {
    let stale = facts.port.blind || facts.now.since(facts.evidence_at) > facts.evidence_lifetime;
    let held_off = facts.last_action.is_some_and(|at| facts.now.since(at) < facts.hold_off);
    let linkwise = facts.disruption >= Disruption::Link;
    let crowded = facts.node.ports_mitigated >= facts.node.ports_mitigated_max;
    let objections = [
        (Veto::Estimated, facts.pause.estimated),
        (Veto::DemandUnknown, facts.pause.demand_unknown),
        (Veto::Disruption, facts.disruption > facts.disruption_max),
        (Veto::Mode, matches!(facts.mode, Mode::Off | Mode::Observe)),
        (Veto::NotOwner, facts.port.foreign_owner),
        (Veto::Journal, facts.undo == UndoNeed::NotWritable),
        (Veto::Maintenance, facts.port.maintenance),
        (Veto::StaleData, stale),
        (Veto::BondPeer, facts.port.bond_alone),
        (Veto::InBand, linkwise && facts.port.in_band),
        (Veto::Budget, facts.spent_port.exhausted() || facts.spent_node.exhausted()),
        (Veto::HoldOff, held_off),
        (Veto::NodeWide, linkwise && facts.node.node_wide),
        (Veto::FleetGuard, linkwise && facts.guard != GuardFacts::Agrees),
        (Veto::OtherPort, crowded || (linkwise && facts.node.link_operation)),
    ];
    objections.into_iter().find_map(|(veto, applies)| applies.then_some(veto))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fine() -> Facts {
        let now = MonoTime::from_millis(100_000);
        Facts {
            now,
            mode: Mode::Enforce,
            disruption: Disruption::Link,
            disruption_max: Disruption::Link,
            undo: UndoNeed::Writable,
            evidence_at: now,
            evidence_lifetime: Duration::from_millis(400),
            pause: PauseFacts::default(),
            last_action: None,
            hold_off: Duration::from_secs(60),
            spent_port: Spending { spent: 0, allowed: 3 },
            spent_node: Spending { spent: 0, allowed: 6 },
            port: PortFacts::default(),
            node: NodeFacts { ports_mitigated_max: 2, ..NodeFacts::default() },
            guard: GuardFacts::Agrees,
        }
    }

    type Spoil = fn(&mut Facts);

    /// One way to spoil a good plan per reason. `unsupported` is the planner's.
    const SPOILS: &[(Veto, Spoil)] = &[
        (Veto::Mode, |f| f.mode = Mode::Observe),
        (Veto::Mode, |f| f.mode = Mode::Off),
        (Veto::Disruption, |f| f.disruption_max = Disruption::Priority),
        (Veto::Budget, |f| f.spent_port.spent = 3),
        (Veto::Budget, |f| f.spent_node.spent = 6),
        (Veto::OtherPort, |f| f.node.link_operation = true),
        (Veto::OtherPort, |f| f.node.ports_mitigated = 2),
        (Veto::HoldOff, |f| f.last_action = Some(MonoTime::from_millis(40_001))),
        (Veto::BondPeer, |f| f.port.bond_alone = true),
        (Veto::StaleData, |f| f.port.blind = true),
        (Veto::StaleData, |f| f.evidence_at = MonoTime::from_millis(99_599)),
        (Veto::Estimated, |f| f.pause.estimated = true),
        (Veto::DemandUnknown, |f| f.pause.demand_unknown = true),
        (Veto::NotOwner, |f| f.port.foreign_owner = true),
        (Veto::InBand, |f| f.port.in_band = true),
        (Veto::NodeWide, |f| f.node.node_wide = true),
        (Veto::Maintenance, |f| f.port.maintenance = true),
        (Veto::FleetGuard, |f| f.guard = GuardFacts::Refuses),
        (Veto::FleetGuard, |f| f.guard = GuardFacts::Silent),
        (Veto::Journal, |f| f.undo = UndoNeed::NotWritable),
    ];

    #[test]
    fn a_plan_without_objection_passes() {
        assert_eq!(objection(&fine()), None);
    }

    #[test]
    fn every_reason_vetoes_by_its_name() {
        for (veto, spoil) in SPOILS {
            let mut facts = fine();
            spoil(&mut facts);
            assert_eq!(objection(&facts), Some(*veto));
        }
        for veto in Veto::ALL.into_iter().filter(|veto| *veto != Veto::Unsupported) {
            assert!(SPOILS.iter().any(|(spoiled, _)| *spoiled == veto), "{veto:?} has no case");
        }
    }

    #[test]
    fn a_plan_that_leaves_the_link_alone_asks_neither_guard_nor_route_nor_node() {
        let mut facts = fine();
        facts.disruption = Disruption::Priority;
        facts.guard = GuardFacts::Silent;
        facts.port.in_band = true;
        facts.node.node_wide = true;
        facts.node.link_operation = true;
        assert_eq!(objection(&facts), None);
    }

    #[test]
    fn the_hold_off_ends_to_the_nanosecond() {
        let mut facts = fine();
        facts.last_action = Some(MonoTime::from_millis(40_000));
        assert_eq!(objection(&facts), None);
    }

    #[test]
    fn dry_run_is_judged_like_enforce() {
        let mut facts = fine();
        facts.mode = Mode::DryRun;
        assert_eq!(objection(&facts), None);
        facts.port.maintenance = true;
        assert_eq!(objection(&facts), Some(Veto::Maintenance));
    }
}
