//! The network: client - near gateway - far gateway - server, each a namespace, IPv4 and IPv6.
//!
//! ```text
//! client .2 --- 10.9.1.0/24 --- .1 near .1 --- 10.9.0.0/24 --- .2 far .1 --- 10.9.2.0/24 --- .2 server
//! ```
//! IPv6 alike with `fd00:9:N::/64`. The gateways are plain routers until daemons run in them. Behind the far one are
//! networks that cannot be reached, each for another reason, and behind the server, which routes as well, two more:
//! their ICMP errors are those of a router that is no gateway.
//!
//! The path can have a router in the middle ([`World::routed`]). The far gateway keeps its address.
//!
//! ```text
//! near .1 --- 10.9.0.0/24 --- .3 middle .3 --- 10.9.8.0/24 --- .2 (and 10.9.0.2) far
//! ```

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use cellway_sys::Namespace;

/// The version of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    V4,
    V6,
}

/// Networks by number: `10.9.N.0/24` and `fd00:9:N::/64`.
pub(crate) const LINE: u8 = 0;
pub(crate) const CLIENTS: u8 = 1;
pub(crate) const SERVERS: u8 = 2;
/// The far gateway has no route to it.
pub(crate) const NO_ROUTE: u8 = 3;
/// The far gateway has a route of the type `unreachable` to it.
pub(crate) const UNREACHABLE: u8 = 4;
/// The far gateway has a route of the type `prohibit` to it.
pub(crate) const PROHIBITED: u8 = 5;
/// The router behind the far gateway has no route to it.
pub(crate) const NO_ROUTE_BEYOND: u8 = 6;
/// The router behind the far gateway has a route of the type `prohibit` to it.
pub(crate) const PROHIBITED_BEYOND: u8 = 7;
/// The part of the path after its middle, if it has one.
pub(crate) const LINE_BEYOND: u8 = 8;
/// All networks behind the far gateway.
pub(crate) const FAR: [u8; 6] = [SERVERS, NO_ROUTE, UNREACHABLE, PROHIBITED, NO_ROUTE_BEYOND, PROHIBITED_BEYOND];

/// Returns host `host` of network `network`.
pub(crate) fn address(version: Version, network: u8, host: u8) -> IpAddr {
    match version {
        Version::V4 => Ipv4Addr::new(10, 9, network, host).into(),
        Version::V6 => Ipv6Addr::new(0xfd00, 9, network.into(), 0, 0, 0, 0, host.into()).into(),
    }
}

/// Returns a network with its length.
pub(crate) fn prefix(version: Version, network: u8) -> String {
    let length = match version {
        Version::V4 => 24,
        Version::V6 => 64,
    };
    format!("{}/{length}", address(version, network, 0))
}

/// The namespaces.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) client: Namespace,
    pub(crate) near: Namespace,
    /// The router in the middle of the line, if there is one.
    pub(crate) middle: Option<Namespace>,
    pub(crate) far: Namespace,
    pub(crate) server: Namespace,
}

impl World {
    /// Creates the network, with plain routers in place of gateways.
    pub(crate) fn new() -> World {
        World::build(None)
    }

    /// Creates it with a router in the middle of the path. The link after that carries packets of at most `mtu` octets.
    pub(crate) fn routed(mtu: u32) -> World {
        World::build(Some(mtu))
    }

    fn build(routed: Option<u32>) -> World {
        let new = |name: &str| {
            let namespace = Namespace::new(name).unwrap();
            for (key, value) in [
                // Every ICMP error is sent, without a rate limit.
                ("net/ipv4/icmp_ratelimit", "0"),
                ("net/ipv6/icmp/ratelimit", "0"),
                // A host does not keep metrics of the last connection.
                ("net/ipv4/tcp_no_metrics_save", "1"),
                // As the guide recommends for a gateway: a router looks up sockets after it has routed.
                ("net/ipv4/tcp_early_demux", "0"),
            ] {
                namespace.set(key, value).unwrap();
            }
            namespace
        };
        let [client, near, far, server] = ["client", "near", "far", "server"].map(new);
        let world = World { client, near, middle: routed.map(|_| new("middle")), far, server };
        world.join(&world.near, "clients", 1, &world.client, "eth0", 2, CLIENTS);
        // The routes to the clients, from the far gateway, and away from them, from the near one.
        let (back, onward) = match (&world.middle, routed) {
            (Some(middle), Some(mtu)) => {
                world.join(&world.near, "line", 1, middle, "near", 3, LINE);
                world.join(middle, "far", 3, &world.far, "line", 2, LINE_BEYOND);
                world.lengthen(middle, mtu);
                ((LINE_BEYOND, 3), (LINE, 3))
            }
            _ => {
                world.join(&world.near, "line", 1, &world.far, "line", 2, LINE);
                ((LINE, 1), (LINE, 2))
            }
        };
        world.join(&world.far, "servers", 1, &world.server, "eth0", 2, SERVERS);
        for version in [Version::V4, Version::V6] {
            let at = |network, host| address(version, network, host);
            let net = |network| prefix(version, network);
            world.client.configure(&format!("route add default via {}", at(CLIENTS, 1))).unwrap();
            world.near.configure(&format!("route add default via {}", at(onward.0, onward.1))).unwrap();
            let mut far = format!("route add {} via {}\n", net(CLIENTS), at(back.0, back.1));
            far += &format!("route add unreachable {}\nroute add prohibit {}\n", net(UNREACHABLE), net(PROHIBITED));
            for network in [NO_ROUTE_BEYOND, PROHIBITED_BEYOND] {
                far += &format!("route add {} via {}\n", net(network), at(SERVERS, 2));
            }
            world.far.configure(&far).unwrap();
            let mut server = String::new();
            for network in [LINE, CLIENTS] {
                server += &format!("route add {} via {}\n", net(network), at(SERVERS, 1));
            }
            server += &format!("route add prohibit {}\n", net(PROHIBITED_BEYOND));
            world.server.configure(&server).unwrap();
        }
        world
    }

