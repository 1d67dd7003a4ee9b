//! Asking by name about a device that is known by number. Some questions to the kernel take a name only, and a name
//! changes hands while the agent runs.

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, netdevice, socket_with};

use super::netdev::NetdevName;

/// How often a question is put again because the device was renamed meanwhile. Nobody renames a device three times in
/// a row; the caller asks again at its own pace.
const ATTEMPTS: usize = 3;

/// A device was renamed while it was being set, so that the set may have met another one: what stands has to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the device was renamed while it was being set")]
pub struct Renamed;

/// The names of the devices of this network namespace. One per asking thread.
#[derive(Debug)]
pub struct Names {
    socket: OwnedFd,
}

impl Names {
    /// A socket in the calling thread's network namespace.
    ///
    /// # Errors
    ///
    /// If the process may open no more sockets.
    pub fn open() -> io::Result<Self> {
        let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
        Ok(Self { socket })
    }

    /// The answer to `ask` about the device `ifindex`, under a name that was its own before the question and after it.
    /// `None` if there is no such device, or none with a name that lasts.
    pub fn while_named<T>(&self, ifindex: u32, ask: impl FnMut(NetdevName) -> T) -> Option<T> {
        while_steady(|| self.name(ifindex), ask)
    }

    /// Has `set` change the device `ifindex` under the name that it has now. A set is not a question: it is never put
    /// again, and one that may have met another device is an error. `None` if there is no such device; nothing was set then.
    pub fn set_named<T, E: From<Renamed>>(
        &self,
        ifindex: u32,
        set: impl FnOnce(NetdevName) -> Result<T, E>,
    ) -> Option<Result<T, E>> {
        set_once(|| self.name(ifindex), set)
    }

    fn name(&self, ifindex: u32) -> Option<NetdevName> {
        let name = netdevice::index_to_name(&self.socket, ifindex).ok()?;
        NetdevName::new(&name).ok()
    }
}

fn set_once<N: Copy + PartialEq, T, E: From<Renamed>>(
    mut name: impl FnMut() -> Option<N>,
    set: impl FnOnce(N) -> Result<T, E>,
) -> Option<Result<T, E>> {
    let before = name()?;
    let answer = set(before);
    Some(if name() == Some(before) { answer } else { Err(Renamed.into()) })
}

fn while_steady<N: Copy + PartialEq, T>(
    mut name: impl FnMut() -> Option<N>,
    mut ask: impl FnMut(N) -> T,
) -> Option<T> {
    let mut before = name()?;
    for _ in 0..ATTEMPTS {
        let answer = ask(before);
        let after = name()?;
        if after == before {
            return Some(answer);
        }
        before = after;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks about a device that has the `names` one after the other; also, what was asked.
    fn asked(names: &[Option<char>]) -> (Option<char>, Vec<char>) {
        let (mut names, mut asked) = (names.iter().copied(), Vec::new());
        let answer = while_steady(
            || names.next().flatten(),
            |name| {
                asked.push(name);
                name
            },
        );
        (answer, asked)
    }

    #[test]
    fn an_answer_under_a_name_that_lasted_counts() {
        assert_eq!(asked(&[Some('a'), Some('a')]), (Some('a'), vec!['a']));
    }

    #[test]
    fn a_device_renamed_during_the_question_is_asked_under_its_new_name() {
        assert_eq!(asked(&[Some('a'), Some('b'), Some('b')]), (Some('b'), vec!['a', 'b']));
    }

    #[test]
    fn a_device_that_goes_or_never_keeps_its_name_gives_no_answer() {
        assert_eq!(asked(&[None]), (None, vec![]));
        assert_eq!(asked(&[Some('a'), None]), (None, vec!['a']));
        let restless = [Some('a'), Some('b'), Some('c'), Some('d'), Some('d')];
        assert_eq!(asked(&restless), (None, vec!['a', 'b', 'c']));
    }

    #[test]
    fn a_set_is_put_once_and_counts_only_under_a_name_that_lasted() {
        let set = |names: &[Option<char>]| {
            let (mut names, mut sets) = (names.iter().copied(), Vec::new());
            let set = |name| {
                sets.push(name);
                Ok::<_, Renamed>(name)
            };
            (set_once(|| names.next().flatten(), set), sets)
        };
        assert_eq!(set(&[Some('a'), Some('a')]), (Some(Ok('a')), vec!['a']));
        assert_eq!(set(&[Some('a'), Some('b'), Some('b')]), (Some(Err(Renamed)), vec!['a']));
        assert_eq!(set(&[Some('a'), None]), (Some(Err(Renamed)), vec!['a']));
        assert_eq!(set(&[None]), (None, vec![]));
    }
}
