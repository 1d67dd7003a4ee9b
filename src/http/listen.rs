//! Opens the sockets that the server listens on. Accepts nothing.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpListener;

use crate::config::{ListenAddress, ListenHost};

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 1024;

/// A socket could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The host has no address.
    #[error("cannot find an address for {address}")]
    Resolve {
        /// As given.
        address: ListenAddress,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// No address of the host can be listened on.
    #[error("cannot listen on {address}")]
    Bind {
        /// As given.
        address: ListenAddress,
        /// Why, for the address tried last.
        #[source]
        source: io::Error,
    },
}

/// Listens on `address`. Without a host that is every address of both families, on one socket; where the kernel has
/// no IPv6, every address of IPv4. A name with several addresses is listened to on the first that this host has.
/// Has to be called within a runtime.
///
/// # Errors
/// The name has no address, or none of its addresses can be listened on.
pub fn bind(address: &ListenAddress) -> Result<TcpListener, ListenError> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for candidate in candidates(address)? {
        match open(candidate) {
            Ok(listener) => return Ok(listener),
            Err(error) => last = error,
        }
        // Half of the addresses asked for would be a surprise; that another process has them is news.
        if last.kind() == io::ErrorKind::AddrInUse {
            break;
        }
    }
    Err(ListenError::Bind { address: address.clone(), source: last })
}

fn candidates(address: &ListenAddress) -> Result<Vec<SocketAddr>, ListenError> {
    let port = address.port;
    match &address.host {
        ListenHost::Any => {
            Ok(vec![(Ipv6Addr::UNSPECIFIED, port).into(), (Ipv4Addr::UNSPECIFIED, port).into()])
        }
        ListenHost::Ip(ip) => Ok(vec![(*ip, port).into()]),
        ListenHost::Name(name) => match (name.as_str(), port).to_socket_addrs() {
            Ok(found) => Ok(found.collect()),
            Err(source) => Err(ListenError::Resolve { address: address.clone(), source }),
        },
    }
}

fn open(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        // Whatever net.ipv6.bindv6only says: `[::]` means both families, and a given address only itself anyway.
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    // A restart must not wait for the connections of the run before.
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_in_use_is_an_error_that_names_it() {
        let first = bind(&"127.0.0.1:0".parse().unwrap()).unwrap();
        let taken: ListenAddress = first.local_addr().unwrap().to_string().parse().unwrap();
        let error = bind(&taken).unwrap_err();
        assert_eq!(error.to_string(), format!("cannot listen on {taken}"));
        let every = ListenAddress { host: ListenHost::Any, port: taken.port };
        assert!(bind(&every).is_err());
    }

    #[tokio::test]
    async fn a_name_is_listened_to_where_it_points() {
        let listener = bind(&"localhost:0".parse().unwrap()).unwrap();
        assert!(listener.local_addr().unwrap().ip().is_loopback());
    }
}
