//! The one loop of a fleet: fabrics up to the clock, then every node.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use rocewatch_core::sim::fabric::{Ailment, Bout, Fabric, Fault, STEP, Schedule};
use rocewatch_core::units::MonoTime;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::Setup;
use super::node::{Node, World, name};
use super::port::Kind;
use crate::clock;
use crate::export::host::HostProbe;
use crate::http::{Limits, Member};

/// Between two looks at the clock.
const PACE: Duration = Duration::from_millis(10);
/// A fleet that is further behind the clock than this goes on from the present.
const BEHIND_MAX: Duration = Duration::from_secs(1);
/// How often the host is looked at.
const HOST_EVERY: Duration = Duration::from_secs(5);

/// See the module.
pub(super) struct Drive {
    world: World,
    nodes: Vec<Node>,
    /// The instant at which the fabrics began; later, if they had to skip time.
    began: MonoTime,
    schedule: Schedule,
    seed: u64,
    bout: Option<Bout>,
    /// Storms of all nodes when the present fault began.
    storms_before: u64,
    health: watch::Sender<String>,
    told: Box<dyn FnMut(&str) + Send>,
    procfs: PathBuf,
    is_late: bool,
}

impl Drive {
    /// A fleet at rest, at the present.
    pub(super) fn new(setup: Setup, health: watch::Sender<String>) -> Self {
        let Setup { config, shape, schedule, seed, told } = setup;
        let began = clock::now();
        let planes = [Fabric::new(shape, seed), Fabric::new(shape, seed.wrapping_add(1))];
        let world = World { kind: Kind::default(), planes };
        let hosts = shape.hosts() as u32;
        let offset = |host: u32| Duration::from_secs(1) * host / hosts;
        let nodes = (0..hosts).map(|host| Node::new(host as usize, &config, &world, began, offset(host)));
        health.send_replace("healthy".into());
        Self {
            nodes: nodes.collect(),
            world,
            began,
            schedule,
            seed,
            bout: None,
            storms_before: 0,
            health,
            told,
            procfs: config.path.procfs,
            is_late: false,
        }
    }

    /// What a server shows.
    pub(super) fn members(&self, limits: &Limits) -> Vec<Member> {
        self.nodes.iter().map(|node| node.member(limits)).collect()
    }

    /// Goes on until it is stopped.
    pub(super) fn run(mut self, stop: &CancellationToken) {
        let mut probe = HostProbe::new(&self.procfs).ok();
        let mut look_at = MonoTime::ZERO;
        // To make many nodes takes longer than a fleet may be behind.
        self.began = clock::now();
        while !stop.is_cancelled() {
            let now = clock::now();
            self.advance(now);
            if let Some(probe) = probe.as_mut().filter(|_| look_at <= now) {
                look_at = now + HOST_EVERY;
                let facts = probe.read();
                self.nodes.iter().for_each(|node| node.stats.note_host(facts.clone()));
            }
            thread::sleep((now + PACE).since(clock::now()));
        }
    }

    /// Moves everything up to `now`.
    fn advance(&mut self, now: MonoTime) {
        let behind = now.since(self.present());
        if behind > BEHIND_MAX {
            self.began = self.began + behind;
            if !std::mem::replace(&mut self.is_late, true) {
                let skipped = behind.as_secs_f64();
                (self.told)(&format!(
                    "skipped {skipped:.1} s: this machine is busy, or too slow for so many nodes"
                ));
            }
        }
        while self.present() + STEP <= now {
            let bout = self.schedule.at(self.world.planes[0].ran());
            let ailment = Ailment::of(bout, self.nodes.len(), self.seed);
            self.world.planes.iter_mut().for_each(|plane| plane.step(ailment));
            self.notice(bout, ailment);
        }
        let present = self.present();
        self.nodes.iter_mut().for_each(|node| node.advance(&self.world, present));
    }

    /// The instant up to which the fabrics have moved.
    fn present(&self) -> MonoTime {
        self.began + self.world.planes[0].ran()
    }

    /// Tells when a fault begins or ends.
    fn notice(&mut self, bout: Option<Bout>, ailment: Ailment) {
        let round = |bout: Option<Bout>| bout.map(|bout| bout.round);
        if round(bout) == round(self.bout) {
            return;
        }
        let storms = self.nodes.iter().map(|node| node.storms).sum::<u64>();
        if let Some(ended) = self.bout {
            let storms = storms - self.storms_before;
            self.tell(&format!("{} is over: {storms} storms were found", ended.fault));
        }
        if let Some(begun) = bout {
            self.storms_before = storms;
            self.tell(&sentence(begun.fault, ailment));
        }
        let words = bout.map_or_else(|| "healthy".into(), |bout| sentence(bout.fault, ailment));
        self.health.send_replace(words);
        self.bout = bout;
    }

    fn tell(&mut self, what: &str) {
        let at = self.world.planes[0].ran().as_secs_f64();
        (self.told)(&format!("{at:8.2} s  {what}"));
    }
}

fn sentence(fault: Fault, ailment: Ailment) -> String {
    match ailment {
        Ailment::SlowHost(host) => format!("{fault}: {} hardly takes what it is sent", name(host)),
        Ailment::StuckSpine(spine) => {
            format!("{fault}: spine {spine} of each fabric is stuck again and again")
        }
        Ailment::Unmarked => format!("{fault}: no switch marks any more"),
        Ailment::None => fault.to_string(),
    }
}
