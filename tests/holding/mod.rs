//! A port in a directory that sends, and then is held by its peer.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rocewatch::clock;

use crate::running::replace;

/// Between two writes: well below the time between two readings.
const WRITES: Duration = Duration::from_millis(5);
/// For how long it sends.
pub(crate) const SENDS: Duration = Duration::from_secs(2);

/// A port in `root` that sends, and is then held for as long as the thread runs.
pub(crate) fn hold(root: &Path, stop: &Arc<AtomicBool>) -> thread::JoinHandle<()> {
    hold_after(SENDS, root, stop)
}

/// The same, and for how long it sends.
pub(crate) fn hold_after(sends: Duration, root: &Path, stop: &Arc<AtomicBool>) -> thread::JoinHandle<()> {
    let (folder, stop) = (root.join("net/eth0"), Arc::clone(stop));
    replace(&folder.join("driver"), "mlx5_core\n");
    replace(&folder.join("link.json"), r#"{"carrier":true,"speed_mbps":100000}"#);
    replace(&folder.join("dcb.json"), r#"{"pfc":[3]}"#);
    let began = clock::now();
    let write = move || {
        while !stop.load(Ordering::Relaxed) {
            let passed = clock::now().since(began);
            let sending = passed.min(sends);
            let (sent, held_us) = (sending.as_micros(), (passed - sending).as_micros());
            let text = format!("tx_prio3_packets: {sent}\nrx_prio3_pause_duration: {held_us}\n");
            replace(&folder.join("ethtool.txt"), &text);
            thread::sleep(WRITES);
        }
    };
    thread::spawn(write)
}
