//! Questions over netlink, asked on a blocking socket whose wait for the answer is bounded.
//!
//! A netlink request is executed inside `send()`, under whatever lock its subsystem takes (rtnl for links), so a thread
//! that may block asks; an asynchronous socket would stall its whole runtime there. That part no timeout bounds.

use std::io;
use std::time::Duration;

use netlink_sys::{Socket, SocketAddr};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv, sockopt};

use super::netlink_wire::{Malformed, Meaning, Refusal, frames};
use super::renames::Renamed;
use super::uapi::*;

/// Twice what the kernel fills at most with one part of a list (`netlink_dump`, 32 KiB).
const RECEIVE_LEN: usize = 64 * 1024;

/// How often a list is asked anew when it changed under our hands. Links that come and go faster than they can be listed
/// five times in a row are not worth a sixth: the caller asks again at its own pace.
const DUMP_ATTEMPTS: usize = 5;

/// A netlink socket of one protocol, for one thread.
#[derive(Debug)]
pub struct Netlink {
    protocol: isize,
    timeout: Duration,
    /// `None` after a failure: the rest of the old answer would come first, and the kernel refuses a second list
    /// (EBUSY) until the first has been read to its end.
    socket: Option<Socket>,
    sequence: u32,
    buffer: Vec<u8>,
}

/// What to ask for.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// What it is called in errors, "RTM_GETLINK".
    pub name: &'static str,
    /// Its message type.
    pub message_type: u16,
    /// The family's header and attributes.
    pub body: &'a [u8],
}

/// What has come of a list so far. Knows no socket, so that any datagrams can be tried on it.
struct Listing<T> {
    request: &'static str,
    sequence: u32,
    is_torn: bool,
    list: Vec<T>,
}

/// How far a list has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// More is to come.
    Going,
    /// It is complete.
    Whole,
    /// It changed meanwhile, or the kernel dropped a part.
    Torn,
}

impl Netlink {
    /// A socket of `protocol` (`netlink_sys::protocols`) in the calling thread's network namespace. An answer may keep
    /// it waiting for `timeout` at each of its parts.
    ///
    /// # Errors
    ///
    /// If the kernel lacks the protocol or one of the options, which all kernels since 4.20 have.
    pub fn open(protocol: isize, timeout: Duration) -> Result<Self, NetlinkError> {
        let socket = open(protocol, timeout)?;
        Ok(Self { protocol, timeout, socket: Some(socket), sequence: 0, buffer: vec![0; RECEIVE_LEN] })
    }

    /// Gives the socket back until the next question. While it is open, the kernel cannot unload the module that
    /// answers.
    pub fn close(&mut self) {
        self.socket = None;
    }

    /// What `request` lists, each message through `decode`, which may leave it out: the whole list of one moment, or an
    /// error.
    ///
    /// # Errors
    ///
    /// If the kernel refuses, does not answer in time, answers nonsense, or the list keeps changing.
    pub fn dump<T>(
        &mut self,
        request: Request<'_>,
        decode: impl FnMut(u16, &[u8]) -> Result<Option<T>, Malformed>,
    ) -> Result<Vec<T>, NetlinkError> {
        self.ask(request, NLM_F_DUMP, decode)
    }

    /// What `request` answers about one object, each message through `decode`. For questions only: one whose answer is
    /// lost is asked again.
    ///
    /// # Errors
    ///
    /// As [`Self::dump`].
    pub fn get<T>(
        &mut self,
        request: Request<'_>,
        decode: impl FnMut(u16, &[u8]) -> Result<Option<T>, Malformed>,
    ) -> Result<Vec<T>, NetlinkError> {
        // The acknowledgement ends the answer.
        self.ask(request, NLM_F_ACK, decode)
    }

    /// Has the kernel change something; what it says to that goes through `decode`. Asked once: what was perhaps carried
    /// out is not asked for again, the caller looks at what stands now.
    ///
    /// # Errors
    ///
    /// As [`Self::dump`], and [`NetlinkError::Unheard`] if the answer was lost.
    pub fn set<T>(
        &mut self,
        request: Request<'_>,
        mut decode: impl FnMut(u16, &[u8]) -> Result<Option<T>, Malformed>,
    ) -> Result<Vec<T>, NetlinkError> {
        match self.ask_once(request, NLM_F_ACK, &mut decode)? {
            Some(answer) => Ok(answer),
            None => Err(NetlinkError::Unheard { request: request.name }),
        }
    }

