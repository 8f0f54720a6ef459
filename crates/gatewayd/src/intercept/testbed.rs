//! Three machines in namespaces: a client, a gateway that relays to itself, and a server.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use cellway_gateway::Reason;
use cellway_sys::{Namespace, Support, support};
use cellway_units::Span;
use socket2::Socket;

use super::{Hold, Listeners, Rules, Syn, connect, prepare, reason};
use crate::config::{
    Config, Connect, Control, Device, DeviceNames, Identity, Intercept, Limits, LineRate, Peer, PeerDown, RateGuard,
    Source, TransportChoice,
};
use crate::peer_id::PeerId;

/// Timeout of a test that hangs.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// The addresses of the versions of IP: client, gateway's on its side, gateway's on the other, server, and the
/// server's network.
pub(super) const ADDRESSES: [[&str; 5]; 2] = [
    ["10.0.0.2", "10.0.0.1", "10.0.1.1", "10.0.1.2", "10.0.1.0/24"],
    ["fd00::2", "fd00::1", "fd01::1", "fd01::2", "fd01::/64"],
];

/// Client, gateway and server.
pub(super) struct Three {
    pub(super) client: Namespace,
    pub(super) gateway: Namespace,
    pub(super) server: Namespace,
}

/// Returns true if these tests can run here; otherwise prints the reason.
pub(super) fn possible() -> bool {
    let why = match support() {
        Support::Direct if cellway_sys::find_program("nft").is_none() => "the program `nft` is missing".to_owned(),
        Support::Direct => return true,
        Support::UserNamespace => "network namespaces need root here".to_owned(),
        Support::Missing(missing) => missing.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
    };
    crate::skipped::skip(&why);
    false
}

impl Three {
    pub(super) fn new() -> Three {
        let [client, gateway, server] = ["client", "gateway", "server"].map(|name| Namespace::new(name).unwrap());
        let path = |namespace: &Namespace| {
            let thread = namespace.run(|| std::fs::read_link("/proc/thread-self").unwrap());
            format!("/proc/{}/ns/net", thread.display())
        };
        let lines = format!(
            "link add lan0 type veth peer name eth0 netns {}\nlink add wan0 type veth peer name eth0 netns {}\n",
            path(&client),
            path(&server)
        );
        gateway.configure(&lines).unwrap();
        // A router resolves its neighbours from a link-local address.
        let device = |name: &str, v4: &str, v6: &str| {
            format!(
                "link set {name} addrgenmode eui64\naddr add {v4}/24 dev {name}\naddr add {v6}/64 dev {name} nodad\n\
                 link set {name} up\n"
            )
        };
        let [v4, v6] = ADDRESSES;
        gateway.configure(&(device("lan0", v4[1], v6[1]) + &device("wan0", v4[2], v6[2]))).unwrap();
        for (host, own, router) in [(&client, 0, 1), (&server, 3, 2)] {
            let routes = format!("route add default via {}\nroute add ::/0 via {} dev eth0\n", v4[router], v6[router]);
            host.configure(&(device("eth0", v4[own], v6[own]) + &routes)).unwrap();
        }
        Three { client, gateway, server }
    }

    /// Returns the output of a program in a namespace, which must succeed.
    pub(super) fn output(namespace: &Namespace, line: &str) -> String {
        let line = line.to_owned();
        namespace.run(move || {
            let output = Command::new("sh").args(["-c", &line]).output().unwrap();
            assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap()
        })
    }

    /// Starts a thread in a namespace.
    pub(super) fn thread<T: Send + 'static>(
        namespace: &Namespace,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        // A thread is in the namespace of the thread that starts it.
        namespace.run(move || thread::spawn(work))
    }

    /// Connects as a client from `port` (0: any): returns the answer of the server, or the error.
    pub(super) fn ask(&self, server: SocketAddr, port: u16) -> JoinHandle<io::Result<Asked>> {
        Self::thread(&self.client, move || ask(server, port))
    }

    /// Runs a server that answers each connection with its client's address, until the end of the test.
    pub(super) fn serve(&self, address: SocketAddr) {
        let listener = self.server.run(move || TcpListener::bind(address).unwrap());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let mut question = [0; 3];
                let peer = stream.peer_addr().unwrap();
                if stream.read_exact(&mut question).is_ok() {
                    let _ = stream.write_all(peer.to_string().as_bytes());
                }
            }
        });
    }
}

