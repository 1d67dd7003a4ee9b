//! Every cell of the phase table, and what the cells do not show: the clocks.

use std::time::Duration;

use super::*;
use crate::action::{ActionResult, Purpose, PutBack, UndoResult};
use crate::phase::{Class, LockReason, LockedStorm, Probation, Suspended};

const NOW: MonoTime = MonoTime::from_millis(100_000);
const ACTION: ActionId = ActionId(7);
const SECOND: Duration = Duration::from_secs(1);

fn terms() -> Terms {
    Terms {
        now: NOW,
        restore: SECOND,
        blind_max: Duration::from_millis(400),
        hold: Duration::from_secs(10),
        hold_max: Duration::from_secs(3600),
        lock_for: Duration::from_secs(4 * 3600),
        lock_due: false,
    }
}

fn at(seconds: u64) -> MonoTime {
    MonoTime::from_millis(seconds * 1000)
}

/// A storm whose last blocked reading was a moment ago.
fn storm() -> Storm {
    Storm {
        since: at(99),
        class: Class::Blocked,
        blocked_at: NOW.before(Duration::from_millis(100)),
        blind_since: None,
        doublings: 0,
        acting: None,
    }
}

fn mitigated() -> Mitigated {
    Mitigated {
        action: ACTION,
        purpose: Purpose::Storm,
        due: at(105),
        due_max: at(3700),
        hold: Duration::from_secs(10),
        doublings: 0,
        carrier: Carrier::Up,
    }
}

fn undoing() -> Undoing {
    Undoing {
        action: ACTION,
        purpose: Purpose::Storm,
        hold: Duration::from_secs(10),
        doublings: 0,
        attempts: 0,
    }
}

fn probation() -> Probation {
    Probation { until: Some(at(105)), hold: Duration::from_secs(10), doublings: 0 }
}

fn lock() -> Locked {
    Locked { until: at(200), reason: LockReason::Relapses, storm: None }
}

/// The columns of the table.
fn columns() -> [Phase; 13] {
    [
        Phase::Healthy,
        Phase::Suspect,
        Phase::Storm(storm()),
        Phase::Storm(Storm { acting: Some(ACTION), ..storm() }),
        Phase::Mitigated(mitigated()),
        Phase::Undoing(undoing()),
        Phase::UndoFailed(UndoFailed { undoing: undoing(), retry_at: Some(at(101)) }),
        Phase::Probation(probation()),
        Phase::Locked(lock()),
        Phase::Suspended(Suspended { carrier_lost: true, pfc_off: false }),
        Phase::Testing(ACTION),
        Phase::Mitigated(Mitigated { purpose: Purpose::Test, ..mitigated() }),
        Phase::Undoing(Undoing { purpose: Purpose::Test, ..undoing() }),
    ]
}

const FOUND: Trigger =
    Trigger::Blocked(Some(Onset { since: MonoTime::from_millis(99_500), class: Class::Blocked }));

