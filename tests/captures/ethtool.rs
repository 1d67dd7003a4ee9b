//! Texts of `ethtool -S`.

use std::collections::BTreeMap;

use rocewatch::sources::{DirectorySource, Source};
use rocewatch_core::binding::Binding;
use rocewatch_core::binding::PauseEvidence::{self, Absent, Frames, Time};
use rocewatch_core::drivers;
use rocewatch_core::units::{Direction, Queue};

use crate::capture;

/// One port as read from a text, by the reader of the directory source.
pub(crate) struct Port {
    names: Vec<String>,
    values: Vec<u64>,
    binding: Binding,
}

/// The text at `path`, of an interface of `driver`.
fn ethtool(path: &str, driver: &str) -> Option<Port> {
    let mut source = DirectorySource::new(capture(path)?, None);
    let names = source.names().unwrap();
    let mut values = Vec::new();
    source.read(&mut values).unwrap();
    Some(Port::new(driver, names, values))
}

impl Port {
    pub(crate) fn new(driver: &str, names: Vec<String>, values: Vec<u64>) -> Self {
        let binding = Binding::new(drivers::for_driver(driver), &names);
        Self { names, values, binding }
    }

    /// The slots with their values in base units.
    pub(crate) fn slots(&self) -> BTreeMap<String, u64> {
        let mut picked = Vec::new();
        self.binding.pick(&self.values, &mut picked).unwrap();
        let bound = self.binding.layout().iter().zip(picked);
        bound.map(|(bound, value)| (bound.slot.to_string(), value * bound.scale)).collect()
    }

    pub(crate) fn slot(&self, slot: &str) -> Option<u64> {
        self.slots().get(slot).copied()
    }

    /// The sum over the slots of each of `counters`, one per priority, of which all eight have to be there.
    fn of_priorities(&self, counters: &[&str]) -> Vec<u64> {
        let sum = |counter: &&str| (0..8).map(|p| self.slot(&format!("{counter}/{p}")).unwrap()).sum();
        counters.iter().map(sum).collect()
    }

    /// The value of a counter that no metric shows.
    fn raw(&self, name: &str) -> Option<u64> {
        let mut unmapped = self.binding.unmapped().iter().map(|place| *place as usize);
        unmapped.find(|place| self.names[*place] == name).map(|place| self.values[place])
    }

    /// What is known about the received pause of priority 3 and of the whole port.
    fn pause(&self) -> [PauseEvidence; 2] {
        let support = self.binding.pause_support();
        [Queue::all().nth(3).unwrap(), Queue::Global].map(|queue| support.get(queue, Direction::Rx))
    }

    fn has_slots_of(&self, counter: &str) -> bool {
        self.slots().keys().any(|slot| slot.starts_with(counter))
    }
}

const XON_XOFF: [&str; 4] =
    ["pfc_rx_xoff_frames", "pfc_rx_xon_frames", "pfc_tx_xoff_frames", "pfc_tx_xon_frames"];
const GLOBAL_XON_XOFF: [&str; 4] =
    ["global_rx_xoff_frames", "global_rx_xon_frames", "global_tx_xoff_frames", "global_tx_xon_frames"];

#[test]
fn be2net_counts_priority_pause_in_total_and_roce_bytes_in_two_halves_that_are_one_counter() {
    let Some(port) = ethtool("ethtool/be2net-1.txt", "be2net") else { return };
    assert_eq!(port.names.len(), 222);
    for slot in ["global_rx_pause_frames", "global_tx_pause_frames"] {
        assert_eq!(port.slot(slot), Some(0), "{slot}");
    }
    for slot in ["port_pfc_rx_pause_frames", "port_pfc_tx_pause_frames", "rdma_rx_bytes"] {
        assert_eq!(port.slot(slot), Some(0), "{slot}");
    }
    assert_eq!(port.pause(), [Absent, Frames]);
    assert_eq!([port.raw("rx_roce_bytes_lsd"), port.raw("rx_roce_bytes_msd")], [None; 2]);
    assert_eq!(port.raw("rx_address_filtered"), Some(5_164_994), "no drop for want of room");
    assert!(port.raw("rxq0: rx_bytes").is_some());
}

