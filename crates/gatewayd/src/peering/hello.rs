//! The first words of a gateway to another: they say that it has verified the other's certificate.
//!
//! A dialler whose certificate is refused believes itself connected until the refusal arrives (TLS 1.3
//! lets a client speak before the server has looked at its certificate): so nobody is up before it has
//! heard the other's hello.

/// Of the hello and of the packets after it.
pub(crate) const VERSION: u16 = 5;

/// Most octets of a hello: what is longer is none.
pub(crate) const MOST: usize = 512;

/// Two octets of version, eight of instance, eight of session, one of the name's length, and the name;
/// numbers in network order. What follows is left to later versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    /// Another with each start of the program.
    pub(crate) instance: u64,
    /// How many connections with this peer have ended since: a second connection with the same number
    /// was dialled while the first stood, one with a higher number is its successor.
    pub(crate) session: u64,
    /// Who speaks.
    pub(crate) name: String,
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

impl Hello {
    pub(crate) fn encode(&self) -> Vec<u8> {
        // A DNS name has at most 253 octets.
        let name = &self.name.as_bytes()[..self.name.len().min(255)];
        let mut octets = Vec::with_capacity(19 + name.len());
        octets.extend_from_slice(&VERSION.to_be_bytes());
        octets.extend_from_slice(&self.instance.to_be_bytes());
        octets.extend_from_slice(&self.session.to_be_bytes());
        octets.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
        octets.extend_from_slice(name);
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
        let (instance, rest) = rest.split_first_chunk().ok_or(NoHello::Garbled)?;
        let (session, rest) = rest.split_first_chunk().ok_or(NoHello::Garbled)?;
        let (&length, rest) = rest.split_first().ok_or(NoHello::Garbled)?;
        let name = rest.get(..usize::from(length)).ok_or(NoHello::Garbled)?;
        let name = std::str::from_utf8(name).map_err(|_| NoHello::Garbled)?;
        Ok(Hello {
            instance: u64::from_be_bytes(*instance),
            session: u64::from_be_bytes(*session),
            name: name.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn another_version_is_named() {
        let mut octets = Hello { instance: 1, session: 2, name: "far".into() }.encode();
        octets[1] = 9;
        assert_eq!(Hello::decode(&octets), Err(NoHello::Version(9)));
    }

    #[test]
    fn what_is_too_long_is_none() {
        let hello = Hello { instance: 1, session: 2, name: "far".into() };
        let mut octets = hello.encode();
        octets.resize(MOST, 0);
        assert_eq!(Hello::decode(&octets), Ok(hello));
        octets.push(0);
        assert_eq!(Hello::decode(&octets), Err(NoHello::Garbled));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(instance: u64, session: u64, name in "[a-z.-]{0,253}", more: Vec<u8>) {
            let hello = Hello { instance, session, name };
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
