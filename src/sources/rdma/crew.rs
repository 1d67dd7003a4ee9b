//! One thread for each RDMA device. A request runs in the driver, and one that hangs in its firmware holds up nothing but
//! its own device.

use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use rocewatch_core::units::MonoTime;

use super::{RdmaView, Reading};
use crate::clock;

/// How long all devices together are waited for. A port answers in milliseconds; what is late is taken with the next
/// reading, a second later.
const PATIENCE: Duration = Duration::from_millis(500);
/// The same for devices that have never answered, which have their ports to list first.
const PATIENCE_FIRST: Duration = Duration::from_secs(1);
/// How long the last counters of a device stand while the next are awaited. Longer than firmware takes for one command,
/// shorter than scrapes are apart.
const LATE_MAX: Duration = Duration::from_secs(5);
/// More devices than a node has; without the virtual ones, which are read only by name.
const WORKERS_MAX: usize = 256;

/// The threads, by device.
#[derive(Default)]
pub(super) struct Crew {
    workers: BTreeMap<String, Worker>,
}

struct Worker {
    orders: Sender<MonoTime>,
    readings: Receiver<Reading>,
    /// Whether an order was not answered yet.
    is_busy: bool,
    /// Whether its thread can still answer.
    is_alive: bool,
    ordered_at: MonoTime,
    /// What it has read last.
    last: Option<Vec<RdmaView>>,
}

impl Crew {
    /// Reads `devices`, each by a reader that `reader` makes when it is first seen.
    pub(super) fn read<R: FnMut(MonoTime) -> Reading + Send + 'static>(
        &mut self,
        now: MonoTime,
        devices: &[String],
        reader: impl Fn(&str) -> R,
    ) -> Reading {
        self.workers.retain(|device, _| devices.contains(device));
        for device in devices.iter().take(WORKERS_MAX) {
            if self.workers.contains_key(device) {
                continue;
            }
            match Worker::start(reader(device)) {
                Ok(worker) => drop(self.workers.insert(device.clone(), worker)),
                Err(error) => tracing::error!(device, %error, "no thread to read an RDMA device"),
            }
        }
        // All are asked before any is waited for.
        let earlier: Vec<_> = self.workers.values_mut().map(|worker| worker.order(now)).collect();
        let is_first = self.workers.values().any(|worker| worker.last.is_none());
        let patience = if is_first { PATIENCE_FIRST } else { PATIENCE };
        let began = clock::now();
        let mut all = Reading::default();
        for ((device, worker), earlier) in self.workers.iter_mut().zip(earlier) {
            let left = patience.saturating_sub(clock::now().since(began));
            all.append(worker.wait(left).or(earlier).unwrap_or_else(|| worker.late(device, now)));
        }
        // One that has ended by itself is replaced the next time.
        self.workers.retain(|_, worker| worker.is_alive);
        all
    }
}

