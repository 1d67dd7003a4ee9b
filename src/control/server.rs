//! The socket: who may speak, how much and how long. Knows nothing of what is asked.

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rocewatch_core::units::MonoTime;
use rustix::process::{getegid, geteuid};

use super::message::{Answer, Reply, Request};
use super::{Desk, PROTOCOL, SOCKET};
use crate::clock;
use crate::sys::peer::Peer;

/// The longest command has two hundred bytes.
const REQUEST_BYTES_MAX: usize = 4096;
/// A request has to be there by then.
const REQUEST_TIME: Duration = Duration::from_secs(2);
/// An answer has to be taken by then.
const ANSWER_TIME: Duration = Duration::from_secs(2);
/// Operators, their dashboards and a drain hook; more at once are turned away.
const CLIENTS_MAX: usize = 8;
/// Between two tries after no connection could be accepted: it is told once, and must not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);
/// Root and the agent's group may connect.
const MODE: u32 = 0o660;

/// The control socket cannot be made: nothing can be asked of this agent.
#[derive(Debug, thiserror::Error)]
#[error("{what} {path}", path = path.display())]
pub struct ServerError {
    what: &'static str,
    path: PathBuf,
    source: io::Error,
}

/// The socket, for as long as the agent lives; its file goes with it.
#[derive(Debug)]
pub struct Server {
    path: PathBuf,
}

impl Server {
    /// Listens in `folder`. Only the agent that holds the lock of the journal may call it: a socket that lies there is
    /// then one of a dead agent, and is replaced.
    ///
    /// # Errors
    /// [`ServerError`] names the file.
    pub fn start(folder: &Path, desk: Arc<Desk>) -> Result<Self, ServerError> {
        let path = folder.join(SOCKET);
        let listener = listen(&path)?;
        let failed = |source| ServerError { what: "start a thread for", path: path.clone(), source };
        let clients = Arc::new(AtomicUsize::new(0));
        let accept = move || accept_all(&listener, &desk, &clients);
        thread::Builder::new().name("control".into()).spawn(accept).map_err(failed)?;
        Ok(Self { path })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Gone already, or its folder is: then nobody finds it.
        let _ = fs::remove_file(&self.path);
    }
}

/// Made beside, set to its mode and group, then moved to its name: nobody ever sees it with other permissions.
fn listen(path: &Path) -> Result<UnixListener, ServerError> {
    let beside = path.with_extension("new");
    let failed = |what| move |source| ServerError { what, path: path.to_owned(), source };
    match fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => {
            let source = io::Error::new(io::ErrorKind::AlreadyExists, "what lies there is no socket");
            return Err(failed("replace")(source));
        }
        Ok(_) | Err(_) => {}
    }
    // Left by an agent that ended at this place.
    let _ = fs::remove_file(&beside);
    let made = make(&beside).and_then(|listener| match fs::rename(&beside, path) {
        Ok(()) => Ok(listener),
        Err(source) => Err(("make", source)),
    });
    made.map_err(|(what, source)| {
        let _ = fs::remove_file(&beside);
        failed(what)(source)
    })
}

/// A socket for the agent's group alone. It has that group already, unless the folder gives its own to what is made in
/// it; a sandbox may refuse to change it.
fn make(path: &Path) -> Result<UnixListener, (&'static str, io::Error)> {
    let listener = UnixListener::bind(path).map_err(|source| ("listen on", source))?;
    let permissions = fs::Permissions::from_mode(MODE);
    fs::set_permissions(path, permissions).map_err(|source| ("set the mode of", source))?;
    let group = getegid().as_raw();
    let found = fs::symlink_metadata(path).map_err(|source| ("look at", source))?.gid();
    if found != group {
        chown(path, None, Some(group)).map_err(|source| ("set the group of", source))?;
    }
    Ok(listener)
}

fn accept_all(listener: &UnixListener, desk: &Arc<Desk>, clients: &Arc<AtomicUsize>) {
    let mut failing = false;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                failing = false;
                admit(stream, desk, clients);
            }
            Err(error) => {
                if !failing {
                    tracing::warn!(%error, "no command can be accepted");
                }
                failing = true;
                thread::sleep(ACCEPT_PAUSE);
            }
        }
    }
}

