//! What each way in understands.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rocewatch::config;
use rocewatch::profile;
use rocewatch::sys::uapi::{NLMSG_DONE, NLMSG_ERROR, RTM_NEWLINK};
use rocewatch_core::action::{ActionResult, Outcome, PauseConfig, PutBack, Report};
use rocewatch_core::durable::{Durable, PortName, QueueMemory, Spent};
use rocewatch_core::engine::Engine;
use rocewatch_core::ids::{ActionId, PortKey};
use rocewatch_core::input::{
    Command, DcbOwner, Effect, Ended, GuardAnswer, Input, JournalState, Maintenance, PortDcb, PortHealth,
    PortLink, PortPause, ReadFailed, Reading,
};
use rocewatch_core::nvmf::{NvmfChange, NvmfState};
use rocewatch_core::record::{FORMAT, Header, Line};
use rocewatch_core::settings::Settings;
use rocewatch_core::units::{Direction, MonoTime, Priority, PriorityMask, Queue};

use super::told::{NAMES, Told, port};

/// An attribute as the kernel writes it.
pub(super) fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = [(4 + value.len() as u16).to_ne_bytes(), kind.to_ne_bytes()].concat();
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn message(message_type: u16, flags: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (16 + payload.len() as u32).to_ne_bytes().to_vec();
    bytes.extend([message_type.to_ne_bytes(), flags.to_ne_bytes()].concat());
    bytes.extend([1_u32.to_ne_bytes(), 0_u32.to_ne_bytes()].concat());
    bytes.extend(payload);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// A link as linux/if_link.h numbers its attributes, an end of a dump, a refusal with words.
pub(super) fn netlink() -> Vec<Vec<u8>> {
    let mut link = vec![0; 16];
    link[4] = 7;
    for (kind, value) in [
        (3, &b"eth0\0"[..]),
        (4, &4200_u32.to_ne_bytes()),
        (10, &3_u32.to_ne_bytes()),
        (16, &[6]),
        (18, &attribute(1, b"veth\0")),
        (23, &[9; 200]),
        (33, &[1]),
        (35, &2_u32.to_ne_bytes()),
        (38, b"p0\0"),
        (54, &[2, 0xfc, 0, 0, 0, 1]),
        (56, b"0000:3b:00.0\0"),
        (57, b"pci\0"),
    ] {
        link.extend(attribute(kind, value));
    }
    let mut refused = (-19_i32).to_ne_bytes().to_vec();
    refused.extend(&message(18, 1, &[])[..16]);
    refused.extend(attribute(1, b"no such device\0"));
    let link = message(RTM_NEWLINK, 2, &link);
    let done = message(NLMSG_DONE, 2, &[0; 4]);
    vec![[link, done].concat(), message(NLMSG_ERROR, 0x300, &refused)]
}

/// Twenty names, twenty values, and a driver's description.
pub(super) fn ethtool_answer() -> Vec<Vec<u8>> {
    let mut names = [0x1b_u32, 1, 20].map(u32::to_ne_bytes).concat();
    for index in 0..20 {
        let mut name = format!("rx_prio{index}_pause").into_bytes();
        name.resize(32, 0);
        names.extend(name);
    }
    let mut values = [0x1d_u32, 20].map(u32::to_ne_bytes).concat();
    values.extend((0..20_u64).flat_map(u64::to_ne_bytes));
    let mut info = 3_u32.to_ne_bytes().to_vec();
    for text in ["mlx5_core", "6.12.0", "28.42.1000 (MT_0000000838)", "0000:3b:00.0"] {
        let mut text = text.as_bytes().to_vec();
        text.resize(32, 0);
        info.extend(text);
    }
    vec![names, values, info]
}

/// The fixtures of all drivers.
pub(super) fn ethtool_text() -> Vec<Vec<u8>> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|root| root.join("tests/fixtures"));
    let fixtures = fixtures.into_iter().find(|folder| folder.is_dir()).expect("the fixtures are there");
    let files = fs::read_dir(fixtures).unwrap().flatten().map(|folder| folder.path().join("ethtool.txt"));
    let mut texts: Vec<Vec<u8>> = files.filter_map(|file| fs::read(file).ok()).collect();
    texts.sort();
    texts.push(b"NIC statistics:\n     [0]: rx_ucast_packets: 12\n\trx: 18446744073709551615\n".to_vec());
    texts
}

/// All keys of all files.
pub(super) fn port_folder() -> Vec<Vec<u8>> {
    let link = br#"{"carrier":true,"speed_mbps":100000,"mtu_bytes":4200,"bond":"bond0","carrier_changes":3,"pci_address":"0000:3b:00.0","driver_version":"6.12","firmware_version":"28","numa_node":1,"refresh_ms":250,"stats64":{"rx_packets":1,"tx_packets":2,"rx_bytes":3,"tx_bytes":4,"rx_errors":5,"tx_errors":6,"rx_dropped":7,"tx_dropped":8}}"#;
    let dcb =
        br#"{"pfc":[3,4],"owner":"other","pause_rx":true,"pause_tx":false,"prevention_timeout_ms":100}"#;
    vec![[&link[..], &dcb[..], &b"mlx5_core\n"[..]].join(&0), b"{}\0{}\0".to_vec()]
}

