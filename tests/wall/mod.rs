//! The rules of the architecture as functions over text, each with a test that shows it failing on a bad sample.
//! `tests/architecture.rs` applies them to the project.

pub(crate) mod tokens;
pub(crate) mod tree;
pub(crate) mod purity;
pub(crate) mod places;
pub(crate) mod sizes;
pub(crate) mod leftovers;
pub(crate) mod dependencies;
pub(crate) mod field;
