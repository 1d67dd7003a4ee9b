//! What the process may do, and whether that is enough for what it was told to do. It asks the kernel and changes
//! nothing.
//!
//! Reading needs no privilege. To set something needs `CAP_NET_ADMIN`, and some of it in the initial user namespace:
//! `dcb_doit` (net/dcb/dcbnl.c, 6.12) asks `netlink_capable`, which looks there whatever namespace the network is of,
//! and devlink's recovery has `GENL_ADMIN_PERM`, which is the same question.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use rocewatch_core::action::ActionKind;
use rocewatch_core::settings::{Mode, PortOverride, Settings};
use rustix::thread::{CapabilitySet, capabilities};

/// The user namespace of this process, as a file of the kernel's whose inode tells it from others.
const NAMESPACE: &str = "/proc/self/ns/user";
/// The inode of the initial one: `PROC_USER_INIT_INO` in include/linux/proc_ns.h, since 6.18 `USER_NS_INIT_INO` in
/// include/uapi/linux/nsfs.h. A map of all ids onto themselves would prove nothing: another namespace can have it.
const INITIAL: u64 = 0xEFFF_FFFD;

/// What the process lacks for what its configuration tells it to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("watchdog.mode is enforce and {action} needs CAP_NET_ADMIN in the initial user namespace: {lack}")]
pub struct Missing {
    /// The first action of a ladder that cannot be carried out.
    action: ActionKind,
    lack: Lack,
}

/// What of it is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum Lack {
    #[error(
        "this process does not have the capability; give it by AmbientCapabilities=CAP_NET_ADMIN in the systemd unit \
         or by setcap cap_net_admin+ep on the program"
    )]
    Capability,
    #[error(
        "this process has it in another one ({0}); run it without PrivateUsers=, in a container without a user \
         namespace of its own"
    )]
    Namespace(String),
    #[error(
        "this process does not have the capability, and is in another namespace ({0}); run it without PrivateUsers=, \
         in a container without a user namespace of its own, and give it the capability by \
         AmbientCapabilities=CAP_NET_ADMIN in the systemd unit or by setcap cap_net_admin+ep on the program"
    )]
    Both(String),
}

/// What actions change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ports {
    /// Those of the kernel.
    Real,
    /// Made up, or files: no privilege is needed for them.
    Imitated,
}

/// Whether the process may do what it is told to: at the start, and before a changed configuration is taken.
///
/// # Errors
/// [`Missing`]; to go on all the same would be to watch in silence where somebody counts on help.
pub fn check(settings: &Settings, ports: Ports) -> Result<(), Missing> {
    let Some(action) = privileged(settings).filter(|_| ports == Ports::Real) else { return Ok(()) };
    let held = Held::ask();
    held.lack().map_or(Ok(()), |lack| Err(Missing { action, lack }))?;
    let surplus = held.effective - CapabilitySet::NET_ADMIN;
    if !surplus.is_empty() {
        tracing::debug!(?surplus, "more capabilities are held than are needed");
    }
    Ok(())
}

/// The first action for which a privilege is needed: the command of `exec` is the operator's, and needs what it needs.
fn privileged(settings: &Settings) -> Option<ActionKind> {
    match settings.mode {
        Mode::Off | Mode::Observe | Mode::DryRun => return None,
        Mode::Enforce => {}
    }
    let of_ports = settings.ports.iter().flat_map(|PortOverride { rx, tx, .. }| [rx, tx]);
    let rules = [&settings.rx, &settings.tx].into_iter().chain(of_ports);
    rules.flat_map(|rule| &rule.actions).copied().find(|kind| match kind {
        ActionKind::Alert | ActionKind::Exec => false,
        ActionKind::PreventionTimeout
        | ActionKind::PfcOff
        | ActionKind::PauseOff
        | ActionKind::DevlinkRecover
        | ActionKind::LinkBounce => true,
    })
}

/// What the process has.
#[derive(Debug)]
struct Held {
    effective: CapabilitySet,
    /// The inode of its user namespace.
    namespace: io::Result<u64>,
}

