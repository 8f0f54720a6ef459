//! The resolver of programs behind a path to the network of this machine: `resolv.conf(5)`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};

/// The port of DNS.
pub(crate) const PORT: u16 = 53;

/// The resolvers that a `resolv.conf` names, as they are reached from behind the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resolver {
    /// As the file names them.
    AsNamed,
    /// Through the path, with another file: the one of the machine also names some that are out of reach.
    Through(String),
    /// At this address, which only this machine itself can reach, such as a loopback address.
    Local(SocketAddr),
}

impl Resolver {
    /// Returns the resolver for the content of `/etc/resolv.conf`. IPv6 addresses are out of reach unless `ipv6`.
    pub(crate) fn of(file: &str, ipv6: bool) -> Resolver {
        let named: Vec<&str> = file.lines().filter_map(server).collect();
        let is_reached = |name: &&str| name.parse().is_ok_and(|address| is_reached(address, ipv6));
        match named.iter().filter(|name| is_reached(name)).count() {
            0 => Resolver::Local(named.into_iter().find_map(address).unwrap_or((Ipv4Addr::LOCALHOST, PORT).into())),
            reached if reached == named.len() => Resolver::AsNamed,
            _ => Resolver::Through(without(file, |name| !is_reached(&name))),
        }
    }

    /// Returns the content of the file for programs behind the path, if it is another one than that of the machine.
    /// `far` is the far end of the path, which forwards look-ups to a local resolver.
    pub(crate) fn file(&self, machine: &str, far: Ipv4Addr) -> Option<String> {
        match self {
            Resolver::AsNamed => None,
            Resolver::Through(file) => Some(file.clone()),
            // Search domains and options stay.
            Resolver::Local(_) => Some(format!("nameserver {far}\n{}", without(machine, |_| true))),
        }
    }
}

/// Returns the server that a line names.
fn server(line: &str) -> Option<&str> {
    let mut words = line.split_ascii_whitespace();
    words.next().filter(|&word| word == "nameserver").and(words.next())
}

/// Returns the lines of a file except those with servers that `is_left_out` selects.
fn without(file: &str, is_left_out: impl Fn(&str) -> bool) -> String {
    let kept = file.lines().filter(|line| !server(line).is_some_and(&is_left_out));
    kept.map(|line| format!("{line}\n")).collect()
}

fn is_reached(address: IpAddr, ipv6: bool) -> bool {
    match address {
        IpAddr::V4(v4) => !v4.is_loopback() && !v4.is_unspecified() && !v4.is_link_local(),
        IpAddr::V6(v6) => ipv6 && !v6.is_loopback() && !v6.is_unspecified() && !v6.is_unicast_link_local(),
    }
}

/// Returns the address of a server; one of IPv6 may have a zone, as in `fe80::1%eth0`.
fn address(name: &str) -> Option<SocketAddr> {
    match name.split_once('%') {
        None => Some(SocketAddr::new(name.parse().ok()?, PORT)),
        // An address that parses is not looked up.
        Some((address, _)) => address.parse::<IpAddr>().ok().and_then(|_| (name, PORT).to_socket_addrs().ok()?.next()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAR: Ipv4Addr = Ipv4Addr::new(100, 68, 0, 2);

    #[test]
    fn servers_that_the_path_reaches_are_kept() {
        let plain = "nameserver 192.0.2.53\nsearch example.org\n";
        assert_eq!(Resolver::of(plain, false), Resolver::AsNamed);
        assert_eq!(Resolver::AsNamed.file(plain, FAR), None);
        let mixed = "# two\nnameserver 127.0.0.1\nnameserver 192.0.2.53\noptions edns0\n";
        let through = Resolver::of(mixed, true);
        assert_eq!(through.file(mixed, FAR).unwrap(), "# two\nnameserver 192.0.2.53\noptions edns0\n");
        let six = "nameserver 2001:db8::1\nnameserver 192.0.2.53\n";
        assert_eq!(Resolver::of(six, true), Resolver::AsNamed);
        assert_eq!(Resolver::of(six, false).file(six, FAR).unwrap(), "nameserver 192.0.2.53\n");
    }

    #[test]
    fn local_servers_are_reached_by_the_far_end() {
        let stub = "nameserver 127.0.0.53\noptions edns0 trust-ad\nsearch lan\n";
        let found = Resolver::of(stub, true);
        assert_eq!(found, Resolver::Local("127.0.0.53:53".parse().unwrap()));
        assert_eq!(found.file(stub, FAR).unwrap(), "nameserver 100.68.0.2\noptions edns0 trust-ad\nsearch lan\n");
        // Without a line the resolver is that of this machine.
        for none in ["", "nameserver\n", "nameserver ns.example.org\n"] {
            assert_eq!(Resolver::of(none, true), Resolver::Local("127.0.0.1:53".parse().unwrap()), "{none}");
        }
        assert_eq!(Resolver::of("nameserver 2001:db8::1", false), Resolver::Local("[2001:db8::1]:53".parse().unwrap()));
        assert_eq!(Resolver::of("nameserver ::1", true), Resolver::Local("[::1]:53".parse().unwrap()));
        let zone = Resolver::of("nameserver fe80::1%lo", true);
        assert!(matches!(zone, Resolver::Local(SocketAddr::V6(address)) if address.scope_id() > 0), "{zone:?}");
    }
}
