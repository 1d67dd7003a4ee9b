//! Maintenance: while it lasts, nothing is begun on a port. It is kept by the port's name, so that a device that comes
//! back, or is found only after a restart, is spared as well.

use crate::durable::{Maintained, PortName};
use crate::event::{EventKind, Place};
use crate::ids::PortKey;
use crate::input::Maintenance;
use crate::units::MonoTime;

use super::Engine;
use super::port::Port;

impl Engine {
    /// What is in maintenance now, also of ports that are not there.
    #[must_use]
    pub fn maintained(&self) -> &[Maintained] {
        &self.maintenance
    }

    pub(super) fn maintain(&mut self, maintenance: Maintenance, now: MonoTime) {
        let Maintenance { port, until, by } = maintenance;
        let name = port.and_then(|key| self.ports.get(&key)).map(|port| PortName::of(&port.identity));
        if port.is_some() && name.is_none() {
            return;
        }
        match until {
            Some(until) => {
                self.maintenance.retain(|kept| kept.port != name);
                self.maintenance.push(Maintained { port: name.clone(), until });
                self.emit(now, self.place_of(name.as_ref()), EventKind::MaintenanceBegun { until, by });
            }
            None => self.forget_maintenance(|kept| name.is_none() || kept.port == name, by, now),
        }
    }

    /// Ends what is over by now.
    pub(super) fn end_maintenance(&mut self, now: MonoTime) {
        if self.maintenance_deadline().is_some_and(|at| at <= now) {
            self.forget_maintenance(|kept| kept.until <= now, None, now);
        }
    }

    fn forget_maintenance(&mut self, over: impl Fn(&Maintained) -> bool, by: Option<u32>, now: MonoTime) {
        let (ended, kept) = std::mem::take(&mut self.maintenance).into_iter().partition(over);
        self.maintenance = kept;
        let ended: Vec<Maintained> = ended;
        for Maintained { port, .. } in ended {
            self.emit(now, self.place_of(port.as_ref()), EventKind::MaintenanceEnded { by });
        }
    }

    pub(super) fn maintenance_deadline(&self) -> Option<MonoTime> {
        self.maintenance.iter().map(|kept| kept.until).min()
    }

    /// The end of the maintenance of all ports.
    pub(super) fn maintenance_of_all(&self) -> Option<MonoTime> {
        self.maintenance.iter().filter(|kept| kept.port.is_none()).map(|kept| kept.until).max()
    }

    /// The end of the maintenance of one port by its own name.
    pub(super) fn maintenance_of(&self, port: &Port) -> Option<MonoTime> {
        let name = PortName::of(&port.identity);
        let named = self.maintenance.iter().filter(|kept| kept.port.as_ref() == Some(&name));
        named.map(|kept| kept.until).max()
    }

    /// A port stays in maintenance under its new name.
    pub(super) fn rename_maintenance(&mut self, key: PortKey, from: &str) {
        let Some(name) = self.ports.get(&key).map(|port| PortName::of(&port.identity)) else { return };
        for port in self.maintenance.iter_mut().filter_map(|kept| kept.port.as_mut()) {
            if port.netdev == from && port.pci_address == name.pci_address {
                *port = name.clone();
            }
        }
    }

    fn place_of(&self, name: Option<&PortName>) -> Place {
        let Some(name) = name else { return Place::default() };
        let port = self.ports.values().find(|port| PortName::of(&port.identity) == *name);
        Place { port: port.map(|port| port.key), netdev: name.netdev.clone(), ..Place::default() }
    }
}
