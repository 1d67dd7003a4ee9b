//! Listening to what the kernel announces on netlink multicast groups: the one place where an asynchronous netlink
//! socket is right, because nothing is executed on its behalf.

use std::collections::VecDeque;
use std::io;

use netlink_sys::{AsyncSocket, AsyncSocketExt, TokioSocket};
use rustix::io::Errno;

use super::netlink::NetlinkError;
use super::netlink_wire::{Frame, Malformed, frames};

/// Many times the largest notification listened to, a link of about 2 KiB.
const RECEIVE_LEN: usize = 32 * 1024;

/// More than the kernel keeps for a socket by default (208 KiB, some hundred events); reading them takes well under a
/// millisecond.
const DRAIN_MAX: usize = 1000;

/// Makes an event of a message; `None` for one that is of no interest.
type Decode<E> = Box<dyn Fn(&Frame<'_>) -> Result<Option<E>, Malformed> + Send + Sync>;

/// What is listened to.
pub(super) struct Subscription<'a, E> {
    /// The protocol (`netlink_sys::protocols`).
    pub(super) protocol: isize,
    /// Multicast groups.
    pub(super) groups: &'a [u32],
    /// What it is called in errors.
    pub(super) name: &'static str,
    /// The event of a message.
    pub(super) decode: Decode<E>,
    /// The event that says that events were lost.
    pub(super) lost: E,
}

/// Events of this network namespace.
pub(super) struct Watch<E> {
    socket: TokioSocket,
    name: &'static str,
    decode: Decode<E>,
    lost: E,
    buffer: Vec<u8>,
    /// Events of the last datagram; a datagram holds few.
    ready: VecDeque<E>,
    /// The kernel has dropped events and goes on dropping.
    is_overflowing: bool,
}

impl<E: Clone> Watch<E> {
    /// Subscribes; events from now on are kept until they are asked for, as far as the kernel has room.
    ///
    /// # Errors
    ///
    /// If no such socket can be had.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with I/O enabled.
    pub(super) fn open(subscription: Subscription<'_, E>) -> Result<Self, NetlinkError> {
        let Subscription { protocol, groups, name, decode, lost } = subscription;
        let subscribed = || {
            let mut socket = TokioSocket::new(protocol)?;
            socket.socket_mut().bind_auto()?;
            for group in groups {
                socket.socket_mut().add_membership(*group)?;
            }
            Ok(socket)
        };
        let socket = subscribed().map_err(|source| NetlinkError::Open { protocol, source })?;
        let buffer = Vec::with_capacity(RECEIVE_LEN);
        Ok(Self { socket, name, decode, lost, buffer, ready: VecDeque::new(), is_overflowing: false })
    }

    /// The next event. May be dropped while it waits; no event is lost by that.
    ///
    /// # Errors
    ///
    /// If the socket fails for good.
    pub(super) async fn next(&mut self) -> Result<E, NetlinkError> {
        loop {
            if self.is_overflowing {
                self.drain();
                return Ok(self.lost.clone());
            }
            if let Some(event) = self.ready.pop_front() {
                return Ok(event);
            }
            self.buffer.clear();
            match self.socket.recv(&mut self.buffer).await {
                Ok(()) => self.ready.extend(events(&self.buffer, &self.decode, &self.lost)),
                Err(error) if is_overflow(&error) => self.is_overflowing = true,
                Err(source) => return Err(NetlinkError::Socket { request: self.name, source }),
            }
        }
    }

    /// Reads what is waiting and forgets it. The kernel reports an overflow once, and drops every later event without
    /// another word until the socket has been read empty; so it must be empty before the caller asks for the state of
    /// things, or what changes after that is missed.
    fn drain(&mut self) {
        for _ in 0..DRAIN_MAX {
            self.buffer.clear();
            match self.socket.socket_ref().recv(&mut self.buffer, 0) {
                Ok(_) => {}
                Err(error) if is_overflow(&error) => {}
                // Empty; any other failure comes again when the socket is awaited.
                Err(_) => {
                    self.is_overflowing = false;
                    return;
                }
            }
        }
    }
}

fn is_overflow(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::NOBUFS.raw_os_error())
}

/// The events of a datagram. One that cannot be read, which also means one that was too long for the buffer, may have
/// been any event: it is `lost`.
pub(super) fn events<E: Clone>(
    datagram: &[u8],
    decode: impl Fn(&Frame<'_>) -> Result<Option<E>, Malformed>,
    lost: &E,
) -> Vec<E> {
    frames(datagram)
        .filter_map(|frame| {
            let event = frame.and_then(|frame| decode(&frame));
            event.unwrap_or_else(|_| Some(lost.clone()))
        })
        .collect()
}
