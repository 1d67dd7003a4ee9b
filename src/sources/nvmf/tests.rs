//! Trees that are laid out as sysfs and configfs have them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::Duration;

use rocewatch_core::nvmf::{NvmfChange, NvmfState};
use rocewatch_core::units::MonoTime;

use super::{
    NvmfController, NvmfControllers, NvmfSubsystem, NvmfTransport, NvmfView, TargetPort, TargetSubsystem,
};
use crate::export::stats::{Collector, ReadStats};

const NQN: &str = "nqn.2026-01.example:disk";
const RDMA: &str = "traddr=192.0.2.1,trsvcid=4420,host_iface=eth0";

/// A tree, read a second apart each time.
struct Host {
    root: tempfile::TempDir,
    reader: NvmfControllers,
    reads: ReadStats,
    second: u64,
}

impl Host {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let reader = NvmfControllers::of_tree(root.path());
        Self { root, reader, reads: ReadStats::default(), second: 0 }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }

    /// A controller of the class, which its subsystem links to.
    fn add(&self, controller: &str, files: &[(&str, &str)]) {
        for (file, text) in files {
            self.write(&format!("class/nvme/{controller}/{file}"), text);
        }
        self.write("class/nvme-subsystem/nvme-subsys0/subsysnqn", NQN);
        let link = self.path(&format!("class/nvme-subsystem/nvme-subsys0/{controller}"));
        if !link.exists() {
            symlink(self.path(&format!("class/nvme/{controller}")), link).unwrap();
        }
    }

    fn remove(&self, controller: &str) {
        fs::remove_dir_all(self.path(&format!("class/nvme/{controller}"))).unwrap();
        fs::remove_file(self.path(&format!("class/nvme-subsystem/nvme-subsys0/{controller}"))).unwrap();
    }

    fn read(&mut self) -> (NvmfView, Vec<NvmfChange>) {
        self.second += 1;
        self.reader.read(MonoTime::from_millis(self.second * 1000), &self.reads)
    }

    /// What is read, which has to go without a failure.
    fn read_well(&mut self) -> (NvmfView, Vec<NvmfChange>) {
        let read = self.read();
        assert_eq!(self.reader.outcome(), Ok(()));
        read
    }

    fn only(&mut self) -> NvmfController {
        let (view, _) = self.read();
        let [controller] = &view.controllers[..] else { panic!("{:?}", view.controllers) };
        controller.clone()
    }
}

#[test]
fn a_controller_is_read_with_all_that_its_files_tell() {
    let mut host = Host::new();
    host.add(
        "nvme3",
        &[
            ("transport", "tcp"),
            ("state", "live"),
            ("address", "traddr=192.0.2.1,trsvcid=4420,host_iface=bond0,src_addr=192.0.2.9"),
            ("queue_count", "9"),
            ("kato", "5"),
            ("reconnect_delay", "10"),
            ("fast_io_fail_tmo", "off"),
            ("ctrl_loss_tmo", "600"),
            ("cntrltype", "io"),
        ],
    );
    let (view, changes) = host.read_well();
    let [controller] = &view.controllers[..] else { panic!("{view:?}") };
    let facts = &controller.facts;
    assert_eq!(
        (&controller.name[..], &facts.subsystem[..], facts.transport),
        ("nvme3", NQN, NvmfTransport::Tcp)
    );
    assert_eq!((&facts.address[..], &facts.host_address[..]), ("192.0.2.1:4420", "192.0.2.9"));
    assert_eq!(
        (controller.state, facts.queues, &controller.interface[..]),
        (Some(NvmfState::Live), Some(9), "bond0")
    );
    let seconds = |name, seconds| (name, Duration::from_secs(seconds));
    assert_eq!(
        facts.timeouts,
        [seconds("keep_alive", 5), seconds("reconnect_delay", 10), seconds("ctrl_loss", 600)]
    );
    assert_eq!(view.subsystems, [NvmfSubsystem { nqn: NQN.into(), paths: 1, live: 1, lost: 0 }]);
    let [change] = &changes[..] else { panic!("{changes:?}") };
    assert_eq!(
        (change.from, change.to, &change.netdevs[..]),
        (None, Some(NvmfState::Live), &["bond0".into()][..])
    );
}

#[test]
fn what_is_no_fabric_of_network_ports_and_what_holds_no_data_is_left_out() {
    let mut host = Host::new();
    for (number, transport) in ["pcie", "fc", "loop", "apple-nvme"].iter().enumerate() {
        host.add(
            &format!("nvme{number}"),
            &[("transport", transport), ("state", "live"), ("address", "0000:3b:00.0")],
        );
    }
    host.add(
        "nvme8",
        &[("transport", "tcp"), ("state", "live"), ("address", RDMA), ("cntrltype", "discovery")],
    );
    host.write("class/nvme-subsystem/nvme-subsys0/nvme0n1/transport", "rdma");
    host.write("class/nvme/not-a-controller/transport", "rdma");
    host.write("class/nvme/nvme+1/transport", "rdma");
    let (view, changes) = host.read_well();
    assert_eq!((view.controllers, view.subsystems, changes), (vec![], vec![], vec![]));
}

