//! The first message of a gateway to another: it confirms that it has verified the other's certificate.
//!
//! A dialler whose certificate is refused is connected until the refusal arrives (in TLS 1.3 a client may send before
//! the server has verified its certificate): so a peer is up only after its hello.

/// The version of the hello and of the packets after it.
pub(crate) const VERSION: u16 = 6;

/// Most octets of a hello; longer ones are malformed.
pub(crate) const MOST: usize = 512;

/// The epoch of the state of one gateway for its peer: with the same epoch none of it was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Epoch {
    /// A random number of each start of the program; an upgrade keeps it.
    pub(crate) instance: u64,
    /// The number of times that the state was lost since, with all connections.
    pub(crate) session: u64,
}

/// The state that a gateway shares with the receiver of its hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shared {
    /// None: everything starts again.
    Nothing,
    /// The state of this epoch of the receiver, whose connection exists: this one is a second.
    Attached(Epoch),
    /// The state of this epoch of the receiver, without a connection: this one continues it.
    Detached(Epoch),
}

/// Two octets of version, eight of instance, eight of session, one of the name's length, the name, one of the kind of
/// [`Shared`], and instance and session of the receiver unless that is 0; numbers in network order. Later versions may
/// append fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    /// The state of the sender.
    pub(crate) epoch: Epoch,
    /// The name of the sender.
    pub(crate) name: String,
    pub(crate) shared: Shared,
}

/// The reason for which a hello is refused.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoHello {
    /// The sender has this version of the protocol.
    Version(u16),
    /// It is truncated, too long or malformed.
    Garbled,
    /// It contains this name, which is not the configured name of the peer.
    Name(String),
}

impl NoHello {
    /// Returns the error message. The gateway `own` logs it and sends it to `peer`, which logs it too, so it names
    /// both.
    pub(crate) fn message(&self, own: &str, peer: &str) -> String {
        match self {
            NoHello::Version(theirs) => {
                format!("{peer} has version {theirs} of the protocol between gateways, and {own} has version {VERSION}")
            }
            NoHello::Garbled => format!("{own} received a malformed hello from {peer}"),
            NoHello::Name(name) => {
                format!("the hello of {peer} contains the name {}, but must contain {peer}", name.escape_debug())
            }
        }
    }
}

impl Epoch {
    fn put(self, octets: &mut Vec<u8>) {
        octets.extend_from_slice(&self.instance.to_be_bytes());
        octets.extend_from_slice(&self.session.to_be_bytes());
    }
    fn take(octets: &[u8]) -> Option<(Epoch, &[u8])> {
        let (instance, rest) = octets.split_first_chunk()?;
        let (session, rest) = rest.split_first_chunk()?;
        Some((Epoch { instance: u64::from_be_bytes(*instance), session: u64::from_be_bytes(*session) }, rest))
    }
}

impl Hello {
    pub(crate) fn encode(&self) -> Vec<u8> {
        // A DNS name has at most 253 octets.
        let name = &self.name.as_bytes()[..self.name.len().min(255)];
        let mut octets = Vec::with_capacity(36 + name.len());
        octets.extend_from_slice(&VERSION.to_be_bytes());
        self.epoch.put(&mut octets);
        octets.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
        octets.extend_from_slice(name);
        let (kind, of) = match self.shared {
            Shared::Nothing => (0, None),
            Shared::Attached(of) => (1, Some(of)),
            Shared::Detached(of) => (2, Some(of)),
        };
        octets.push(kind);
        of.iter().for_each(|of| of.put(&mut octets));
        octets
    }

    pub(crate) fn decode(octets: &[u8]) -> Result<Hello, NoHello> {
        if octets.len() > MOST {
            return Err(NoHello::Garbled);
        }
        let (version, rest) = octets.split_first_chunk().ok_or(NoHello::Garbled)?;
        let version = u16::from_be_bytes(*version);
        if version != VERSION {
            return Err(NoHello::Version(version));
        }
        let (epoch, rest) = Epoch::take(rest).ok_or(NoHello::Garbled)?;
        let (&length, rest) = rest.split_first().ok_or(NoHello::Garbled)?;
        let (name, rest) = rest.split_at_checked(length.into()).ok_or(NoHello::Garbled)?;
        let name = std::str::from_utf8(name).map_err(|_| NoHello::Garbled)?;
        let (kind, rest) = rest.split_first().ok_or(NoHello::Garbled)?;
        let of = || Epoch::take(rest).map(|(of, _)| of).ok_or(NoHello::Garbled);
        let shared = match kind {
            0 => Shared::Nothing,
            1 => Shared::Attached(of()?),
            2 => Shared::Detached(of()?),
            _ => return Err(NoHello::Garbled),
        };
        Ok(Hello { epoch, name: name.to_owned(), shared })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const EPOCH: Epoch = Epoch { instance: 1, session: 2 };

    #[test]
    fn another_version_is_named() {
        let mut octets = Hello { epoch: EPOCH, name: "far".into(), shared: Shared::Detached(EPOCH) }.encode();
        octets[1] = 9;
        assert_eq!(Hello::decode(&octets), Err(NoHello::Version(9)));
    }

    #[test]
    fn a_hello_that_is_too_long_is_malformed() {
        let hello = Hello { epoch: EPOCH, name: "far".into(), shared: Shared::Detached(EPOCH) };
        let mut octets = hello.encode();
        octets.resize(MOST, 0);
        assert_eq!(Hello::decode(&octets), Ok(hello));
        octets.push(0);
        assert_eq!(Hello::decode(&octets), Err(NoHello::Garbled));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            numbers: [u64; 4],
            name in "[a-z.-]{0,253}",
            kind in 0..3,
            more in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            let [epoch, of] = [0, 2].map(|n| Epoch { instance: numbers[n], session: numbers[n + 1] });
            let shared = [Shared::Nothing, Shared::Attached(of), Shared::Detached(of)][kind as usize];
            let hello = Hello { epoch, name, shared };
            let mut octets = hello.encode();
            for cut in 0..octets.len() {
                prop_assert_eq!(Hello::decode(&octets[..cut]), Err(NoHello::Garbled));
            }
            octets.extend(more);
            prop_assert_eq!(Hello::decode(&octets), Ok(hello));
        }

        #[test]
        fn garbage_does_no_harm(octets: Vec<u8>) {
            let _ = Hello::decode(&octets);
        }
    }
}
