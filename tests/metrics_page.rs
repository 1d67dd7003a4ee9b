//! What stands on the metrics page of a node. `UPDATE_GOLDEN=1` writes `tests/golden/metrics.txt`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may")]

mod node;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use node::{INTERVAL, Node, Plan, identity};
use rocewatch::export::host::{HostFacts, ProcessFacts};
use rocewatch::export::stats::{AgentStats, BuildInfo, Collector, PageFacts};
use rocewatch::export::{Clock, Moment, PageCache, render};
use rocewatch::sources::{
    Lag, NvmfController, NvmfFacts, NvmfSubsystem, NvmfTransport, NvmfView, PortFacts, RdmaView, TargetPort,
    TargetSubsystem,
};
use rocewatch::sys::dcb::{DcbSettings, Trust};
use rocewatch::sys::devlink::Reporter;
use rocewatch::sys::ethtool_replies::{
    Coalescing, DownReason, FecCounts, LinkState, PauseState, StandardCounts,
};
use rocewatch::sys::link::LinkStats;
use rocewatch::sys::netdev::BusDevice;
use rocewatch::sys::rdma_wire::{NodeType, PortState, Protocol};
use rocewatch_core::action::{ActionKind, ActionResult, PauseConfig};
use rocewatch_core::catalog::{Counter, Family, FamilyKind, Slot};
use rocewatch_core::ids::{PortIdentity, PortKey};
use rocewatch_core::input::{GuardAnswer, Input};
use rocewatch_core::nvmf::NvmfState;
use rocewatch_core::settings::{Guard, Mode, Settings};
use rocewatch_core::snapshot::{CounterView, Snapshot};
use rocewatch_core::units::{MonoTime, Priority, PriorityMask};

const GOLDEN: &str = "tests/golden/metrics.txt";
/// Families that nothing fills yet, with the reason.
const NOT_YET: [(&str, &str); 1] =
    [("rocewatch_raw_total", "opt-in: native counters without a row in the catalogue")];
/// The most series that a node with eight ports may have.
const SERIES_MAX: usize = 2500;

fn three() -> Priority {
    Priority::new(3).unwrap()
}

fn mask() -> PriorityMask {
    PriorityMask::default().with(three()).with(Priority::new(4).unwrap())
}

fn plan(driver: &str, identity: PortIdentity) -> Plan<'_> {
    let pause = Some(PauseConfig { rx: false, tx: false });
    Plan { driver, identity, pfc: Some(mask()), pause, speed_mbps: Some(400_000) }
}

/// Enforcing, with `pfc-off` as the answer to received pause.
fn settings() -> Settings {
    let guard = Guard {
        url: "http://prometheus".into(),
        query: "1".into(),
        limit: 1,
        delay: Duration::from_secs(30),
    };
    let mut settings = Settings { mode: Mode::Enforce, guard: Some(guard), ..Settings::default() };
    settings.rx.actions = vec![ActionKind::PfcOff];
    settings
}

/// An mlx5, a bnxt and an unknown NIC after half a second of storm on priority 3 of the first two: vetoed on the
/// mlx5, whose link `pfc-off` would take down, and in force on the bnxt.
fn stormy() -> Node {
    let mut node = Node::new(settings());
    node.add(plan("mlx5_core", identity("mlx5_core", "mlx5", 0)), |_| 0);
    node.add(plan("bnxt_en", identity("bnxt_en", "bnxt_re", 1)), |_| 0);
    let bare = PortIdentity { netdev: "eth2".into(), driver: "e1000e".into(), ..PortIdentity::default() };
    node.add(Plan { pfc: None, pause: None, speed_mbps: None, ..plan("generic", bare) }, |n| n);
    for _ in 0..40 {
        node.read(|_, slot, value| {
            if slot.priority() == Some(three()) && slot.counter() == Counter::PriorityTxPackets {
                *value += 1000;
            }
        });
    }
    for _ in 0..10 {
        node.read(|_, slot, value| {
            let of_three = |counter| slot.priority() == Some(three()) && slot.counter() == counter;
            if of_three(Counter::PfcRxPauseTime) {
                *value += u64::try_from(INTERVAL.as_nanos()).unwrap();
            } else if of_three(Counter::PfcRxPauseFrames) {
                *value += 12;
            }
        });
        node.carry_out();
    }
    node.tell(Input::GuardAnswer(GuardAnswer { asked_at: node.now, answer: Ok(0) }));
    node
}