/// One row per thing that can happen; a cell is the phase that follows and what is wanted, `=` for no change.
#[rustfmt::skip]
const TABLE: &[(&str, Trigger, [&str; 13])] = &[
    // happens                                                          healthy            suspect            storm                   acting                    mitigated            undoing       undo_failed             probation          locked          suspended      testing         test in force     test undoing
    ("blocked, the rule holds", FOUND,                                 ["storm found",     "storm found",     "=",                    "=",                      "=",                 "=",          "=",                    "storm found",     "locked found", "=", "=",            "undoing undo",   "="]),
    ("blocked",                 Trigger::Blocked(None),                ["suspect",         "=",               "=",                    "=",                      "=",                 "=",          "=",                    "=",               "=",            "=", "=",            "=",              "="]),
    ("clear",                   Trigger::Clear,                        ["=",               "healthy",         "=",                    "=",                      "=",                 "=",          "=",                    "=",               "=",            "=", "=",            "=",              "="]),
    ("blind",                   Trigger::Blind,                        ["=",               "healthy",         "=",                    "=",                      "=",                 "=",          "=",                    "healthy",         "=",            "=", "=",            "=",              "="]),
    ("own flap",                Trigger::CarrierLost(By::Us),          ["suspended",       "suspended",       "suspended link_down",  "=",                      "=",                 "=",          "=",                    "=",               "=",            "=", "=",            "=",              "="]),
    ("link lost",               Trigger::CarrierLost(By::Others),      ["suspended",       "suspended",       "suspended link_down",  "=",                      "=",                 "=",          "=",                    "suspended",       "=",            "=", "=",            "=",              "="]),
    ("link back",               Trigger::CarrierUp,                    ["=",               "=",               "=",                    "=",                      "=",                 "=",          "=",                    "=",               "=",            "healthy", "=",            "=",              "="]),
    ("own pfc off",             Trigger::PfcOff(By::Us),               ["suspended",       "suspended",       "suspended pfc_off",    "=",                      "=",                 "=",          "=",                    "suspended",       "=",            "=", "=",            "=",              "="]),
    ("pfc off",                 Trigger::PfcOff(By::Others),           ["suspended",       "suspended",       "suspended pfc_off",    "=",                      "=",                 "=",          "=",                    "suspended",       "=",            "=", "=",            "=",              "="]),
    ("own pfc on",              Trigger::PfcOn(By::Us),                ["=",               "=",               "=",                    "=",                      "=",                 "=",          "=",                    "=",               "=",            "=", "=",            "=",              "="]),
    ("pfc on",                  Trigger::PfcOn(By::Others),            ["=",               "=",               "=",                    "=",                      "locked drop",       "=",          "locked drop",          "=",               "=",            "=", "=",            "locked drop",    "="]),
    ("begun",                   Trigger::ActionBegun(ACTION),          ["testing",         "=",               "=",                    "=",                      "=",                 "=",          "=",                    "=",               "=",            "=", "=",            "=",              "="]),
    ("ok",                      Trigger::Acted(ActionResult::Ok, PutBack::NotNeeded),
                                                                       ["=",               "=",               "=",                    "mitigated mitigated",    "=",                 "=",          "=",                    "=",               "=",            "=", "mitigated",    "=",              "="]),
    ("unproven",                Trigger::Acted(ActionResult::Unproven, PutBack::NotNeeded),
                                                                       ["=",               "=",               "=",                    "mitigated mitigated",    "=",                 "=",          "=",                    "=",               "=",            "=", "mitigated",    "=",              "="]),
    ("ineffective, put back",   Trigger::Acted(ActionResult::Ineffective, PutBack::Done),
                                                                       ["=",               "=",               "=",                    "=",                      "=",                 "=",          "=",                    "=",               "=",            "=", "healthy",      "=",              "="]),
    ("ineffective, left",       Trigger::Acted(ActionResult::Ineffective, PutBack::Failed),
                                                                       ["=",               "=",               "=",                    "undo_failed undo_failed", "=",                "=",          "=",                    "=",               "=",            "=", "undo_failed",  "=",              "="]),
    ("failed, put back",        Trigger::Acted(ActionResult::Failed, PutBack::NotNeeded),
                                                                       ["=",               "=",               "=",                    "=",                      "=",                 "=",          "=",                    "=",               "=",            "=", "healthy",      "=",              "="]),
    ("failed, left",            Trigger::Acted(ActionResult::Failed, PutBack::Failed),
                                                                       ["=",               "=",               "=",                    "undo_failed undo_failed", "=",                "=",          "=",                    "=",               "=",            "=", "undo_failed",  "=",              "="]),
    ("expired",                 Trigger::Acted(ActionResult::Expired, PutBack::NotNeeded),
                                                                       ["=",               "=",               "=",                    "=",                      "=",                 "=",          "=",                    "=",               "=",            "=", "healthy",      "=",              "="]),
    ("undone",                  Trigger::Undone(UndoResult::Done),     ["=",               "=",               "=",                    "=",                      "=",                 "probation",  "=",                    "=",               "=",            "=", "=",            "=",              "healthy"]),
    ("nothing was done",        Trigger::Undone(UndoResult::NotNeeded), ["=",              "=",               "=",                    "=",                      "=",                 "healthy",    "=",                    "=",               "=",            "=", "=",            "=",              "healthy"]),
    ("undone by others",        Trigger::Undone(UndoResult::Foreign),  ["=",               "=",               "=",                    "=",                      "=",                 "locked",     "=",                    "=",               "=",            "=", "=",            "=",              "locked"]),
    ("not undone",              Trigger::Undone(UndoResult::Failed),   ["=",               "=",               "=",                    "=",                      "=",                 "undo_failed", "=",                   "=",               "=",            "=", "=",            "=",              "undo_failed"]),
    ("ack",                     Trigger::Ack,                          ["=",               "=",               "=",                    "=",                      "=",                 "=",          "= stop",               "=",               "healthy",      "=", "=",            "=",              "="]),
    ("off",                     Trigger::Off,                          ["=",               "healthy",         "healthy mode_off",     "=",                      "undoing undo",      "=",          "=",                    "healthy",         "healthy",      "healthy", "=",            "undoing undo",   "="]),
    ("withdraw",                Trigger::Withdraw,                     ["=",               "=",               "=",                    "=",                      "undoing undo",      "=",          "undoing undo",         "=",               "=",            "=", "=",            "undoing undo",   "="]),
    ("time, nothing due",       Trigger::Time,                         ["=",               "=",               "=",                    "=",                      "=",                 "=",          "=",                    "=",               "=",            "=", "=",            "=",              "="]),
];