    fn ask<T>(
        &mut self,
        request: Request<'_>,
        flags: u16,
        mut decode: impl FnMut(u16, &[u8]) -> Result<Option<T>, Malformed>,
    ) -> Result<Vec<T>, NetlinkError> {
        for _ in 0..DUMP_ATTEMPTS {
            if let Some(answer) = self.ask_once(request, flags, &mut decode)? {
                return Ok(answer);
            }
        }
        Err(NetlinkError::Unsteady { request: request.name })
    }

    /// The answer; `None` if it is torn.
    fn ask_once<T>(
        &mut self,
        request: Request<'_>,
        flags: u16,
        decode: &mut impl FnMut(u16, &[u8]) -> Result<Option<T>, Malformed>,
    ) -> Result<Option<Vec<T>>, NetlinkError> {
        // Put back only after a whole answer, see the field.
        let socket = match self.socket.take() {
            Some(socket) => socket,
            None => open(self.protocol, self.timeout)?,
        };
        self.sequence = self.sequence.wrapping_add(1);
        let mut listing =
            Listing { request: request.name, sequence: self.sequence, is_torn: false, list: Vec::new() };
        send(&socket, request, flags, self.sequence)?;
        if self.listen(&socket, &mut listing, decode)? == Progress::Torn {
            return Ok(None);
        }
        self.socket = Some(socket);
        Ok(Some(listing.list))
    }

    /// Receives until the list has ended. As long as the kernel's list: "done" or an error ends it, or the next part is
    /// late.
    fn listen<T>(
        &mut self,
        socket: &Socket,
        listing: &mut Listing<T>,
        decode: &mut impl FnMut(u16, &[u8]) -> Result<Option<T>, Malformed>,
    ) -> Result<Progress, NetlinkError> {
        let mut progress = Progress::Going;
        while progress == Progress::Going {
            progress = match receive(socket, listing.request, self.timeout, &mut self.buffer)? {
                Some(datagram) => listing.add(datagram, decode)?,
                None => Progress::Torn,
            };
        }
        Ok(progress)
    }
}

impl<T> Listing<T> {
    fn add(
        &mut self,
        datagram: &[u8],
        decode: &mut impl FnMut(u16, &[u8]) -> Result<Option<T>, Malformed>,
    ) -> Result<Progress, NetlinkError> {
        let request = self.request;
        let malformed = |source| NetlinkError::Malformed { request, source };
        for frame in frames(datagram) {
            let frame = frame.map_err(malformed)?;
            if frame.sequence != self.sequence {
                continue;
            }
            self.is_torn |= frame.is_torn();
            match frame.meaning().map_err(malformed)? {
                Meaning::Data(payload) => {
                    self.list.extend(decode(frame.message_type, payload).map_err(malformed)?);
                }
                Meaning::Done if self.is_torn => return Ok(Progress::Torn),
                Meaning::Done => return Ok(Progress::Whole),
                Meaning::Refused(refusal) => return Err(NetlinkError::refused(request, refusal)),
                Meaning::Overrun => return Ok(Progress::Torn),
                Meaning::Noop => {}
            }
        }
        Ok(Progress::Going)
    }
}

fn open(protocol: isize, timeout: Duration) -> Result<Socket, NetlinkError> {
    let options = || -> io::Result<Socket> {
        let mut socket = Socket::new(protocol)?;
        socket.bind_auto()?;
        socket.set_ext_ack(true)?;
        socket.set_cap_ack(true)?;
        // Without it, older kernels ignore what they do not understand in a request and list everything.
        socket.set_netlink_get_strict_chk(true)?;
        sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(timeout))?;
        // From then on nobody but the kernel can send to it.
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(socket)
    };
    options().map_err(|source| NetlinkError::Open { protocol, source })
}

fn send(socket: &Socket, request: Request<'_>, flags: u16, sequence: u32) -> Result<(), NetlinkError> {
    let len = NLMSG_HDRLEN + request.body.len();
    let mut message = Vec::with_capacity(len);
    // The body is the caller's own, some bytes long.
    message.extend((len as u32).to_ne_bytes());
    message.extend(request.message_type.to_ne_bytes());
    message.extend((NLM_F_REQUEST | flags).to_ne_bytes());
    message.extend(sequence.to_ne_bytes());
    // The sender's address, which the kernel fills in.
    message.extend(0_u32.to_ne_bytes());
    message.extend(request.body);
    match socket.send(&message, 0) {
        Ok(_) => Ok(()),
        Err(source) => Err(NetlinkError::Socket { request: request.name, source }),
    }
}