/// Counts of an agent that has done a little of everything.
fn busy(snapshot: &Snapshot) -> AgentStats {
    let build =
        BuildInfo { version: "1.2.3", revision: "abc1234", rustc: "1.95.0", target: "x86_64-linux".into() };
    let stats = AgentStats::new(build);
    for view in &snapshot.ports {
        let port = stats.port(view.key);
        port.note_poll(Duration::from_micros(300), INTERVAL);
        port.note_poll(Duration::from_millis(60), INTERVAL);
        port.note_read(Collector::Ethtool, Duration::from_micros(800), Ok(()));
        let (rx_bytes, tx_bytes) = (1000, 2000);
        port.note_statistics(LinkStats { rx_bytes, tx_bytes, ..LinkStats::default() });
        port.note_flavour("physical");
        port.note_facts(facts(&view.identity.driver));
    }
    let failing = stats.port(PortKey(2));
    failing.note_read(Collector::Ethtool, Duration::from_secs(1), Err("ETIMEDOUT"));
    stats.reads.note_read(Collector::Link, Duration::from_micros(90), Ok(()));
    stats.note_rdma(vec![rdma_port("mlx5_0", "eth0", &[]), lag(&[(Counter::EcnMarkedPackets, 9)])]);
    stats.note_nvmf(nvmf(snapshot.at));
    stats.http.note_request("/metrics", 200);
    stats.recorder.records.add(12);
    stats.note_config_accepted("5d41402a".into(), Duration::from_secs(1_700_000_000));
    stats.note_page(PageFacts { bytes: 70_000, took: Duration::from_millis(2) });
    stats.note_host(host());
    stats
}

/// Two paths to a subsystem, one of them lost a while ago, and one that is served.
fn nvmf(at: MonoTime) -> NvmfView {
    let nqn = || "nqn.2026-01.example:disk".to_owned();
    let controller = |name: &str, transport, state| NvmfController {
        name: name.into(),
        facts: NvmfFacts {
            subsystem: nqn(),
            transport,
            address: "192.0.2.1:4420".into(),
            host_address: String::new(),
            queues: Some(9),
            timeouts: vec![("keep_alive", Duration::from_secs(5)), ("ctrl_loss", Duration::from_secs(600))],
        },
        state: Some(state),
        interface: "bond0".into(),
        netdevs: vec!["eth0".into()],
        ..NvmfController::default()
    };
    let live = controller("nvme1", NvmfTransport::Rdma, NvmfState::Live);
    let not_live_since = Some(at.before(Duration::from_millis(1500)));
    let away = controller("nvme2", NvmfTransport::Tcp, NvmfState::Connecting);
    let away = NvmfController { not_live_since, transitions: 3, reconnects: 1, ..away };
    let subsystem = |nqn, paths, live, lost| NvmfSubsystem { nqn, paths, live, lost };
    let port = TargetPort {
        name: "1".into(),
        transport: NvmfTransport::Rdma,
        address: "192.0.2.9:4420".into(),
        subsystems: vec![nqn()],
    };
    NvmfView {
        at,
        controllers: vec![live, away],
        subsystems: vec![subsystem(nqn(), 2, 1, 0), subsystem("nqn.2026-01.example:gone".into(), 0, 0, 2)],
        target_ports: vec![port],
        target_subsystems: vec![TargetSubsystem { nqn: nqn(), namespaces: 2, hosts: Some(4) }],
    }
}

/// What a port tells whose driver tells everything, with the reporters that mlx5 has and that others have.
fn facts(driver: &str) -> PortFacts {
    let device = BusDevice { bus: "pci".into(), address: "0000:3b:00.0".into() };
    let names: &[&str] =
        if driver == "mlx5_core" { &["fw", "fw_fatal", "rx", "tx", "vnic"] } else { &["fw", "hw"] };
    let reporters = names.iter().map(|name| {
        let (in_error, errors, recoveries) = (Some(*name == "tx"), Some(2), Some(1));
        Reporter { device: device.clone(), port: None, name: (*name).into(), in_error, errors, recoveries }
    });
    let dcb = DcbSettings {
        pfc: Some(0b1_1000),
        peer_pfc: None,
        trust: Some(Trust::Dscp),
        dcbx: Some(1),
        buffers: None,
    };
    let pause = PauseState {
        rx_frames: Some(11),
        tx_frames: Some(12),
        tx_storm_events: Some(1),
        ..PauseState::default()
    };
    let fec =
        FecCounts { corrected_blocks: Some(21), uncorrectable_blocks: Some(22), corrected_bits: Some(23) };
    PortFacts {
        dcb: Some(dcb),
        pause: Some(pause),
        prevention_timeout_ms: Some(100),
        fec: Some(fec),
        coalescing: Some(Coalescing {
            adaptive_rx: Some(true),
            adaptive_tx: Some(false),
            stats_block_us: None,
        }),
        link: Some(LinkState { down_reason: Some(DownReason::NoCable), downs: Some(31) }),
        standard: Some(StandardCounts {
            symbol_errors: Some(41),
            crc_errors: Some(42),
            tx_control_frames: Some(43),
            rx_control_frames: Some(44),
        }),
        reporters: reporters.collect(),
    }
}

/// Port 1 of an RDMA device, as the kernel tells of it.
fn rdma_port(device: &str, netdev: &str, counters: &[(Counter, u64)]) -> RdmaView {
    let counters = counters.iter().map(|(counter, value)| CounterView {
        slot: Slot::of_port(*counter).unwrap(),
        value: *value,
        saturated: false,
    });
    RdmaView {
        device: device.into(),
        port: "1".into(),
        netdev: netdev.into(),
        link_layer: "Ethernet".into(),
        protocol: Some(Protocol::Roce),
        node_type: Some(NodeType::Ca),
        driver: "mlx5_core".into(),
        state: Some(PortState::Active),
        resources: vec![("qp".into(), 3), ("mr".into(), 0)],
        counters: counters.collect(),
        ..RdmaView::default()
    }
}

