//! Detection of deletions, by any program, of rules or routes that the gateway needs.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::netlink::{NETFILTER, SocketAddrNetlink};
use rustix::net::{AddressFamily, Protocol, RecvFlags, SocketFlags, SocketType, bind, recv, socket_with};

use super::rules;
use crate::config::Intercept;

/// The group of changes of nftables, NFNLGRP_NFTABLES (nfnetlink.h), as a bit.
const NFTABLES: u32 = 1 << 6;
/// The groups of changes of devices, routes and rules of routing, RTNLGRP_LINK, RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV4_RULE,
/// RTNLGRP_IPV6_ROUTE and RTNLGRP_IPV6_RULE (rtnetlink.h), as bits.
const ROUTING: u32 = 1 | 1 << 6 | 1 << 7 | 1 << 10 | 1 << 18;

/// The subsystem in the upper octet of a type of message: NFNL_SUBSYS_NFTABLES (nfnetlink.h).
const SUBSYSTEM: u16 = 10;
/// NFT_MSG_DELTABLE, ..DELCHAIN, ..DELRULE, ..DELSET and ..DELSETELEM (nf_tables.h), and NFT_MSG_DESTROYTABLE to
/// ..DESTROYSETELEM of newer kernels.
const DELETED: [u16; 10] = [2, 5, 8, 11, 14, 26, 27, 28, 29, 30];
/// RTM_NEWLINK (rtnetlink.h), which also reports that a device is down: its IPv4 routes are deleted then, without a
/// message of their own.
const LINK: u16 = 16;
/// RTM_DELROUTE and RTM_DELRULE (rtnetlink.h).
const DELETED_ROUTE: u16 = 25;
const DELETED_RULE: u16 = 33;
/// The offset of the table's number in a message about a route, and the numbers of `default`, `main` and `local`, which
/// are not ours (rtnetlink.h). Numbers above 255 are in an attribute.
const TABLE: usize = 4;
const OTHERS: std::ops::RangeInclusive<u8> = 253..=255;

/// The header of a message: its length, then its type (RFC 3549, section 2.3.2).
const HEADER: usize = 16;
/// Messages are aligned to this many octets.
const ALIGNED: usize = 4;
/// Octets that are read at once; a change of nftables is a few hundred.
const BUFFER: usize = 64 * 1024;

/// Detects deletions that may concern one `[intercept]`, in the network namespace in which it was made.
#[derive(Debug)]
pub(crate) struct Watch {
    tables: OwnedFd,
    routing: OwnedFd,
    /// The names of the table of nftables and of the device.
    table: Vec<u8>,
    device: Vec<u8>,
    buffer: Vec<u8>,
}

impl Watch {
    /// Opens the sockets and subscribes to the messages.
    ///
    /// # Errors
    /// The kernel has no such sockets, or refuses them.
    pub(crate) fn new(intercept: &Intercept) -> io::Result<Watch> {
        let named = |name: &str| [name.as_bytes(), &[0]].concat();
        Ok(Watch {
            tables: listener(Some(NETFILTER), NFTABLES)?,
            // NETLINK_ROUTE is 0.
            routing: listener(None, ROUTING)?,
            table: named(&rules::table(intercept)),
            device: named(&intercept.device),
            buffer: vec![0; BUFFER],
        })
    }

    /// Its descriptors, readable when something has changed.
    pub(crate) fn fds(&self) -> [BorrowedFd<'_>; 2] {
        [self.tables.as_fd(), self.routing.as_fd()]
    }

    /// Reads all messages that have arrived. Returns true if something may have been deleted.
    pub(crate) fn has_heard(&mut self) -> bool {
        let Watch { tables, routing, table, device, buffer } = self;
        let names = |text: &[u8], name: &[u8]| text.windows(name.len()).any(|part| part == name);
        let tables = read(tables, buffer, |kind, text| {
            kind >> 8 == SUBSYSTEM && DELETED.contains(&(kind & 0xff)) && names(text, table)
        });
        let routing = read(routing, buffer, |kind, text| match kind {
            LINK => names(text, device),
            DELETED_ROUTE => text.get(TABLE).is_some_and(|table| !OTHERS.contains(table)),
            _ => kind == DELETED_RULE,
        });
        tables || routing
    }
}

