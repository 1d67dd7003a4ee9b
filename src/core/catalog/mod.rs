//! What rocewatch counts and shows: names, units and help of every metric family, and the normalised counters that
//! stand behind those that a kernel source feeds. Holds data only; reads nothing and renders no metric page.
//!
//! One normalised counter belongs to exactly one family; a driver table says which native name feeds which counter.

pub mod counter;
pub mod family;
mod measured;
mod native;
pub mod slot;

pub use counter::{Counter, Entry};
pub use family::{FAMILIES, Family, FamilyKind, Group, Unit};
pub use slot::{PauseSlots, Slot};