#[test]
fn bnxt_with_the_extended_block_counts_frames_time_and_transitions_by_priority_and_queues_apart() {
    let Some(port) = ethtool("ethtool/bnxt_en-1.txt", "bnxt_en") else { return };
    assert_eq!(port.pause(), [Time, Frames]);
    let counters = ["pfc_rx_pause_frames", "pfc_tx_pause_frames", "pfc_rx_pause_time", "pfc_tx_pause_time"];
    assert_eq!(port.of_priorities(&counters), [0; 4]);
    assert_eq!(port.of_priorities(&["pfc_rx_pause_transitions", "pfc_tx_pause_transitions"]), [0; 2]);
    assert_eq!(port.slot("nic_continuous_roce_pause_started"), Some(0));
    assert_eq!(port.raw("[0]: rx_ucast_packets"), Some(10_198_513_532));
    assert_eq!(port.raw("rx_bits"), Some(4_621_497_487_696_704));
    assert_eq!(port.slot("rx_no_buffer"), Some(655_430_134), "the host's rings");
    assert_eq!(port.slot("port_rx_discards"), Some(49_337), "the port");
    assert!(port.raw("rx_bytes_cos0").is_some(), "a queue is no priority");
}

#[test]
fn bnxt_behind_two_tabs_has_all_that_its_names_say() {
    let Some(port) = ethtool("ethtool/bnxt_en-2.txt", "bnxt_en") else { return };
    assert_eq!(port.names.len(), 397);
    // The index of the captures calls the pause time absent. The file has it, and names decide.
    let counters = ["pfc_rx_pause_frames", "pfc_tx_pause_frames", "pfc_rx_pause_time", "pfc_tx_pause_time"];
    assert_eq!(port.of_priorities(&counters), [0; 4]);
    assert_eq!(port.pause(), [Time, Frames]);
    assert_eq!(port.slot("port_rx_discards"), Some(14));
}

#[test]
fn a_bond_has_no_statistics_of_its_own() {
    let Some(port) = ethtool("ethtool/bond-1.txt", "bonding") else { return };
    assert_eq!(port.binding.layout(), []);
    assert_eq!(port.binding.pause_support().best(), Absent);
}

#[test]
fn i40e_counts_stop_and_go_by_priority_and_apart_from_those_of_the_port() {
    let Some(port) = ethtool("ethtool/i40e-1.txt", "i40e") else { return };
    assert_eq!(port.names.len(), 202, "without a header");
    assert_eq!(port.of_priorities(&XON_XOFF), [0; 4]);
    assert_eq!(GLOBAL_XON_XOFF.map(|slot| port.slot(slot)), [Some(0); 4]);
    assert_eq!(port.pause(), [Frames, Frames]);
}

#[test]
fn i40e_means_the_same_by_its_other_spelling_and_counts_transitions_apart_from_frames() {
    let Some(port) = ethtool("ethtool/i40e-2.txt", "i40e") else { return };
    assert_eq!(port.of_priorities(&XON_XOFF), [0; 4]);
    assert_eq!(port.of_priorities(&["pfc_rx_pause_transitions"]), [0]);
    assert_eq!(port.slot("port_tx_bytes"), Some(53_144_569_624_786));
    assert!(!port.has_slots_of("pfc_rx_pause_time"));
}

#[test]
fn i40e_shows_link_faults_and_its_embedded_switch_is_not_the_wire() {
    let Some(port) = ethtool("ethtool/i40e-3.txt", "i40e") else { return };
    assert_eq!([port.slot("phy_local_faults"), port.slot("phy_remote_faults")], [Some(2); 2]);
    assert_eq!([port.raw("veb.rx_discards"), port.raw("veb.tx_discards")], [Some(21), Some(22)]);
    assert_eq!(port.slot("port_rx_discards"), Some(0));
    assert_eq!(port.of_priorities(&XON_XOFF), [0; 4]);
}

#[test]
fn a_virtual_function_has_no_pause_counter_and_that_is_not_a_healthy_zero() {
    let Some(port) = ethtool("ethtool/iavf-1.txt", "iavf") else { return };
    assert_eq!(port.binding.layout(), []);
    assert_eq!(port.binding.pause_support().best(), Absent);
    assert_eq!(port.raw("rx_unicast"), Some(69_039));
}

#[test]
fn ice_counts_stop_and_go_and_no_time_and_two_like_names_are_two_counters() {
    let Some(port) = ethtool("ethtool/ice-1.txt", "ice") else { return };
    assert_eq!(port.of_priorities(&XON_XOFF), [0; 4]);
    assert_eq!(port.pause(), [Frames, Frames]);
    assert!(!port.slots().keys().any(|slot| slot.contains("pause_time")));
    assert_eq!(port.slot("port_rx_bytes"), Some(848_255_752));
    assert_eq!(port.raw("rx_bytes"), Some(848_243_014));
}

#[test]
fn a_management_port_makes_no_pfc_series() {
    let Some(port) = ethtool("ethtool/igb-1.txt", "igb") else { return };
    assert!(!port.has_slots_of("pfc_"));
    assert_eq!(port.pause(), [Absent, Frames]);
}