/// The example, and a file in which most is wrong.
pub(super) fn config() -> Vec<Vec<u8>> {
    let wrong = "[watchdog]\nmode = \"enforce\"\nhold = \"3q\"\ndetect = 5\nrx = { actions = [\"pfc-off\"] }\n\
                 [poll]\ncalm = \"fast\"\nfast = \"0s\"\n[web]\nlisten_address = [\"::1:99999\", \"x\"]\n\
                 [[port]]\nnetdev = \"eth(\"\n";
    let right = "[watchdog]\nmode = \"enforce\"\nhold = \"3s\"\n[watchdog.rx]\nactions = [\"alert\", \"pfc-off\"]\n\
                 [poll]\ncalm = \"100ms\"\nfast = \"100ms\"\n[devices]\ninclude = \"eth[0-9]+\"\n";
    vec![config::example().into_bytes(), wrong.into(), right.into()]
}

/// The built-in profile, one that says more, and one that contradicts itself.
pub(super) fn profile() -> Vec<Vec<u8>> {
    let more = "[link]\nspeed = \"1.6T\"\ncable = \"0.5m\"\n[headroom]\nmin = \"184.321KB\"\ncell = \"256B\"\n\
                [moderation]\nadaptive_rx = true\n[nccl]\nib_hca = \"mlx5_0\"\n[dcqcn]\nrp_gd = 11\n";
    let wrong = "[pfc]\npriorities = [3, 3]\nprevention_timeout = \"1h\"\n[roce]\ndscp = 26\ntraffic_class = 0\n\
                 [mtu]\nnetdev = 1500\nrdma_active = 4096\n[linc]\n";
    vec![profile::ROCEV2_DEFAULT_TEXT.into(), more.into(), wrong.into()]
}

/// One of an agent that ended in the midst of its work.
pub(super) fn journal() -> Vec<Vec<u8>> {
    let (told, _) = storm();
    let name = PortName::of(&port().identity);
    let mut durable = told.engine.durable();
    durable.spent.push(Spent { port: name.clone(), at: told.now });
    durable.queues.push(QueueMemory {
        port: name,
        queue: Queue::Priority(Priority::ALL[3]),
        direction: Direction::Rx,
        mitigated: vec![told.now],
        locked: None,
        storm_since: Some(told.now),
        storm_class: None,
    });
    let file = |durable: &Durable| {
        let contents = serde_json::json!({"rocewatch_journal": 1, "boot_id": "boot", "durable": durable});
        contents.to_string().into_bytes()
    };
    assert!(!durable.owed.is_empty(), "an undo is owed");
    vec![file(&durable), file(&Durable::default())]
}

fn link(carrier: bool, packets: u64) -> Input {
    Input::Link(PortLink {
        port: PortKey(0),
        netdev: "eth0".into(),
        carrier: Some(carrier),
        speed_mbps: Some(100_000),
        mtu: Some(4200),
        bond: None,
        carrier_changes: Some(2),
        packets: Some(packets),
    })
}

fn reading(at: MonoTime, paused_us: u64, sent: u64) -> Input {
    let values = NAMES.iter().map(|name| match *name {
        "rx_prio3_pause_duration" => paused_us,
        "rx_prio3_pause" => paused_us / 300,
        name if name.contains("packets") => sent,
        _ => 0,
    });
    // In the order of the layout, which is not that of the names.
    let raw: Vec<u64> = values.collect();
    let values = port().layout.iter().map(|bound| raw[bound.from as usize]).collect();
    Input::Reading(Reading { port: PortKey(0), at, took: Duration::from_micros(600), values })
}

/// An engine in the midst of a storm it does something about, and all it was told.
fn storm() -> (Told, Vec<(MonoTime, Input, Vec<Effect>)>) {
    let mut told = Told::new();
    let mut lines = Vec::new();
    let mut tell = |told: &mut Told, input: Input| {
        let effects = told.tell(50, input.clone());
        lines.push((told.now, input, effects.clone()));
        effects
    };
    let mask = PriorityMask::default().with(Priority::ALL[3]);
    tell(
        &mut told,
        Input::Journal(Box::new(JournalState { writable: true, seed: 7, ..JournalState::default() })),
    );
    tell(&mut told, Input::Bound(port()));
    tell(&mut told, link(true, 5));
    tell(
        &mut told,
        Input::Dcb(PortDcb { port: PortKey(0), pfc: Some(mask), owner: DcbOwner::Host, headroom: None }),
    );
    let pause = Some(PauseConfig { rx: true, tx: false });
    tell(&mut told, Input::Pause(PortPause { port: PortKey(0), pause, prevention_timeout_ms: Some(100) }));
    for step in 0..30_u64 {
        let at = told.now + Duration::from_millis(50);
        let effects = tell(&mut told, reading(at, step.saturating_sub(5) * 50_000, step.min(5) * 1000));
        if effects.contains(&Effect::AskGuard) {
            let answer = GuardAnswer { asked_at: told.now, answer: Ok(0) };
            tell(&mut told, Input::GuardAnswer(answer));
        }
    }
    (told, lines)
}

