//! The framing of netlink: datagrams into messages, messages into attributes. Safe code on bytes; no sockets here.

use netlink_packet_core::{NLA_HEADER_SIZE, NetlinkBuffer, NlasIterator};

use super::uapi::*;

/// Bytes that are not what the kernel sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} of {len} bytes is shorter than it says or must be")]
pub struct Malformed {
    /// Which part.
    pub what: &'static str,
    /// How many bytes there were of it.
    pub len: usize,
}

/// One message of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// `NLMSG_*` below 16, above it the family's own.
    pub message_type: u16,
    /// `NLM_F_*`.
    pub flags: u16,
    /// The number of the request that this answers; of no meaning in notifications.
    pub sequence: u32,
    /// What follows the header.
    pub payload: &'a [u8],
}

/// What a message means to whoever waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning<'a> {
    /// Part of the answer, or a notification.
    Data(&'a [u8]),
    /// The answer is complete.
    Done,
    /// The request was refused, or the answer breaks off.
    Refused(Refusal),
    /// The kernel dropped part of the answer.
    Overrun,
    /// To be skipped.
    Noop,
}

/// The kernel's no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// A positive error number.
    pub errno: i32,
    /// What the kernel says about it (extended acknowledgement); many subsystems say nothing.
    pub message: Option<String>,
}

/// The messages of a datagram, in order. Ends after the first that is malformed.
pub fn frames(datagram: &[u8]) -> impl Iterator<Item = Result<Frame<'_>, Malformed>> {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let Ok(packet) = NetlinkBuffer::new_checked(rest) else {
            let len = std::mem::take(&mut rest).len();
            return Some(Err(Malformed { what: "netlink message", len }));
        };
        // At least a header long and no longer than `rest`: checked just above.
        let len = (packet.length() as usize).next_multiple_of(4);
        rest = rest.get(len..).unwrap_or_default();
        Some(Ok(Frame {
            message_type: packet.message_type(),
            flags: packet.flags(),
            sequence: packet.sequence_number(),
            payload: packet.payload(),
        }))
    })
}

impl<'a> Frame<'a> {
    /// What the message means.
    ///
    /// # Errors
    ///
    /// If it is the end of an answer without a result.
    pub fn meaning(&self) -> Result<Meaning<'a>, Malformed> {
        match self.message_type {
            NLMSG_NOOP => Ok(Meaning::Noop),
            NLMSG_OVERRUN => Ok(Meaning::Overrun),
            // A dump that fails in its midst still ends with "done", and the failure in it.
            NLMSG_DONE => self.result("end of a netlink answer", 4),
            NLMSG_ERROR => {
                // The refused request follows the number: its header only, or all of it.
                let quoted = if self.flags & NLM_F_CAPPED != 0 {
                    NLMSG_HDRLEN
                } else {
                    u32_of(self.payload.get(4..).unwrap_or_default()).unwrap_or_default() as usize
                };
                self.result("netlink error", quoted.next_multiple_of(4).saturating_add(4))
            }
            _ => Ok(Meaning::Data(self.payload)),
        }
    }

    /// Whether what is listed changed while it was listed, so that the list may lack or repeat entries.
    #[must_use]
    pub const fn is_torn(&self) -> bool {
        self.flags & NLM_F_DUMP_INTR != 0
    }

    fn result(&self, what: &'static str, words_at: usize) -> Result<Meaning<'a>, Malformed> {
        let Some(number) = u32_of(self.payload) else {
            return Err(Malformed { what, len: self.payload.len() });
        };
        // A negative error number; some subsystems have sent positive ones.
        let errno = number.cast_signed().saturating_abs();
        if errno == 0 {
            return Ok(Meaning::Done);
        }
        let has_words = self.flags & NLM_F_ACK_TLVS != 0;
        let words = self.payload.get(words_at..).filter(|_| has_words).unwrap_or_default();
        let message = attributes(words)
            .map_while(Result::ok)
            .find(|(kind, _)| *kind == NLMSGERR_ATTR_MSG)
            .and_then(|(_, value)| text_of(value));
        Ok(Meaning::Refused(Refusal { errno, message }))
    }
}