#[test]
fn ionic_counts_time_by_priority_and_data_frames_are_no_pause_frames() {
    let Some(port) = ethtool("ethtool/ionic-1.txt", "ionic") else { return };
    assert_eq!(port.of_priorities(&["pfc_rx_pause_time", "pfc_tx_pause_time"]), [0; 2]);
    assert!(!port.has_slots_of("pfc_rx_pause_frames"));
    assert_eq!(port.slot("port_pfc_rx_pause_frames"), Some(0));
    assert_eq!(port.slot("priority_rx_packets/3"), Some(0));
    assert_eq!(port.slot("port_rx_bytes"), Some(75_542_062_581_996), "RDMA included");
    assert_eq!(port.raw("rx_bytes"), Some(315_945_243), "RDMA left out");
}

#[test]
fn ixgbe_drops_for_want_of_host_buffers_where_its_better_known_counters_show_nothing() {
    let Some(port) = ethtool("ethtool/ixgbe-1.txt", "ixgbe") else { return };
    assert_eq!(GLOBAL_XON_XOFF.map(|slot| port.slot(slot)), [Some(0); 4]);
    // The index of the captures knows no priority counters here; the file has them at its end, all 0.
    assert_eq!(port.of_priorities(&XON_XOFF), [0; 4]);
    assert_eq!(port.slot("rx_no_buffer"), Some(590_843_871));
    assert_eq!((port.slot("port_rx_discards"), port.raw("rx_dropped")), (Some(0), Some(10_960)));
}

#[test]
fn mlx5_with_pfc_off_says_nothing_about_pause_of_a_priority() {
    let Some(port) = ethtool("ethtool/mlx5-1.txt", "mlx5_core") else { return };
    assert_eq!(port.names.len(), 751, "without a header");
    assert_eq!(port.pause(), [Absent, Time]);
    assert!(!port.has_slots_of("pfc_"));
    assert_eq!([port.raw("rx_pause_ctrl_phy"), port.raw("tx_pause_ctrl_phy")], [Some(0); 2]);
    assert_eq!(port.slot("priority_rx_packets/0"), Some(845_715_962));
    assert_eq!(port.of_priorities(&["priority_rx_packets"]), [845_715_962], "all of it on priority 0");
    assert_eq!(port.slot("port_rx_packets"), Some(845_715_962), "on the wire");
    assert_eq!(port.raw("rx_packets"), Some(845_320_277), "in the interface");
    assert_eq!(port.slot("pcie_tx_signal_errors"), Some(34));
}

#[test]
fn an_interface_without_statistics_is_an_empty_set_and_no_error() {
    let Some(port) = ethtool("ethtool/none-1.txt", "vxlan") else { return };
    assert!(port.names.is_empty() && port.binding.layout().is_empty());
}

#[test]
fn sfc_counts_pause_of_the_port_alone() {
    let Some(port) = ethtool("ethtool/sfc-1.txt", "sfc") else { return };
    assert_eq!(["global_rx_pause_frames", "global_tx_pause_frames"].map(|s| port.slot(s)), [Some(0); 2]);
    assert_eq!(port.pause(), [Absent, Frames]);
    assert_eq!(port.raw("port_rx_dp_di_dropped_packets"), Some(27));
}

#[test]
fn tg3_counts_stop_and_go_of_the_port_and_prio_in_a_name_is_no_priority() {
    let Some(port) = ethtool("ethtool/tg3-1.txt", "tg3") else { return };
    assert_eq!(GLOBAL_XON_XOFF.map(|slot| port.slot(slot)), [Some(0); 4]);
    assert_eq!(port.pause(), [Absent, Frames]);
    assert!(port.raw("dma_write_prioq_full").is_some() && port.raw("rx_xoff_entered").is_some());
}

#[test]
fn the_other_end_of_a_veth_is_no_counter() {
    let Some(port) = ethtool("ethtool/veth-1.txt", "veth") else { return };
    assert_eq!(port.raw("peer_ifindex"), None);
    let [place] = port.binding.no_counters() else { panic!("one name that is no counter") };
    assert_eq!((port.names[*place as usize].as_str(), port.values[*place as usize]), ("peer_ifindex", 28));
    assert_eq!(port.binding.unmapped().len(), 3);
}

#[test]
fn a_guest_interface_has_no_pause() {
    let Some(port) = ethtool("ethtool/virtio-1.txt", "virtio_net") else { return };
    assert_eq!((port.names.len(), port.binding.layout().len()), (13, 0));
}