fn nvmf(from: Option<NvmfState>, to: Option<NvmfState>) -> NvmfChange {
    NvmfChange {
        controller: "nvme0".into(),
        subsystem: "nqn.2026-01.example:disk".into(),
        transport: "rdma".into(),
        address: "192.0.2.1:4420".into(),
        netdevs: vec!["eth0".into()],
        from,
        to,
    }
}

/// One of each other input.
fn others(now: MonoTime) -> Vec<Input> {
    let port = PortKey(0);
    let outcome = Outcome::Acted { result: ActionResult::Ok, put_back: PutBack::NotNeeded };
    let report = Report::new(outcome, None);
    vec![
        Input::Outcome(Ended { action: ActionId(1), report }),
        Input::ReadFailed(ReadFailed { port, error: "EIO".into() }),
        Input::Health(PortHealth { port, reporter: "fw".into(), in_error: true }),
        Input::Route(vec![port]),
        Input::Nvmf(nvmf(Some(NvmfState::Live), Some(NvmfState::Resetting))),
        Input::Nvmf(nvmf(Some(NvmfState::Connecting), None)),
        Input::Maintenance(Maintenance { port: Some(port), until: Some(now), by: Some(0) }),
        Input::GuardAnswer(GuardAnswer { asked_at: now, answer: Ok(3) }),
        Input::Command(Command::Ack { port, queue: Queue::Priority(Priority::ALL[3]), direction: None }),
        Input::Reconfigure(Box::default()),
        link(false, 9),
        Input::Gone(port),
        Input::Command(Command::Stop),
        Input::Tick,
    ]
}

fn lines(of: &[(MonoTime, Input, Vec<Effect>)]) -> String {
    let mut text = String::new();
    for (at, input, effects) in of {
        let line = Line::Input { at: *at, input: Box::new(input.clone()) };
        text += &(serde_json::to_string(&line).unwrap() + "\n");
        if !effects.is_empty() {
            text += &(serde_json::to_string(&Line::Effects { effects: effects.clone() }).unwrap() + "\n");
        }
    }
    text
}

/// A storm and everything else, without a header.
pub(super) fn inputs() -> Vec<Vec<u8>> {
    let (mut told, storm) = storm();
    let mut all = storm.clone();
    for input in others(told.now) {
        let effects = told.tell(10, input.clone());
        all.push((told.now, input, effects));
    }
    vec![lines(&all).into_bytes(), lines(&storm[..12]).into_bytes(), lines(&all[storm.len()..]).into_bytes()]
}

/// The same with a header, and one that begins in the midst of the storm.
pub(super) fn recording() -> Vec<Vec<u8>> {
    let (told, storm) = storm();
    let header = |engine: Option<&Engine>| {
        let settings = engine.map_or_else(Settings::default, |engine| engine.settings().clone());
        let header = Header {
            rocewatch_recording: FORMAT,
            version: "0".into(),
            boot_unix_ms: 1,
            config: String::new(),
            settings,
            engine: engine.map(|engine| Box::new(engine.checkpoint())),
        };
        serde_json::to_string(&Line::Header(Box::new(header))).unwrap() + "\n"
    };
    let after: Vec<_> = others(told.now).into_iter().map(|input| (told.now, input, Vec::new())).collect();
    let from_the_start = header(None) + &lines(&storm);
    let midst = header(Some(&told.engine)) + &lines(&after);
    vec![from_the_start.into_bytes(), midst.into_bytes()]
}

/// Requests as clients send them, and as they should not.
pub(super) fn request() -> Vec<Vec<u8>> {
    let head = "host: localhost\r\nconnection: close\r\n\r\n";
    let lines = [
        "GET /metrics HTTP/1.1\r\naccept: text/plain;version=0.0.4;q=0.5,*/*;q=0.1\r\naccept-encoding: gzip;q=1.0, identity;q=0\r\n",
        "GET /api/v1/state HTTP/1.1\r\n",
        "HEAD / HTTP/1.1\r\n",
        "POST /metrics HTTP/1.1\r\ntransfer-encoding: chunked\r\n",
        "GET /api/v1/events HTTP/1.0\r\nlast-event-id: 5\r\n",
        "GET /-/ready?x=%zz HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 99999999999999999999\r\n",
    ];
    lines.iter().map(|line| format!("{line}{head}").into_bytes()).collect()
}
