//! `SIOCETHTOOL`, the one ioctl behind everything `ethtool` reads, and behind one thing it sets: the limit on sent pause,
//! which has no netlink form.
//!
//! The statistics of a driver have no netlink form (the names have, the values have not), and no crate wraps this
//! ioctl: hence `unsafe`.

#![allow(unsafe_code, reason = "an ioctl without a safe wrapper")]

use std::os::fd::BorrowedFd;

use rustix::io::Errno;
use rustix::ioctl::{Opcode, Updater, ioctl};

use super::netdev::NetdevName;
use super::uapi::*;

/// The most statistics a device may have here. mlx5 with 128 channels and eight traffic classes has about 40,000.
pub(super) const STATS_MAX: u32 = 65_536;

/// Room for entries nobody expects. Kernels before January 2026 copy as many entries as the device has at that moment,
/// whatever the caller asked for, and the number can grow between two ioctls: by thousands where channels are added.
/// Pages that are never written cost no memory, so the room is as large as the largest set.
const SLACK_ENTRIES: usize = STATS_MAX as usize;

/// What is asked; bounds what the kernel may answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Query {
    /// Driver, versions and bus address.
    DriverInfo,
    /// How many statistics there are.
    StatCount,
    /// The names of `count` statistics.
    StatNames { count: u32 },
    /// The values of `count` statistics.
    Stats { count: u32 },
    /// 802.3x pause.
    Pause,
    /// The limit on the pause this port sends.
    PreventionTimeout,
    /// Another limit, in milliseconds.
    SetPreventionTimeout { ms: u16 },
}

impl Query {
    /// The command: as the kernel's headers call it, and its number.
    pub(super) const fn command(self) -> (&'static str, u32) {
        match self {
            Self::DriverInfo => ("ETHTOOL_GDRVINFO", ETHTOOL_GDRVINFO),
            Self::StatCount => ("ETHTOOL_GSSET_INFO", ETHTOOL_GSSET_INFO),
            Self::StatNames { .. } => ("ETHTOOL_GSTRINGS", ETHTOOL_GSTRINGS),
            Self::Stats { .. } => ("ETHTOOL_GSTATS", ETHTOOL_GSTATS),
            Self::Pause => ("ETHTOOL_GPAUSEPARAM", ETHTOOL_GPAUSEPARAM),
            Self::PreventionTimeout => ("ETHTOOL_GTUNABLE", ETHTOOL_GTUNABLE),
            Self::SetPreventionTimeout { .. } => ("ETHTOOL_STUNABLE", ETHTOOL_STUNABLE),
        }
    }

    /// How long a buffer must be at least, in bytes.
    pub(super) const fn buffer_len(self) -> usize {
        match self {
            Self::DriverInfo => DRVINFO_LEN,
            // One set is asked for: one count comes back.
            Self::StatCount => SSET_INFO_DATA + size_of::<u32>(),
            Self::StatNames { count } => GSTRINGS_DATA + (count as usize + SLACK_ENTRIES) * ETH_GSTRING_LEN,
            Self::Stats { count } => STATS_DATA + (count as usize + SLACK_ENTRIES) * size_of::<u64>(),
            Self::Pause => PAUSEPARAM_LEN,
            Self::PreventionTimeout | Self::SetPreventionTimeout { .. } => TUNABLE_DATA + size_of::<u16>(),
        }
    }

    /// Writes the head of the request, which is also what limits the kernel's answer.
    fn write_head(self, buffer: &mut [u8]) {
        let (_, number) = self.command();
        put(buffer, 0, number.to_ne_bytes());
        match self {
            Self::DriverInfo | Self::Pause => {}
            Self::StatCount => put(buffer, SSET_INFO_MASK, (1_u64 << ETH_SS_STATS).to_ne_bytes()),
            Self::StatNames { count } => {
                put(buffer, GSTRINGS_SET, ETH_SS_STATS.to_ne_bytes());
                put(buffer, GSTRINGS_COUNT, count.to_ne_bytes());
            }
            Self::Stats { count } => put(buffer, STATS_COUNT, count.to_ne_bytes()),
            Self::PreventionTimeout => put_limit_head(buffer),
            Self::SetPreventionTimeout { ms } => {
                put_limit_head(buffer);
                put(buffer, TUNABLE_DATA, ms.to_ne_bytes());
            }
        }
    }
}

fn put_limit_head(buffer: &mut [u8]) {
    put(buffer, TUNABLE_ID, ETHTOOL_PFC_PREVENTION_TOUT.to_ne_bytes());
    put(buffer, TUNABLE_TYPE, ETHTOOL_TUNABLE_U16.to_ne_bytes());
    put(buffer, TUNABLE_VALUE_LEN, (size_of::<u16>() as u32).to_ne_bytes());
}

fn put<const LEN: usize>(buffer: &mut [u8], offset: usize, field: [u8; LEN]) {
    buffer[offset..offset + LEN].copy_from_slice(&field);
}

