//! Everything that takes bytes from outside, each behind one function that takes any bytes at all. The seeded test
//! (`tests/hostile_input.rs`) and libFuzzer (`tests/fuzz`) feed the same functions, from the same first inputs.
//!
//! A function asserts more than the absence of a panic: what was understood has to be within its bounds, and what was
//! refused has to say why.

#![allow(clippy::unwrap_used, clippy::expect_used, dead_code, reason = "a test may, and uses its part")]

mod files;
mod kernel;
mod nvmf;
mod rdma;
mod seeds;
mod settings;
mod told;

/// One way in.
pub(crate) struct Target {
    /// Its name, also that of the folder of its kept cases.
    pub(crate) name: &'static str,
    /// Takes any bytes, and panics if that was a mistake.
    pub(crate) feed: fn(&[u8]),
    /// What it understands: mutations begin with these.
    pub(crate) seeds: fn() -> Vec<Vec<u8>>,
}

/// All of them.
pub(crate) const TARGETS: &[Target] = &[
    Target { name: "netlink", feed: kernel::netlink, seeds: seeds::netlink },
    Target { name: "ethtool_answer", feed: kernel::ethtool_answer, seeds: seeds::ethtool_answer },
    Target { name: "settings", feed: settings::settings, seeds: settings::seeds },
    Target { name: "rdma", feed: rdma::rdma, seeds: rdma::seeds },
    Target { name: "rdma_files", feed: rdma::files, seeds: rdma::file_seeds },
    Target { name: "nvmf_files", feed: nvmf::files, seeds: nvmf::seeds },
    Target { name: "ethtool_text", feed: files::ethtool_text, seeds: seeds::ethtool_text },
    Target { name: "port_folder", feed: files::port_folder, seeds: seeds::port_folder },
    Target { name: "config", feed: files::config, seeds: seeds::config },
    Target { name: "profile", feed: files::profile, seeds: seeds::profile },
    Target { name: "journal", feed: files::journal, seeds: seeds::journal },
    Target { name: "recording", feed: files::recording, seeds: seeds::recording },
    Target { name: "inputs", feed: told::inputs, seeds: seeds::inputs },
    Target { name: "request", feed: told::request, seeds: seeds::request },
];
