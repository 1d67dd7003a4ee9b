//! What devlink tells of devices: what sort of port a network device is, and how the reporters of its health are. It can
//! also be asked to have one of them recover its device.

use std::time::Duration;

use rustix::io::Errno;

use super::genl::{Genl, Query};
use super::netdev::BusDevice;
use super::netlink::NetlinkError;
use super::netlink_wire::{Malformed, attributes, put_attribute, put_text, text_of, u32_of, u64_of};
use super::uapi::*;

/// The name of the family.
pub const FAMILY: &str = "devlink";

/// A socket for questions to devlink. One per asking thread.
///
/// A question about a device waits for that device's own lock, which a driver may hold through a whole reset; one
/// about all devices waits for each in turn.
#[derive(Debug)]
pub struct Devlink {
    genl: Genl,
}

/// A port of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DevlinkPort {
    /// The device.
    pub device: BusDevice,
    /// Its number there.
    pub index: u32,
    /// What sort of port it is.
    pub flavour: Option<Flavour>,
    /// Which port on the outside of the card it is.
    pub number: Option<u32>,
    /// Its network device.
    pub ifindex: Option<u32>,
}

/// What sort of port it is (`enum devlink_port_flavour`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// One with a cable.
    Physical,
    /// Of a switch, towards its processor.
    Cpu,
    /// Between two switches.
    Dsa,
    /// The switch's end of a physical function.
    PciPf,
    /// The switch's end of a virtual function.
    PciVf,
    /// The switch's end of a scalable function.
    PciSf,
    /// The user's end of a virtual or scalable function.
    Virtual,
    /// Not in use.
    Unused,
}

/// A reporter of the health of a device, or of one of its ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reporter {
    /// The device.
    pub device: BusDevice,
    /// The port; `None` if it is about the device as a whole.
    pub port: Option<u32>,
    /// Its name: "tx", "fw_fatal".
    pub name: String,
    /// Whether something is wrong now.
    pub in_error: Option<bool>,
    /// Times something was wrong.
    pub errors: Option<u64>,
    /// Times it was recovered.
    pub recoveries: Option<u64>,
}

impl Devlink {
    /// A socket in the calling thread's network namespace that waits `timeout` at most for each part of an answer;
    /// `None` if this kernel was built without devlink.
    ///
    /// # Errors
    ///
    /// If no such socket can be had.
    pub fn open(timeout: Duration) -> Result<Option<Self>, NetlinkError> {
        Ok(Genl::open(FAMILY, timeout)?.map(|genl| Self { genl }))
    }

    /// The ports of all devices.
    ///
    /// # Errors
    ///
    /// If the kernel does not give a whole list.
    pub fn ports(&mut self) -> Result<Vec<DevlinkPort>, NetlinkError> {
        self.list("DEVLINK_CMD_PORT_GET", DEVLINK_CMD_PORT_GET, &[], DevlinkPort::decode)
    }

    /// The ports of `device`; none if devlink does not know it.
    ///
    /// # Errors
    ///
    /// As [`Self::ports`].
    pub fn ports_of(&mut self, device: &BusDevice) -> Result<Vec<DevlinkPort>, NetlinkError> {
        let (name, command) = ("DEVLINK_CMD_PORT_GET", DEVLINK_CMD_PORT_GET);
        let ports = known(self.list(name, command, &handle(device), DevlinkPort::decode))?;
        Ok(ports.into_iter().filter(|port| port.device == *device).collect())
    }

    /// The reporters of `device` and of all its ports; none if devlink does not know it.
    ///
    /// # Errors
    ///
    /// As [`Self::ports`].
    pub fn reporters_of(&mut self, device: &BusDevice) -> Result<Vec<Reporter>, NetlinkError> {
        let (name, command) = ("DEVLINK_CMD_HEALTH_REPORTER_GET", DEVLINK_CMD_HEALTH_REPORTER_GET);
        let reporters = known(self.list(name, command, &handle(device), Reporter::decode))?;
        Ok(reporters.into_iter().filter(|reporter| reporter.device == *device).collect())
    }