/// One device for both slaves of a bond; packets are counted at eth8.
fn lag(counters: &[(Counter, u64)]) -> RdmaView {
    let members = vec!["eth8".into(), "eth9".into()];
    let lag = Lag { bond: "bond0".into(), members, function: "eth8".into() };
    RdmaView { lag: Some(lag), ..rdma_port("mlx5_bond_0", "bond0", counters) }
}

fn host() -> HostFacts {
    let process = ProcessFacts {
        cpu: Duration::from_millis(1250),
        resident_bytes: 6 << 20,
        virtual_bytes: 80 << 20,
        open_fds: Some(14),
        max_fds: Some(1024),
        started: Duration::from_secs(1_700_000_000),
    };
    HostFacts {
        cpus: Some(2),
        cpu_usage: Some(0.25),
        pressure: vec![("cpu", Duration::from_millis(1500)), ("memory", Duration::ZERO)],
        load: Some([0.5, 0.25, 0.125]),
        memory_bytes: Some(16 << 30),
        memory_available_bytes: Some(8 << 30),
        process: Some(process),
    }
}

fn moment(now: MonoTime) -> Moment {
    Moment { now, boot: Duration::from_secs(1_700_000_000) }
}

fn page_of(snapshot: &Snapshot, stats: &AgentStats, now: MonoTime) -> String {
    String::from_utf8(render(snapshot, stats, &moment(now)).plain.to_vec()).unwrap()
}

/// The page of the stormy node, 130 ms after its last reading.
fn stormy_page() -> String {
    let node = stormy();
    let snapshot = node.snapshot();
    page_of(&snapshot, &busy(&snapshot), node.now + Duration::from_millis(130))
}

/// One line of a page that holds a value.
#[derive(Debug, PartialEq)]
struct Series {
    name: String,
    labels: Vec<(String, String)>,
    value: f64,
}

/// The lines with a value. The label values of these tests hold no comma and no brace.
fn series(page: &str) -> Vec<Series> {
    let lines = page.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (head, value) = line.rsplit_once(' ').unwrap();
            let (name, labels) = head.split_once('{').unwrap_or((head, ""));
            let labels = labels.trim_end_matches('}').split(',').filter(|label| !label.is_empty());
            let labels = labels.map(|label| {
                let (name, value) = label.split_once('=').unwrap();
                (name.to_owned(), value.trim_matches('"').to_owned())
            });
            Series { name: name.into(), labels: labels.collect(), value: value.parse().unwrap() }
        })
        .collect()
}

/// The values of the series of `name` that carry all of `labels`.
fn values(page: &str, name: &str, labels: &[(&str, &str)]) -> Vec<f64> {
    let carries = |series: &Series| {
        labels.iter().all(|(name, value)| series.labels.iter().any(|(n, v)| n == name && v == value))
    };
    series(page)
        .iter()
        .filter(|series| series.name == name && carries(series))
        .map(|series| series.value)
        .collect()
}

#[test]
fn the_page_of_a_stormy_node_is_as_recorded() {
    let page = stormy_page();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(GOLDEN);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let recorded = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = page.lines().zip(recorded.lines()).find(|(now, then)| now != then);
    assert!(page == recorded, "{GOLDEN} differs, first in {differs:?}; UPDATE_GOLDEN=1 writes it anew");
}

#[test]
fn promtool_has_nothing_to_say_about_the_page() {
    let promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut promtool) = promtool else {
        let reason = "promtool is not installed (Debian package prometheus)";
        assert!(std::env::var_os("ROCEWATCH_REQUIRE_ALL").is_none(), "{reason}");
        eprintln!("skipped: {reason}");
        return;
    };
    promtool.stdin.take().unwrap().write_all(stormy_page().as_bytes()).unwrap();
    let output = promtool.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_storm_shows_on_the_port_where_it_is() {
    let page = stormy_page();
    let flag = |name: &str, netdev: &str| {
        values(&page, name, &[("netdev", netdev), ("priority", "3"), ("direction", "rx")])
    };
    assert_eq!(flag("rocewatch_watchdog_storm", "eth0"), [1.0]);
    assert_eq!(flag("rocewatch_watchdog_storms_total", "eth0"), [1.0]);
    assert_eq!(flag("rocewatch_watchdog_mitigated", "eth1"), [1.0]);
    assert_eq!(flag("rocewatch_watchdog_storm", "eth1"), [0.0]);
    let vetoed = [("netdev", "eth0"), ("reason", "disruption")];
    assert_eq!(values(&page, "rocewatch_watchdog_suppressed_total", &vetoed), [1.0]);
    let done = [("netdev", "eth1"), ("action", "pfc-off"), ("result", "ok")];
    assert_eq!(values(&page, "rocewatch_watchdog_actions_total", &done), [1.0]);
    assert_eq!(values(&page, "rocewatch_watchdog_read_age_seconds", &[("netdev", "eth0")]), [0.13]);
}

