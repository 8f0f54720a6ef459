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
/// The groups of changes of devices, routes and routing rules, RTNLGRP_LINK, RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV4_RULE,
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
/// Most reads of a socket per pass: about as many messages as its buffer holds.
const READS: usize = 256;
/// Errors in succession after which a socket counts as unusable.
const FAILURES: u32 = 8;

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

    /// Returns its descriptors, readable when something has changed.
    pub(crate) fn fds(&self) -> [BorrowedFd<'_>; 2] {
        [self.tables.as_fd(), self.routing.as_fd()]
    }

    /// Reads the messages that have arrived; those of a burst that are left keep the descriptor readable. Returns true if
    /// something may have been deleted.
    ///
    /// # Errors
    /// A socket cannot be read any more, and would be readable for ever.
    pub(crate) fn has_deletions(&mut self) -> io::Result<bool> {
        let Watch { tables, routing, table, device, buffer } = self;
        let names = |text: &[u8], name: &[u8]| text.windows(name.len()).any(|part| part == name);
        let tables = read(receive(tables), buffer, |kind, text| {
            kind >> 8 == SUBSYSTEM && DELETED.contains(&(kind & 0xff)) && names(text, table)
        })?;
        let routing = read(receive(routing), buffer, |kind, text| match kind {
            LINK => names(text, device),
            DELETED_ROUTE => text.get(TABLE).is_some_and(|table| !OTHERS.contains(table)),
            _ => kind == DELETED_RULE,
        })?;
        Ok(tables || routing)
    }
}

fn listener(protocol: Option<Protocol>, groups: u32) -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)?;
    bind(&socket, &SocketAddrNetlink::new(0, groups))?;
    Ok(socket)
}

/// Returns a function that reads the next message of `socket` and returns its length.
fn receive(socket: &OwnedFd) -> impl FnMut(&mut [u8]) -> Result<usize, Errno> {
    move |buffer| recv(socket, buffer, RecvFlags::empty()).map(|(octets, _)| octets)
}

/// Reads until no message is left, but at most [`READS`] times. Returns true if a message is `wanted`, or if messages
/// were lost.
fn read(
    mut receive: impl FnMut(&mut [u8]) -> Result<usize, Errno>,
    buffer: &mut [u8],
    wanted: impl Fn(u16, &[u8]) -> bool,
) -> io::Result<bool> {
    let mut deleted = false;
    let mut failures = 0;
    for _ in 0..READS {
        match receive(buffer) {
            Ok(octets) => {
                failures = 0;
                deleted |= messages(&buffer[..octets]).any(|(kind, text)| wanted(kind, text));
            }
            Err(Errno::AGAIN) => break,
            Err(Errno::INTR) => {}
            // Messages were lost: the buffer of the socket has overflowed (ENOBUFS, netlink(7)), or the kernel could not
            // make one (netlink_set_err in the kernel: ENOBUFS, ENOMEM or EMSGSIZE). Reading such an error clears it.
            // One that is not cleared keeps the descriptor readable.
            Err(error) => {
                deleted = true;
                failures += 1;
                if failures == FAILURES {
                    return Err(error.into());
                }
            }
        }
    }
    Ok(deleted)
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
    use cellway_sys::{Interest, Namespace, Readiness};
    use proptest::prelude::*;
    use rustix::net::sockopt::set_socket_recv_buffer_size;

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

    /// Returns the result of [`read`], and the number of reads, for a socket that returns `results` and then the last of
    /// them again and again.
    fn read_all(results: &[Result<usize, Errno>]) -> (Result<bool, Option<i32>>, usize) {
        let mut reads = 0;
        let mut buffer = message(DELETED_RULE, 0);
        let result = read(
            |_: &mut [u8]| {
                reads += 1;
                results[(reads - 1).min(results.len() - 1)]
            },
            &mut buffer,
            |kind, _| kind == DELETED_RULE,
        );
        (result.map_err(|error| error.raw_os_error()), reads)
    }

    #[test]
    fn each_error_has_its_meaning() {
        let (again, some) = (Err(Errno::AGAIN), Ok(HEADER));
        assert_eq!(read_all(&[again]), (Ok(false), 1));
        assert_eq!(read_all(&[Ok(0), again]), (Ok(false), 2), "a message without content");
        assert_eq!(read_all(&[Err(Errno::INTR), again]), (Ok(false), 2));
        assert_eq!(read_all(&[Err(Errno::INTR), some, again]), (Ok(true), 3));
        for lost in [Errno::NOBUFS, Errno::NOMEM, Errno::MSGSIZE] {
            assert_eq!(read_all(&[Err(lost), again]), (Ok(true), 2), "{lost:?}");
            assert_eq!(read_all(&[Err(lost), Ok(0), again]), (Ok(true), 3), "{lost:?}: the messages after it are read");
        }
    }

    #[test]
    fn no_socket_is_read_for_ever() {
        assert_eq!(read_all(&[Err(Errno::ACCESS)]), (Err(Some(Errno::ACCESS.raw_os_error())), FAILURES as usize));
        assert_eq!(read_all(&[Err(Errno::INTR)]), (Ok(false), READS));
        assert_eq!(read_all(&[Ok(HEADER)]), (Ok(true), READS));
        // Errors with messages between them are no persistent ones.
        let errors = [[Err(Errno::NOBUFS); FAILURES as usize - 1]; 3];
        let mixed = errors.map(|errors| [&errors[..], &[Ok(0)]].concat()).concat();
        assert_eq!(read_all(&[&mixed[..], &[Err(Errno::AGAIN)]].concat()), (Ok(true), 3 * FAILURES as usize + 1));
    }

    /// Returns true if `fd` is ready, as the daemon's loop sees it.
    fn is_ready(fd: BorrowedFd<'_>) -> bool {
        let (mut readiness, mut ready) = (Readiness::new().unwrap(), Vec::new());
        readiness.add(fd, 1, Interest::Read).unwrap();
        readiness.wait(Some(0), &mut ready).unwrap();
        !ready.is_empty()
    }

    #[test]
    fn after_an_overflow_it_is_read_to_the_end() {
        if !possible() {
            return;
        }
        // In a namespace without devices that change by themselves.
        let empty = Namespace::new("empty").unwrap();
        let intercept = config(&[], PeerDown::Direct, &[]).intercept.unwrap();
        let mut watch = empty.run(move || Watch::new(&intercept).unwrap());
        set_socket_recv_buffer_size(&watch.routing, 1).unwrap();
        assert!(!watch.fds().into_iter().any(is_ready));
        // None of these messages is wanted: only the loss counts.
        Three::output(&empty, "for n in $(seq 60); do ip rule add pref $n lookup 99; done");
        assert!(watch.fds().into_iter().any(is_ready));
        assert!(watch.has_deletions().unwrap(), "messages were lost");
        assert!(!watch.fds().into_iter().any(is_ready), "the error is cleared");
        Three::output(&empty, "ip rule add pref 70 lookup 99");
        assert!(!watch.has_deletions().unwrap());
        Three::output(&empty, "ip rule del pref 70");
        assert!(watch.has_deletions().unwrap());
    }

    #[test]
    fn deletions_are_reported_and_additions_are_not() {
        if !possible() {
            return;
        }
        let three = Three::new();
        let intercept = config(&[], PeerDown::Direct, &[]).intercept.unwrap();
        let mut watch = three.gateway.run(move || Watch::new(&intercept).unwrap());
        let mut after = |line: &str| {
            Three::output(&three.gateway, line);
            watch.has_deletions().unwrap()
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
