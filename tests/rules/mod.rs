//! What the tests of the alert rules share.

pub(crate) mod words;
pub(crate) mod names;