#[test]
fn a_count_that_the_statistics_have_is_not_shown_from_elsewhere() {
    let page = stormy_page();
    // The driver of eth2 has no such statistics, those of the others have.
    let value = |name: &str, netdev: &str| values(&page, name, &[("netdev", netdev)]);
    assert_eq!(value("rocewatch_phy_fec_corrected_blocks_total", "eth1"), [0.0]);
    assert_eq!(value("rocewatch_phy_fec_corrected_blocks_total", "eth2"), [21.0]);
    assert_eq!(value("rocewatch_phy_crc_errors_total", "eth0"), [0.0]);
    assert_eq!(value("rocewatch_phy_crc_errors_total", "eth2"), [42.0]);
    assert_eq!(value("rocewatch_nic_pause_storm_events_total", "eth0"), [0.0, 0.0]);
    assert_eq!(value("rocewatch_nic_pause_storm_events_total", "eth2"), [1.0]);
}

#[test]
fn a_reason_for_a_dead_link_is_shown_while_it_is_dead_and_a_limit_that_the_driver_chooses_is_no_number() {
    let mut node = stormy();
    let stats = busy(&node.snapshot());
    let shown = |node: &Node, name: &str| {
        values(&page_of(&node.snapshot(), &stats, node.now), name, &[("netdev", "eth0")])
    };
    assert!(shown(&node, "rocewatch_port_down_info").is_empty());
    node.lose_carrier(PortKey(0));
    assert_eq!(shown(&node, "rocewatch_port_down_info"), [1.0]);
    assert_eq!(shown(&node, "rocewatch_prevention_timeout_seconds"), [0.1]);
    let automatic = PortFacts { prevention_timeout_ms: Some(u16::MAX), ..facts("mlx5_core") };
    stats.port(PortKey(0)).note_facts(automatic);
    assert!(shown(&node, "rocewatch_prevention_timeout_seconds").is_empty());
}

#[test]
fn what_is_not_known_has_no_series() {
    let page = stormy_page();
    for name in ["rocewatch_port_rate_bytes_per_second", "rocewatch_pfc_enabled"] {
        assert!(values(&page, name, &[("netdev", "eth2")]).is_empty(), "{name}");
        assert!(!values(&page, name, &[("netdev", "eth0")]).is_empty(), "{name}");
    }
    let node = Node::new(Settings::default());
    let empty = page_of(&node.snapshot(), &AgentStats::default(), node.now);
    assert_eq!(values(&empty, "rocewatch_ports", &[]), [0.0]);
    for absent in ["rocewatch_host_cpus", "rocewatch_config_info", "rocewatch_page_bytes", "_success{"] {
        assert!(!empty.contains(absent), "{absent}");
    }
}

/// A port without link, whose peer had told its PFC mask before.
fn page_of_a_dead_link() -> String {
    let mut node = stormy();
    let stats = busy(&node.snapshot());
    let dcb = DcbSettings { peer_pfc: Some(0b1000), ..DcbSettings::default() };
    stats.port(PortKey(0)).note_facts(PortFacts { dcb: Some(dcb), ..facts("mlx5_core") });
    node.lose_carrier(PortKey(0));
    page_of(&node.snapshot(), &stats, node.now)
}

/// Pages that between them show every family that can be shown.
fn all_pages() -> Vec<String> {
    let mut pages = vec![stormy_page(), page_of_a_dead_link()];
    let open = |driver| Plan {
        pause: Some(PauseConfig { rx: true, tx: true }),
        ..plan(driver, identity(driver, "dev", 0))
    };
    for driver in ["mlx5_core", "bnxt_en", "ice", "generic", "complete"] {
        let mut node = Node::new(Settings::default());
        match driver {
            "complete" => node.add_complete(open("mlx5_core")),
            driver => node.add(open(driver), |n| n),
        };
        (0..60).for_each(|_| node.read(|_, _, _| {}));
        let mut snapshot = node.snapshot();
        // As if each counter stood at its largest value.
        snapshot.ports[0].counters.iter_mut().for_each(|view| view.saturated = true);
        // What only the operator brings about.
        snapshot.ports[0].tests.insert((ActionKind::PfcOff, ActionResult::DryRun), 1);
        snapshot.ports[0].maintenance_until = Some(snapshot.at);
        pages.push(page_of(&snapshot, &AgentStats::default(), node.now));
    }
    pages
}