    /// The reporter that `known` was, as it is now; `None` if it is not there any more. Waits for its own device alone,
    /// which a list does from kernel 6.6 on only.
    ///
    /// # Errors
    ///
    /// If the kernel does not answer as it should.
    pub fn reporter(&mut self, known: &Reporter) -> Result<Option<Reporter>, NetlinkError> {
        let body = known.handle();
        let (name, command) = ("DEVLINK_CMD_HEALTH_REPORTER_GET", DEVLINK_CMD_HEALTH_REPORTER_GET);
        let query = Query { name, command, attributes: &body };
        match self.genl.get(query, |_, attributes| Reporter::decode(attributes)) {
            Ok(reporters) => Ok(reporters.into_iter().next()),
            Err(error) if is_gone(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Has `reporter` recover its device. One that is healthy says yes and does nothing
    /// (`devlink_health_reporter_recover`): its count of recoveries tells. Needs CAP_NET_ADMIN in the initial user
    /// namespace.
    ///
    /// # Errors
    ///
    /// If the reporter is gone, cannot recover anything, or fails.
    pub fn recover(&mut self, reporter: &Reporter) -> Result<(), NetlinkError> {
        let (name, command) = ("DEVLINK_CMD_HEALTH_REPORTER_RECOVER", DEVLINK_CMD_HEALTH_REPORTER_RECOVER);
        self.genl.set(Query { name, command, attributes: &reporter.handle() })
    }

    /// Kernels before 6.6 do not look at what narrows a list, and give all of it.
    fn list<T>(
        &mut self,
        name: &'static str,
        command: u8,
        attributes: &[u8],
        decode: fn(&[u8]) -> Result<Option<T>, Malformed>,
    ) -> Result<Vec<T>, NetlinkError> {
        let query = Query { name, command, attributes };
        self.genl.dump(query, |_, attributes| decode(attributes))
    }
}

/// A list that is empty if there is no such device, as kernels from 6.6 say when a list is narrowed to one. Most
/// drivers have nothing to do with devlink.
fn known<T>(list: Result<Vec<T>, NetlinkError>) -> Result<Vec<T>, NetlinkError> {
    match list {
        Err(error) if error.errno() == Some(Errno::NODEV.raw_os_error()) => Ok(Vec::new()),
        other => other,
    }
}

/// No such device, or no such reporter, for which the kernel has the number of a bad request.
fn is_gone(error: &NetlinkError) -> bool {
    [Errno::NODEV, Errno::INVAL].iter().any(|errno| error.errno() == Some(errno.raw_os_error()))
}

fn handle(device: &BusDevice) -> Vec<u8> {
    let mut body = Vec::new();
    put_text(&mut body, DEVLINK_ATTR_BUS_NAME, &device.bus);
    put_text(&mut body, DEVLINK_ATTR_DEV_NAME, &device.address);
    body
}

/// The device that a message is about.
///
/// # Errors
///
/// If the attributes are malformed.
pub(super) fn device_of(bytes: &[u8]) -> Result<Option<BusDevice>, Malformed> {
    let (mut bus, mut address) = (None, None);
    for attribute in attributes(bytes) {
        match attribute? {
            (DEVLINK_ATTR_BUS_NAME, value) => bus = text_of(value),
            (DEVLINK_ATTR_DEV_NAME, value) => address = text_of(value),
            _ => {}
        }
    }
    Ok(bus.zip(address).map(|(bus, address)| BusDevice { bus, address }))
}

impl DevlinkPort {
    /// The port in the attributes of a message; `None` if it says not which.
    ///
    /// # Errors
    ///
    /// If they are malformed.
    pub fn decode(bytes: &[u8]) -> Result<Option<Self>, Malformed> {
        let (mut index, mut flavour, mut number, mut ifindex) = (None, None, None, None);
        for attribute in attributes(bytes) {
            match attribute? {
                (DEVLINK_ATTR_PORT_INDEX, value) => index = u32_of(value),
                (DEVLINK_ATTR_PORT_FLAVOUR, value) => flavour = Flavour::decode(value),
                (DEVLINK_ATTR_PORT_NUMBER, value) => number = u32_of(value),
                (DEVLINK_ATTR_PORT_NETDEV_IFINDEX, value) => ifindex = u32_of(value),
                _ => {}
            }
        }
        let device = device_of(bytes)?;
        Ok(device.zip(index).map(|(device, index)| Self { device, index, flavour, number, ifindex }))
    }
}

impl Flavour {
    /// `None` for a number that no kernel up to 7.0 has.
    fn decode(value: &[u8]) -> Option<Self> {
        let number = value.first_chunk().map(|number| u16::from_ne_bytes(*number))?;
        Some(match number {
            DEVLINK_PORT_FLAVOUR_PHYSICAL => Self::Physical,
            DEVLINK_PORT_FLAVOUR_CPU => Self::Cpu,
            DEVLINK_PORT_FLAVOUR_DSA => Self::Dsa,
            DEVLINK_PORT_FLAVOUR_PCI_PF => Self::PciPf,
            DEVLINK_PORT_FLAVOUR_PCI_VF => Self::PciVf,
            DEVLINK_PORT_FLAVOUR_PCI_SF => Self::PciSf,
            DEVLINK_PORT_FLAVOUR_VIRTUAL => Self::Virtual,
            DEVLINK_PORT_FLAVOUR_UNUSED => Self::Unused,
            _ => return None,
        })
    }

    /// As metrics, and the `devlink` command, write it.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Physical => "physical",
            Self::Cpu => "cpu",
            Self::Dsa => "dsa",
            Self::PciPf => "pcipf",
            Self::PciVf => "pcivf",
            Self::PciSf => "pcisf",
            Self::Virtual => "virtual",
            Self::Unused => "unused",
        }
    }
}

impl Reporter {
    /// What a question about it begins with.
    fn handle(&self) -> Vec<u8> {
        let mut body = handle(&self.device);
        if let Some(port) = self.port {
            put_attribute(&mut body, DEVLINK_ATTR_PORT_INDEX, &port.to_ne_bytes());
        }
        put_text(&mut body, DEVLINK_ATTR_HEALTH_REPORTER_NAME, &self.name);
        body
    }

