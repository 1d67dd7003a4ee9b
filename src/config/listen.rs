//! Where the agent listens.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

/// An address to listen on: `:10019`, `127.0.0.1:10019`, `[::1]:10019` or `host:10019`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenAddress {
    /// Which of the node's addresses.
    pub host: ListenHost,
    /// TCP port; 0 lets the kernel choose.
    pub port: u16,
}

/// See [`ListenAddress`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenHost {
    /// All of them, IPv6 and IPv4.
    Any,
    /// This one.
    Ip(IpAddr),
    /// Those that this name has when the agent starts.
    Name(String),
}

/// A text that is no address to listen on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("listen address {0:?} is neither :PORT nor HOST:PORT nor [IPv6]:PORT")]
pub struct BadListenAddress(String);

impl FromStr for ListenAddress {
    type Err = BadListenAddress;

    fn from_str(text: &str) -> Result<Self, BadListenAddress> {
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Ok(Self { host: ListenHost::Ip(address.ip()), port: address.port() });
        }
        let refused = || BadListenAddress(text.into());
        let (host, port) = text.rsplit_once(':').ok_or_else(refused)?;
        // `u16::from_str` takes a sign.
        if !port.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(refused());
        }
        let port = port.parse().map_err(|_| refused())?;
        match host {
            "" => Ok(Self { host: ListenHost::Any, port }),
            name if is_host_name(name) => Ok(Self { host: ListenHost::Name(name.into()), port }),
            _ => Err(refused()),
        }
    }
}

/// A name that is no mistyped IPv4 address: its last label has a letter (RFC 3696, section 2).
fn is_host_name(name: &str) -> bool {
    let label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    name.split('.').all(label)
        && name.rsplit('.').next().is_some_and(|last| last.bytes().any(|byte| byte.is_ascii_alphabetic()))
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            ListenHost::Any => write!(f, ":{}", self.port),
            ListenHost::Ip(ip) => SocketAddr::new(*ip, self.port).fmt(f),
            ListenHost::Name(name) => write!(f, "{name}:{}", self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_reads_back_from_its_text() {
        for text in [":10019", "127.0.0.1:10019", "[::1]:10019", "[::]:0", "node-7.example:80", "localhost:1"]
        {
            assert_eq!(text.parse::<ListenAddress>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_could_be_meant_in_two_ways_is_refused() {
        for text in
            ["", "10019", "::1:80", "localhost", "a:b", ":65536", ":+80", ":", "10.0.0:80", "[::1]", "a b:1"]
        {
            assert!(text.parse::<ListenAddress>().is_err(), "{text}");
        }
    }
}
