//! What values have to do with each other. Refused is what cannot work; a warning is what works, but surely not as meant.

use std::time::Duration;

use rocewatch_core::action::{ActionKind, Disruption};
use rocewatch_core::settings::{Mode, Rule};
use rocewatch_core::units::Direction;

use super::given::Entry;
use super::keys::{Draft, PORTS};
use super::problem::Problem;
use super::span::span_text;
use super::values::{Layer, Values, path};

/// What cannot work.
pub(super) fn refusals(values: &Values, draft: &Draft) -> Vec<Problem> {
    let mut check = Check { problems: Vec::new() };
    check.pace(values, draft);
    check.guard(values, draft);
    for side in sides(values, draft) {
        check.spans(&side, draft, values);
        check.ladder(&side, draft, values);
    }
    check.selects(values, draft);
    check.problems
}

/// What works, but surely not as meant.
pub(super) fn warnings(values: &Values, draft: &Draft) -> Vec<Problem> {
    let mut check = Check { problems: Vec::new() };
    match draft.settings.mode {
        Mode::Off | Mode::Observe => check.idle(values, draft),
        Mode::DryRun | Mode::Enforce => check.plans(values, draft),
    }
    check.problems
}

/// One direction of the node or of one `[[ports]]`.
struct Side<'a> {
    direction: Direction,
    rule: &'a Rule,
    /// Where its keys may stand, the place that counts first.
    steps: Vec<Step<'a>>,
}

#[derive(Clone, Copy)]
struct Step<'a> {
    layer: &'a Layer,
    section: &'static str,
    port: Option<usize>,
}

/// A key in a comparison: where its value comes from.
struct Operand<'a> {
    path: String,
    /// None where the default counts.
    entry: Option<&'a Entry>,
}

fn sides<'a>(values: &'a Values, draft: &'a Draft) -> Vec<Side<'a>> {
    let node = |section| Step { layer: &values.node, section, port: None };
    let settings = &draft.settings;
    let rx = [node("watchdog.rx"), node("watchdog")];
    let tx = [node("watchdog.tx"), node("watchdog")];
    let mut sides = vec![
        Side { direction: Direction::Rx, rule: &settings.rx, steps: rx.to_vec() },
        Side { direction: Direction::Tx, rule: &settings.tx, steps: tx.to_vec() },
    ];
    for (index, (port, rules)) in values.ports.iter().zip(&settings.ports).enumerate() {
        let own = |section| Step { layer: port, section, port: Some(index) };
        let steps = |direction, node: &[Step<'a>]| [&[own(direction), own(PORTS)], node].concat();
        sides.push(Side { direction: Direction::Rx, rule: &rules.rx, steps: steps("ports.rx", &rx) });
        sides.push(Side { direction: Direction::Tx, rule: &rules.tx, steps: steps("ports.tx", &tx) });
    }
    sides
}

impl<'a> Side<'a> {
    /// The place that counts for a key of the rule.
    fn operand(&self, key: &'static str) -> Operand<'a> {
        let given = self.steps.iter().find_map(|step| Some((step, step.layer.get(step.section, key)?)));
        match given {
            Some((step, entry)) => Operand { path: path(step.section, key, step.port), entry: Some(entry) },
            None => Operand { path: path("watchdog", key, None), entry: None },
        }
    }
}

fn operand<'a>(values: &'a Values, section: &'static str, key: &'static str) -> Operand<'a> {
    Operand { path: path(section, key, None), entry: values.node.get(section, key) }
}

struct Check {
    problems: Vec<Problem>,
}