fn word(decision: Option<Decision>) -> &'static str {
    match decision {
        None => "",
        Some(Decision::StormFound(_)) => " found",
        Some(Decision::StormEnded(reason)) => match reason {
            EndReason::Cleared => " cleared",
            EndReason::Mitigated => " mitigated",
            EndReason::UndoFailed => " undo_failed",
            EndReason::LinkDown => " link_down",
            EndReason::PfcOff => " pfc_off",
            EndReason::Blind => " blind",
            EndReason::ModeOff => " mode_off",
            EndReason::Locked => " locked",
            EndReason::Gone => " gone",
        },
        Some(Decision::Undo(ACTION)) => " undo",
        Some(Decision::DropUndo(ACTION)) => " drop",
        Some(Decision::StopRetrying(ACTION)) => " stop",
        Some(other) => panic!("{other:?} is about another action"),
    }
}

#[test]
fn every_cell_of_the_phase_table_is_as_written() {
    for (happens, trigger, cells) in TABLE {
        for (before, cell) in columns().into_iter().zip(cells) {
            let (after, decision) = step(before, *trigger, &terms());
            let expected = cell.replace('=', before.label());
            let got = format!("{}{}", after.label(), word(decision));
            assert_eq!(got, expected, "{happens} in {before:?}");
        }
    }
}

fn follow(phase: Phase, triggers: &[(u64, Trigger)]) -> (Phase, Vec<Decision>) {
    let mut decisions = Vec::new();
    let phase = triggers.iter().fold(phase, |phase, (millis, trigger)| {
        let (after, decision) =
            step(phase, *trigger, &Terms { now: NOW + Duration::from_millis(*millis), ..terms() });
        decisions.extend(decision);
        after
    });
    (phase, decisions)
}

#[test]
fn a_storm_ends_when_no_reading_was_blocked_for_the_restore_time() {
    let (phase, _) = follow(Phase::Storm(storm()), &[(0, Trigger::Blocked(None)), (999, Trigger::Clear)]);
    assert_eq!(phase.label(), "storm");
    let (phase, decisions) =
        follow(Phase::Storm(storm()), &[(0, Trigger::Blocked(None)), (1000, Trigger::Clear)]);
    assert_eq!(phase, Phase::Healthy);
    assert_eq!(decisions, [Decision::StormEnded(EndReason::Cleared)]);
}

#[test]
fn time_that_was_blind_does_not_end_a_storm_as_clear() {
    let blind = [(0, Trigger::Blocked(None)), (100, Trigger::Blind), (450, Trigger::Clear)];
    let (phase, _) = follow(Phase::Storm(storm()), &[&blind[..], &[(1349, Trigger::Clear)]].concat());
    assert_eq!(phase.label(), "storm", "350 ms of the 1349 were blind");
    let (phase, _) = follow(Phase::Storm(storm()), &[&blind[..], &[(1350, Trigger::Clear)]].concat());
    assert_eq!(phase, Phase::Healthy);
}

#[test]
fn a_storm_that_stays_blind_is_given_up() {
    let (phase, decisions) = follow(Phase::Storm(storm()), &[(0, Trigger::Blind), (400, Trigger::Time)]);
    assert_eq!((phase, &decisions[..]), (Phase::Healthy, &[Decision::StormEnded(EndReason::Blind)][..]));
}

