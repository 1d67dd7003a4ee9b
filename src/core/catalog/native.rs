//! The families fed by counters of a NIC driver or an RDMA driver, always as the kernel counts them.

use super::Family;
use super::family::{PORT, QUEUE, families};

/// All of them, by chapter.
pub(super) const FAMILIES: &[Family] = families! {
    Link {
        counter Count PORT "rocewatch_port_link_downs_total"
            "Times the physical link of the port went down";
    }
    Traffic {
        counter Bytes PORT "rocewatch_port_receive_bytes_total"
            "Bytes received on the wire of the port, RDMA included";
        counter Bytes PORT "rocewatch_port_transmit_bytes_total"
            "Bytes sent on the wire of the port, RDMA included";
        counter Count PORT "rocewatch_port_receive_packets_total"
            "Packets received on the wire of the port, RDMA included";
        counter Count PORT "rocewatch_port_transmit_packets_total"
            "Packets sent on the wire of the port, RDMA included";
        counter Bytes QUEUE "rocewatch_priority_receive_bytes_total"
            "Bytes received on the priority; priorities that share a hardware queue may all show the queue's number";
        counter Bytes QUEUE "rocewatch_priority_transmit_bytes_total"
            "Bytes sent on the priority; priorities that share a hardware queue may all show the queue's number";
        counter Count QUEUE "rocewatch_priority_receive_packets_total"
            "Packets received on the priority; priorities that share a hardware queue may all show the queue's number";
        counter Count QUEUE "rocewatch_priority_transmit_packets_total"
            "Packets sent on the priority; priorities that share a hardware queue may all show the queue's number";
        counter Bytes PORT "rocewatch_rdma_receive_bytes_total"
            "Bytes of RDMA traffic received by this function; of a LAG, by the slave in the label netdev";
        counter Bytes PORT "rocewatch_rdma_transmit_bytes_total"
            "Bytes of RDMA traffic sent by this function; of a LAG, by the slave in the label netdev";
        counter Count PORT "rocewatch_rdma_receive_packets_total"
            "Packets of RDMA traffic received by this function; of a LAG, by the slave in the label netdev";
        counter Count PORT "rocewatch_rdma_transmit_packets_total"
            "Packets of RDMA traffic sent by this function; of a LAG, by the slave in the label netdev";
        counter Count PORT "rocewatch_rdma_requests_total"
            "RDMA requests received from peers, by kind (write, read, send, atomic)";
    }
    Pause {
        counter Seconds QUEUE "rocewatch_pfc_rx_pause_seconds_total"
            "Time this port's transmit side was held on the priority because its peer sent PFC pause; where rocewatch_watchdog_estimated is 1, an upper bound of it";
        counter Seconds QUEUE "rocewatch_pfc_tx_pause_seconds_total"
            "Time this port held its peer on the priority by sending PFC pause: this host is the slow one; where rocewatch_watchdog_estimated is 1, an upper bound of it";
        counter Count QUEUE "rocewatch_pfc_rx_pause_frames_total"
            "PFC frames received for the priority; XON may be among them, so frames alone prove no storm";
        counter Count QUEUE "rocewatch_pfc_tx_pause_frames_total"
            "PFC frames sent for the priority; XON may be among them, so frames alone prove no storm";
        counter Count QUEUE "rocewatch_pfc_rx_pause_transitions_total"
            "Times the priority's transmit side was released after a PFC pause";
        counter Count QUEUE "rocewatch_pfc_tx_pause_transitions_total"
            "Times the peer was released on the priority after a PFC pause";
        counter Count QUEUE "rocewatch_pfc_rx_xoff_frames_total"
            "PFC frames received that stop the priority, on drivers that count stop and go apart";
        counter Count QUEUE "rocewatch_pfc_tx_xoff_frames_total"
            "PFC frames sent that stop the peer's priority, on drivers that count stop and go apart";
        counter Count QUEUE "rocewatch_pfc_rx_xon_frames_total"
            "PFC frames received that release the priority, on drivers that count stop and go apart";
        counter Count QUEUE "rocewatch_pfc_tx_xon_frames_total"
            "PFC frames sent that release the peer's priority, on drivers that count stop and go apart";
        counter Count PORT "rocewatch_port_pfc_rx_pause_frames_total"
            "PFC frames received, whatever their priorities; one frame may stop several";
        counter Count PORT "rocewatch_port_pfc_tx_pause_frames_total"
            "PFC frames sent, whatever their priorities; one frame may stop several";
        counter Seconds PORT "rocewatch_global_rx_pause_seconds_total"
            "Time this port's transmit side was held because its peer sent 802.3x pause";
        counter Seconds PORT "rocewatch_global_tx_pause_seconds_total"
            "Time this port held its peer by sending 802.3x pause";
        counter Count PORT "rocewatch_global_rx_pause_frames_total"
            "802.3x pause frames received";
        counter Count PORT "rocewatch_global_tx_pause_frames_total"
            "802.3x pause frames sent";
        counter Count PORT "rocewatch_global_rx_pause_transitions_total"
            "Times this port's transmit side was released after an 802.3x pause";
        counter Count PORT "rocewatch_global_tx_pause_transitions_total"
            "Times the peer was released after an 802.3x pause";
        counter Count PORT "rocewatch_global_rx_xoff_frames_total"
            "802.3x frames received that stop this port, on drivers that count stop and go apart";
        counter Count PORT "rocewatch_global_tx_xoff_frames_total"
            "802.3x frames sent that stop the peer, on drivers that count stop and go apart";
        counter Count PORT "rocewatch_global_rx_xon_frames_total"
            "802.3x frames received that release this port, on drivers that count stop and go apart";
        counter Count PORT "rocewatch_global_tx_xon_frames_total"
            "802.3x frames sent that release the peer, on drivers that count stop and go apart";
        counter Count PORT "rocewatch_nic_pause_storm_events_total"
            "Pause storms sent by this port that the NIC's own stall detector saw: at severity error it stopped pausing";
        counter Count PORT "rocewatch_nic_continuous_pause_started_total"
            "Unbroken pauses the NIC's own detector reported, by kind (any, roce)";
        counter Count PORT "rocewatch_nic_continuous_pause_ended_total"
            "Ends of unbroken pauses the NIC's own detector reported, by kind (any, roce)";
    }
    Congestion {
        counter Count PORT "rocewatch_ecn_marked_packets_received_total"
            "RoCE packets received with the congestion mark; of a LAG, by all its slaves, under the bond's name: to be divided by RDMA packets only where all labels are equal";
        counter Count QUEUE "rocewatch_priority_ecn_marked_packets_total"
            "Packets of the priority marked by this NIC itself because its host is slow; no mark of the fabric";
        counter Count PORT "rocewatch_cnp_sent_total"
            "Congestion notification packets sent to senders whose packets arrived marked";
        counter Count PORT "rocewatch_cnp_received_total"
            "Congestion notification packets received, whether or not a sender slowed down";
        counter Count PORT "rocewatch_cnp_handled_total"
            "Congestion notification packets received that slowed a sender down";
        counter Count PORT "rocewatch_cnp_ignored_total"
            "Congestion notification packets received and ignored";
    }
    Loss {
        counter Count QUEUE "rocewatch_priority_receive_discards_total"
            "Packets of the priority dropped for want of port buffer: on a lossless priority headroom was overrun";
        counter Count QUEUE "rocewatch_priority_buffer_discards_total"
            "Packets of the priority dropped for want of this host's share of the receive buffer";
        counter Count QUEUE "rocewatch_priority_congestion_discards_total"
            "Packets of the priority dropped by the NIC's own congestion control towards this host";
        counter Count PORT "rocewatch_receive_discards_total"
            "Packets dropped on arrival because the port's buffer was full";
        counter Count PORT "rocewatch_transmit_discards_total"
            "Packets dropped before being sent, also those that grew too old while paused";
        counter Count PORT "rocewatch_receive_no_buffer_total"
            "Ethernet packets dropped because the host had posted no receive buffer";
        counter Count PORT "rocewatch_receive_buffer_over_threshold_total"
            "Times the port's receive buffer passed its high mark";
        counter Count PORT "rocewatch_rdma_receive_discards_total"
            "RoCE packets dropped on arrival";
        counter Count PORT "rocewatch_rdma_transmit_discards_total"
            "RoCE packets dropped before being sent";
        counter Count PORT "rocewatch_rdma_receive_errors_total"
            "RoCE packets received with errors";
        counter Count PORT "rocewatch_rdma_transmit_errors_total"
            "RoCE packets not sent because of errors";
        counter Count PORT "rocewatch_out_of_buffer_total"
            "RDMA messages that met no posted receive buffer: the application is slow";
        counter Count PORT "rocewatch_out_of_sequence_total"
            "RDMA packets that arrived out of order: loss or reordering on the way here";
        counter Count PORT "rocewatch_packet_sequence_errors_total"
            "Sequence errors reported back to this host as requester: its packets were lost or reordered";
        counter Count PORT "rocewatch_implied_nak_sequence_errors_total"
            "Responses that never came, noticed by a later one: loss on the way here";
        counter Count PORT "rocewatch_local_ack_timeouts_total"
            "Requests of this host that were not acknowledged in time";
        counter Count PORT "rocewatch_transport_retries_exceeded_total"
            "Connections of this host broken because all retries went unanswered";
        counter Count PORT "rocewatch_rnr_naks_total"
            "Requests of this host answered by receiver not ready";
        counter Count PORT "rocewatch_rnr_naks_sent_total"
            "Requests of peers answered by receiver not ready: this host is slow";
        counter Count PORT "rocewatch_rnr_retries_exceeded_total"
            "Connections of this host broken because the receiver was not ready too often";
        counter Count PORT "rocewatch_retransmits_total"
            "Packets this host sent again, because they were not acknowledged or were reported lost";
        counter Count PORT "rocewatch_adaptive_retransmits_total"
            "Adaptive retransmissions of this host";
        counter Count PORT "rocewatch_adaptive_retransmit_timeouts_total"
            "Adaptive retransmissions of this host that timed out";
        counter Count PORT "rocewatch_slow_restarts_total"
            "Connections that began again at low speed after a loss";
        counter Count PORT "rocewatch_duplicate_requests_total"
            "Requests that arrived twice: an answer or an acknowledgement was lost or late";
        counter Count PORT "rocewatch_icrc_errors_total"
            "RoCE packets whose invariant checksum was wrong: damaged on the way here";
        counter Count PORT "rocewatch_cqe_errors_total"
            "Work requests that ended in an error, by side (requester, responder) and kind: any, and among those flush, \
             which only follow from a connection that was torn down";
        counter Count PORT "rocewatch_remote_access_errors_total"
            "Requests refused for lack of access rights, by side (requester, responder)";
        counter Count PORT "rocewatch_remote_invalid_requests_total"
            "Requests of this host that its peer refused as invalid";
    }
    Phy {
        counter Count PORT "rocewatch_phy_symbol_errors_total"
            "Symbol errors on the line";
        counter Count PORT "rocewatch_phy_pcs_symbol_errors_total"
            "Symbol errors that forward error correction could not repair";
        counter Count PORT "rocewatch_phy_crc_errors_total"
            "Frames with a wrong frame check sequence";
        counter Count PORT "rocewatch_phy_faults_total"
            "Faults of the link, by who saw them: this port for what it receives, its peer for what this port sends";
        counter Count PORT "rocewatch_phy_fec_corrected_bit_errors_total"
            "Bit errors repaired by forward error correction";
        counter Count PORT "rocewatch_phy_fec_corrected_blocks_total"
            "Code words repaired by forward error correction";
        counter Count PORT "rocewatch_phy_fec_uncorrectable_blocks_total"
            "Code words that forward error correction could not repair";
        counter Count PORT "rocewatch_phy_module_events_total"
            "Troubles of the transceiver module, by kind (unplugged, bus_stuck, high_temperature, shorted)";
        counter Seconds PORT "rocewatch_pcie_stalled_seconds_total"
            "Seconds in which the PCIe bus stalled the NIC more than 30 percent of the time, by direction (read, write)";
        gauge Ratio PORT "rocewatch_pcie_stalled_ratio"
            "Share of the last second in which the PCIe bus stalled the NIC, by direction (read, write)";
        counter Count PORT "rocewatch_pcie_buffer_overflows_total"
            "Packets dropped on arrival because the PCIe bus could not take them";
        counter Count PORT "rocewatch_pcie_signal_integrity_errors_total"
            "Signal errors on the PCIe bus, by direction (rx, tx)";
    }
};
