//! Who is on the other side of a Unix socket, as the kernel has noted it when they connected (unix(7), socket(7)).
//!
//! What procfs shows of a process may be hidden, and its number may be another's by now.

#![allow(unsafe_code, reason = "a socket option without a safe wrapper")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use libc::{SO_PEERCRED, SO_PEERGROUPS, SOL_SOCKET, c_int, c_void, getsockopt, socklen_t};

/// `NGROUPS_MAX` of include/uapi/linux/limits.h: no process has more.
const GROUPS_MAX: usize = 65_536;
/// Most have fewer; who has more is asked for twice.
const GROUPS_FIRST: usize = 32;
const WORD: usize = size_of::<u32>();

/// Who is on the other side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its effective user.
    pub uid: u32,
    /// Its effective group.
    pub gid: u32,
    /// Its further groups.
    pub groups: Vec<u32>,
    /// Its process; 0 if that lives in a PID namespace that cannot be seen from here.
    pub pid: u32,
}

impl Peer {
    /// Whoever has connected to `socket`.
    ///
    /// # Errors
    /// It is no Unix socket that somebody has connected to, or the kernel is older than 4.13.
    pub fn of(socket: BorrowedFd<'_>) -> io::Result<Self> {
        // `struct ucred` is three words.
        let [pid, uid, gid] = ask(socket, SO_PEERCRED, 3)?[..] else {
            return Err(io::Error::other("SO_PEERCRED is not three words"));
        };
        let groups = match ask(socket, SO_PEERGROUPS, GROUPS_FIRST) {
            Err(error) if error.raw_os_error() == Some(libc::ERANGE) => {
                ask(socket, SO_PEERGROUPS, GROUPS_MAX)
            }
            answer => answer,
        }?;
        Ok(Self { uid, gid, groups, pid })
    }
}

/// The value of a socket option that is a list of at most `room` words.
fn ask(socket: BorrowedFd<'_>, option: c_int, room: usize) -> io::Result<Vec<u32>> {
    let mut words = vec![0_u32; room];
    let mut length = (room * WORD) as socklen_t;
    let place = words.as_mut_ptr().cast::<c_void>();
    // SAFETY: the kernel writes at most `length` bytes to `place`, which are those of `words`; any bytes are a `u32`.
    let status = unsafe { getsockopt(socket.as_raw_fd(), SOL_SOCKET, option, place, &raw mut length) };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    words.truncate(length as usize / WORD);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::os::unix::net::{UnixDatagram, UnixStream};
    use std::process;

    use rustix::process::{getegid, geteuid, getgroups};

    use super::*;

    #[test]
    fn the_other_end_of_a_pair_is_this_process_with_all_its_groups() {
        let (one, _other) = UnixStream::pair().unwrap();
        let peer = Peer::of(one.as_fd()).unwrap();
        let mut groups = getgroups().unwrap().into_iter().map(|group| group.as_raw()).collect::<Vec<_>>();
        groups.sort_unstable();
        let mut told = peer.groups.clone();
        told.sort_unstable();
        assert_eq!(told, groups);
        assert_eq!((peer.uid, peer.gid), (geteuid().as_raw(), getegid().as_raw()));
        assert_eq!(peer.pid, process::id());
    }

    #[test]
    fn a_list_that_is_longer_than_the_room_is_refused_and_not_cut() {
        let (one, _other) = UnixStream::pair().unwrap();
        let groups = ask(one.as_fd(), SO_PEERGROUPS, GROUPS_FIRST).unwrap();
        if !groups.is_empty() {
            let error = ask(one.as_fd(), SO_PEERGROUPS, groups.len() - 1).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::ERANGE));
        }
    }

    #[test]
    fn of_a_socket_without_another_side_nobody_is_told() {
        let socket = UnixDatagram::unbound().unwrap();
        assert!(Peer::of(socket.as_fd()).is_err());
    }
}