#[test]
fn every_family_on_a_page_is_in_the_catalogue_with_its_type_and_labels() {
    for page in all_pages() {
        let types = page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
        let types: BTreeMap<_, _> = types.collect();
        for series in series(&page) {
            let ends = ["_bucket", "_sum", "_count"].iter().find_map(|end| series.name.strip_suffix(end));
            let name = ends.filter(|base| types.contains_key(base)).unwrap_or(&series.name);
            let family = Family::named(name).unwrap_or_else(|| panic!("{name} is not in the catalogue"));
            assert_eq!(types.get(name), Some(&family.kind.label()), "{name}");
            let fixed = Counter::ALL.iter().map(|c| c.entry()).find(|entry| entry.family.name == name);
            let fixed = fixed.into_iter().flat_map(|entry| entry.labels).map(|(label, _)| *label);
            let labels: Vec<_> = series.labels.iter().map(|(label, _)| label.as_str()).collect();
            let labels: Vec<_> = labels.into_iter().filter(|label| *label != "le").collect();
            assert_eq!(labels, family.labels.iter().copied().chain(fixed).collect::<Vec<_>>(), "{name}");
        }
    }
}

#[test]
fn every_family_of_the_catalogue_is_on_some_page_or_said_not_to_be() {
    let pages = all_pages();
    let is_shown = |name: &str| pages.iter().any(|page| page.contains(&format!("# TYPE {name} ")));
    let missing: BTreeSet<_> = Family::all().map(|f| f.name).filter(|name| !is_shown(name)).collect();
    assert_eq!(missing, NOT_YET.iter().map(|(name, _)| *name).collect());
}

#[test]
fn the_buckets_of_a_share_are_those_of_the_catalogue() {
    let page = stormy_page();
    for name in ["rocewatch_pfc_rx_pause_ratio", "rocewatch_watchdog_poll_lateness_seconds"] {
        let family = Family::named(name).unwrap();
        let FamilyKind::Histogram(bounds) = family.kind else { panic!("{name} is no histogram") };
        let base = family.unit.base() as f64;
        let expected: BTreeSet<_> = bounds.iter().map(|bound| (*bound as f64 / base).to_string()).collect();
        let buckets = series(&page).into_iter().filter(|series| series.name == format!("{name}_bucket"));
        let shown = buckets.flat_map(|series| series.labels).filter(|(label, _)| label == "le");
        let shown: BTreeSet<_> = shown.map(|(_, bound)| bound).filter(|bound| bound != "+Inf").collect();
        assert_eq!(shown, expected, "{name}");
    }
}

#[test]
fn buckets_rise_to_the_count() {
    for page in all_pages() {
        let all = series(&page);
        for infinite in all.iter().filter(|s| s.labels.iter().any(|(n, v)| n == "le" && v == "+Inf")) {
            let base = infinite.name.strip_suffix("_bucket").unwrap();
            let labels: Vec<_> = infinite.labels.iter().filter(|(n, _)| n != "le").cloned().collect();
            let own = |s: &&Series| {
                labels.iter().all(|label| s.labels.contains(label)) && s.labels.len() == labels.len() + 1
            };
            let buckets = all.iter().filter(|s| s.name == infinite.name).filter(own);
            let counts: Vec<_> = buckets.map(|s| s.value).collect();
            assert!(counts.is_sorted(), "{base} {counts:?}");
            let count = all.iter().find(|s| s.name == format!("{base}_count") && s.labels == labels);
            assert_eq!(count.unwrap().value, infinite.value, "{base}");
        }
    }
}

#[test]
fn no_series_stands_twice() {
    for page in all_pages() {
        let mut seen = BTreeSet::new();
        for line in page.lines() {
            let name = if line.starts_with('#') { line } else { line.rsplit_once(' ').unwrap().0 };
            assert!(seen.insert(name), "{name}");
        }
    }
}

#[test]
fn a_port_that_took_over_the_name_of_one_that_is_going_stands_alone() {
    let mut node = Node::new(Settings::default());
    node.add(plan("mlx5_core", identity("mlx5_core", "mlx5", 0)), |_| 0);
    node.add(plan("mlx5_core", identity("mlx5_core", "mlx5", 0)), |_| 5);
    (0..3).for_each(|_| node.read(|_, _, _| {}));
    let page = page_of(&node.snapshot(), &AgentStats::default(), node.now);
    let sent = values(&page, "rocewatch_port_transmit_packets_total", &[("netdev", "eth0")]);
    assert_eq!(sent, [5.0]);
    assert_eq!(values(&page, "rocewatch_ports", &[]), [1.0]);
}

#[test]
fn a_port_that_is_gone_takes_its_series_along() {
    let mut node = stormy();
    let snapshot = node.snapshot();
    let stats = busy(&snapshot);
    assert!(page_of(&snapshot, &stats, node.now).contains("\"eth1\""));
    node.tell(Input::Gone(PortKey(1)));
    let page = page_of(&node.snapshot(), &stats, node.now);
    assert!(!page.contains("\"eth1\""));
    assert!(page.contains("\"eth2\""));
}

#[test]
fn a_priority_nobody_watches_appears_when_it_moves() {
    let mut node = Node::new(Settings::default());
    node.add(plan("bnxt_en", identity("bnxt_en", "bnxt_re", 0)), |_| 0);
    (0..3).for_each(|_| node.read(|_, _, _| {}));
    let frames = |node: &Node, priority: &str| {
        let page = page_of(&node.snapshot(), &AgentStats::default(), node.now);
        values(&page, "rocewatch_pfc_rx_pause_frames_total", &[("priority", priority)])
    };
    assert_eq!(frames(&node, "3"), [0.0]);
    assert!(frames(&node, "5").is_empty());
    node.read(|_, slot, value| {
        let five = slot.priority() == Priority::new(5);
        *value += u64::from(five && slot.counter() == Counter::PfcRxPauseFrames);
    });
    assert_eq!(frames(&node, "5"), [1.0]);
    assert!(frames(&node, "6").is_empty());
}

