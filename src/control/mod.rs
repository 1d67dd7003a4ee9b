//! Commands of the operator, over a socket in the runtime folder: what the agent is asked for, who may ask, and what it
//! answers. It decides nothing: what can change a decision goes to the engine as an input, and the engine's events
//! are the answer.
//!
//! ```text
//! rocewatch ctl ─▶ client ─▶ control.sock ─▶ server ─▶ desk ─▶ inputs of the engine
//!                                                       │ ◀── what came of it
//!                                                       └──▶ maintenance file, reload
//! ```

mod message;
mod client;
mod server;
mod desk;
mod line;
mod maintenance_file;
mod reload;
mod status;

pub use client::{AskError, ask};
pub use desk::Desk;
pub use line::{Replies, Told, Withdrawn};
pub use maintenance_file::{Kept, MaintenanceFile};
pub use message::{Answer, Depth, Reply, Request};
pub use reload::{Load, Reload, note_accepted};
pub use server::{Server, ServerError};
pub(crate) use status::queue_name;
pub use status::{Maintenance, PortStatus, QueueStatus, Status, Verdict};

/// The socket, in the runtime folder.
pub const SOCKET: &str = "control.sock";
/// The protocol that this version speaks.
pub const PROTOCOL: u32 = 1;
