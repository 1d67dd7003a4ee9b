//! The families that are no counter of a NIC driver: what the kernel says about links, and what the agent measures,
//! decides and does itself.

use super::Family;
use super::family::{PORT, QUEUE, families};

/// [`QUEUE`] and the direction of the pause, rx or tx. The priority may be `global` (802.3x).
const WATCHED: [&str; 5] = ["device", "port", "netdev", "priority", "direction"];
/// [`PORT`] and the name of a health reporter.
const REPORTER: [&str; 4] = ["device", "port", "netdev", "reporter"];
/// A controller of this host, and the NQN of its subsystem.
const CONTROLLER: [&str; 2] = ["controller", "subsystem"];
const THROTTLED: [&str; 6] = ["device", "port", "netdev", "priority", "direction", "window"];

/// Upper bounds of the pause share in thousandths: from one in a thousand, where a fabric begins to lose throughput,
/// to an unbroken pause.
const PAUSE_SHARES: [u64; 9] = [1, 10, 50, 100, 250, 500, 750, 900, 1000];
/// Upper bounds of the lateness of a reading in nanoseconds: half the fast interval (25 ms) is where the promise of
/// detection begins to suffer, the rest shows how badly.
const LATENESS: [u64; 5] = [1_000_000, 5_000_000, 25_000_000, 100_000_000, 500_000_000];
/// Upper bounds of the time to find a storm in nanoseconds: around the promise of the default settings, 190 to 490 ms.
const DETECTION: [u64; 6] =
    [100_000_000, 200_000_000, 300_000_000, 500_000_000, 1_000_000_000, 3_000_000_000];
/// Upper bounds of the time an action takes in nanoseconds: a firmware command to a slow link training.
const ACTING: [u64; 6] = [10_000_000, 50_000_000, 100_000_000, 500_000_000, 2_000_000_000, 10_000_000_000];

