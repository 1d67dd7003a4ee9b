//! Which RDMA port a network device is.

use super::RdmaView;
use crate::node::Seen;

/// What a port is called among RDMA devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RdmaName {
    /// The device.
    pub device: String,
    /// The number of its port.
    pub port: String,
    /// What that runs over.
    pub link_layer: String,
}

impl RdmaName {
    /// The RDMA port of a netdev: its own, or that of a bond which serves it. Of several for one netdev the first counts.
    #[must_use]
    pub fn of(views: &[RdmaView], seen: &Seen) -> Option<Self> {
        let serves = |view: &&RdmaView| match &view.lag {
            Some(lag) => lag.members.contains(&seen.netdev),
            // Whom it serves is not known: all slaves.
            None => seen.bond.as_ref().is_some_and(|bond| view.netdev == *bond),
        };
        // A number stays through a change of name, which the RDMA ports are told of later.
        let is_own = |view: &&RdmaView| match (view.ifindex, &view.lag) {
            (Some(ifindex), None) => u64::from(ifindex) == seen.id,
            (_, Some(_)) | (None, None) => view.netdev == seen.netdev,
        };
        let own = views.iter().find(is_own);
        let view = own.or_else(|| views.iter().find(serves))?;
        let RdmaView { device, port, link_layer, .. } = view.clone();
        Some(Self { device, port, link_layer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::Lag;

    fn seen(netdev: &str, bond: Option<&str>) -> Seen {
        Seen { netdev: netdev.into(), bond: bond.map(str::to_owned), ..Seen::default() }
    }

    fn view(device: &str, netdev: &str, members: &[&str]) -> RdmaView {
        let members: Vec<String> = members.iter().map(|&member| member.to_owned()).collect();
        let lag = members.first().cloned().map(|function| Lag { bond: netdev.into(), members, function });
        RdmaView { device: device.into(), netdev: netdev.into(), lag, ..RdmaView::default() }
    }

    fn device(views: &[RdmaView], seen: &Seen) -> Option<String> {
        RdmaName::of(views, seen).map(|rdma| rdma.device)
    }

    #[test]
    fn two_devices_that_have_exchanged_their_names_keep_their_rdma_devices() {
        let of = |device: &str, netdev: &str, ifindex| RdmaView {
            ifindex: Some(ifindex),
            ..view(device, netdev, &[])
        };
        let views = [of("mlx5_0", "eth0", 1), of("mlx5_1", "eth1", 2)];
        let named = |netdev: &str, id| device(&views, &Seen { id, ..seen(netdev, None) });
        assert_eq!(named("eth1", 1), Some("mlx5_0".into()));
        assert_eq!(named("eth0", 2), Some("mlx5_1".into()));
        assert_eq!(named("eth0", 3), None, "another device has come under the name");
    }

    #[test]
    fn a_slave_goes_by_the_rdma_device_that_serves_it_and_a_stranger_in_the_bond_by_none() {
        let views = [view("mlx5_bond_0", "bond0", &["eth0", "eth1"]), view("mlx5_9", "eth9", &[])];
        for slave in ["eth0", "eth1"] {
            assert_eq!(device(&views, &seen(slave, Some("bond0"))), Some("mlx5_bond_0".into()));
        }
        assert_eq!(device(&views, &seen("eth2", Some("bond0"))), None);
        assert_eq!(device(&views, &seen("eth9", Some("bond0"))), Some("mlx5_9".into()));
        assert_eq!(device(&views, &seen("eth3", None)), None);
        let untold = [view("rxe0", "bond0", &[])];
        assert_eq!(device(&untold, &seen("eth2", Some("bond0"))), Some("rxe0".into()));
    }
}
