//! Changes how many queues a device uses, as `ethtool -L` does, by generic netlink: it needs no tool and no `unsafe`.

use netlink_packet_core::{DefaultNla, Emitable, NLM_F_ACK, NLM_F_REQUEST};
use netlink_sys::protocols::NETLINK_GENERIC;
use netlink_sys::{Socket, SocketAddr};
use rocewatch::sys::netlink_wire::{Meaning, attributes, frames};

// linux/genetlink.h
const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
// linux/ethtool_netlink.h
const ETHTOOL_MSG_CHANNELS_SET: u8 = 18;
const ETHTOOL_A_HEADER_DEV_NAME: u16 = 2;
const ETHTOOL_A_CHANNELS_HEADER: u16 = 1;
const ETHTOOL_A_CHANNELS_RX_COUNT: u16 = 6;
const ETHTOOL_A_CHANNELS_TX_COUNT: u16 = 7;
/// Generic netlink's header: command, version, two reserved bytes.
const GENL_HEADER_LEN: usize = 4;

/// A socket for changing channels.
pub(crate) struct Channels {
    socket: Socket,
    family: u16,
}

impl Channels {
    pub(crate) fn open() -> Self {
        let mut socket = Socket::new(NETLINK_GENERIC).unwrap();
        socket.bind_auto().unwrap();
        socket.connect(&SocketAddr::new(0, 0)).unwrap();
        let mut channels = Self { socket, family: GENL_ID_CTRL };
        let name = DefaultNla::new(CTRL_ATTR_FAMILY_NAME, b"ethtool\0".to_vec());
        let answer = channels.request(CTRL_CMD_GETFAMILY, &[name]);
        let family = attributes(&answer[GENL_HEADER_LEN..])
            .map(Result::unwrap)
            .find(|(kind, _)| *kind == CTRL_ATTR_FAMILY_ID)
            .unwrap();
        channels.family = u16::from_ne_bytes(family.1.try_into().unwrap());
        channels
    }

    /// Makes `netdev` use `count` queues for each direction.
    pub(crate) fn set(&self, netdev: &str, count: u32) {
        let name = DefaultNla::new(ETHTOOL_A_HEADER_DEV_NAME, [netdev.as_bytes(), b"\0"].concat());
        self.request(
            ETHTOOL_MSG_CHANNELS_SET,
            &[
                DefaultNla::new(ETHTOOL_A_CHANNELS_HEADER | 0x8000, emitted(&[name])),
                DefaultNla::new(ETHTOOL_A_CHANNELS_RX_COUNT, count.to_ne_bytes().to_vec()),
                DefaultNla::new(ETHTOOL_A_CHANNELS_TX_COUNT, count.to_ne_bytes().to_vec()),
            ],
        );
    }

    /// The payload of the answer; empty if it is an acknowledgement only.
    fn request(&self, command: u8, body: &[DefaultNla]) -> Vec<u8> {
        let payload = [vec![command, 1, 0, 0], emitted(body)].concat();
        let mut message = u32::try_from(16 + payload.len()).unwrap().to_ne_bytes().to_vec();
        message.extend(self.family.to_ne_bytes());
        message.extend((NLM_F_REQUEST | NLM_F_ACK).to_ne_bytes());
        message.extend([0; 8]);
        message.extend(payload);
        self.socket.send(&message, 0).unwrap();
        let mut answer = Vec::new();
        loop {
            let (datagram, _) = self.socket.recv_from_full().unwrap();
            for frame in frames(&datagram) {
                match frame.unwrap().meaning().unwrap() {
                    Meaning::Data(payload) => answer = payload.to_vec(),
                    Meaning::Done => return answer,
                    Meaning::Refused(refusal) => panic!("command {command}: {refusal:?}"),
                    Meaning::Overrun | Meaning::Noop => {}
                }
            }
        }
    }
}

fn emitted(attributes: &[DefaultNla]) -> Vec<u8> {
    let mut bytes = vec![0; attributes.buffer_len()];
    attributes.emit(&mut bytes);
    bytes
}