fn listener(protocol: Option<Protocol>, groups: u32) -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)?;
    bind(&socket, &SocketAddrNetlink::new(0, groups))?;
    Ok(socket)
}

/// Reads until nothing is left. Returns true if a message is `wanted`, or if messages were lost.
fn read(socket: &OwnedFd, buffer: &mut [u8], wanted: impl Fn(u16, &[u8]) -> bool) -> bool {
    let mut heard = false;
    loop {
        match recv(socket, &mut *buffer, RecvFlags::empty()) {
            Ok((octets, _)) if octets > 0 => {
                heard |= messages(&buffer[..octets]).any(|(kind, text)| wanted(kind, text))
            }
            Err(Errno::INTR) => {}
            // The buffer of the socket has overflowed: messages were lost (netlink(7)).
            Err(Errno::NOBUFS) => heard = true,
            Ok(_) | Err(_) => return heard,
        }
    }
}

/// Returns the type and the content of each message in `octets`.
fn messages(mut octets: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let header = octets.get(..HEADER)?;
        let length = u32::from_ne_bytes(header[..4].try_into().ok()?) as usize;
        let kind = u16::from_ne_bytes(header[4..6].try_into().ok()?);
        let next = length.next_multiple_of(ALIGNED).max(HEADER).min(octets.len());
        let text = octets.get(HEADER..length).unwrap_or_default();
        octets = &octets[next..];
        Some((kind, text))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testbed::{Three, config, possible};
    use super::*;
    use crate::config::PeerDown;

    fn message(kind: u16, content: usize) -> Vec<u8> {
        let mut octets = vec![0; (HEADER + content).next_multiple_of(ALIGNED)];
        octets[..4].copy_from_slice(&((HEADER + content) as u32).to_ne_bytes());
        octets[4..6].copy_from_slice(&kind.to_ne_bytes());
        octets
    }

    #[test]
    fn every_message_is_seen() {
        let octets = [message(24, 5), message(33, 0), message(0x0a08, 40)].concat();
        let seen: Vec<(u16, usize)> = messages(&octets).map(|(kind, text)| (kind, text.len())).collect();
        assert_eq!(seen, [(24, 5), (33, 0), (0x0a08, 40)]);
    }

    proptest! {
        #[test]
        fn nothing_makes_it_go_on_for_ever(octets in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(messages(&octets).count() <= octets.len() / HEADER + 1);
        }
    }

    #[test]
    fn what_is_deleted_is_heard_of_and_what_is_added_is_not() {
        if !possible() {
            return;
        }
        let three = Three::new();
        let intercept = config(&[], PeerDown::Direct, &[]).intercept.unwrap();
        let mut watch = three.gateway.run(move || Watch::new(&intercept).unwrap());
        let mut after = |line: &str| {
            Three::output(&three.gateway, line);
            watch.has_heard()
        };
        for (table, ours) in [("cellway_gateway_hold0", true), ("cellway_gateway_hold01", false), ("others", false)] {
            assert!(!after(&format!(
                "nft 'add table inet {table}; add chain inet {table} c; add rule inet {table} c accept'"
            )));
            assert_eq!(after(&format!("nft flush chain inet {table} c")), ours);
            assert_eq!(after("nft flush ruleset"), ours);
        }
        assert!(!after("true"));
        assert!(!after("ip rule add pref 7 lookup 99; ip route add default dev lo table 99"));
        assert!(after("ip rule del pref 7"));
        assert!(after("ip route flush table 99"));
        assert!(!after("ip route add 10.5.0.0/16 via 10.0.0.2; ip route del 10.5.0.0/16; ip link set dev lan0 down"));
        assert!(after("ip link add hold0 type veth peer name other0"));
        assert!(after("ip link set hold0 up; ip link set hold0 down"));
        assert!(!after("ip -6 rule add pref 7 lookup 99"));
        assert!(after("ip -6 rule del pref 7"));
    }
}