/// The next datagram; `None` if the kernel dropped one for want of room.
fn receive<'a>(
    socket: &Socket,
    request: &'static str,
    timeout: Duration,
    buffer: &'a mut [u8],
) -> Result<Option<&'a [u8]>, NetlinkError> {
    // A signal may interrupt the wait; each round costs one.
    let received = rustix::io::retry_on_intr(|| recv(socket, &mut *buffer, RecvFlags::TRUNC));
    match received {
        Ok((_, len)) if len > RECEIVE_LEN => Err(NetlinkError::TooLong { request, len }),
        Ok((_, len)) => Ok(Some(&buffer[..len])),
        Err(Errno::NOBUFS) => Ok(None),
        Err(Errno::AGAIN) => Err(NetlinkError::TimedOut { request, timeout }),
        Err(errno) => Err(NetlinkError::Socket { request, source: errno.into() }),
    }
}

/// Why a netlink request or subscription failed.
#[derive(Debug, thiserror::Error)]
pub enum NetlinkError {
    /// No socket, or one without what is needed of it.
    #[error("cannot open a netlink socket of protocol {protocol}")]
    Open {
        /// `NETLINK_ROUTE` is 0.
        protocol: isize,
        /// The kernel's reason.
        source: io::Error,
    },
    /// The socket failed.
    #[error("netlink socket failed during {request}")]
    Socket {
        /// What was asked, as the kernel's headers call it.
        request: &'static str,
        /// The kernel's reason.
        source: io::Error,
    },
    /// The kernel said no.
    #[error("{request} refused{}", words(.message.as_ref()))]
    Refused {
        /// What was asked.
        request: &'static str,
        /// The kernel's reason.
        source: io::Error,
        /// The kernel's own words, if it had any.
        message: Option<String>,
    },
    /// The kernel did not answer in time.
    #[error("no answer to {request} within {timeout:?}")]
    TimedOut {
        /// What was asked.
        request: &'static str,
        /// How long was waited.
        timeout: Duration,
    },
    /// The answer is not what the kernel sends.
    #[error("answer to {request} cannot be read")]
    Malformed {
        /// What was asked.
        request: &'static str,
        /// What is wrong with it.
        source: Malformed,
    },
    /// Its device was renamed meanwhile: whether it was set, and which device was, is not known.
    #[error(transparent)]
    Renamed(#[from] Renamed),
    /// A datagram did not fit.
    #[error("answer to {request} has a part of {len} bytes, expected at most {RECEIVE_LEN}")]
    TooLong {
        /// What was asked.
        request: &'static str,
        /// Its length in bytes.
        len: usize,
    },
    /// The answer to a change was lost: whether it was carried out has to be looked at.
    #[error("the answer to {request} was lost")]
    Unheard {
        /// What was asked.
        request: &'static str,
    },
    /// The driver said no, in its own way.
    #[error("{request} refused by the driver")]
    Driver {
        /// What was asked.
        request: &'static str,
        /// The driver's reason.
        source: io::Error,
    },
    /// The setting is not the host's to make.
    #[error("firmware or another agent runs DCBX on the port ({}), and owns its settings", dcbx_bits(*.dcbx))]
    NotOwner {
        /// The port's DCBX bits (`DCB_CAP_DCBX_*`), if it has any.
        dcbx: Option<u8>,
    },
    /// The list changed each time it was read.
    #[error("answer to {request} changed while it was read, {DUMP_ATTEMPTS} times in a row")]
    Unsteady {
        /// What was asked.
        request: &'static str,
    },
}

impl NetlinkError {
    fn refused(request: &'static str, refusal: Refusal) -> Self {
        let source = io::Error::from_raw_os_error(refusal.errno);
        Self::Refused { request, source, message: refusal.message }
    }

    /// The device that was asked about is not there any more, or never keeps its name.
    pub(super) fn gone(request: &'static str) -> Self {
        Self::refused(request, Refusal { errno: Errno::NODEV.raw_os_error(), message: None })
    }

    /// The driver offers nothing of the kind.
    pub(super) fn unsupported(request: &'static str) -> Self {
        Self::refused(request, Refusal { errno: Errno::OPNOTSUPP.raw_os_error(), message: None })
    }

    /// Whether the kernel or the driver has no answer to this question, now or later.
    #[must_use]
    pub fn is_unsupported(&self) -> bool {
        self.errno() == Some(Errno::OPNOTSUPP.raw_os_error())
    }

    /// The kernel's error number, if it gave one.
    #[must_use]
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::Open { source, .. }
            | Self::Socket { source, .. }
            | Self::Refused { source, .. }
            | Self::Driver { source, .. } => source.raw_os_error(),
            Self::TimedOut { .. } => Some(Errno::AGAIN.raw_os_error()),
            Self::Malformed { .. }
            | Self::TooLong { .. }
            | Self::Unheard { .. }
            | Self::NotOwner { .. }
            | Self::Renamed(_)
            | Self::Unsteady { .. } => None,
        }
    }
}

