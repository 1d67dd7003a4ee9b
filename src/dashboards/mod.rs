//! The Grafana dashboards: what they show, written down once, and printed as the JSON that Grafana imports. Every metric
//! they name is looked up in the catalogue while compiling. Asks no Prometheus and no Grafana.

#[macro_use]
pub mod expression;
pub mod panel;
pub mod board;
mod grafana;
mod fleet;
mod node;
mod congestion;
mod loss;
mod link;
mod nvmf;
mod watchdog;
mod agent;

pub use board::Board;
pub use panel::Panel;

/// All of them, in the order in which one goes from the whole to the part.
#[must_use]
pub fn all() -> Vec<Board> {
    vec![
        fleet::board(),
        node::board(),
        congestion::board(),
        loss::board(),
        link::board(),
        nvmf::board(),
        watchdog::board(),
        agent::board(),
    ]
}

/// What Grafana imports: the name of each file and its text.
#[must_use]
pub fn files() -> Vec<(String, String)> {
    let text = |board: &Board| format!("{:#}\n", grafana::json(board));
    all().iter().map(|board| (format!("{}.json", board.uid), text(board))).collect()
}