/// The attributes of a message or of a nest, in order: kind without flags, and value. Ends after a malformed one.
pub fn attributes(bytes: &[u8]) -> impl Iterator<Item = Result<(u16, &[u8]), Malformed>> {
    NlasIterator::new(bytes).map(|attribute| match attribute {
        Ok(attribute) => {
            // The iterator has checked that the attribute is at least a header long and lies in the message.
            let len = usize::from(attribute.length());
            Ok((attribute.kind(), &attribute.into_inner()[NLA_HEADER_SIZE..len]))
        }
        Err(_) => Err(Malformed { what: "netlink attribute in a message", len: bytes.len() }),
    })
}

/// Appends an attribute to a request. The values are the caller's own: names, numbers, and nests of a few of them.
pub(super) fn put_attribute(body: &mut Vec<u8>, kind: u16, value: &[u8]) {
    body.extend(((NLA_HEADER_SIZE + value.len()) as u16).to_ne_bytes());
    body.extend(kind.to_ne_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

/// Appends an attribute of text, with its terminator.
pub(super) fn put_text(body: &mut Vec<u8>, kind: u16, text: &str) {
    put_attribute(body, kind, &[text.as_bytes(), &[0]].concat());
}

/// Appends a nest of attributes. The flag that says so is demanded by the younger families.
pub(super) fn put_nest(body: &mut Vec<u8>, kind: u16, attributes: &[u8]) {
    put_attribute(body, kind | NLA_F_NESTED, attributes);
}

/// The number a value starts with; `None` if the value is too short to hold one.
#[must_use]
pub fn u32_of(value: &[u8]) -> Option<u32> {
    value.first_chunk().map(|field| u32::from_ne_bytes(*field))
}

/// Like [`u32_of`], of eight bytes.
#[must_use]
pub fn u64_of(value: &[u8]) -> Option<u64> {
    value.first_chunk().map(|field| u64::from_ne_bytes(*field))
}

/// The text of a value up to its first NUL; `None` if it is empty or not UTF-8.
#[must_use]
pub fn text_of(value: &[u8]) -> Option<String> {
    let used = value.split(|byte| *byte == 0).next().unwrap_or_default();
    str::from_utf8(used).ok().filter(|text| !text.is_empty()).map(str::to_owned)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// An attribute as the kernel writes it.
    pub(in crate::sys) fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(u16::try_from(4 + value.len()).unwrap().to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    /// A message as the kernel writes it.
    pub(in crate::sys) fn message(message_type: u16, flags: u16, sequence: u32, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(u32::try_from(NLMSG_HDRLEN + payload.len()).unwrap().to_ne_bytes());
        bytes.extend(message_type.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        bytes.extend(sequence.to_ne_bytes());
        bytes.extend(0_u32.to_ne_bytes());
        bytes.extend(payload);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn meaning(bytes: &[u8]) -> Result<Meaning<'_>, Malformed> {
        frames(bytes).next().unwrap().unwrap().meaning()
    }

    fn refused(errno: i32, message: Option<&str>) -> Result<Meaning<'static>, Malformed> {
        Ok(Meaning::Refused(Refusal { errno, message: message.map(str::to_owned) }))
    }

    #[test]
    fn messages_of_odd_length_are_found_behind_their_padding() {
        let mut datagram = message(RTM_NEWLINK, 2, 7, b"abcde");
        datagram.extend(message(RTM_DELLINK, 0, 8, b""));
        let found: Vec<_> = frames(&datagram).collect::<Result<_, _>>().unwrap();
        assert_eq!(found[0], Frame { message_type: RTM_NEWLINK, flags: 2, sequence: 7, payload: b"abcde" });
        assert_eq!(found[1], Frame { message_type: RTM_DELLINK, flags: 0, sequence: 8, payload: b"" });
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn every_truncation_of_a_datagram_is_malformed_or_shorter_and_never_a_panic() {
        let mut datagram = message(NLMSG_ERROR, NLM_F_ACK_TLVS, 1, &[0xff; 40]);
        datagram.extend(message(NLMSG_DONE, 0, 1, &[0; 4]));
        for len in 0..=datagram.len() {
            let found: Vec<_> = frames(&datagram[..len]).collect();
            assert!(found.len() <= 2);
            for frame in found.into_iter().flatten() {
                let _ = frame.meaning();
            }
        }
    }

    #[test]
    fn a_length_field_that_lies_ends_the_datagram() {
        for length in [0_u32, 1, 15, 17, 1 << 31, u32::MAX] {
            let mut datagram = message(NLMSG_NOOP, 0, 1, b"");
            datagram[..4].copy_from_slice(&length.to_ne_bytes());
            let found: Vec<_> = frames(&datagram).collect();
            assert_eq!(found, [Err(Malformed { what: "netlink message", len: 16 })], "length {length}");
        }
    }

    #[test]
    fn an_error_of_zero_and_a_done_of_zero_both_end_an_answer_well() {
        assert_eq!(meaning(&message(NLMSG_ERROR, NLM_F_CAPPED, 1, &[0; 20])), Ok(Meaning::Done));
        assert_eq!(meaning(&message(NLMSG_DONE, 0, 1, &[0; 4])), Ok(Meaning::Done));
    }

    #[test]
    fn the_kernels_words_are_found_behind_a_header_and_behind_a_whole_request() {
        let words = attribute(NLMSGERR_ATTR_MSG, b"no device matches name\0");
        let request = message(RTM_GETLINK, 1, 1, &[9; 21]);
        let mut whole = (-19_i32).to_ne_bytes().to_vec();
        whole.extend(&request);
        whole.extend(&words);
        let expected = refused(19, Some("no device matches name"));
        assert_eq!(meaning(&message(NLMSG_ERROR, NLM_F_ACK_TLVS, 1, &whole)), expected);

        let mut capped = (-19_i32).to_ne_bytes().to_vec();
        capped.extend(&request[..NLMSG_HDRLEN]);
        capped.extend(&words);
        assert_eq!(meaning(&message(NLMSG_ERROR, NLM_F_ACK_TLVS | NLM_F_CAPPED, 1, &capped)), expected);
    }

    #[test]
    fn a_dump_that_breaks_off_is_refused_with_the_kernels_words() {
        let mut payload = (-90_i32).to_ne_bytes().to_vec();
        payload.extend(attribute(NLMSGERR_ATTR_MSG, b"too long\0"));
        assert_eq!(meaning(&message(NLMSG_DONE, NLM_F_ACK_TLVS, 1, &payload)), refused(90, Some("too long")));
        assert_eq!(meaning(&message(NLMSG_DONE, 0, 1, &payload)), refused(90, None));
    }

    #[test]
    fn hostile_errors_are_refusals_without_words() {
        for quoted in [0_u32, 3, u32::MAX, u32::MAX - 3] {
            let mut payload = i32::MIN.to_ne_bytes().to_vec();
            payload.extend(quoted.to_ne_bytes());
            assert_eq!(meaning(&message(NLMSG_ERROR, NLM_F_ACK_TLVS, 1, &payload)), refused(i32::MAX, None));
        }
        let empty = message(NLMSG_DONE, 0, 1, b"");
        assert_eq!(meaning(&empty), Err(Malformed { what: "end of a netlink answer", len: 0 }));
    }

    #[test]
    fn an_attribute_longer_than_its_nest_ends_the_nest() {
        let mut nest = attribute(1, b"ok");
        nest.extend([200, 0, 2, 0]);
        let found: Vec<_> = attributes(&nest).collect();
        assert_eq!(found[0], Ok((1, &b"ok"[..])));
        assert!(found[1].is_err());
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn short_values_and_odd_texts_are_absent() {
        assert_eq!(u32_of(&[1, 2, 3]), None);
        assert_eq!(u64_of(&[0; 7]), None);
        assert_eq!(text_of(b"eth0\0junk").as_deref(), Some("eth0"));
        assert_eq!(text_of(b"\0"), None);
        assert_eq!(text_of(&[0xff, 0xfe]), None);
    }
}
