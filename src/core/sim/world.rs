//! A node in virtual time: its ports, and an agent that reads them, asks the engine and carries out what it wants.
//!
//! One seed gives one run. Nothing waits: the clock jumps from one event to the next, so the same world serves tests
//! that run a day in a second and a demonstration that keeps step with the clock on the wall.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

use super::acting::{Moment, Run};
use super::faults::{GuardMood, JournalMood, PollFaults, What};
use super::judge::Judge;
use super::nic::Nic;
use super::peer::{Script, Spell};
use super::polling::SimPort;
use super::random::Random;
use super::scenario::{PauseSpec, Scenario};
use crate::action::Order;
use crate::durable::Durable;
use crate::engine::Engine;
use crate::input::{Command, Effect, GuardAnswer, Input};
use crate::settings::Settings;
use crate::units::{Direction, MonoTime, Queue};

/// Who watches a world: every input with its time, and the effects it had.
pub type Sink<'a> = dyn FnMut(MonoTime, &Input, &[Effect]) + 'a;

/// A repeated pause is repeated at most this often: a demonstration of a day with a storm each second.
const REPEATS_MAX: u32 = 100_000;
/// A tick that changes nothing would come again at once; the world goes on this much later, and the judge tells.
const TICK_MIN: Duration = Duration::from_millis(1);

/// See the module.
#[derive(Debug)]
pub struct World {
    pub(super) scenario: Scenario,
    pub(super) random: Random,
    pub(super) now: MonoTime,
    pub(super) engine: Option<Engine>,
    pub(super) settings: Settings,
    pub(super) ports: Vec<SimPort>,
    pub(super) runs: BTreeMap<u64, Run>,
    pub(super) runs_begun: u64,
    pub(super) journal: Durable,
    pub(super) journal_revision: u64,
    pub(super) journal_mood: JournalMood,
    pub(super) journal_takes: Duration,
    pub(super) guard: GuardMood,
    pub(super) poll: PollFaults,
    pub(super) devices: u32,
    pub(super) judge: Judge,
    pub(super) judging: bool,
    deadline: Option<MonoTime>,
    agenda: BinaryHeap<Reverse<Entry>>,
    entries: u64,
    /// Inputs so far.
    pub(super) steps: u64,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    at: MonoTime,
    number: u64,
    what: Happening,
}

/// What is on the agenda.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Happening {
    /// A port is to be read.
    Poll { port: usize, generation: u64 },
    /// The counters are looked at: the middle of a read.
    Sample { port: usize, generation: u64 },
    /// A read ends.
    Read { port: usize, generation: u64 },
    /// The link is looked at, once a second.
    LinkPoll(usize),
    /// The kernel tells about the link.
    LinkTold(usize),
    /// The DCB configuration is looked at, now and then.
    DcbPoll(usize),
    /// The kernel tells about DCB or 802.3x.
    ConfigTold(usize),
    /// An order goes on.
    Run { run: u64, moment: Moment },
    /// Something goes wrong.
    Trouble { port: usize, what: What },
    /// A trouble of a port is over.
    Thaw(usize),
    /// The guard answers.
    Guard(GuardAnswer),
    /// The agent was told to stop, and is looked after.
    AgentEnding { away: Duration, by: MonoTime },
    /// The agent starts.
    AgentStarts,
}

