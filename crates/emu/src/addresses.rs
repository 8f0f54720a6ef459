//! Addresses of emulated hosts, so that a path inside a path is reached by routes alone.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use crate::error::Error;
use crate::internet::{self, InternetError};
use crate::sys::{Namespace, Prefix};

/// Shared address space, which no public network routes (RFC 6598).
const OUTERMOST: Block = Block { base: u32::from_be_bytes([100, 64, 0, 0]), prefix: 10 };
/// Ranges for a path to the network of this machine: shared address space, then private networks (RFC 1918) and that of
/// benchmarks (RFC 2544), for machines whose own network is in the first.
const BESIDE: [Block; 3] = [
    OUTERMOST,
    Block { base: u32::from_be_bytes([10, 0, 0, 0]), prefix: 8 },
    Block { base: u32::from_be_bytes([198, 18, 0, 0]), prefix: 15 },
];
/// The shortest prefix of a route that is not a part of a default route, as VPNs have them.
const SHORTEST: u8 = 5;
/// The bits by which a block is divided: into sixteen parts, the first for its own hosts, the others for paths that
/// begin at one of them.
const CUT: u8 = 4;
/// The smallest block: two hosts.
const LONGEST: u8 = 30;
/// A unique local prefix (RFC 4193) before the IPv4 address of the same host.
const IPV6: [u16; 6] = [0xfd63, 0x656c, 0x6c77, 0x6179, 0, 0];

/// The addresses behind one emulated path.
///
/// All of them are routed into the path from outside. A path that starts at an inner host uses one of the parts, so
/// addresses behind it are behind the outer path, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    base: u32,
    prefix: u8,
}

impl Default for Block {
    fn default() -> Block {
        OUTERMOST
    }
}

impl Block {
    /// Returns part `index` of this block, from 1 to 15; `None` if the block cannot be divided again.
    pub fn part(self, index: u32) -> Option<Block> {
        let prefix = self.prefix + CUT;
        (prefix <= LONGEST && (1..1 << CUT).contains(&index))
            .then(|| Block { base: self.base | index << (32 - prefix), prefix })
    }

    /// Returns all parts, in order.
    pub fn parts(self) -> impl Iterator<Item = Block> {
        (1..1 << CUT).filter_map(move |index| self.part(index))
    }

    /// Returns the address of host `number`, from 0; `None` past the last.
    pub fn host(self, number: usize) -> Option<Ipv4Addr> {
        let own = (self.prefix + CUT).min(LONGEST);
        let offset = u32::try_from(number).ok()?.checked_add(1)?;
        (offset < (1 << (32 - own)) - 1 || own == LONGEST && offset < 3).then(|| Ipv4Addr::from(self.base | offset))
    }

    /// Returns the first address.
    pub(crate) fn base(self) -> u32 {
        self.base
    }

    /// Returns the block as a network.
    pub(crate) fn network(self) -> Prefix {
        Prefix { address: Ipv4Addr::from(self.base).into(), length: self.prefix }
    }

    /// Returns the IPv6 network that corresponds to this block.
    pub(crate) fn ipv6_network(self) -> Prefix {
        Prefix { address: ipv6(Ipv4Addr::from(self.base)).into(), length: 96 + self.prefix }
    }

    fn overlaps(self, other: Block) -> bool {
        let shift = 32 - self.prefix.min(other.prefix);
        self.base >> shift == other.base >> shift
    }

    /// Returns true if an address is in this block, or is the IPv6 address that corresponds to one in it.
    pub fn contains(self, address: IpAddr) -> bool {
        let low = match address {
            IpAddr::V4(v4) => v4.to_bits(),
            IpAddr::V6(v6) if v6.segments()[..6] == IPV6 => v6.to_bits() as u32,
            IpAddr::V6(_) => return false,
        };
        low >> (32 - self.prefix) == self.base >> (32 - self.prefix)
    }
}

/// Returns a part of `outer`, the block of the path around this namespace, that no other path that begins here uses.
///
/// # Errors
///
/// No part is free, or the addresses of this network namespace cannot be read.
pub fn free_part(outer: Block) -> Result<Block, Error> {
    let here = Namespace::here()?;
    let taken = here.run(|| std::fs::read_to_string("/proc/thread-self/net/fib_trie")).unwrap_or_default();
    // Each local address has its own line in the file, after "|--".
    let is_taken = |block: &Block| {
        let host = block.host(1).map(|address| address.to_string());
        taken.lines().any(|line| line.trim().strip_prefix("|-- ").map(str::to_owned) == host)
    };
    outer.parts().find(|block| !is_taken(block)).ok_or(Error::NoBlock { block: outer })
}

/// Returns a block for a path whose packets leave this machine: it is in no route of this machine, and none of its
/// resolvers is in it.
///
/// # Errors
///
/// None is free, or `ip` fails.
pub fn free_block() -> Result<Block, Error> {
    let routes = internet::routes().map_err(InternetError::from)?;
    let resolvers = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    let taken: Vec<Block> = networks(&routes).chain(networks(&resolvers)).collect();
    let mut parts = BESIDE.into_iter().flat_map(Block::parts);
    parts.find(|block| !taken.iter().any(|taken| block.overlaps(*taken))).ok_or(Error::NoFreeBlock)
}