#[test]
fn a_storm_with_an_action_under_way_waits_for_the_outcome_whatever_happens() {
    let acting = Phase::Storm(Storm { acting: Some(ACTION), ..storm() });
    let (phase, decisions) = follow(
        acting,
        &[
            (5000, Trigger::Clear),
            (5000, Trigger::Blind),
            (9000, Trigger::Time),
            (9000, Trigger::CarrierLost(By::Us)),
            (9000, Trigger::PfcOff(By::Us)),
            (9000, Trigger::Off),
        ],
    );
    assert_eq!(phase.label(), "storm");
    assert!(decisions.is_empty());
}

#[test]
fn the_undo_comes_at_its_due_time_and_blindness_does_not_delay_it() {
    let (phase, _) = follow(Phase::Mitigated(mitigated()), &[(4999, Trigger::Blind)]);
    assert_eq!(phase.label(), "mitigated");
    let (phase, decisions) =
        follow(Phase::Mitigated(mitigated()), &[(4999, Trigger::Blind), (5000, Trigger::Blind)]);
    assert_eq!((phase.label(), &decisions[..]), ("undoing", &[Decision::Undo(ACTION)][..]));
}

#[test]
fn pause_that_is_seen_moves_the_undo_on_but_never_past_the_longest_hold() {
    let (phase, _) =
        follow(Phase::Mitigated(mitigated()), &[(4900, Trigger::Blocked(None)), (5899, Trigger::Clear)]);
    assert_eq!(phase.label(), "mitigated");
    let short = Mitigated { due_max: at(106), ..mitigated() };
    let seen = (0..70).map(|i| (i * 100, Trigger::Blocked(None))).collect::<Vec<_>>();
    let (phase, decisions) = follow(Phase::Mitigated(short), &seen);
    assert_eq!((phase.label(), &decisions[..]), ("undoing", &[Decision::Undo(ACTION)][..]));
}

#[test]
fn the_clocks_wait_for_a_carrier_that_we_took_at_most_a_minute() {
    let lost = (1000, Trigger::CarrierLost(By::Us));
    let (phase, _) = follow(Phase::Mitigated(mitigated()), &[lost, (20_000, Trigger::Time)]);
    assert_eq!(phase.label(), "mitigated", "its due time has passed, the carrier has not come");
    let (phase, _) =
        follow(Phase::Mitigated(mitigated()), &[lost, (4000, Trigger::CarrierUp), (7999, Trigger::Time)]);
    assert_eq!(phase.label(), "mitigated", "three seconds without carrier are added");
    let (phase, _) =
        follow(Phase::Mitigated(mitigated()), &[lost, (4000, Trigger::CarrierUp), (8000, Trigger::Time)]);
    assert_eq!(phase.label(), "undoing");
    let (phase, _) = follow(Phase::Mitigated(mitigated()), &[lost, (61_000, Trigger::Time)]);
    assert_eq!(phase.label(), "undoing");
}

#[test]
fn a_link_lost_by_others_is_undone_when_it_is_back_or_due() {
    let lost = (1000, Trigger::CarrierLost(By::Others));
    let (phase, _) = follow(Phase::Mitigated(mitigated()), &[lost, (2000, Trigger::CarrierUp)]);
    assert_eq!(phase.label(), "undoing");
    let (phase, _) = follow(Phase::Mitigated(mitigated()), &[lost, (5000, Trigger::Time)]);
    assert_eq!(phase.label(), "undoing");
}

