//! Hands on to discovery what the kernel tells: that something has changed. What it is now, discovery has asked for.

use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::discovery::Wake;
use crate::sys::link_watch::{LinkEvent, LinkWatch};
use crate::sys::netlink::NetlinkError;
use crate::sys::settings_watch::{SettingsEvent, SettingsFamilies, SettingsWatch};

/// Longer than a kernel takes to look up a name.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(10);

/// Wakes discovery for every change of a link or of DCB settings, until it is gone.
pub async fn of_links(wakes: Sender<Wake>) {
    if let Err(error) = follow_links(&wakes).await {
        tracing::warn!(%error, "links are looked at once a second only");
    }
}

/// Wakes discovery for every change of other settings, until it is gone.
pub async fn of_settings(wakes: Sender<Wake>) {
    if let Err(error) = follow_settings(&wakes).await {
        tracing::warn!(%error, "changed settings are noticed when they are next asked for only");
    }
}

async fn follow_links(wakes: &Sender<Wake>) -> Result<(), NetlinkError> {
    let mut watch = LinkWatch::open()?;
    loop {
        let wake = match watch.next().await? {
            LinkEvent::DcbChanged { name } => Wake::Dcb(name.as_str().to_owned()),
            LinkEvent::Changed { .. } | LinkEvent::Removed { .. } => Wake::Changed,
            LinkEvent::Lost => Wake::Settings(SettingsEvent::Lost),
        };
        if wakes.send(wake).is_err() {
            return Ok(());
        }
    }
}

async fn follow_settings(wakes: &Sender<Wake>) -> Result<(), NetlinkError> {
    // Asked on a thread of its own: a question blocks, and the server must not.
    let (resolved, families) = oneshot::channel();
    let resolve = move || resolved.send(SettingsFamilies::resolve(RESOLVE_TIMEOUT));
    if let Err(error) = thread::Builder::new().name("families".into()).spawn(resolve) {
        tracing::error!(%error, "no thread to ask for the families of notifications");
        return Ok(());
    }
    // Its thread answers, unless it has panicked, which it has told itself.
    let Ok(families) = families.await else { return Ok(()) };
    let mut watch = SettingsWatch::open(families?)?;
    loop {
        let event = watch.next().await?;
        if wakes.send(Wake::Settings(event)).is_err() {
            return Ok(());
        }
    }
}