    /// The reporter in the attributes of a message; `None` if it says not which.
    ///
    /// # Errors
    ///
    /// If they are malformed.
    pub fn decode(bytes: &[u8]) -> Result<Option<Self>, Malformed> {
        let Some(device) = device_of(bytes)? else { return Ok(None) };
        let (mut port, mut nest) = (None, None);
        for attribute in attributes(bytes) {
            match attribute? {
                (DEVLINK_ATTR_PORT_INDEX, value) => port = u32_of(value),
                (DEVLINK_ATTR_HEALTH_REPORTER, value) => nest = Some(value),
                _ => {}
            }
        }
        let (mut name, mut in_error, mut errors, mut recoveries) = (None, None, None, None);
        for attribute in attributes(nest.unwrap_or_default()) {
            match attribute? {
                (DEVLINK_ATTR_HEALTH_REPORTER_NAME, value) => name = text_of(value),
                (DEVLINK_ATTR_HEALTH_REPORTER_STATE, value) => {
                    in_error = value.first().map(|state| *state != HEALTHY);
                }
                (DEVLINK_ATTR_HEALTH_REPORTER_ERR_COUNT, value) => errors = u64_of(value),
                (DEVLINK_ATTR_HEALTH_REPORTER_RECOVER_COUNT, value) => recoveries = u64_of(value),
                _ => {}
            }
        }
        Ok(name.map(|name| Self { device, port, name, in_error, errors, recoveries }))
    }
}

/// `DEVLINK_HEALTH_REPORTER_STATE_HEALTHY`, which stands in no header of user space (`include/net/devlink.h`, 6.12).
const HEALTHY: u8 = 0;