/// The result of a client.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) own: SocketAddr,
    pub(super) peer: SocketAddr,
    /// Its address in the view of the server.
    pub(super) seen: SocketAddr,
}

fn ask(server: SocketAddr, port: u16) -> io::Result<Asked> {
    let domain = socket2::Domain::for_address(server);
    let socket = Socket::new(domain, socket2::Type::STREAM, None)?;
    if port != 0 {
        let any: IpAddr = if server.is_ipv4() { [0; 4].into() } else { [0u16; 8].into() };
        socket.set_reuse_address(true)?;
        socket.bind(&SocketAddr::new(any, port).into())?;
    }
    // A connection that is never answered fails in seconds.
    socket.set_tcp_user_timeout(Some(PATIENCE))?;
    socket.connect(&server.into())?;
    let mut stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(b"who")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let seen = text.parse().map_err(|_| io::Error::other(format!("the answer `{text}`")))?;
    Ok(Asked { own: stream.local_addr()?, peer: stream.peer_addr()?, seen })
}

/// Returns the address of machine `which` of [`ADDRESSES`], with a port.
pub(super) fn at(version: usize, which: usize, port: u16) -> SocketAddr {
    SocketAddr::new(ADDRESSES[version][which].parse().unwrap(), port)
}

/// Returns a configuration with one peer, which has the network of the server.
pub(super) fn config(prefixes: &[&str], down: PeerDown, interfaces: &[&str]) -> Config {
    let prefixes = prefixes.iter().map(|prefix| prefix.parse().unwrap()).collect();
    Config {
        name: "near".into(),
        identity: Identity { authority: "a".into(), certificate: "c".into(), key: "k".into() },
        listen: None,
        local: Vec::new(),
        peers: vec![Peer {
            name: "far".into(),
            address: None,
            prefixes,
            rate: LineRate::Auto { most: None },
            rate_guard: RateGuard::On,
            classes: cellway_gateway::Classes::default(),
            transport: TransportChoice::Auto,
            connect: Connect::Late,
            down,
            outage: Span::from_secs(60),
        }],
        intercept: Some(Intercept {
            interfaces: interfaces.iter().map(|&name| DeviceNames(name.into())).collect(),
            port: 5_000,
            mark: 0x6a0,
            table: 160,
            device: Device("hold0".into()),
            source: Source::Client,
        }),
        forwards: Vec::new(),
        socks: None,
        limits: Limits::default(),
        control: Control::default(),
    }
}

/// A gateway that is both sides: the test decides on SYNs.
pub(super) struct Relay {
    rules: Rules,
    intercept: Intercept,
    syns: Receiver<Syn>,
    orders: Option<Sender<Order>>,
    /// Client and server of each accepted connection.
    pub(super) accepted: Receiver<(SocketAddr, SocketAddr)>,
    thread: Option<JoinHandle<()>>,
}

enum Order {
    Release(Syn),
    Refuse(Syn, Reason),
    Pass(Syn),
    /// As a gateway does: connect, then release or refuse.
    Carry(Syn),
}

impl Relay {
    /// Starts it with rules and devices in the gateway's namespace; the peer is up.
    pub(super) fn start(three: &Three, config: &Config) -> Relay {
        let (config, intercept) = (config.clone(), config.intercept.clone().unwrap());
        let (seen, syns) = channel();
        let (orders, todo) = channel();
        let (pairs, accepted) = channel();
        let device = intercept.clone();
        let rules = three.gateway.run(move || {
            let mut rules = Rules::of(&config);
            rules.apply().unwrap();
            rules.peer(PeerId::at(0), true);
            rules.set_networks().unwrap();
            rules
        });
        let (ready, begun) = channel();
        let thread = Three::thread(&three.gateway, move || {
            let (hold, listeners) = (Hold::open(&device).unwrap(), Listeners::open(&device).unwrap());
            ready.send(()).unwrap();
            relay(hold, &listeners, &seen, &todo, &pairs);
        });
        begun.recv_timeout(PATIENCE).unwrap();
        Relay { rules, intercept, syns, orders: Some(orders), accepted, thread: Some(thread) }
    }

