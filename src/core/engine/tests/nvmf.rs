//! A controller that changes in a pause is told of together with it.

use super::rig::{Rig, settings};
use crate::event::{Event, EventKind, Level};
use crate::ids::PortKey;
use crate::input::{Effect, Input};
use crate::nvmf::{NvmfChange, NvmfState};
use crate::settings::{Mode, Settings};
use crate::units::{Direction, Permille, Priority, Queue};

fn rig() -> Rig {
    let settings = Settings { mode: Mode::Observe, ..settings() };
    let mut rig = Rig::new(settings, &["mlx5_core", "mlx5_core"]);
    rig.reads(10, &[]);
    rig
}

fn change(netdevs: &[&str]) -> NvmfChange {
    NvmfChange {
        controller: "nvme1".into(),
        subsystem: "nqn.2026-01.example:disk".into(),
        transport: "rdma".into(),
        address: "192.0.2.1:4420".into(),
        netdevs: netdevs.iter().map(|&netdev| netdev.to_owned()).collect(),
        from: Some(NvmfState::Live),
        to: Some(NvmfState::Resetting),
    }
}

/// The one event that a change leads to.
fn told(rig: &mut Rig, change: &NvmfChange) -> Event {
    let effects = rig.engine.handle(rig.now, &Input::Nvmf(change.clone()));
    let [Effect::Emit(event)] = &effects[..] else { panic!("one event, not {effects:?}") };
    (**event).clone()
}

fn paused(event: &Event) -> Option<Permille> {
    let EventKind::NvmfChanged(told) = &event.kind else { panic!("{event:?}") };
    told.paused
}

#[test]
fn a_change_within_a_pause_is_one_event_that_names_controller_port_and_queue() {
    let mut rig = rig();
    rig.reads(10, &[1]);
    let event = told(&mut rig, &change(&["eth1"]));
    assert_eq!((event.place.port, &event.place.netdev[..]), (Some(PortKey(1)), "eth1"));
    assert_eq!(event.place.priority, Priority::new(3).map(Queue::Priority));
    assert_eq!(event.place.direction, Some(Direction::Rx));
    assert_eq!((paused(&event), event.kind.level()), (Some(Permille::ONE), Level::Warn));
    let text = serde_json::to_string(&event).unwrap();
    assert!(text.contains(r#""event":"nvmf_changed","controller":"nvme1","#), "{text}");
    assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
}

#[test]
fn a_pause_counts_for_ten_seconds_and_only_on_the_port_that_carries_the_controller() {
    let mut rig = rig();
    rig.reads(10, &[1]);
    let other = told(&mut rig, &change(&["eth0"]));
    assert_eq!((other.place.port, other.place.priority, paused(&other)), (Some(PortKey(0)), None, None));
    let unknown = told(&mut rig, &change(&[]));
    assert_eq!((paused(&unknown), unknown.place), (None, crate::event::Place::default()));
    let of_bond = told(&mut rig, &change(&["eth0", "eth1"]));
    assert_eq!(of_bond.place.port, Some(PortKey(1)), "the slave that is paused");
    rig.reads(160, &[]);
    assert!(paused(&told(&mut rig, &change(&["eth1"]))).is_some());
    rig.reads(80, &[]);
    let late = told(&mut rig, &change(&["eth1"]));
    assert_eq!((late.place.priority, paused(&late)), (None, None));
}

#[test]
fn a_port_that_nobody_watches_is_named_all_the_same() {
    let event = told(&mut rig(), &change(&["eno1"]));
    assert_eq!((event.place.port, &event.place.netdev[..]), (None, "eno1"));
}

#[test]
fn only_a_path_that_is_lost_against_a_persons_will_is_a_warning() {
    use NvmfState::{Connecting, Dead, Deleting, Live, Resetting};
    for (from, to, level) in [
        (None, Some(Live), Level::Info),
        (Some(Live), Some(Resetting), Level::Warn),
        (Some(Resetting), Some(Connecting), Level::Info),
        (Some(Connecting), Some(Live), Level::Info),
        (Some(Live), Some(Deleting), Level::Info),
        (Some(Deleting), None, Level::Info),
        (Some(Live), None, Level::Info),
        (Some(Connecting), None, Level::Warn),
        (Some(Connecting), Some(Dead), Level::Warn),
    ] {
        let event = told(&mut rig(), &NvmfChange { from, to, ..change(&["eth0"]) });
        assert_eq!(event.kind.level(), level, "{from:?} to {to:?}");
    }
}