#[test]
fn a_failed_undo_is_tried_again_without_end_after_1_2_4_up_to_60_seconds() {
    let mut phase = Phase::Undoing(undoing());
    let mut now = NOW;
    let mut waits = Vec::new();
    for _ in 0..9 {
        phase = step(phase, Trigger::Undone(UndoResult::Failed), &Terms { now, ..terms() }).0;
        let retry = phase.deadline(SECOND).unwrap();
        waits.push(retry.since(now).as_secs());
        now = retry;
        let (next, decision) = step(phase, Trigger::Time, &Terms { now, ..terms() });
        assert_eq!(decision, Some(Decision::Undo(ACTION)));
        phase = next;
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
}

#[test]
fn an_acknowledged_failure_is_not_tried_again() {
    let failed = Phase::UndoFailed(UndoFailed { undoing: undoing(), retry_at: Some(at(101)) });
    let (phase, decisions) = follow(failed, &[(0, Trigger::Ack), (900_000, Trigger::Time)]);
    assert_eq!((phase.label(), &decisions[..]), ("undo_failed", &[Decision::StopRetrying(ACTION)][..]));
    assert_eq!(phase.owed(), Some(ACTION), "the journal keeps it");
}

#[test]
fn each_relapse_doubles_the_hold_up_to_the_longest() {
    let mut phase = Phase::Probation(probation());
    let mut holds = Vec::new();
    for _ in 0..12 {
        phase = step(phase, FOUND, &terms()).0;
        phase = step(phase, Trigger::ActionBegun(ACTION), &terms()).0;
        phase = step(phase, Trigger::Acted(ActionResult::Ok, PutBack::NotNeeded), &terms()).0;
        phase = step(phase, Trigger::Withdraw, &terms()).0;
        phase = step(phase, Trigger::Undone(UndoResult::Done), &terms()).0;
        let Phase::Probation(probation) = phase else { panic!("{phase:?}") };
        holds.push(probation.hold.as_secs());
    }
    assert_eq!(holds[..8], [20, 40, 80, 160, 320, 640, 1280, 2560]);
    assert_eq!(holds[8..], [3600; 4]);
}

#[test]
fn a_probation_lasts_from_the_carrier_that_our_undo_took() {
    let (phase, _) = follow(
        Phase::Probation(probation()),
        &[(1000, Trigger::CarrierLost(By::Us)), (60_000, Trigger::Time)],
    );
    assert_eq!(phase.label(), "probation");
    let (phase, _) = follow(
        Phase::Probation(probation()),
        &[(1000, Trigger::CarrierLost(By::Us)), (3000, Trigger::CarrierUp), (12_999, Trigger::Clear)],
    );
    assert_eq!(phase.label(), "probation");
    let (phase, _) = follow(
        Phase::Probation(probation()),
        &[(1000, Trigger::CarrierLost(By::Us)), (3000, Trigger::CarrierUp), (13_000, Trigger::Clear)],
    );
    assert_eq!(phase, Phase::Healthy);
}

#[test]
fn the_lock_rule_locks_after_the_undo_and_at_a_relapse() {
    let due = Terms { lock_due: true, ..terms() };
    let (phase, _) = step(Phase::Undoing(undoing()), Trigger::Undone(UndoResult::Done), &due);
    assert_eq!(phase.label(), "locked");
    let (phase, decision) = step(Phase::Probation(probation()), FOUND, &due);
    assert_eq!(phase.label(), "locked");
    assert!(matches!(decision, Some(Decision::StormFound(_))));
    assert!(phase.open_storm().is_some(), "it goes on detecting");
}

#[test]
fn a_locked_queue_counts_its_storms_and_ends_by_itself() {
    let (phase, decisions) = follow(
        Phase::Locked(lock()),
        &[(0, FOUND), (100, FOUND), (1100, Trigger::Clear), (2000, FOUND), (100_000, Trigger::Time)],
    );
    assert_eq!(phase, Phase::Healthy);
    assert!(matches!(
        decisions[..],
        [
            Decision::StormFound(_),
            Decision::StormEnded(EndReason::Cleared),
            Decision::StormFound(_),
            Decision::StormEnded(EndReason::Locked)
        ]
    ));
    let storm = LockedStorm { since: at(99), blocked_at: NOW };
    assert_eq!(Phase::Locked(Locked { storm: Some(storm), ..lock() }).open_storm(), Some(at(99)));
}

#[test]
fn a_suspended_queue_wants_carrier_and_pfc_back() {
    let (phase, _) = follow(
        Phase::Healthy,
        &[(0, Trigger::PfcOff(By::Others)), (1, Trigger::CarrierLost(By::Others)), (2, Trigger::CarrierUp)],
    );
    assert_eq!(phase.label(), "suspended");
    let (phase, _) = follow(phase, &[(3, Trigger::PfcOn(By::Others))]);
    assert_eq!(phase, Phase::Healthy);
}
