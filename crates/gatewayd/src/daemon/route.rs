//! The routing of addresses to the gateways that serve them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

use ipnet::IpNet;

use crate::config::Config;
use crate::peer_id::PeerId;

/// The port of the socket that queries the kernel for a route; nothing is sent.
const DISCARD: u16 = 9;

/// The networks of this gateway and of its peers. The longest prefix of an address decides.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    /// Longest first, with the peer, or none for this gateway's own networks.
    prefixes: Vec<(IpNet, Option<PeerId>)>,
}

impl Routes {
    pub(crate) fn of(config: &Config) -> Routes {
        let local = config.local.iter().map(|net| (*net, None));
        let peers = config.peers.iter().enumerate();
        let remote =
            peers.flat_map(|(place, peer)| peer.prefixes.iter().map(move |net| (*net, Some(PeerId::at(place)))));
        let mut prefixes: Vec<_> = local.chain(remote).collect();
        prefixes.sort_by_key(|(net, _)| std::cmp::Reverse(net.prefix_len()));
        Routes { prefixes }
    }
    fn find(&self, address: IpAddr) -> Option<Option<PeerId>> {
        let address = address.to_canonical();
        self.prefixes.iter().find(|(net, _)| net.contains(&address)).map(|(_, whose)| *whose)
    }
    /// Returns the peer that `address` is behind.
    pub(crate) fn peer(&self, address: IpAddr) -> Option<PeerId> {
        self.find(address).flatten()
    }
    /// Returns true if `address` is behind this gateway.
    pub(crate) fn is_local(&self, address: IpAddr) -> bool {
        self.find(address) == Some(None)
    }
}

/// Returns true if `address` is one of this machine's: the kernel uses the same address as the source of connections to
/// it.
pub(crate) fn is_own(address: IpAddr) -> bool {
    let any: IpAddr = if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let from = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect((address, DISCARD))?;
        socket.local_addr()
    });
    from.is_ok_and(|from| from.ip() == address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_decides() {
        let net = |text: &str| text.parse::<IpNet>().unwrap();
        let mut prefixes = vec![
            (net("10.2.0.0/16"), Some(PeerId::at(0))),
            (net("10.2.3.0/24"), Some(PeerId::at(1))),
            (net("10.1.0.0/16"), None),
            (net("2001:db8::/32"), Some(PeerId::at(0))),
        ];
        prefixes.sort_by_key(|(net, _)| std::cmp::Reverse(net.prefix_len()));
        let routes = Routes { prefixes };
        let whose = |text: &str| routes.peer(text.parse().unwrap());
        assert_eq!(
            (whose("10.2.9.9"), whose("10.2.3.9"), whose("10.1.0.1")),
            (Some(PeerId::at(0)), Some(PeerId::at(1)), None)
        );
        assert_eq!(
            (whose("2001:db8::9"), whose("::ffff:10.2.9.9"), whose("192.0.2.1")),
            (Some(PeerId::at(0)), Some(PeerId::at(0)), None)
        );
        assert!(routes.is_local("10.1.2.3".parse().unwrap()) && !routes.is_local("10.2.0.1".parse().unwrap()));
        assert!(!routes.is_local("192.0.2.1".parse().unwrap()));
    }
}