/// Returns the networks and addresses that begin a line, or follow its first word.
fn networks(text: &str) -> impl Iterator<Item = Block> {
    let network = |word: &str| -> Option<Block> {
        let (base, prefix) = word.split_once('/').unwrap_or((word, "32"));
        let (base, prefix) = (base.parse::<Ipv4Addr>().ok()?.to_bits(), prefix.parse().ok()?);
        (SHORTEST..=32).contains(&prefix).then_some(Block { base, prefix })
    };
    text.lines().filter_map(move |line| line.split_ascii_whitespace().take(2).find_map(network))
}

/// Returns the IPv6 address of the host that has `address`.
pub(crate) fn ipv6(address: Ipv4Addr) -> Ipv6Addr {
    let [a, b, c, d, e, f] = IPV6;
    let low = address.to_bits();
    Ipv6Addr::new(a, b, c, d, e, f, (low >> 16) as u16, low as u16)
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", Ipv4Addr::from(self.base), self.prefix)
    }
}

impl FromStr for Block {
    type Err = String;

    fn from_str(text: &str) -> Result<Block, String> {
        let wrong = || format!("{text:?} is not a block of addresses; for example {OUTERMOST}");
        let (base, prefix) = text.split_once('/').ok_or_else(wrong)?;
        let base: Ipv4Addr = base.parse().map_err(|_| wrong())?;
        let prefix: u8 = prefix.parse().map_err(|_| wrong())?;
        let block = Block { base: base.to_bits(), prefix };
        let aligned = (1..=LONGEST).contains(&prefix) && block.base.trailing_zeros() >= u32::from(32 - prefix);
        aligned.then_some(block).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_nest_and_hosts_stay_in_the_first_part() {
        let outer = Block::default();
        assert_eq!(outer.host(0), Some(Ipv4Addr::new(100, 64, 0, 1)));
        assert_eq!(outer.host(1), Some(Ipv4Addr::new(100, 64, 0, 2)));
        let first = outer.part(1).unwrap();
        assert_eq!(first.to_string(), "100.68.0.0/14");
        assert_eq!(first.host(0), Some(Ipv4Addr::new(100, 68, 0, 1)));
        assert_eq!(outer.parts().count(), 15);
        // The last host of a block precedes its first part.
        let last = (0..).map_while(|n| outer.host(n)).last().unwrap();
        assert!(last.to_bits() < first.base, "{last}");
        // Five blocks deep, then no more.
        let mut block = outer;
        let mut depth = 1;
        while let Some(inner) = block.part(15) {
            assert!(inner.host(0).is_some() && inner.host(1).is_some(), "{inner}");
            (block, depth) = (inner, depth + 1);
        }
        assert_eq!((depth, block.to_string()), (6, "100.127.255.252/30".to_owned()));
        assert_eq!(block.host(2), None);
        let contains = |block: Block, address: &str| block.contains(address.parse().unwrap());
        assert!(contains(first, "100.68.0.1") && !contains(first, "100.64.0.1") && !contains(first, "::1"));
        assert!(contains(first, &ipv6(first.host(0).unwrap()).to_string()));
    }

    #[test]
    fn networks_of_routes_are_left_out() {
        let routes = "default via 192.0.2.1 dev eth0\n0.0.0.0/1 dev tun0\n192.0.2.0/24 dev eth0 proto kernel\n\
                      unreachable 10.9.0.0/16\nlocal 127.0.0.1 dev lo table local\n";
        let found: Vec<String> = networks(routes).map(|block| block.to_string()).collect();
        assert_eq!(found, ["192.0.2.0/24", "10.9.0.0/16", "127.0.0.1/32"]);
        assert_eq!(networks("nameserver 100.100.100.100\nsearch lan\n").count(), 1);
        let block = |text: &str| text.parse::<Block>().unwrap();
        let [wide, part, other] = ["100.64.0.0/10", "100.68.0.0/14", "100.72.0.0/14"].map(block);
        assert!(part.overlaps(wide) && wide.overlaps(part) && part.overlaps(part) && !part.overlaps(other));
    }

    #[test]
    fn a_block_is_read_as_it_is_written() {
        let block = Block::default().part(3).unwrap();
        assert_eq!(block.to_string().parse(), Ok(block));
        assert!("100.64.0.1/10".parse::<Block>().unwrap_err().contains("100.64.0.0/10"));
        for wrong in ["", "100.64.0.0", "100.64.0.0/31", "100.64.0.0/0", "x/10"] {
            assert!(wrong.parse::<Block>().is_err(), "{wrong}");
        }
        assert_eq!(block.ipv6_network().to_string(), "fd63:656c:6c77:6179::644c:0/110");
    }
}
