//! Asks a running agent. The whole conversation is bounded in time: a hook of a scheduler must not hang with an agent.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use super::message::{Answer, Reply, Request};
use super::{PROTOCOL, SOCKET};

/// An agent answers within milliseconds; one that reads its configuration from a slow disk may take longer.
const PATIENCE: Duration = Duration::from_secs(15);
/// The status of a node with a hundred ports has some hundred kilobytes.
const ANSWER_BYTES_MAX: u64 = 8 << 20;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// Nobody listens there.
    #[error("no agent can be reached at {path}: {source}", path = path.display())]
    Unreachable {
        /// The socket.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It listens and says nothing.
    #[error("the agent at {path} has not answered within {seconds} s", path = path.display(), seconds = PATIENCE.as_secs())]
    Silent {
        /// The socket.
        path: PathBuf,
    },
    /// It says something else.
    #[error("the agent at {path} answers what this version does not understand: {what}", path = path.display())]
    Strange {
        /// The socket.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
}

/// Asks the agent whose runtime folder this is.
///
/// # Errors
/// [`AskError`] names the socket.
pub fn ask(folder: &Path, request: &Request) -> Result<Answer, AskError> {
    let path = folder.join(SOCKET);
    let line = request.to_line().map_err(|error| strange(&path, &error))?;
    let (sender, answered) = channel();
    let to = path.clone();
    // Connecting has no timeout of its own: an agent that is stopped leaves its callers waiting.
    thread::spawn(move || {
        // Nobody waits any more.
        let _ = sender.send(converse(&to, &line));
    });
    let line = match answered.recv_timeout(PATIENCE) {
        Ok(line) => line.map_err(|source| AskError::Unreachable { path: path.clone(), source })?,
        Err(_) => return Err(AskError::Silent { path }),
    };
    let reply = serde_json::from_str::<Reply>(&line).map_err(|error| strange(&path, &error))?;
    if reply.rocewatch_control != PROTOCOL {
        let what = format!("version {} is not {PROTOCOL}", reply.rocewatch_control);
        return Err(AskError::Strange { path, what });
    }
    Ok(reply.answer)
}

fn strange(path: &Path, error: &serde_json::Error) -> AskError {
    AskError::Strange { path: path.into(), what: error.to_string() }
}

fn converse(path: &Path, line: &str) -> io::Result<String> {
    let mut stream = UnixStream::connect(path)?;
    // An agent that is busy answers without listening first: then the answer is there although nothing can be sent.
    let sent = stream.write_all(line.as_bytes());
    let mut answer = String::new();
    let read = BufReader::new(stream.take(ANSWER_BYTES_MAX)).read_line(&mut answer);
    match (answer.is_empty(), sent.and(read.map(drop))) {
        (false, _) => Ok(answer),
        (true, Err(error)) => Err(error),
        (true, Ok(())) => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it has closed the connection")),
    }
}