#[test]
fn storm_seconds_grow_while_the_storm_lasts_and_never_fall() {
    let mut node = stormy();
    let total = |node: &Node, later: Duration| {
        let labels = [("netdev", "eth0"), ("priority", "3"), ("direction", "rx")];
        let page = page_of(&node.snapshot(), &AgentStats::default(), node.now + later);
        values(&page, "rocewatch_watchdog_storm_seconds_total", &labels)[0]
    };
    let mut before = total(&node, Duration::ZERO);
    assert!(before >= 0.5);
    for step in 0..60 {
        let pause = if step < 5 { 50_000_000 } else { 0 };
        node.read(|_, slot, value| {
            let three = slot.priority() == Some(three());
            *value += if three && slot.counter() == Counter::PfcRxPauseTime { pause } else { 0 };
        });
        // The scrape may come long after the snapshot, and the storm be over by then.
        let after = total(&node, Duration::from_millis(900));
        assert!(after >= before, "{step}: {after} after {before}");
        before = after;
    }
    let later = total(&node, Duration::from_secs(60));
    assert_eq!(later, before);
}

/// The page of a node of one port, which counts packets of RDMA and nothing else, with RDMA ports beside it.
fn page_with_rdma(device: &str, netdev: &str, views: Vec<RdmaView>) -> String {
    let mut node = Node::new(Settings::default());
    let identity =
        PortIdentity { device: device.into(), netdev: netdev.into(), ..identity("mlx5_core", "", 0) };
    node.add(plan("mlx5_core", identity), |_| 7);
    (0..3).for_each(|_| node.read(|_, _, _| {}));
    let mut snapshot = node.snapshot();
    snapshot.ports[0].counters.retain(|view| view.slot.counter() == Counter::RdmaRxPackets);
    let stats = AgentStats::default();
    stats.note_rdma(views);
    page_of(&snapshot, &stats, node.now)
}

/// The labels of the series of a family, with their values.
fn placed(page: &str, name: &str) -> Vec<(String, f64)> {
    let named = series(page).into_iter().filter(|series| series.name == name);
    let labels =
        |labels: &[(String, String)]| labels.iter().map(|(_, v)| v.clone()).collect::<Vec<_>>().join(" ");
    named.map(|series| (labels(&series.labels), series.value)).collect()
}

const MARKED: &str = "rocewatch_ecn_marked_packets_received_total";
const RECEIVED: &str = "rocewatch_rdma_receive_packets_total";

#[test]
fn marked_and_received_packets_of_one_port_carry_the_same_labels() {
    let counters = [(Counter::EcnMarkedPackets, 5), (Counter::RdmaRxPackets, 1000)];
    let page = page_with_rdma("mlx5_0", "eth0", vec![rdma_port("mlx5_0", "eth0", &counters)]);
    assert_eq!(placed(&page, MARKED), [("mlx5_0 1 eth0".to_owned(), 5.0)]);
    assert_eq!(placed(&page, RECEIVED), [("mlx5_0 1 eth0".to_owned(), 7.0)], "the netdev's own counts");
}

#[test]
fn a_count_of_the_link_that_its_rdma_device_keeps_too_is_shown_once() {
    let bare = PortIdentity { device: "rxe0".into(), port: "1".into(), ..identity("generic", "", 0) };
    let mut node = Node::new(Settings::default());
    node.add(plan("generic", bare), |_| 0);
    let stats = AgentStats::default();
    stats.port(PortKey(0)).note_facts(facts("generic"));
    stats.note_rdma(vec![rdma_port("rxe0", "eth0", &[(Counter::LinkDowns, 2)])]);
    let page = page_of(&node.snapshot(), &stats, node.now);
    let told = [("rxe0 1 eth0".to_owned(), 31.0)];
    assert_eq!(placed(&page, "rocewatch_port_link_downs_total"), told, "as the port's driver tells");
}

#[test]
fn marked_packets_of_a_whole_lag_never_meet_the_packets_of_one_slave() {
    let counters =
        [(Counter::EcnMarkedPackets, 5), (Counter::OutOfSequence, 2), (Counter::RdmaRxPackets, 1000)];
    for (netdev, received) in [
        // Joined to the slave that the packets are counted at, which gives them too; then to the other one.
        ("eth8", vec![("mlx5_bond_0 1 eth8".to_owned(), 7.0)]),
        ("eth9", vec![("mlx5_bond_0 1 eth9".to_owned(), 7.0), ("mlx5_bond_0 1 eth8".to_owned(), 1000.0)]),
    ] {
        let page = page_with_rdma("mlx5_bond_0", netdev, vec![lag(&counters)]);
        assert_eq!(placed(&page, MARKED), [("mlx5_bond_0 1 bond0".to_owned(), 5.0)]);
        assert_eq!(
            placed(&page, "rocewatch_out_of_sequence_total"),
            [("mlx5_bond_0 1 bond0".to_owned(), 2.0)]
        );
        assert_eq!(placed(&page, RECEIVED), received);
        let members =
            [("mlx5_bond_0 bond0 eth8".to_owned(), 1.0), ("mlx5_bond_0 bond0 eth9".to_owned(), 1.0)];
        assert_eq!(placed(&page, "rocewatch_lag_member_info"), members);
    }
}