impl Worker {
    fn start(mut read: impl FnMut(MonoTime) -> Reading + Send + 'static) -> io::Result<Self> {
        let (orders, ordered) = channel();
        let (readings, read_last) = channel();
        // Ends when nobody asks any more. One that hangs is left to itself.
        thread::Builder::new().name("rdma-device".into()).spawn(move || {
            for now in ordered {
                if readings.send(read(now)).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self {
            orders,
            readings: read_last,
            is_busy: false,
            is_alive: true,
            ordered_at: MonoTime::ZERO,
            last: None,
        })
    }

    /// Asks for a reading, unless the last one is still to come. If that has come in the meantime, it is returned.
    fn order(&mut self, now: MonoTime) -> Option<Reading> {
        let earlier = self.receive(Duration::ZERO);
        if !self.is_busy {
            self.is_alive = self.orders.send(now).is_ok();
            self.is_busy = self.is_alive;
            self.ordered_at = now;
        }
        earlier
    }

    /// Waits for the reading that was asked for.
    fn wait(&mut self, patience: Duration) -> Option<Reading> {
        self.receive(patience)
    }

    fn receive(&mut self, patience: Duration) -> Option<Reading> {
        if !self.is_busy {
            return None;
        }
        match self.readings.recv_timeout(patience) {
            Ok(reading) => {
                self.is_busy = false;
                self.last = Some(reading.views.clone());
                Some(reading)
            }
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                self.is_alive = false;
                None
            }
        }
    }

    /// What is known of a device that has not answered yet: what it has counted last, and after a while only whose ports
    /// they are.
    fn late(&self, device: &str, now: MonoTime) -> Reading {
        let views = self.last.iter().flatten().cloned();
        if now.since(self.ordered_at) < LATE_MAX {
            let is_partial = self.last.is_none();
            return Reading { views: views.collect(), is_partial, ..Reading::default() };
        }
        let facts =
            |view| RdmaView { counters: Vec::new(), unmapped: Vec::new(), unread: Vec::new(), ..view };
        Reading {
            views: views.map(facts).collect(),
            hanging: vec![device.to_owned()],
            failed: Some("ETIMEDOUT".to_owned()),
            ..Reading::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;
    use std::sync::{Arc, Mutex};

    use super::*;

    fn port(device: &str) -> RdmaView {
        let unmapped = vec![("count".to_owned(), 1)];
        RdmaView { device: device.into(), port: "1".into(), unmapped, ..RdmaView::default() }
    }

    fn names(devices: &[&str]) -> Vec<String> {
        devices.iter().map(|device| (*device).to_owned()).collect()
    }

    fn counting(reading: &Reading) -> Vec<&str> {
        reading.views.iter().filter(|v| !v.unmapped.is_empty()).map(|v| v.device.as_str()).collect()
    }

    #[test]
    fn a_device_that_hangs_costs_the_others_nothing_and_comes_back() {
        let (released, release) = sync_channel::<()>(0);
        let release = Arc::new(Mutex::new(release));
        let mut crew = Crew::default();
        let mut read = |millis: u64| {
            crew.read(MonoTime::from_millis(millis), &names(&["good", "stuck"]), |device| {
                let (device, release) = (device.to_owned(), Arc::clone(&release));
                move |now| {
                    // Hangs in its second reading.
                    if device == "stuck" && now == MonoTime::from_millis(2000) {
                        release.lock().unwrap().recv().unwrap();
                    }
                    Reading { views: vec![port(&device)], ..Reading::default() }
                }
            })
        };
        assert_eq!(counting(&read(1000)), ["good", "stuck"]);
        let late = read(2000);
        assert_eq!(
            (counting(&late), late.hanging.len()),
            (vec!["good", "stuck"], 0),
            "as it was a second ago"
        );
        assert!(!late.is_partial);
        let hanging = read(7000);
        assert_eq!((counting(&hanging), &hanging.hanging), (vec!["good"], &names(&["stuck"])));
        assert_eq!(hanging.views.len(), 2, "whose port it is, is known all the same");
        assert_eq!(hanging.failed.as_deref(), Some("ETIMEDOUT"));
        released.send(()).unwrap();
        assert_eq!(counting(&read(8000)), ["good", "stuck"]);
    }

    #[test]
    fn a_device_that_is_gone_is_not_read_and_a_reader_that_ended_is_replaced() {
        let mut crew = Crew::default();
        let mut read = |devices: &[&str], at: u64| {
            crew.read(MonoTime::from_millis(at), &names(devices), |device| {
                let device = device.to_owned();
                move |now| {
                    assert!(device != "faulty" || now != MonoTime::from_millis(1), "a fault of the reader");
                    Reading { views: vec![port(&device)], ..Reading::default() }
                }
            })
        };
        let first = read(&["faulty", "good"], 1);
        assert_eq!((counting(&first), first.is_partial), (vec!["good"], true));
        assert_eq!(counting(&read(&["faulty", "good"], 2)), ["faulty", "good"]);
        let left = read(&["good"], 3);
        assert_eq!((counting(&left), left.hanging.len()), (vec!["good"], 0));
    }
}
