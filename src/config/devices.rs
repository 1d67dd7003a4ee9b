//! Which devices are watched, by name.

use super::pattern::{BadPattern, Pattern};

/// The include and exclude patterns of `[devices]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceFilter {
    include: Pattern,
    exclude: Pattern,
}

/// What the patterns say about a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It is left alone.
    Refused,
    /// It is named: watched even if it is no physical port.
    Named,
    /// It is not named, and nothing is: watched if it is a physical port.
    Unnamed,
}

impl DeviceFilter {
    /// The filter of two patterns; an empty one does not count.
    ///
    /// # Errors
    /// What is wrong with a pattern.
    pub fn new(include: &str, exclude: &str) -> Result<Self, BadPattern> {
        Ok(Self { include: Pattern::new(include)?, exclude: Pattern::new(exclude)? })
    }

    /// What the patterns say about a port that goes by `names`: its netdev, and its RDMA device if it has one. Any name
    /// of it may be meant, and an exclusion wins.
    #[must_use]
    pub fn admission<'a>(&self, names: impl IntoIterator<Item = &'a str> + Clone) -> Admission {
        let named = |pattern: &Pattern| names.clone().into_iter().any(|name| pattern.matches(name));
        if named(&self.exclude) {
            Admission::Refused
        } else if !self.include.is_set() {
            Admission::Unnamed
        } else if named(&self.include) {
            Admission::Named
        } else {
            Admission::Refused
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exclusion_wins_and_nothing_named_means_by_default() {
        let filter = DeviceFilter::new("eth.*", "eth0").unwrap();
        assert_eq!(filter.admission(["eth0"]), Admission::Refused);
        assert_eq!(filter.admission(["eth1"]), Admission::Named);
        let filter = DeviceFilter::new("", "eth0").unwrap();
        assert_eq!(filter.admission(["veth7"]), Admission::Unnamed);
        assert_eq!(DeviceFilter::default().admission(["eth0"]), Admission::Unnamed);
    }

    #[test]
    fn a_port_is_meant_by_its_rdma_device_too() {
        let filter = DeviceFilter::new(r"mlx5_\d+|eth9", "mlx5_3").unwrap();
        assert_eq!(filter.admission(["eth0", "mlx5_0"]), Admission::Named);
        assert_eq!(filter.admission(["eth9", "mlx5_3"]), Admission::Refused);
        assert_eq!(filter.admission(["eth0"]), Admission::Refused);
    }
}