// The agenda is ordered by time and number alone; these make the order total without looking further.
impl PartialOrd for Happening {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Happening {
    fn cmp(&self, _other: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

impl World {
    /// The world of `scenario`, not yet begun.
    #[must_use]
    pub fn new(scenario: Scenario, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let start = scenario.start();
        let settings = scenario.settings.clone();
        let mut ports = Vec::new();
        for (index, spec) in scenario.ports.iter().enumerate() {
            let nic = Nic::new(spec, scripts(&scenario, index), start, random.fork());
            ports.push(SimPort::new(spec.clone(), nic, index, start));
        }
        let mut world = Self {
            judge: Judge::new(seed, &settings),
            judging: true,
            now: start,
            engine: None,
            devices: ports.len() as u32,
            ports,
            runs: BTreeMap::new(),
            runs_begun: 0,
            journal: Durable::default(),
            journal_revision: 0,
            journal_mood: JournalMood::Works,
            journal_takes: Duration::from_millis(5),
            guard: scenario.guard,
            poll: scenario.poll,
            deadline: None,
            agenda: BinaryHeap::new(),
            entries: 0,
            steps: 0,
            settings,
            scenario,
            random,
        };
        if !world.scenario.journal_writable {
            world.journal_mood = JournalMood::Fails;
        }
        world.plan(start, Happening::AgentStarts);
        for port in 0..world.ports.len() {
            let phase = world.random.span(Duration::ZERO, Duration::from_secs(1));
            world.plan(start + phase, Happening::LinkPoll(port));
            world.plan(start + phase * 30, Happening::DcbPoll(port));
        }
        for trouble in world.scenario.troubles.clone() {
            let what = Happening::Trouble { port: trouble.port, what: trouble.what };
            world.plan(start + trouble.at, what);
        }
        world
    }

    /// The same without a judge, several times faster.
    #[must_use]
    pub fn unjudged(self) -> Self {
        Self { judging: false, ..self }
    }

    /// Where the clock of this world stands.
    #[must_use]
    pub const fn now(&self) -> MonoTime {
        self.now
    }

    /// The engine; `None` while the agent is away.
    #[must_use]
    pub const fn engine(&self) -> Option<&Engine> {
        self.engine.as_ref()
    }

    /// The settings in force.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The judge of this run.
    #[must_use]
    pub const fn judge(&self) -> &Judge {
        &self.judge
    }

    /// The simulated port `index` of the scenario.
    #[must_use]
    pub fn nic(&self, index: usize) -> Option<&Nic> {
        self.ports.get(index).map(|port| &port.nic)
    }

    /// Inputs that the engine has taken.
    #[must_use]
    pub const fn steps(&self) -> u64 {
        self.steps
    }

    /// Lets everything happen up to `until`. `sink` sees each input, its time, and its effects.
    pub fn advance(&mut self, until: MonoTime, sink: &mut Sink<'_>) {
        loop {
            let planned = self.agenda.peek().map(|Reverse(entry)| entry.at);
            // What is planned for the same instant comes first: a late tick decides nothing differently.
            let tick = self.deadline.filter(|due| planned.is_none_or(|at| *due < at));
            let Some(next) = tick.or(planned).filter(|at| *at <= until) else { break };
            self.now = self.now.max(next);
            if tick.is_some() {
                self.feed(Input::Tick, sink);
                self.settle_deadline();
                continue;
            }
            if let Some(Reverse(entry)) = self.agenda.pop() {
                self.happen(entry.what, sink);
            }
        }
        self.now = self.now.max(until);
    }

    /// Gives the engine an input from outside, such as a command of an operator.
    pub fn tell(&mut self, input: Input, sink: &mut Sink<'_>) {
        if let Input::Reconfigure(settings) = &input {
            self.settings = (**settings).clone();
            self.judge.settings(&self.settings);
        }
        if input == Input::Command(Command::Stop) {
            self.judge.stopping();
        }
        self.feed(input, sink);
    }

    fn settle_deadline(&mut self) {
        if let Some(due) = self.deadline.filter(|due| *due <= self.now) {
            self.judge.idle_tick(self.now, due);
            self.deadline = Some(self.now + TICK_MIN);
        }
    }

    pub(super) fn plan(&mut self, at: MonoTime, what: Happening) {
        self.entries += 1;
        self.agenda.push(Reverse(Entry { at: at.max(self.now), number: self.entries, what }));
    }

    pub(super) fn feed(&mut self, input: Input, sink: &mut Sink<'_>) {
        let now = self.now;
        let Some(engine) = self.engine.as_mut() else { return };
        self.steps += 1;
        let effects = engine.handle(now, &input);
        self.deadline = engine.next_deadline();
        if engine.durable_revision() != self.journal_revision && self.journal_mood == JournalMood::Works {
            self.journal_revision = engine.durable_revision();
            self.journal = engine.durable();
        }
        sink(now, &input, &effects);
        self.tell_judge(&input, &effects);
        for effect in effects {
            match effect {
                Effect::Act(order) => self.begin(*order, sink),
                Effect::Pace(key, interval) => self.set_pace(key, interval),
                Effect::AskGuard => self.ask_guard(),
                Effect::Withdraw(action, veto) => self.withdraw_run(action, veto),
                Effect::Emit(_) => {}
            }
        }
    }

    fn happen(&mut self, what: Happening, sink: &mut Sink<'_>) {
        match what {
            Happening::Poll { port, generation } => self.poll(port, generation),
            Happening::Sample { port, generation } => self.sample(port, generation),
            Happening::Read { port, generation } => self.read(port, generation, sink),
            Happening::LinkPoll(port) => {
                self.plan(self.now + Duration::from_secs(1), Happening::LinkPoll(port));
                self.tell_link(port, sink);
            }
            Happening::LinkTold(port) => self.tell_link(port, sink),
            Happening::DcbPoll(port) => {
                self.plan(self.now + Duration::from_secs(30), Happening::DcbPoll(port));
                self.tell_config(port, sink);
            }
            Happening::ConfigTold(port) => self.tell_config(port, sink),
            Happening::Run { run, moment } => self.go_on(run, moment, sink),
            Happening::Trouble { port, what } => self.trouble(port, what, sink),
            Happening::Thaw(port) => self.thaw(port),
            Happening::Guard(answer) => self.feed(Input::GuardAnswer(answer), sink),
            Happening::AgentEnding { away, by } => self.agent_ending(away, by),
            Happening::AgentStarts => self.agent_starts(sink),
        }
    }

    pub(super) fn forget_deadline(&mut self) {
        self.deadline = None;
    }

    fn ask_guard(&mut self) {
        let asked_at = self.now;
        let limit = self.settings.guard.as_ref().map_or(0, |guard| guard.limit);
        let answer = match self.guard {
            GuardMood::Agrees => Ok(limit),
            GuardMood::Refuses => Ok(limit + 1),
            GuardMood::Fails => Err("simulated failure".into()),
            GuardMood::Silent => return,
        };
        let delay = self.random.span(Duration::from_millis(5), Duration::from_millis(800));
        self.plan(self.now + delay, Happening::Guard(GuardAnswer { asked_at, answer }));
    }

    /// Whether an operation that takes a link down is going on at another port than `port`.
    pub(super) fn link_busy_elsewhere(&self, port: usize) -> bool {
        let working = self.runs.values().any(|run| run.port != port && run.is_linkwise());
        working || self.ports.iter().enumerate().any(|(i, p)| i != port && p.own_flap_until > self.now)
    }

    fn begin(&mut self, order: Order, sink: &mut Sink<'_>) {
        let key = match &order {
            Order::Do(plan) => plan.port,
            Order::Undo(undo) => undo.port,
        };
        if let Some(port) = self.ports.iter().position(|port| port.key == Some(key)) {
            self.begin_run(port, order, sink);
        }
    }
}

/// What the peers do to port `index` of `scenario`.
fn scripts(scenario: &Scenario, index: usize) -> [[Script; 2]; Queue::COUNT] {
    let mut spells: [[Vec<Spell>; 2]; Queue::COUNT] = Default::default();
    for pause in scenario.pauses.iter().filter(|pause| pause.port == index) {
        spells[pause.queue.index()][pause.direction.index()].extend(repeated(pause, scenario));
    }
    spells.map(|both| both.map(Script::new))
}

fn repeated(pause: &PauseSpec, scenario: &Scenario) -> impl Iterator<Item = Spell> {
    let (first, end) = (scenario.start() + pause.start, scenario.end());
    let times = if pause.every.is_some() { REPEATS_MAX } else { 1 };
    let (every, length, pattern) = (pause.every.unwrap_or_default(), pause.length, pause.pattern);
    let begin = move |n: u32| first + every.saturating_mul(n);
    (0..times).map(begin).take_while(move |from| *from < end).map(move |from| Spell {
        from,
        until: from + length,
        pattern,
    })
}

/// Both directions of every queue.
pub(super) fn all_queues() -> impl Iterator<Item = (Queue, Direction)> {
    Queue::all().flat_map(|queue| Direction::ALL.map(|direction| (queue, direction)))
}