fn dcbx_bits(dcbx: Option<u8>) -> String {
    dcbx.map_or_else(|| "no DCBX".into(), |bits| format!("DCBX {bits:#04x}"))
}

fn words(message: Option<&String>) -> String {
    message.map(|message| format!(", the kernel says {message:?}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::netlink_wire::tests::message;
    use super::*;

    const SEQUENCE: u32 = 7;
    const DONE: [u8; 4] = [0; 4];

    /// The progress after each datagram, and the list.
    fn listed(datagrams: &[Vec<u8>]) -> Result<(Progress, Vec<u8>), NetlinkError> {
        let mut listing =
            Listing { request: "RTM_GETLINK", sequence: SEQUENCE, is_torn: false, list: Vec::new() };
        let mut progress = Progress::Going;
        for datagram in datagrams {
            progress = listing.add(datagram, &mut |_, payload| Ok(payload.first().copied()))?;
        }
        Ok((progress, listing.list))
    }

    fn entry(sequence: u32, flags: u16, value: u8) -> Vec<u8> {
        message(RTM_NEWLINK, flags, sequence, &[value])
    }

    fn done() -> Vec<u8> {
        message(NLMSG_DONE, 0, SEQUENCE, &DONE)
    }

    #[test]
    fn a_list_in_several_datagrams_is_one_list() {
        let first = [entry(SEQUENCE, 0, 1), entry(SEQUENCE, 0, 2)].concat();
        let second = [entry(SEQUENCE, 0, 3), done()].concat();
        assert_eq!(listed(std::slice::from_ref(&first)).unwrap(), (Progress::Going, vec![1, 2]));
        assert_eq!(listed(&[first, second]).unwrap(), (Progress::Whole, vec![1, 2, 3]));
    }

    #[test]
    fn the_late_answer_to_an_earlier_request_is_skipped() {
        let late = [entry(SEQUENCE - 1, 0, 9), message(NLMSG_DONE, 0, SEQUENCE - 1, &DONE)].concat();
        let answer = [entry(SEQUENCE, 0, 1), done()].concat();
        assert_eq!(listed(&[late, answer]).unwrap(), (Progress::Whole, vec![1]));
    }

    #[test]
    fn a_list_that_changed_while_it_was_read_is_torn_only_at_its_end() {
        let first = entry(SEQUENCE, NLM_F_DUMP_INTR, 1);
        assert_eq!(listed(std::slice::from_ref(&first)).unwrap().0, Progress::Going);
        assert_eq!(listed(&[first, done()]).unwrap().0, Progress::Torn);
        let noticed_last = message(NLMSG_DONE, NLM_F_DUMP_INTR, SEQUENCE, &DONE);
        assert_eq!(listed(&[entry(SEQUENCE, 0, 1), noticed_last]).unwrap().0, Progress::Torn);
    }

    #[test]
    fn an_acknowledgement_ends_the_answer_about_one_object() {
        let acknowledged = message(NLMSG_ERROR, NLM_F_CAPPED, SEQUENCE, &[0; 4 + NLMSG_HDRLEN]);
        let answer = [entry(SEQUENCE, 0, 5)].concat();
        assert_eq!(listed(std::slice::from_ref(&answer)).unwrap(), (Progress::Going, vec![5]));
        assert_eq!(listed(&[answer, acknowledged]).unwrap(), (Progress::Whole, vec![5]));
    }

    #[test]
    fn an_overrun_tears_the_list() {
        assert_eq!(listed(&[message(NLMSG_OVERRUN, 0, SEQUENCE, &[])]).unwrap().0, Progress::Torn);
    }

    #[test]
    fn a_refusal_names_request_reason_and_the_kernels_words() {
        let mut payload = (-22_i32).to_ne_bytes().to_vec();
        payload.extend([0; NLMSG_HDRLEN]);
        payload.extend(super::super::netlink_wire::tests::attribute(NLMSGERR_ATTR_MSG, b"bad header\0"));
        let refusal = message(NLMSG_ERROR, NLM_F_CAPPED | NLM_F_ACK_TLVS, SEQUENCE, &payload);
        let error = listed(&[refusal]).unwrap_err();
        assert_eq!(error.errno(), Some(22));
        assert_eq!(error.to_string(), "RTM_GETLINK refused, the kernel says \"bad header\"");
    }

    #[test]
    fn every_truncation_of_a_list_is_an_error_or_unfinished() {
        let whole = [entry(SEQUENCE, 0, 1), done()].concat();
        for len in 0..whole.len() {
            if let Ok((progress, _)) = listed(&[whole[..len].to_vec()]) {
                assert_eq!(progress, Progress::Going, "{len} bytes");
            }
        }
    }
}