impl Check {
    /// Reports that two keys do not fit: at the one given last (a flag after the file), else at the first that was
    /// given, with what would fit there. Nothing is concluded from a value that was refused by itself.
    fn unless(&mut self, fits: bool, sides: [(Operand<'_>, String); 2]) {
        let refused = |operand: &Operand<'_>| operand.entry.is_some_and(|entry| entry.refused);
        if fits || sides.iter().any(|(operand, _)| refused(operand)) {
            return;
        }
        let given = sides.into_iter().filter_map(|(side, expected)| Some((side.path, side.entry?, expected)));
        // Of equals the first: `max_by_key` would take the last.
        let culprit = given.rev().max_by_key(|(_, entry, _)| entry.place.layer());
        if let Some((path, entry, expected)) = culprit {
            self.problems.push(Problem::expected(path, entry, &expected));
        }
    }

    fn not_above(
        &mut self,
        (small, lesser): (Operand<'_>, Duration),
        (large, greater): (Operand<'_>, Duration),
    ) {
        let at_most = format!("at most {} ({})", large.path, span_text(greater));
        let at_least = format!("at least {} ({})", small.path, span_text(lesser));
        self.unless(lesser <= greater, [(small, at_most), (large, at_least)]);
    }

    fn pace(&mut self, values: &Values, draft: &Draft) {
        let poll = &draft.settings.poll;
        let (fast, calm) = (operand(values, "poll", "fast"), operand(values, "poll", "calm"));
        self.not_above((fast, poll.fast), (calm, poll.calm));
    }

    /// Half a guard answers nothing.
    fn guard(&mut self, values: &Values, draft: &Draft) {
        let [url, query] = ["guard_url", "guard_query"];
        let texts = [
            (url, &draft.guard.url, query, &draft.guard.query),
            (query, &draft.guard.query, url, &draft.guard.url),
        ];
        for (set, text, unset, other) in texts {
            if !text.is_empty() && other.is_empty() {
                let unset = operand(values, "watchdog", unset);
                let expected = format!("{} to be set as well", unset.path);
                let set = operand(values, "watchdog", set);
                self.unless(false, [(set, expected), (unset, "a text that is not empty".into())]);
            }
        }
    }

    /// The spans of one rule, and its window against the fast interval.
    fn spans(&mut self, side: &Side<'_>, draft: &Draft, values: &Values) {
        let Side { rule, .. } = side;
        let fast = draft.settings.poll.fast;
        let (detect, poll_fast) = (side.operand("detect"), operand(values, "poll", "fast"));
        let of_detect = format!("at least twice {} ({})", poll_fast.path, span_text(fast));
        let of_fast = format!("at most half of {} ({})", detect.path, span_text(rule.detect));
        self.unless(rule.detect >= fast * 2, [(detect, of_detect), (poll_fast, of_fast)]);
        for (key, hold) in [("hold", rule.hold), ("hold_link", rule.hold_link)] {
            self.not_above((side.operand(key), hold), (side.operand("hold_max"), rule.hold_max));
        }
    }

    fn ladder(&mut self, side: &Side<'_>, draft: &Draft, values: &Values) {
        let actions = side.operand("actions");
        let Some(entry) = actions.entry.filter(|entry| !entry.refused) else { return };
        if side.rule.actions.contains(&ActionKind::Exec) {
            let command = operand(values, "actions.exec", "command");
            let expected = format!("{} to be set, because exec runs it", command.path);
            self.unless(
                !draft.exec.command.is_empty() || draft.spool.spool.is_some(),
                [
                    (Operand { path: actions.path.clone(), entry: Some(entry) }, expected),
                    (command, String::from("a program, because a ladder holds exec")),
                ],
            );
        }
        if side.direction == Direction::Rx && side.rule.actions.contains(&ActionKind::PreventionTimeout) {
            let expected = "actions for received pause, of which prevention-timeout is none: it bounds the pause that is sent";
            self.problems.push(Problem::expected(actions.path, entry, expected));
        }
    }

    /// The first `[[ports]]` that matches counts, so that a second one with the same text never does.
    fn selects(&mut self, values: &Values, draft: &Draft) {
        let ports = &draft.settings.ports;
        for (index, (port, layer)) in ports.iter().zip(&values.ports).enumerate() {
            let first = ports.iter().position(|other| other.select == port.select);
            if let (Some(entry), true) =
                (layer.valid(PORTS, "select"), first.is_some_and(|first| first < index))
            {
                let expected = "a text that no [[ports]] before it selects";
                self.problems.push(Problem::expected(path(PORTS, "select", Some(index)), entry, expected));
            }
        }
    }

    /// Actions were named, and nothing will be planned.
    fn idle(&mut self, values: &Values, draft: &Draft) {
        let mode = draft.settings.mode;
        for side in sides(values, draft) {
            if side.rule.actions.iter().any(|kind| *kind != ActionKind::Alert) {
                let message = format!("watchdog.mode is {}: nothing but alert is done", mode.label());
                self.warn(side.operand("actions"), &message);
            }
        }
    }

    /// Whether the ladders can lead to anything.
    fn plans(&mut self, values: &Values, draft: &Draft) {
        let sides = sides(values, draft);
        let acts = |kind: &ActionKind| *kind != ActionKind::Alert;
        if !sides.iter().any(|side| side.rule.actions.iter().any(acts)) {
            self.warn(
                operand(values, "watchdog", "mode"),
                "every ladder holds alert only, so nothing is ever planned",
            );
            return;
        }
        let limit = draft.settings.disruption_max;
        for side in &sides {
            for kind in &side.rule.actions {
                let least = least_disruption(*kind, draft);
                if least > limit {
                    let message = format!(
                        "{kind} has disruption {least}, above watchdog.disruption_max ({limit}): never taken"
                    );
                    self.warn(side.operand("actions"), &message);
                }
            }
        }
        if limit >= Disruption::Link && draft.settings.guard.is_none() {
            let message =
                "without watchdog.guard_url and guard_query nothing that disturbs a link or more is done";
            self.warn(operand(values, "watchdog", "disruption_max"), message);
        }
    }

    fn warn(&mut self, at: Operand<'_>, message: &str) {
        if let Some(entry) = at.entry {
            self.problems.push(Problem::warning(at.path, entry, message));
        }
    }
}

/// What an action disturbs at least, whatever the NIC.
const fn least_disruption(kind: ActionKind, draft: &Draft) -> Disruption {
    match kind {
        ActionKind::Alert => Disruption::None,
        ActionKind::Exec => draft.exec.disruption,
        ActionKind::PreventionTimeout | ActionKind::PfcOff | ActionKind::PauseOff => Disruption::Priority,
        ActionKind::DevlinkRecover | ActionKind::LinkBounce => Disruption::Device,
    }
}