#[test]
fn what_the_rdma_device_of_a_port_counts_is_supported_there() {
    let supported = |device: &str, netdev: &str, views| {
        let page = page_with_rdma(device, netdev, views);
        values(&page, "rocewatch_source_supported", &[("netdev", netdev), ("family", MARKED)])
    };
    let counters = [(Counter::EcnMarkedPackets, 0)];
    let own = || vec![rdma_port("mlx5_0", "eth0", &counters)];
    assert_eq!(supported("mlx5_0", "eth0", own()), [1.0]);
    assert_eq!(supported("mlx5_bond_0", "eth9", vec![lag(&counters)]), [1.0], "of a slave of the bond");
    assert_eq!(supported("mlx5_1", "eth1", own()), [0.0], "of another device");
    assert_eq!(supported("", "eth0", own()), [0.0], "joined to none");
    assert_eq!(supported("mlx5_0", "eth0", vec![rdma_port("mlx5_0", "eth0", &[])]), [0.0]);
}

#[test]
fn two_ports_of_one_device_in_one_bond_name_its_slaves_once() {
    let second = RdmaView { port: "2".into(), resources: Vec::new(), ..lag(&[]) };
    let page = page_with_rdma("mlx4_0", "eth0", vec![lag(&[]), second]);
    assert_eq!(placed(&page, "rocewatch_lag_member_info").len(), 2);
}

#[test]
fn what_a_device_counts_as_a_whole_meets_no_port() {
    let whole = RdmaView {
        port: String::new(),
        netdev: String::new(),
        ..rdma_port("mlx5_0", "", &[(Counter::EcnMarkedPackets, 5)])
    };
    let page = page_with_rdma("mlx5_0", "eth0", vec![rdma_port("mlx5_0", "eth0", &[]), whole]);
    assert_eq!(placed(&page, MARKED), [("mlx5_0  ".to_owned(), 5.0)]);
    assert_eq!(placed(&page, RECEIVED), [("mlx5_0 1 eth0".to_owned(), 7.0)]);
    assert_eq!(placed(&page, "rocewatch_rdma_port_info").len(), 1, "it is no port");
}

#[test]
fn two_rdma_devices_on_one_netdev_are_told_apart_by_their_label() {
    let views = ["mlx5_0", "mlx5_1"].map(|device| rdma_port(device, "bond0", &[(Counter::CnpSent, 3)]));
    let page = page_with_rdma("mlx5_0", "eth0", views.to_vec());
    let sent = ["mlx5_0 1 bond0", "mlx5_1 1 bond0"].map(|place| (place.to_owned(), 3.0));
    assert_eq!(placed(&page, "rocewatch_cnp_sent_total"), sent);
    assert_eq!(values(&page, "rocewatch_devices", &[]), [2.0]);
}

#[test]
fn what_was_known_of_nvmf_ten_seconds_ago_is_not_known_any_more() {
    let stats = AgentStats::default();
    stats.note_nvmf(nvmf(MonoTime::from_millis(50_000)));
    let shown = |millis| {
        let page = page_of(&Snapshot::default(), &stats, MonoTime::from_millis(millis));
        let away = values(&page, "rocewatch_nvmf_controller_not_live_seconds", &[("controller", "nvme2")]);
        (away, values(&page, "rocewatch_nvmf_paths_live", &[]), page.contains("rocewatch_nvmet"))
    };
    assert_eq!(shown(60_000), (vec![11.5], vec![1.0], true));
    assert_eq!(shown(60_001), (vec![], vec![], false));
}

#[test]
fn an_excluded_rdma_port_has_no_series() {
    let excluded = RdmaView { excluded: true, ..rdma_port("mlx5_7", "eth7", &[(Counter::CnpSent, 3)]) };
    let page = page_with_rdma("", "eth0", vec![excluded]);
    assert!(!page.contains("mlx5_7"), "{page}");
    assert_eq!(values(&page, "rocewatch_devices", &[]), [0.0]);
}

#[test]
fn a_port_that_is_not_active_is_told_from_one_of_which_nothing_is_known() {
    for (state, active) in
        [(Some(PortState::Active), vec![1.0]), (Some(PortState::Down), vec![0.0]), (None, vec![])]
    {
        let view = RdmaView { state, ..rdma_port("mlx5_0", "eth0", &[]) };
        let page = page_with_rdma("mlx5_0", "eth0", vec![view]);
        assert_eq!(values(&page, "rocewatch_rdma_port_active", &[]), active);
        let up = if state == Some(PortState::Down) { [0.0] } else { [1.0] };
        assert_eq!(values(&page, "rocewatch_port_up", &[("netdev", "eth0")]), up);
    }
}

