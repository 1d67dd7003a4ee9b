//! A plan as the profile that a doctor checks.

use super::Plan;
use super::times::{IB_RETRY_COUNT, IB_TIMEOUT};
use crate::profile::{Cnp, Ecn, GidKind, Headroom, Link, Mtu, Nccl, Origin, Pfc, Profile, Roce, Trust};

pub(super) fn profile(plan: &Plan, made_by: &str) -> Profile {
    let Plan { fabric, times, .. } = plan;
    Profile {
        profile: Origin {
            name: Some(format!("{} {} {}", fabric.speed, fabric.cable, fabric.mtu)),
            made_by: Some(made_by.into()),
        },
        link: Link { speed: Some(fabric.speed), cable: Some(fabric.cable), global_pause: Some(false) },
        mtu: Mtu { netdev: Some(fabric.mtu), equal: Some(true), rdma_active: plan.rdma_mtu },
        roce: Roce {
            priority: Some(fabric.priority),
            dscp: Some(fabric.dscp),
            traffic_class: Some(plan.traffic_class),
            trust: Some(Trust::Dscp),
            gid: Some(GidKind::RoceV2Ipv4),
        },
        cnp: Cnp { dscp: Some(fabric.cnp_dscp), priority: Some(fabric.cnp_priority), strict: Some(true) },
        pfc: Pfc {
            priorities: Some(vec![fabric.priority]),
            prevention_timeout: Some(times.prevention_timeout),
            switch_detection: Some(times.switch_detection),
        },
        ecn: Ecn { np: Some(true), rp: Some(true) },
        headroom: Headroom {
            min: Some(plan.host_buffer.size),
            cell: Some(fabric.cell),
            peer_response_quanta: None,
        },
        nccl: Nccl {
            ib_tc: Some(plan.traffic_class),
            ib_timeout: Some(IB_TIMEOUT),
            ib_retry_cnt: Some(IB_RETRY_COUNT),
            ..Nccl::default()
        },
        ..Profile::default()
    }
}