/// All of them, by chapter.
pub(super) const FAMILIES: &[Family] = families! {
    Identity {
        info Count ["version", "revision", "rustc", "target"] "rocewatch_build_info"
            "The agent: its version, source revision, compiler and platform";
        info Count ["hash"] "rocewatch_config_info"
            "The configuration in force, by its hash";
        info Count ["device", "port", "netdev", "driver", "driver_version", "firmware_version", "pci_address"]
            "rocewatch_device_info"
            "The NIC behind a port: its driver, firmware and place on the bus";
        info Count ["device", "port", "netdev", "link_layer", "flavour", "bond"] "rocewatch_port_info"
            "A port: its link layer, devlink flavour and the bond it belongs to; empty where there is none";
        info Count ["device", "port", "netdev", "owner", "trust"] "rocewatch_dcb_info"
            "Who decides about the DCB settings of the port (host; other: its firmware or an agent of that), and what sorts packets into priorities (pcp, dscp; empty where that is not told)";
        info Count ["device", "port", "netdev", "link_layer", "protocol", "node_type", "driver"]
            "rocewatch_rdma_port_info"
            "An RDMA port: its link layer, protocol (roce, ib, iw, opa, usnic), sort of device and driver; empty where nothing tells";
        info Count ["device", "bond", "netdev"] "rocewatch_lag_member_info"
            "A slave of a bond that one RDMA device serves: transport and congestion of all slaves are counted once, under the bond's name";
        gauge Count ["device", "resource"] "rocewatch_rdma_resources"
            "Objects of an RDMA device, by kind (pd, cq, qp, cm_id, mr, ctx, srq)";
        gauge Count [] "rocewatch_ports"
            "Network ports the agent reads";
        gauge Count [] "rocewatch_devices"
            "RDMA devices the agent reads";
    }
    Link {
        gauge Flag PORT "rocewatch_port_up"
            "Whether the port has carrier, and its RDMA port, if it has one, is active";
        gauge Flag PORT "rocewatch_rdma_port_active"
            "Whether the RDMA port is active; absent where the kernel does not tell";
        gauge BytesPerSecond PORT "rocewatch_port_rate_bytes_per_second"
            "Speed of the link; absent while it is unknown";
        counter Count PORT "rocewatch_carrier_changes_total"
            "Times the port gained or lost carrier, as the kernel counts them";
        gauge Bytes PORT "rocewatch_netdev_mtu_bytes"
            "Largest packet the network interface sends";
        info Count ["device", "port", "netdev", "reason"] "rocewatch_port_down_info"
            "Why the link of the port is down, where its driver says; absent while it is up";
        gauge Flag REPORTER "rocewatch_devlink_healthy"
            "Whether the devlink health reporter sees nothing wrong now; one of a device is shown with each port of it";
        counter Count REPORTER "rocewatch_devlink_health_errors_total"
            "Errors the devlink health reporter has seen";
        counter Count REPORTER "rocewatch_devlink_health_recoveries_total"
            "Recoveries from errors the devlink health reporter has seen";
    }
    Traffic {
        counter Bytes PORT "rocewatch_netdev_receive_bytes_total"
            "Bytes the network interface received; RDMA bypasses it on most NICs";
        counter Bytes PORT "rocewatch_netdev_transmit_bytes_total"
            "Bytes the network interface sent; RDMA bypasses it on most NICs";
        counter Count PORT "rocewatch_netdev_receive_packets_total"
            "Packets the network interface received; RDMA bypasses it on most NICs";
        counter Count PORT "rocewatch_netdev_transmit_packets_total"
            "Packets the network interface sent; RDMA bypasses it on most NICs";
        counter Count PORT "rocewatch_netdev_receive_errors_total"
            "Bad packets the network interface received";
        counter Count PORT "rocewatch_netdev_transmit_errors_total"
            "Packets the network interface failed to send";
        counter Count PORT "rocewatch_netdev_receive_dropped_total"
            "Packets the network interface received and dropped";
        counter Count PORT "rocewatch_netdev_transmit_dropped_total"
            "Packets the network interface dropped instead of sending";
    }
    Pause {
        [PAUSE_SHARES] Ratio QUEUE "rocewatch_pfc_rx_pause_ratio"
            "Share of time this port's transmit side was held; once a second, the highest share of any detection window in it";
        [PAUSE_SHARES] Ratio QUEUE "rocewatch_pfc_tx_pause_ratio"
            "Share of time this port held its peer; once a second, the highest share of any detection window in it";
        gauge Ratio QUEUE "rocewatch_pfc_rx_pause_ratio_max"
            "Highest share of a detection window this port's transmit side was held, over the last 60 seconds";
        gauge Ratio QUEUE "rocewatch_pfc_tx_pause_ratio_max"
            "Highest share of a detection window this port held its peer, over the last 60 seconds";
        gauge Flag PORT "rocewatch_pause_seconds_supported"
            "Whether the driver counts pause time, measured or, where rocewatch_watchdog_estimated is 1, only asked for; 0 where it counts frames only, or nothing";
        gauge Flag QUEUE "rocewatch_pfc_enabled"
            "Whether PFC is on for the priority";
        gauge Flag QUEUE "rocewatch_pfc_peer_enabled"
            "Whether PFC is on for the priority at the peer, where it has told so by DCBX";
        gauge Seconds PORT "rocewatch_prevention_timeout_seconds"
            "How long the NIC sends pause before it gives up and drops, 0 if it never does; absent where the driver has no such limit or chooses it itself";
        counter Count PORT "rocewatch_mac_pause_receive_frames_total"
            "Pause frames received, as IEEE 802.3 30.3.4.3 counts them; some NICs count those of PFC among them";
        counter Count PORT "rocewatch_mac_pause_transmit_frames_total"
            "Pause frames sent, as IEEE 802.3 30.3.4.2 counts them; some NICs count those of PFC among them";
        counter Count PORT "rocewatch_mac_control_receive_frames_total"
            "MAC control frames received; pause, of 802.3x and of PFC, is the only kind in use";
        counter Count PORT "rocewatch_mac_control_transmit_frames_total"
            "MAC control frames sent; pause, of 802.3x and of PFC, is the only kind in use";
        gauge Flag ["device", "port", "netdev", "direction"] "rocewatch_global_pause_enabled"
            "Whether 802.3x pause is on, by direction (rx: obeyed, tx: sent)";
    }
    Phy {
        gauge Flag ["device", "port", "netdev", "direction"] "rocewatch_adaptive_moderation_enabled"
            "Whether the delay of the port's interrupts follows its load, by direction";
    }
    Nvmf {
        info Count ["controller", "subsystem", "transport", "address", "host_address", "netdev"]
            "rocewatch_nvmf_controller_info"
            "An NVMe-oF controller of this host (rdma, tcp): where it is reached, from where, and over which interface; from sysfs and the routing table, empty where neither tells; which priority carries it is told nowhere";
        info Count ["controller", "subsystem", "state"] "rocewatch_nvmf_controller_state_info"
            "The state of the controller (new, live, resetting, connecting, deleting, deleting_no_io, dead), from sysfs; the present one only";
        gauge Flag CONTROLLER "rocewatch_nvmf_controller_live"
            "Whether the controller is live, from sysfs; absent where its state is none of the known ones";
        gauge Seconds CONTROLLER "rocewatch_nvmf_controller_not_live_seconds"
            "Time since the controller was seen to leave live, or since it was found if it was not live then; absent while it is live";
        counter Count CONTROLLER "rocewatch_nvmf_transitions_total"
            "Changes of the controller's state; it is looked at once a second, so that what comes and goes between two looks is missed";
        counter Count CONTROLLER "rocewatch_nvmf_reconnects_total"
            "Times the controller was seen to become live again; one that lasted less than a second may be missed";
        gauge Count CONTROLLER "rocewatch_nvmf_queues"
            "Queues of the controller, that for administration included, from sysfs";
        gauge Seconds ["controller", "subsystem", "timeout"] "rocewatch_nvmf_timeout_seconds"
            "Timeouts of the controller, from sysfs (keep_alive, reconnect_delay, fast_io_fail, ctrl_loss); absent for one that is off";
        gauge Count ["subsystem"] "rocewatch_nvmf_paths"
            "NVMe-oF controllers that lead to the subsystem";
        gauge Count ["subsystem"] "rocewatch_nvmf_paths_live"
            "Those of them that are live";
        counter Count ["subsystem"] "rocewatch_nvmf_paths_lost_total"
            "Paths of the subsystem that were removed after they had failed, as the kernel does when ctrl_loss_tmo is over; shown for as long as the agent runs, also when no path is left";
        info Count ["target_port", "transport", "address"] "rocewatch_nvmet_port_info"
            "A port on which this host serves NVMe-oF (rdma, tcp), from the configfs of nvmet";
        info Count ["target_port", "subsystem"] "rocewatch_nvmet_port_subsystem_info"
            "A subsystem that is served on the port, from the configfs of nvmet";
        gauge Count ["subsystem"] "rocewatch_nvmet_namespaces"
            "Namespaces of the served subsystem that are enabled, from the configfs of nvmet";
        gauge Count ["subsystem"] "rocewatch_nvmet_hosts_allowed"
            "Hosts that may connect to the served subsystem, from the configfs of nvmet; absent where any host may. Who is connected is told nowhere";
    }
    Watchdog {
        gauge Flag ["mode"] "rocewatch_watchdog_mode"
            "1 for the mode in force (off, observe, dry_run, enforce), 0 for the others";
        gauge Flag WATCHED "rocewatch_watchdog_armed"
            "Whether the queue is watched with data good enough to decide";
        gauge Flag WATCHED "rocewatch_watchdog_storm"
            "Whether the queue is in a pause storm";
        gauge Flag WATCHED "rocewatch_watchdog_mitigated"
            "Whether a recovery action holds for the queue";
        gauge Flag WATCHED "rocewatch_watchdog_undo_failed"
            "Whether what an action changed could not be put back yet";
        gauge Flag WATCHED "rocewatch_watchdog_locked"
            "Whether no action is taken for the queue any more until it is acknowledged or the lock ends";
        gauge Flag WATCHED "rocewatch_watchdog_choppy"
            "Whether the queue is paused most of the time with gaps in which packets escape";
        gauge Flag THROTTLED "rocewatch_watchdog_throttled"
            "Whether the queue was paused above the limit of the window (10 percent of 60s, 20 of 10s, 50 of 1s)";
        gauge Flag WATCHED "rocewatch_watchdog_demand_unknown"
            "Whether the queue is held while nothing shows that it has packets to send";
        gauge Flag WATCHED "rocewatch_watchdog_xon_storm"
            "Whether pause frames keep coming without any pause time";
        gauge Flag PORT "rocewatch_watchdog_estimated"
            "Whether pause time of the port can only be bounded, not measured: such a port alerts and is never acted on";
        counter Count WATCHED "rocewatch_watchdog_storms_total"
            "Pause storms found";
        counter Seconds WATCHED "rocewatch_watchdog_storm_seconds_total"
            "Time spent in pause storms; grows while one lasts";
        counter Count ["device", "port", "netdev", "action", "result"] "rocewatch_watchdog_actions_total"
            "Recovery actions by result (ok, ineffective, unproven, failed, expired, dry_run)";
        counter Count ["device", "port", "netdev", "action", "result"] "rocewatch_watchdog_tests_total"
            "Recovery actions that the operator tried out, by result; none of them is counted as an action or a storm";
        counter Count ["device", "port", "netdev", "reason"] "rocewatch_watchdog_suppressed_total"
            "Recovery actions vetoed, by reason";
        [ACTING] Seconds ["action"] "rocewatch_watchdog_action_seconds"
            "Time a recovery action took, from its first operation to the last read-back";
        gauge Timestamp ["device", "port", "netdev", "action"] "rocewatch_watchdog_last_action_timestamp_seconds"
            "When the action was last taken on the port";
        [DETECTION] Seconds [] "rocewatch_watchdog_detection_seconds"
            "Time from the onset of a storm, as far as the readings show it, to its detection";
        gauge Seconds PORT "rocewatch_watchdog_detect_seconds"
            "Length of the window a storm must fill on this port, with its refresh and pace taken into account";
        gauge Seconds PORT "rocewatch_watchdog_detect_bound_seconds"
            "Time within which an unbroken pause is found on every armed queue of this port, at its present pace";
        gauge Ratio ["direction"] "rocewatch_watchdog_threshold_ratio"
            "Share of the detection window that must be paused to make a storm";
        gauge Seconds ["direction"] "rocewatch_watchdog_hold_seconds"
            "Shortest time an action is held before it is undone";
        gauge Seconds PORT "rocewatch_watchdog_hold_off_remaining_seconds"
            "Time until the next action may be planned on the port";
        gauge Count PORT "rocewatch_watchdog_budget_remaining"
            "Actions left for the port within the hour";
        gauge Count [] "rocewatch_watchdog_node_budget_remaining"
            "Actions left for the node within the hour";
        gauge Count [] "rocewatch_watchdog_undos_pending"
            "Actions whose undo is journalled and not done yet, those whose device is away included";
        gauge Flag [] "rocewatch_watchdog_journal_writable"
            "Whether the journal can be written; without it nothing that needs an undo is done";
        gauge Flag [] "rocewatch_watchdog_maintenance"
            "Whether maintenance of all ports keeps the watchdog from acting";
        gauge Seconds [] "rocewatch_watchdog_maintenance_remaining_seconds"
            "Time until the maintenance of all ports ends, 0 while there is none; absent where its end is not known";
        gauge Seconds PORT "rocewatch_watchdog_port_maintenance_remaining_seconds"
            "Time until the port's own maintenance ends; absent while there is none";
        counter Count ["result"] "rocewatch_watchdog_guard_answers_total"
            "Answers of the fleet guard by result (below_limit, above_limit, failed)";
        gauge Seconds PORT "rocewatch_watchdog_poll_interval_seconds"
            "Interval at which the port is read now";
        [LATENESS] Seconds PORT "rocewatch_watchdog_poll_lateness_seconds"
            "How much later than planned a reading was taken";
        counter Count PORT "rocewatch_watchdog_polls_missed_total"
            "Readings that failed or came more than an interval late";
        gauge Seconds PORT "rocewatch_watchdog_read_seconds"
            "Time a reading takes, as an average of the last few";
        gauge Seconds PORT "rocewatch_watchdog_read_age_seconds"
            "Age of the newest reading at the time of the scrape; where the source refreshes slowly, of the newest one in which it had";
        gauge Ratio [] "rocewatch_watchdog_rtnl_share_ratio"
            "Share of time in which the counters of ports were read, under the kernel's network configuration lock; settings, asked for a few times a minute, are not in it";
        counter Count PORT "rocewatch_implausible_total"
            "Readings in which a counter grew faster than the link can carry";
        counter Count PORT "rocewatch_resets_total"
            "Times a counter of the port fell back and a new baseline was taken";
        gauge Flag PORT "rocewatch_frozen"
            "Whether no counter of the port moves while its traffic does";
        gauge Flag ["device", "port", "netdev", "name"] "rocewatch_saturated"
            "1 for each native counter that sticks at its largest value";
        gauge Flag ["device", "port", "netdev", "family"] "rocewatch_source_supported"
            "Whether the port's driver gives the metric family, for families the watchdog and the alerts rest on";
    }
    Agent {
        counter Count ["device", "port", "netdev", "name"] "rocewatch_raw_total"
            "Native values without a metric of their own, under the driver's name; metrics.raw_include names them; some are momentary";
        gauge Flag ["collector"] "rocewatch_collector_success"
            "Whether the source was read without error the last time, on every port, and hangs on none";
        gauge Seconds ["collector"] "rocewatch_collector_duration_seconds"
            "Time the source took the last time, on the slowest port";
        counter Count ["collector", "netdev", "error"] "rocewatch_read_errors_total"
            "Failed reads of a source, by the kernel's error name";
        counter Count ["event"] "rocewatch_events_total"
            "Events emitted, by name, those of tests included";
        gauge Count [] "rocewatch_event_subscribers"
            "Clients that follow the event stream";
        counter Count [] "rocewatch_events_dropped_total"
            "Events a slow subscriber of the stream missed";
        counter Count [] "rocewatch_incidents_total"
            "Incident files written";
        counter Count [] "rocewatch_incidents_failed_total"
            "Incident files that could not be written";
        counter Count [] "rocewatch_recorder_records_total"
            "Inputs and effects written to the recording";
        counter Bytes [] "rocewatch_recorder_bytes_total"
            "Bytes written to the recording";
        counter Count [] "rocewatch_recorder_dropped_total"
            "Inputs and effects missing from the recording because the disk was slow or failed";
        gauge Flag [] "rocewatch_config_last_reload_successful"
            "Whether the last reload of the configuration was accepted";
        gauge Timestamp [] "rocewatch_config_last_reload_success_timestamp_seconds"
            "When a configuration was last accepted";
        counter Count ["path", "code"] "rocewatch_http_requests_total"
            "Requests answered, by path and status code; unknown paths together as other";
        counter Count [] "rocewatch_http_requests_rejected_total"
            "Requests and connections turned away because too many were open";
        gauge Count [] "rocewatch_http_connections"
            "Open connections";
        gauge Count [] "rocewatch_series"
            "Series on the metrics page";
        gauge Count [] "rocewatch_series_repeated"
            "Series left out of the metrics page because they stood on it already; above 0 it is a fault of the agent";
        gauge Bytes [] "rocewatch_page_bytes"
            "Size of the metrics page, not compressed";
        gauge Seconds [] "rocewatch_page_render_seconds"
            "Time the last rendering of the metrics page took";
        gauge Count [] "rocewatch_host_cpus"
            "Processors of the host";
        gauge Ratio [] "rocewatch_host_cpu_usage_ratio"
            "Share of the host's processor time in use";
        gauge Count ["window"] "rocewatch_host_load_average"
            "Runnable and blocked tasks of the host, averaged over the window (1m, 5m, 15m)";
        counter Seconds ["resource"] "rocewatch_host_pressure_seconds_total"
            "Time in which some task of the host waited for the resource (cpu, memory, io), since boot";
        gauge Bytes [] "rocewatch_host_memory_bytes"
            "Memory of the host";
        gauge Bytes [] "rocewatch_host_memory_available_bytes"
            "Memory of the host that can be had without swapping";
        counter Seconds [] "process_cpu_seconds_total"
            "Processor time the agent used, user and system";
        gauge Bytes [] "process_resident_memory_bytes"
            "Memory of the agent that is resident";
        gauge Bytes [] "process_virtual_memory_bytes"
            "Address space of the agent";
        gauge Count [] "process_open_fds"
            "Open file descriptors of the agent";
        gauge Count [] "process_max_fds"
            "Most file descriptors the agent may open";
        gauge Timestamp [] "process_start_time_seconds"
            "When the agent started";
    }
};
