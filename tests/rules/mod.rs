//! What the tests of the alert rules share.

pub(crate) mod words;
pub(crate) mod names;
pub(crate) mod base;
pub(crate) mod template;
pub(crate) mod faults;
pub(crate) mod scenarios;
pub(crate) mod inhibitions;
pub(crate) mod runbooks;