    /// Adds the routes through the middle, and the far gateway's address on the near side of it.
    fn lengthen(&self, middle: &Namespace, mtu: u32) {
        middle.configure(&format!("link set dev far mtu {mtu}")).unwrap();
        self.far.configure(&format!("link set dev line mtu {mtu}")).unwrap();
        for version in [Version::V4, Version::V6] {
            let at = |network, host| address(version, network, host);
            let far = format!("{}/{}", at(LINE, 2), if version == Version::V4 { 32 } else { 128 });
            let nodad = if version == Version::V4 { "" } else { " nodad" };
            let back = format!("route add {} via {}\n", prefix(version, LINE), at(LINE_BEYOND, 3));
            self.far.configure(&format!("address add {far} dev line{nodad}\n{back}")).unwrap();
            self.near.configure(&format!("route add {far} via {}", at(LINE, 3))).unwrap();
            let mut lines = format!("route add {far} via {}\n", at(LINE_BEYOND, 2));
            lines += &format!("route add {} via {}\n", prefix(version, CLIENTS), at(LINE, 1));
            lines += &format!("route add default via {}\n", at(LINE_BEYOND, 2));
            middle.configure(&lines).unwrap();
        }
    }

    /// Connects two namespaces by a cable, with addresses in `network`.
    #[allow(clippy::too_many_arguments, reason = "two ends of three things each")]
    fn join(&self, a: &Namespace, device_a: &str, host_a: u8, b: &Namespace, device_b: &str, host_b: u8, network: u8) {
        let thread = b.run(|| rustix::thread::gettid().as_raw_nonzero());
        a.configure(&format!("link add {device_a} type veth peer name {device_b} netns {thread}")).unwrap();
        for (namespace, device, host) in [(a, device_a, host_a), (b, device_b, host_b)] {
            let [v4, v6] = [Version::V4, Version::V6].map(|version| address(version, network, host));
            let mut lines = format!("link set dev {device} up\n");
            lines += &format!("address add {v4}/24 dev {device}\naddress add {v6}/64 dev {device} nodad\n");
            // A router resolves a neighbour from its link-local address.
            lines += &format!("address add fe80::{host}/64 dev {device} nodad\n");
            namespace.configure(&lines).unwrap();
            // The resolution of an unused address fails after a third of a second.
            for version in ["ipv4", "ipv6"] {
                let key = |key: &str| format!("net/{version}/neigh/{device}/{key}");
                namespace.set(&key("mcast_solicit"), "1").unwrap();
                namespace.set(&key("retrans_time_ms"), "300").unwrap();
            }
        }
    }

    /// Drops all TCP at the near gateway that is not relayed, as long as the result exists.
    pub(crate) fn carried_only(&self) -> Filter<'_> {
        let passes = "meta l4proto tcp iifname { clients, line } oifname { clients, line } drop";
        Filter::new(&self.near, "forward", passes)
    }

    /// Returns the name of the owner of an address.
    pub(crate) fn who(address: IpAddr) -> String {
        for version in [Version::V4, Version::V6] {
            for (network, host, name) in [
                (CLIENTS, 2, "the client's"),
                (SERVERS, 2, "the server's"),
                (CLIENTS, 1, "the near gateway's"),
                (LINE, 1, "the near gateway's"),
                (LINE, 2, "the far gateway's"),
                (SERVERS, 1, "the far gateway's"),
            ] {
                if self::address(version, network, host) == address {
                    return name.into();
                }
            }
        }
        address.to_string()
    }
}

/// Starts `work` on a thread in `namespace`.
pub(crate) fn start<T: Send + 'static>(
    namespace: &Namespace,
    work: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    // A thread begins in the namespace of its creator.
    namespace.run(move || thread::spawn(work))
}

/// Rules of nftables in a namespace, removed when dropped.
#[derive(Debug)]
pub(crate) struct Filter<'a> {
    namespace: &'a Namespace,
    table: String,
}

impl<'a> Filter<'a> {
    /// Adds `rule` to a chain at `hook` (`input`, `output` or `forward`), in its own table.
    pub(crate) fn new(namespace: &'a Namespace, hook: &str, rule: &str) -> Filter<'a> {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        let table = format!("test_{}", NUMBERS.fetch_add(1, Ordering::Relaxed));
        let chain = format!("chain {hook} {{ type filter hook {hook} priority 0; policy accept; {rule}\n }}");
        nft(namespace, &format!("table inet {table} {{ {chain}\n }}\n"));
        Filter { namespace, table }
    }
}

impl Drop for Filter<'_> {
    fn drop(&mut self) {
        nft(self.namespace, &format!("delete table inet {}\n", self.table));
    }
}

/// Passes `text` to `nft` in a namespace.
pub(crate) fn nft(namespace: &Namespace, text: &str) {
    let text = text.to_owned();
    namespace.run(move || {
        let mut nft = Command::new("nft");
        nft.args(["-f", "-"]).stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut child = nft.spawn().unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{text}: {}", String::from_utf8_lossy(&output.stderr));
    });
}
