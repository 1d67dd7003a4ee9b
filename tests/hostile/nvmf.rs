//! What stands in the files of NVMe-oF controllers, and in the configfs of nvmet.

use std::fs;
use std::time::Duration;

use rocewatch::export::stats::{AgentStats, ReadStats};
use rocewatch::export::{Moment, render};
use rocewatch::sources::NvmfControllers;
use rocewatch_core::input::Input;
use rocewatch_core::snapshot::Snapshot;
use rocewatch_core::units::MonoTime;

use super::files::in_folder;
use super::told::Told;

/// The files of one controller and of one port and subsystem that are served, one behind the other with a NUL between.
const FILES: [&str; 14] = [
    "class/nvme/nvme0/transport",
    "class/nvme/nvme0/state",
    "class/nvme/nvme0/address",
    "class/nvme/nvme0/subsysnqn",
    "class/nvme/nvme0/cntrltype",
    "class/nvme/nvme0/queue_count",
    "class/nvme/nvme0/kato",
    "class/nvme/nvme0/ctrl_loss_tmo",
    "class/nvme-subsystem/nvme-subsys0/subsysnqn",
    "kernel/config/nvmet/ports/1/addr_trtype",
    "kernel/config/nvmet/ports/1/addr_traddr",
    "kernel/config/nvmet/ports/1/addr_trsvcid",
    "kernel/config/nvmet/subsystems/nqn/attr_allow_any_host",
    "kernel/config/nvmet/subsystems/nqn/namespaces/1/enable",
];

/// Read twice, so that the state changes, or does not. The page that is made of it can be read, and the engine takes what
/// is told of it.
pub(super) fn files(bytes: &[u8]) {
    in_folder(|folder| {
        let sysfs = folder.join("nvmf");
        fs::create_dir_all(sysfs.join("class/nvme-subsystem/nvme-subsys0/nvme0")).unwrap();
        let mut reader = NvmfControllers::of_tree(&sysfs);
        let (reads, mut told) = (ReadStats::default(), Told::new());
        told.add_port();
        let halves = bytes.split_at(bytes.len() / 2);
        for (second, part) in (1..).zip([halves.0, halves.1]) {
            let mut texts = part.split(|byte| *byte == 0);
            for name in FILES {
                let file = sysfs.join(name);
                fs::create_dir_all(file.parent().expect("a file is in a folder")).unwrap();
                fs::write(file, texts.next().unwrap_or_default()).unwrap();
            }
            let now = MonoTime::from_millis(second * 1000);
            let (view, changes) = reader.read(now, &reads);
            assert!(view.controllers.len() <= 1 && changes.len() <= 1, "there is one");
            assert!(view.subsystems.iter().all(|subsystem| subsystem.live <= subsystem.paths));
            for change in changes {
                told.tell(10, Input::Nvmf(change));
            }
            let stats = AgentStats::default();
            stats.note_nvmf(view);
            let page = render(&Snapshot::default(), &stats, &Moment { now, boot: Duration::ZERO });
            assert!(str::from_utf8(&page.plain).is_ok());
        }
        told.keep();
    });
}

/// As a kernel has them, then after a loss of the path.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let files = |state: &str| {
        let controller =
            ["rdma\n", state, "traddr=192.0.2.1,trsvcid=4420,host_iface=eth0\n", "nqn.a\n", "io\n"];
        let numbers = ["9\n", "5\n", "off\n", "nqn.2026-01.example:disk\n"];
        let target = ["tcp\n", "2001:db8::1\n", "4420\n", "1\n", "1\n"];
        [&controller[..], &numbers, &target].concat().join("\0").into_bytes()
    };
    vec![[files("live\n"), files("connecting\n")].concat(), [files("deleting (no IO)\n"), files("")].concat()]
}
