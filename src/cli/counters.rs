//! `rocewatch counters`: the catalogue of metrics.

use rocewatch_core::doc;

use super::{Exit, print};

pub(super) fn run() -> anyhow::Result<Exit> {
    print(&doc::reference())?;
    Ok(Exit::Fine)
}