#[test]
fn a_counter_without_a_metric_is_shown_once_by_its_own_name() {
    let named = RdmaView { unmapped: vec![("RNR sent".into(), 4)], ..rdma_port("irdma0", "eth3", &[]) };
    let mut node = Node::new(Settings::default());
    node.add(
        plan(
            "generic",
            PortIdentity { netdev: "eth3".into(), device: "irdma0".into(), ..identity("generic", "", 3) },
        ),
        |_| 0,
    );
    let snapshot = node.snapshot();
    let stats = AgentStats::default();
    stats.note_rdma(vec![named]);
    let raw = |stats: &AgentStats| placed(&page_of(&snapshot, stats, node.now), "rocewatch_raw_total");
    assert_eq!(raw(&stats), [("irdma0 1 eth3 RNR sent".to_owned(), 4.0)]);
    // The same name among the netdev's own.
    let port = stats.port(snapshot.ports[0].key);
    port.name_raw(vec!["RNR sent".into()]);
    port.note_raw([9].into_iter());
    assert_eq!(raw(&stats), [("irdma0 1 eth3 RNR sent".to_owned(), 9.0)]);
}

#[test]
fn names_from_outside_cannot_break_the_page() {
    let mut node = Node::new(Settings::default());
    let hostile = PortIdentity {
        netdev: "eth\"0\\\n} 1".into(),
        firmware_version: "fw \u{fffd} é".into(),
        ..identity("mlx5_core", "mlx5", 0)
    };
    node.add(plan("mlx5_core", hostile), |_| 0);
    (0..3).for_each(|_| node.read(|_, _, _| {}));
    let page = page_of(&node.snapshot(), &AgentStats::default(), node.now);
    assert!(page.contains("netdev=\"eth\\\"0\\\\\\n} 1\""));
    assert!(page.contains("firmware_version=\"fw \u{fffd} é\""));
}

#[test]
fn a_node_of_eight_ports_keeps_its_budget_of_series() {
    for driver in ["mlx5_core", "bnxt_en"] {
        for pfc in [Some(mask()), None] {
            let mut node = Node::new(Settings::default());
            for index in 0..8 {
                // Every counter has moved on every priority: the most that the rules let through.
                node.add(Plan { pfc, ..plan(driver, identity(driver, "dev", index)) }, |n| n);
            }
            (0..60).for_each(|_| node.read(|_, _, _| {}));
            let snapshot = node.snapshot();
            let stats = busy(&snapshot);
            // Paths to storage, a dozen series each, are as many as somebody has connected.
            stats.note_nvmf(NvmfView::default());
            let page = render(&snapshot, &stats, &moment(node.now));
            let lines = page.plain.split(|byte| *byte == b'\n').filter(|l| !l.is_empty() && l[0] != b'#');
            assert_eq!(page.series, lines.count());
            assert!(page.series < SERIES_MAX, "{driver} {pfc:?}: {} series", page.series);
            eprintln!("{driver} {pfc:?}: {} series, {} bytes", page.series, page.plain.len());
        }
    }
}

#[test]
fn both_forms_of_a_page_are_the_same_page() {
    let node = stormy();
    let page = render(&node.snapshot(), &AgentStats::default(), &moment(node.now));
    let mut unpacked = Vec::new();
    std::io::copy(&mut flate2::read::GzDecoder::new(&page.gzip[..]), &mut unpacked).unwrap();
    assert!(unpacked == page.plain);
    assert!(page.gzip.len() * 5 < page.plain.len());
}

#[tokio::test]
async fn a_page_is_made_when_asked_for_and_not_too_often() {
    let millis = Arc::new(AtomicU64::new(10_000));
    let hand = Arc::clone(&millis);
    let clock: Clock = Arc::new(move || moment(MonoTime::from_millis(hand.load(Ordering::Relaxed))));
    let cache = PageCache::default();
    let stats = Arc::new(AgentStats::default());
    let (old, new) = (Arc::new(Snapshot::default()), Arc::new(Snapshot::default()));
    let mut made = Vec::new();
    for (snapshot, at) in
        [(&old, 10_000), (&old, 10_900), (&new, 10_900), (&old, 10_950), (&new, 11_000), (&new, 12_001)]
    {
        millis.store(at, Ordering::Relaxed);
        let page = cache.page(Arc::clone(snapshot), Arc::clone(&stats), Arc::clone(&clock)).await.unwrap();
        made.push(page);
    }
    let same = |left: usize, right: usize| made[left].plain.as_ptr() == made[right].plain.as_ptr();
    // Within a second of the same snapshot, and within 100 ms whatever is newer, it is the same page.
    assert!(same(0, 1) && !same(1, 2) && same(2, 3) && same(3, 4) && !same(4, 5));
    assert!(stats.page().unwrap().bytes > 0);
}