/// The kernel's `struct ifreq` in the form this ioctl takes.
#[repr(C)]
struct IfReq {
    name: [u8; IFNAMSIZ],
    data: *mut u8,
    /// The kernel copies the whole union back, of which the pointer is a part.
    rest_of_union: [u8; IFREQ_LEN - IFREQ_DATA - size_of::<*mut u8>()],
}

const _: () = assert!(size_of::<IfReq>() == IFREQ_LEN);

/// Asks `query` of `netdev`; the answer lies in `buffer`. Takes the lock that all network configuration of the node
/// takes (rtnl), and as long as the driver takes.
///
/// # Panics
///
/// If `buffer` is shorter than [`Query::buffer_len`]: the kernel would write behind it.
pub(super) fn ask(
    socket: BorrowedFd<'_>,
    netdev: NetdevName,
    query: Query,
    buffer: &mut [u8],
) -> Result<(), Errno> {
    assert!(buffer.len() >= query.buffer_len(), "the buffer of every query has its length from buffer_len");
    query.write_head(buffer);
    let mut request =
        IfReq { name: netdev.padded(), data: buffer.as_mut_ptr(), rest_of_union: Default::default() };
    // SAFETY: SIOCETHTOOL reads and writes one `struct ifreq`, and `IfReq` has its size and layout (asserted above,
    // and compared with the kernel's headers by a test).
    let update = unsafe { Updater::<{ SIOCETHTOOL as Opcode }, IfReq>::new(&mut request) };
    // SAFETY: the kernel follows `data`, which points to memory borrowed exclusively for the length of the call. What
    // it writes there is bounded by the head written above, and the buffer was checked to be as long. Older kernels do
    // not keep to the head's count if the set has just grown; the slack behind it holds the largest set there is.
    unsafe { ioctl(socket, update) }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use rustix::net::{AddressFamily, SocketType, socket};

    use super::*;
    use crate::sys::namespace::{in_namespace, ip};

    const CANARY: u8 = 0xa5;

    fn netdev() -> NetdevName {
        NetdevName::new("v0").unwrap()
    }

    fn query_into(query: Query) -> Vec<u8> {
        let mut buffer = vec![CANARY; query.buffer_len()];
        let socket = socket(AddressFamily::INET, SocketType::DGRAM, None).unwrap();
        ask(socket.as_fd(), netdev(), query, &mut buffer).unwrap();
        buffer
    }

    fn u32_at(buffer: &[u8], offset: usize) -> u32 {
        u32::from_ne_bytes(buffer[offset..offset + 4].try_into().unwrap())
    }

    #[test]
    fn the_kernel_never_writes_behind_the_entries_that_the_device_has() {
        in_namespace(
            "sys::ethtool_ioctl::tests::the_kernel_never_writes_behind_the_entries_that_the_device_has",
            || {
                ip("link add v0 numrxqueues 4 numtxqueues 4 type veth peer name v1");
                let has = u32_at(&query_into(Query::StatCount), SSET_INFO_DATA);
                assert!(has > 1);
                // Also where the caller is wrong about how many there are.
                for asked in [has, has - 1, has + 1, 1, STATS_MAX] {
                    let values = query_into(Query::Stats { count: asked });
                    let written = STATS_DATA + has as usize * size_of::<u64>();
                    assert!(values[written..].iter().all(|byte| *byte == CANARY), "{asked} values");
                    let names = query_into(Query::StatNames { count: asked });
                    let written = GSTRINGS_DATA + has as usize * ETH_GSTRING_LEN;
                    assert!(names[written..].iter().all(|byte| *byte == CANARY), "{asked} names");
                }
            },
        );
    }

    #[test]
    #[should_panic(expected = "buffer_len")]
    fn a_buffer_that_is_too_short_never_reaches_the_kernel() {
        let query = Query::Stats { count: 20 };
        let mut buffer = vec![0; query.buffer_len() - 1];
        let socket = socket(AddressFamily::INET, SocketType::DGRAM, None).unwrap();
        let _ = ask(socket.as_fd(), netdev(), query, &mut buffer);
    }

    #[test]
    fn the_head_bounds_the_answer() {
        let head = |query: Query| {
            let mut buffer = vec![0; query.buffer_len()];
            query.write_head(&mut buffer);
            buffer
        };
        assert_eq!(u32_at(&head(Query::Stats { count: 20 }), STATS_COUNT), 20);
        assert_eq!(u32_at(&head(Query::StatNames { count: 20 }), GSTRINGS_COUNT), 20);
        let sets = &head(Query::StatCount)[SSET_INFO_MASK..][..8];
        assert_eq!(u64::from_ne_bytes(sets.try_into().unwrap()).count_ones(), 1);
        assert_eq!(u32_at(&head(Query::PreventionTimeout), TUNABLE_VALUE_LEN), 2);
    }
}
