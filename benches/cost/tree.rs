//! A directory as a node with eight mlx5 ports would fill it, for both exporters.

use std::fs;
use std::path::Path;

/// Counters in `counters/`; all others are in `hw_counters/`, as mlx5 has them.
const PORT_COUNTERS: [&str; 16] = [
    "VL15_dropped",
    "excessive_buffer_overrun_errors",
    "link_downed",
    "link_error_recovery",
    "local_link_integrity_errors",
    "port_rcv_constraint_errors",
    "port_rcv_data",
    "port_rcv_errors",
    "port_rcv_packets",
    "port_rcv_remote_physical_errors",
    "port_rcv_switch_relay_errors",
    "port_xmit_constraint_errors",
    "port_xmit_data",
    "port_xmit_discards",
    "port_xmit_packets",
    "port_xmit_wait",
];

/// Fills `root` with `ports` ports.
pub(crate) fn fill(root: &Path, ports: usize) {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mlx5_core");
    let ethtool = fs::read_to_string(fixture.join("ethtool.txt")).unwrap();
    let rdma = fs::read_to_string(fixture.join("rdma.txt")).unwrap();
    for index in 0..ports {
        let net = root.join(format!("net/ens{index}np0"));
        write(&net.join("driver"), "mlx5_core\n");
        write(&net.join("ethtool.txt"), &ethtool);
        write(&net.join("link.json"), r#"{"carrier":true,"speed_mbps":400000,"mtu":4200}"#);
        write(&net.join("dcb.json"), r#"{"pfc":[3]}"#);
        let device = root.join(format!("sys/class/infiniband/mlx5_{index}"));
        for (name, text) in [
            ("board_id", "MT_0000000838"),
            ("fw_ver", "28.42.1000"),
            ("hca_type", "MT4129"),
            ("node_desc", "node"),
            ("node_guid", "a088:c203:0034:5e70"),
            ("node_type", "1: CA"),
        ] {
            write(&device.join(name), &format!("{text}\n"));
        }
        let port = device.join("ports/1");
        for (name, text) in [
            ("state", "4: ACTIVE"),
            ("phys_state", "5: LinkUp"),
            ("rate", "400 Gb/sec (4X NDR)"),
            ("link_layer", "Ethernet"),
            ("lid", "0x0"),
        ] {
            write(&port.join(name), &format!("{text}\n"));
        }
        for name in PORT_COUNTERS {
            write(&port.join("counters").join(name), "4711\n");
        }
        for line in rdma.lines() {
            let (name, value) = line.rsplit_once(": ").unwrap();
            if !PORT_COUNTERS.contains(&name) {
                write(&port.join("hw_counters").join(name), &format!("{value}\n"));
            }
        }
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