#[test]
fn states_are_read_every_time_and_the_rest_when_a_controller_is_back_or_after_ten_seconds() {
    let mut host = Host::new();
    let files =
        |state, queues| [("transport", "rdma"), ("state", state), ("address", RDMA), ("queue_count", queues)];
    host.add("nvme0", &files("live", "5"));
    assert_eq!(host.only().facts.queues, Some(5));
    host.add("nvme0", &files("resetting", "4"));
    let controller = host.only();
    assert_eq!((controller.state, controller.facts.queues), (Some(NvmfState::Resetting), Some(5)));
    host.add("nvme0", &files("live", "3"));
    let controller = host.only();
    assert_eq!((controller.facts.queues, controller.transitions, controller.reconnects), (Some(3), 2, 1));
    host.add("nvme0", &files("live", "2"));
    let later: Vec<_> = (0..10).map(|_| host.only().facts.queues).collect();
    assert_eq!((later[8], later[9]), (Some(3), Some(2)));
}

#[test]
fn a_controller_that_comes_and_goes_is_told_of_and_leaves_no_failure() {
    let mut host = Host::new();
    assert!(host.read_well().1.is_empty(), "without any class there is nothing");
    host.add("nvme0", &[("transport", "rdma"), ("state", "live"), ("address", RDMA)]);
    host.read_well();
    host.remove("nvme0");
    let (view, changes) = host.read_well();
    assert_eq!((view.controllers.len(), changes[0].from, changes[0].to), (0, Some(NvmfState::Live), None));
    // Half of it: the folder is made before its files.
    fs::create_dir_all(host.path("class/nvme/nvme1")).unwrap();
    assert!(host.read_well().1.is_empty());
    host.add("nvme1", &[("transport", "rdma"), ("state", "connecting"), ("address", RDMA)]);
    assert_eq!(host.read_well().1[0].to, Some(NvmfState::Connecting));
}

#[test]
fn the_name_of_its_subsystem_is_read_of_a_controller_only_while_it_is_live() {
    let mut host = Host::new();
    let files = |state| {
        let own = [
            ("transport", "tcp"),
            ("state", state),
            ("address", RDMA),
            ("subsysnqn", "nqn.2026-01.example:own"),
        ];
        own.map(|(file, text)| (format!("class/nvme/nvme0/{file}"), text.to_owned()))
    };
    files("connecting").iter().for_each(|(file, text)| host.write(file, text));
    assert_eq!(host.only().facts.subsystem, "");
    files("live").iter().for_each(|(file, text)| host.write(file, text));
    assert_eq!(host.only().facts.subsystem, "nqn.2026-01.example:own");
}

#[test]
fn a_file_that_holds_anything_else_is_an_error_and_costs_itself_alone() {
    let mut host = Host::new();
    host.add("nvme0", &[("transport", "rdma"), ("state", "??"), ("address", "=,=x,traddr"), ("kato", "-1")]);
    host.write("class/nvme/nvme0/queue_count", &"9".repeat(1000));
    let controller = host.only();
    assert_eq!((controller.state, &controller.facts.address[..], controller.facts.queues), (None, "", None));
    assert_eq!(host.reader.outcome(), Err("invalid"));
    assert_eq!(
        host.reads.failures()[&(Collector::Nvmf, "invalid".to_owned())],
        2,
        "beside that of the outcome"
    );
    let other = host.read().0;
    assert_eq!((other.subsystems[0].paths, other.subsystems[0].live), (1, 0));
}

#[test]
fn what_nvmet_serves_is_read_from_its_configfs() {
    let mut host = Host::new();
    let nvmet = "kernel/config/nvmet";
    let port = |number: u32, transport: &str, address: &str| {
        host.write(&format!("{nvmet}/ports/{number}/addr_trtype"), transport);
        host.write(&format!("{nvmet}/ports/{number}/addr_traddr"), address);
        host.write(&format!("{nvmet}/ports/{number}/addr_trsvcid"), "4420");
    };
    port(1, "rdma", "192.0.2.1");
    port(2, "tcp", "2001:db8::1");
    port(3, "loop", "");
    port(4, "", "");
    host.write(&format!("{nvmet}/ports/1/subsystems/{NQN}/x"), "");
    for (namespace, enabled) in [("1", "1"), ("2", "0")] {
        host.write(&format!("{nvmet}/subsystems/{NQN}/namespaces/{namespace}/enable"), enabled);
    }
    host.write(&format!("{nvmet}/subsystems/{NQN}/attr_allow_any_host"), "0");
    host.write(&format!("{nvmet}/subsystems/{NQN}/allowed_hosts/nqn.2026-01.example:host/x"), "");
    host.write(&format!("{nvmet}/subsystems/open/attr_allow_any_host"), "1");
    let (view, _) = host.read_well();
    let expected = |name: &str, transport, address: &str, subsystems: &[&str]| TargetPort {
        name: name.into(),
        transport,
        address: address.into(),
        subsystems: subsystems.iter().map(|&nqn| nqn.to_owned()).collect(),
    };
    assert_eq!(
        view.target_ports,
        [
            expected("1", NvmfTransport::Rdma, "192.0.2.1:4420", &[NQN]),
            expected("2", NvmfTransport::Tcp, "[2001:db8::1]:4420", &[]),
        ]
    );
    assert_eq!(
        view.target_subsystems,
        [
            TargetSubsystem { nqn: NQN.into(), namespaces: 1, hosts: Some(1) },
            TargetSubsystem { nqn: "open".into(), namespaces: 0, hosts: None },
        ]
    );
}