/// A place among the clients, given back when dropped.
struct Seat(Arc<AtomicUsize>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn admit(stream: UnixStream, desk: &Arc<Desk>, clients: &Arc<AtomicUsize>) {
    let before = clients.fetch_add(1, Ordering::Relaxed);
    let seat = Seat(Arc::clone(clients));
    if before >= CLIENTS_MAX {
        answer(stream, Answer::refused(format!("{CLIENTS_MAX} commands are under way: try again")));
        return;
    }
    let desk = Arc::clone(desk);
    let spawned = thread::Builder::new().name("command".into()).spawn(move || {
        let _seat = seat;
        converse(stream, &desk);
    });
    if let Err(error) = spawned {
        tracing::warn!(%error, "a command finds no thread");
    }
}

fn converse(mut stream: UnixStream, desk: &Desk) {
    let peer = match Peer::of(stream.as_fd()) {
        Ok(peer) => peer,
        Err(error) => {
            tracing::warn!(%error, "a command is refused: nobody knows whose it is");
            return answer(stream, Answer::refused(format!("nobody knows who asks: {error}")));
        }
    };
    let Peer { uid, gid, pid, .. } = peer;
    if !is_trusted(&peer) {
        tracing::warn!(uid, gid, pid, "a command is refused: only root, the agent's user and its group may");
        return answer(stream, Answer::refused("only root, the agent's user and its group may ask"));
    }
    let said = match read_line(&mut stream, clock::now() + REQUEST_TIME) {
        Ok(line) => match Request::parse(&line) {
            Ok(request) => {
                // Looking changes nothing, and dashboards look often.
                if request == Request::Status {
                    tracing::debug!(uid, gid, pid, "status asked for");
                } else {
                    tracing::info!(uid, gid, pid, command = request.name(), request = ?request, "command");
                }
                desk.answer(&request, uid)
            }
            Err(what) => {
                tracing::warn!(uid, gid, pid, what, "a command is refused");
                Answer::refused(what)
            }
        },
        Err(error) => {
            tracing::warn!(uid, gid, pid, %error, "a command is refused");
            Answer::refused(format!("the request: {error}"))
        }
    };
    answer(stream, said);
}

/// Root, the agent's own user, or a member of its group. The kernel has let only these connect as long as the socket has
/// its mode; this holds when somebody has changed that.
fn is_trusted(peer: &Peer) -> bool {
    let group = getegid().as_raw();
    let is_user = [0, geteuid().as_raw()].contains(&peer.uid);
    is_user || peer.gid == group || peer.groups.contains(&group)
}

/// One line, or everything up to the end of the stream. The time is that of the whole: a client that sends a byte a
/// second does not stay longer.
fn read_line(stream: &mut UnixStream, until: MonoTime) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    let mut piece = [0; 1024];
    loop {
        let left = until.since(clock::now());
        if left.is_zero() {
            let what = format!("it is not complete after {} s", REQUEST_TIME.as_secs());
            return Err(io::Error::new(io::ErrorKind::TimedOut, what));
        }
        stream.set_read_timeout(Some(left))?;
        let count = match stream.read(&mut piece) {
            Ok(count) => count,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                continue;
            }
            Err(error) => return Err(error),
        };
        let read = &piece[..count];
        let end = read.iter().position(|byte| *byte == b'\n');
        line.extend_from_slice(&read[..end.unwrap_or(count)]);
        if line.len() > REQUEST_BYTES_MAX {
            let what = format!("it is longer than {REQUEST_BYTES_MAX} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        if end.is_some() || count == 0 {
            return Ok(line);
        }
    }
}

/// A client that is gone, or does not take its answer, has none.
fn answer(mut stream: UnixStream, answer: Answer) {
    let reply = Reply { rocewatch_control: PROTOCOL, answer };
    let line = match serde_json::to_vec(&reply) {
        Ok(line) => line,
        Err(error) => return tracing::error!(%error, "an answer cannot be written"),
    };
    let sent = stream
        .set_write_timeout(Some(ANSWER_TIME))
        .and_then(|()| stream.write_all(&line))
        .and_then(|()| stream.write_all(b"\n"));
    if let Err(error) = sent {
        tracing::debug!(%error, "an answer was not taken");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_socket_has_the_agents_group_in_a_folder_that_gives_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let other = getegid().as_raw().wrapping_add(1);
        // Who is not root can give a folder to groups of its own alone.
        if !geteuid().is_root() || chown(folder.path(), None, Some(other)).is_err() {
            return;
        }
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o2755)).unwrap();
        let plain = folder.path().join("plain");
        fs::write(&plain, "").unwrap();
        assert_eq!(fs::metadata(&plain).unwrap().gid(), other);
        let path = folder.path().join(SOCKET);
        let _listener = listen(&path).unwrap();
        let found = fs::metadata(&path).unwrap();
        assert_eq!((found.gid(), found.mode() & 0o777), (getegid().as_raw(), MODE));
    }

    #[test]
    fn a_socket_that_does_not_come_to_its_name_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let too_long = folder.path().join(format!("control.{}", "x".repeat(300)));
        assert_eq!(listen(&too_long).unwrap_err().what, "make");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