impl Held {
    fn ask() -> Self {
        Self {
            // The kernel refuses the question for other processes alone.
            effective: capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective),
            namespace: fs::metadata(NAMESPACE).map(|file| file.ino()),
        }
    }

    fn lack(&self) -> Option<Lack> {
        let elsewhere = match &self.namespace {
            Ok(INITIAL) => None,
            Ok(inode) => Some(format!("user:[{inode}], not user:[{INITIAL}]")),
            Err(error) => Some(format!("as far as can be told; {NAMESPACE}: {error}")),
        };
        match (self.effective.contains(CapabilitySet::NET_ADMIN), elsewhere) {
            (true, None) => None,
            (false, None) => Some(Lack::Capability),
            (true, Some(elsewhere)) => Some(Lack::Namespace(elsewhere)),
            (false, Some(elsewhere)) => Some(Lack::Both(elsewhere)),
        }
    }
}

#[cfg(test)]
mod tests {
    use rocewatch_core::settings::Rule;

    use super::*;

    fn held(effective: CapabilitySet, inode: u64) -> Held {
        Held { effective, namespace: Ok(inode) }
    }

    fn ladder(actions: &[ActionKind]) -> Rule {
        Rule { actions: actions.to_vec(), ..Rule::default() }
    }

    #[test]
    fn only_the_capability_in_the_initial_namespace_is_enough() {
        let (all, none) = (CapabilitySet::all(), CapabilitySet::empty());
        assert_eq!(held(CapabilitySet::NET_ADMIN, INITIAL).lack(), None);
        assert_eq!(held(all, INITIAL).lack(), None);
        assert_eq!(held(all - CapabilitySet::NET_ADMIN, INITIAL).lack(), Some(Lack::Capability));
        assert!(matches!(held(all, 7).lack(), Some(Lack::Namespace(which)) if which.contains("user:[7]")));
        assert!(matches!(held(none, 7).lack(), Some(Lack::Both(_))));
    }

    #[test]
    fn a_namespace_that_cannot_be_told_is_not_taken_for_the_initial_one() {
        let unknown =
            Held { effective: CapabilitySet::NET_ADMIN, namespace: Err(io::ErrorKind::NotFound.into()) };
        assert!(matches!(unknown.lack(), Some(Lack::Namespace(why)) if why.contains(NAMESPACE)));
    }

    #[test]
    fn a_privilege_is_needed_for_what_is_set_on_any_port_and_in_enforce_alone() {
        let exec = ladder(&[ActionKind::Alert, ActionKind::Exec]);
        let mut settings = Settings { mode: Mode::Enforce, rx: exec.clone(), ..Settings::default() };
        assert_eq!(privileged(&settings), None);
        let tx = ladder(&[ActionKind::Alert, ActionKind::PreventionTimeout]);
        settings.ports = vec![PortOverride { select: "eth0".into(), rx: exec, tx, detect_explicit: false }];
        assert_eq!(privileged(&settings), Some(ActionKind::PreventionTimeout));
        for mode in [Mode::Off, Mode::Observe, Mode::DryRun] {
            settings.mode = mode;
            assert_eq!(privileged(&settings), None, "{mode:?}");
        }
    }

    #[test]
    fn what_is_missing_is_told_in_one_line_with_how_to_give_it() {
        let lacks = [Lack::Capability, Lack::Namespace("there".into()), Lack::Both("there".into())];
        for lack in lacks {
            let told = Missing { action: ActionKind::PfcOff, lack: lack.clone() }.to_string();
            assert!(told.contains("pfc-off needs CAP_NET_ADMIN in the initial user namespace"), "{told}");
            assert!(!told.contains('\n') && !told.contains("  "), "{told}");
            let (capability, namespace) = (told.contains("setcap"), told.contains("PrivateUsers="));
            match lack {
                Lack::Capability => assert!(capability && !namespace, "{told}"),
                Lack::Namespace(_) => assert!(!capability && namespace, "{told}"),
                Lack::Both(_) => assert!(capability && namespace, "{told}"),
            }
        }
    }
}
