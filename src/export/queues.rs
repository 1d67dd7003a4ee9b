//! The samples of each queue of a port: its state as 0 or 1, its storms, and how much of the time it was paused.

use rocewatch_core::engine::RATIO_BUCKETS;
use rocewatch_core::evidence::THROTTLED;
use rocewatch_core::phase::Phase;
use rocewatch_core::snapshot::{PortView, QueueView, Snapshot};
use rocewatch_core::units::{Direction, Queue};

use super::ports::is_queue_shown;
use super::sheet::{Distribution, Labels, Sheet, family};

/// All samples of the queues of one port.
pub(super) fn collect<'a>(
    sheet: &mut Sheet<'a>,
    port: &'a PortView,
    labels: &Labels<'a>,
    snapshot: &Snapshot,
) {
    for queue in port.queues.iter().filter(|queue| is_queue_shown(queue)) {
        let place = labels.with("priority", queue.queue.label()).with("direction", queue.direction.label());
        state(sheet, queue, &place);
        let lossless = is_lossless(port, queue);
        milder(sheet, queue, lossless, &place);
        storms(sheet, queue, &place, snapshot);
        shares(sheet, queue, lossless, labels);
    }
}

fn state<'a>(sheet: &mut Sheet<'a>, queue: &QueueView, place: &Labels<'a>) {
    let mitigated = matches!(queue.phase, Phase::Mitigated(_));
    let undo_failed = matches!(queue.phase, Phase::UndoFailed(_));
    sheet.add(const { family("rocewatch_watchdog_armed") }, place, queue.armed);
    sheet.add(const { family("rocewatch_watchdog_storm") }, place, queue.phase.open_storm().is_some());
    sheet.add(const { family("rocewatch_watchdog_mitigated") }, place, mitigated);
    sheet.add(const { family("rocewatch_watchdog_undo_failed") }, place, undo_failed);
    sheet.add(const { family("rocewatch_watchdog_locked") }, place, queue.phase.lock().is_some());
}

/// Whether the queue is known to be lossless. Where the mask cannot be read, all eight priorities are watched, and
/// what is told of each of them is kept short.
fn is_lossless(port: &PortView, queue: &QueueView) -> Lossless {
    let known = match queue.queue {
        Queue::Priority(priority) => port.pfc.is_some_and(|mask| mask.contains(priority)),
        Queue::Global => false,
    };
    if known { Lossless::Known } else { Lossless::Unknown }
}

/// See [`is_lossless`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lossless {
    Known,
    Unknown,
}

/// The milder kinds of pause, of a queue that is not known to be lossless once they have occurred.
fn milder<'a>(sheet: &mut Sheet<'a>, queue: &QueueView, lossless: Lossless, place: &Labels<'a>) {
    let (now, ever) = (&queue.milder, &queue.accounts);
    let shown = |is: bool, times: u64| (lossless == Lossless::Known || is || times > 0).then_some(is);
    let choppy = shown(now.choppy, ever.choppy);
    let xon_storm = shown(now.xon_storm, ever.xon_storms);
    let demand_unknown = shown(queue.demand_unknown, ever.demand_unknown);
    sheet.add_known(const { family("rocewatch_watchdog_choppy") }, place, choppy);
    sheet.add_known(const { family("rocewatch_watchdog_xon_storm") }, place, xon_storm);
    sheet.add_known(const { family("rocewatch_watchdog_demand_unknown") }, place, demand_unknown);
    for (index, (window, _)) in THROTTLED.iter().enumerate() {
        let throttled = shown(now.throttled[index], ever.throttled[index]);
        let place = place.with("window", format!("{}s", window.as_secs()));
        sheet.add_known(const { family("rocewatch_watchdog_throttled") }, &place, throttled);
    }
}

/// The time of a storm that is still open is counted to the moment of the snapshot, not of the scrape: it may have
/// ended since, and a counter that fell back by that much would look like a restart.
fn storms<'a>(sheet: &mut Sheet<'a>, queue: &QueueView, place: &Labels<'a>, snapshot: &Snapshot) {
    let open = queue.storm_since.map(|since| snapshot.at.since(since)).unwrap_or_default();
    sheet.add(const { family("rocewatch_watchdog_storms_total") }, place, queue.storms);
    sheet.add(const { family("rocewatch_watchdog_storm_seconds_total") }, place, queue.storm_time + open);
}

/// How much of the time the queue was paused: for lossless priorities, and others once they were.
fn shares<'a>(sheet: &mut Sheet<'a>, queue: &QueueView, lossless: Lossless, labels: &Labels<'a>) {
    let accounts = &queue.accounts;
    let wanted = lossless == Lossless::Known || accounts.ratio_sum > 0;
    if queue.queue == Queue::Global || !accounts.observed() || !wanted {
        return;
    }
    let (share, share_max) = match queue.direction {
        Direction::Rx => (
            const { family("rocewatch_pfc_rx_pause_ratio") },
            const { family("rocewatch_pfc_rx_pause_ratio_max") },
        ),
        Direction::Tx => (
            const { family("rocewatch_pfc_tx_pause_ratio") },
            const { family("rocewatch_pfc_tx_pause_ratio_max") },
        ),
    };
    let labels = labels.with("priority", queue.queue.label());
    let distribution = Distribution {
        bounds: RATIO_BUCKETS.iter().map(|bound| u64::from(*bound)).collect(),
        counts: accounts.ratio_counts.to_vec(),
        sum: accounts.ratio_sum,
    };
    sheet.add(share, &labels, distribution);
    sheet.add(share_max, &labels, accounts.ratio_max());
}