    pub(super) fn next_syn(&self) -> Syn {
        self.syns.recv_timeout(PATIENCE).unwrap()
    }
    pub(super) fn no_opening(&self) -> bool {
        self.syns.try_recv().is_err()
    }
    pub(super) fn release(&self, syn: Syn) {
        self.order(Order::Release(syn));
    }
    pub(super) fn refuse(&self, syn: Syn, reason: Reason) {
        self.order(Order::Refuse(syn, reason));
    }
    pub(super) fn pass(&self, syn: Syn) {
        self.order(Order::Pass(syn));
    }
    pub(super) fn carry(&self, syn: Syn) {
        self.order(Order::Carry(syn));
    }
    fn order(&self, order: Order) {
        self.orders.as_ref().unwrap().send(order).unwrap();
    }
    /// Ends the daemon: device, listeners and connections.
    pub(super) fn die(&mut self) {
        self.orders = None;
        self.thread.take().unwrap().join().unwrap();
    }
    /// Sets the peer up or down.
    pub(super) fn set_networks(&self, three: &Three, up: bool) {
        let mut rules = self.rules.clone();
        three.gateway.run(move || {
            rules.peer(PeerId::at(0), up);
            rules.set_networks().unwrap();
        });
    }
    pub(super) fn intercept(&self) -> &Intercept {
        &self.intercept
    }
}

/// Runs everything on one thread, and one more for each relayed connection.
fn relay(
    mut hold: Hold,
    listeners: &Listeners,
    seen: &Sender<Syn>,
    todo: &Receiver<Order>,
    pairs: &Sender<(SocketAddr, SocketAddr)>,
) {
    let mut onward: Vec<(Syn, Socket)> = Vec::new();
    let mut connected: Vec<(SocketAddr, Socket)> = Vec::new();
    loop {
        while let Some(syn) = hold.next().unwrap() {
            let _ = seen.send(syn);
        }
        match todo.recv_timeout(Duration::from_millis(2)) {
            Ok(Order::Release(syn)) => hold.release(&syn).unwrap(),
            Ok(Order::Refuse(syn, reason)) => hold.refuse(&syn, reason).unwrap(),
            Ok(Order::Pass(syn)) => hold.pass(&syn).unwrap(),
            Ok(Order::Carry(syn)) => match connect(Some(syn.client), syn.server) {
                Ok(socket) => onward.push((syn, socket)),
                Err(e) => hold.refuse(&syn, reason(&e)).unwrap(),
            },
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return,
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {}
        }
        for (syn, socket) in std::mem::take(&mut onward) {
            // Without a peer and without an error it is still connecting.
            match socket.take_error().unwrap() {
                Some(e) => hold.refuse(&syn, reason(&e)).unwrap(),
                None if socket.peer_addr().is_ok() => {
                    hold.release(&syn).unwrap();
                    connected.push((syn.client, socket));
                }
                None => onward.push((syn, socket)),
            }
        }
        while let Some((near, client, server)) = listeners.accept().unwrap() {
            prepare(&near, Span::from_secs(75)).unwrap();
            let _ = pairs.send((client, server));
            let far = connected.iter().position(|(of, _)| *of == client).map(|at| connected.remove(at).1);
            match far {
                Some(far) => splice(near, far),
                None => drop(near),
            }
        }
    }
}

/// Relays the bytes of both directions, then ends the connections cleanly.
fn splice(near: Socket, far: Socket) {
    let [near, far] = [near, far].map(|socket| {
        socket.set_linger(None).unwrap();
        socket.set_nonblocking(false).unwrap();
        TcpStream::from(socket)
    });
    let (near2, far2) = (near.try_clone().unwrap(), far.try_clone().unwrap());
    for (mut from, mut to) in [(near, far), (far2, near2)] {
        thread::spawn(move || {
            let _ = io::copy(&mut from, &mut to);
            let _ = to.shutdown(std::net::Shutdown::Write);
        });
    }
}

/// Waits until `condition` holds.
pub(super) fn until(mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "it does not come");
        thread::sleep(Duration::from_millis(5));
    }
}
