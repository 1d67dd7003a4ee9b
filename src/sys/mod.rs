//! The kernel's edge: what the agent asks of Linux, and the decoding of what comes back. In reading order.

pub mod uapi;
