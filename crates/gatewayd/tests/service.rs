//! The gateway as a service: with the privileges of its unit of systemd, with notifications, and with a slow `nft`.
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![cfg(target_os = "linux")]

mod common;
#[path = "service/drain.rs"]
mod drain;

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use cellway_sys::{Namespace, Support, support};
use rustix::event::PollFlags;
use rustix::process::Signal;
use socket2::Socket;
use tempfile::TempDir;

use common::pair::{Pair, Side, Wish};
use common::tcp::{PATIENCE, accept, listen, outcome, peer, ready, received, sent, socket};
use common::world::{CLIENTS, PROHIBITED, SERVERS, UNREACHABLE, Version, World, address};
use common::{installed, possible, skip, turn, until};

/// An unused user.
const USER: u32 = 64_999;

/// Returns the value of `key` in the unit.
fn unit(key: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/cellway-gateway.service");
    let text = fs::read_to_string(path).unwrap();
    let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    value.unwrap_or_else(|| panic!("the unit has no {key}")).to_owned()
}

/// Returns the words that run a program with the privileges of the unit: `setpriv`, its options.
fn privileges() -> Vec<String> {
    let these = |key: &str| {
        let names = unit(key).to_lowercase().replace("cap_", "+");
        format!("-all,{}", names.split(' ').collect::<Vec<_>>().join(","))
    };
    let (ambient, bounding) = (these("AmbientCapabilities"), these("CapabilityBoundingSet"));
    assert_eq!(unit("NoNewPrivileges"), "yes");
    ["setpriv", "--clear-groups", "--no-new-privs", "--pdeathsig=keep"]
        .map(str::to_owned)
        .into_iter()
        .chain([format!("--reuid={USER}"), format!("--regid={USER}"), format!("--inh-caps={ambient}")])
        .chain([format!("--ambient-caps={ambient}"), format!("--bounding-set={bounding}")])
        .collect()
}

/// Returns true if a program can be run with these privileges here; otherwise prints the reason.
fn can_be_less() -> bool {
    if !installed("setpriv") {
        return false;
    }
    let words = privileges();
    let mut cat = Command::new(&words[0]);
    cat.args(&words[1..]).args(["cat", "/dev/net/tun"]).env("LC_ALL", "C");
    let tried = cat.output().unwrap();
    let said = String::from_utf8_lossy(&tried.stderr).into_owned();
    // A device that was opened and is attached to none has nothing to read (EBADFD).
    let opened = said.contains("File descriptor in bad state");
    if !opened {
        skip(&format!("an ordinary user cannot open /dev/net/tun here: {}", said.trim()));
    }
    opened
}

fn at(version: Version, network: u8, port: u16) -> SocketAddr {
    SocketAddr::new(address(version, network, 2), port)
}

/// Connects from the client's host.
fn connect(world: &World, to: SocketAddr) -> io::Result<Socket> {
    world.client.run(move || {
        let socket = socket(to.ip());
        socket.connect(&to.into())?;
        Ok(socket)
    })
}

/// Lets a server answer a client. Returns the source address of the connection at the server.
fn exchange(world: &World, version: Version) -> SocketAddr {
    let (listener, server) = world.server.run(move || listen(at(version, SERVERS, 0), 8));
    let client = connect(world, server).unwrap();
    let host = accept(&listener).unwrap();
    assert_eq!(sent(&client, 1, 1000), "send: 1000 B");
    assert_eq!(received(&host, 1, 1000), "recv: 1000 B");
    assert_eq!(sent(&host, 2, 1000), "send: 1000 B");
    assert_eq!(received(&client, 2, 1000), "recv: 1000 B");
    peer(&host).unwrap()
}

/// Returns the networks that the kernel intercepts for a gateway.
fn taken(namespace: &Namespace) -> String {
    namespace.run(|| {
        let nft = Command::new("nft").args(["list", "set", "inet", "cellway_gateway_cellway0", "taken4"]).output();
        let nft = nft.unwrap();
        assert!(nft.status.success(), "{}", String::from_utf8_lossy(&nft.stderr));
        String::from_utf8(nft.stdout).unwrap()
    })
}

#[test]
fn the_privileges_of_the_unit_are_enough() {
    match support() {
        Support::Direct => {}
        Support::UserNamespace => return skip("another user is needed, and here is only one"),
        Support::Missing(missing) => return skip(&cellway_sys::SysError::Unsupported(missing).to_string()),
    }
    if !installed("nft") || !can_be_less() {
        return;
    }
    let _turn = turn();
    let world = World::new();
    // The notifications of the service manager.
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let path = folder.path().join("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let environment = ["env".into(), format!("NOTIFY_SOCKET={}", path.display()), "WATCHDOG_USEC=1000000".into()];
    let before = environment.into_iter().chain(privileges()).collect();
    let mut pair = Pair::start(&world, &Wish { before, owner: Some(USER), ..Wish::default() });

    for side in Side::BOTH {
        let status = fs::read_to_string(format!("/proc/{}/status", pair.daemon(side).id())).unwrap();
        let of = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap();
            line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(of("Uid:"), [USER.to_string(), USER.to_string(), USER.to_string(), USER.to_string()]);
        // Bits 12 and 13: CAP_NET_ADMIN, CAP_NET_RAW (capability.h).
        for set in ["CapEff:", "CapPrm:", "CapBnd:"] {
            assert_eq!(of(set), ["0000000000003000"], "{set}");
        }
        assert_eq!(of("NoNewPrivs:"), ["1"]);
    }
    for version in [Version::V4, Version::V6] {
        assert_eq!(exchange(&world, version).ip(), address(version, CLIENTS, 2), "the client's address");
        let refused = connect(&world, at(version, SERVERS, 9));
        assert_eq!(outcome(&refused), "ECONNREFUSED");
        let unreachable = connect(&world, at(version, UNREACHABLE, 9));
        assert_eq!(outcome(&unreachable), if version == Version::V4 { "EHOSTUNREACH" } else { "ENETUNREACH" });
        let prohibited = connect(&world, at(version, PROHIBITED, 9));
        assert_eq!(outcome(&prohibited), if version == Version::V4 { "EHOSTUNREACH" } else { "EACCES" });
    }
    assert_eq!(pair.number(Side::Near, "/counters/opened/intercepted"), 8);
    assert_eq!(pair.number(Side::Near, "/counters/refused/refused"), 2);

    let mut told = Vec::new();
    let count = |told: &[String], line: &str| told.iter().filter(|one| *one == line).count();
    let start = Instant::now();
    while count(&told, "READY=1") < 2 || count(&told, "WATCHDOG=1") < 4 {
        assert!(start.elapsed() < PATIENCE, "{told:?}");
        let mut buffer = [0; 4096];
        let octets = manager.recv(&mut buffer).unwrap();
        told.extend(String::from_utf8_lossy(&buffer[..octets]).lines().map(str::to_owned));
    }

    assert!(taken(&world.near).contains("10.9.2.0"), "{}", taken(&world.near));
    pair.end(Side::Near);
    assert!(!taken(&world.near).contains("elements"), "{}", taken(&world.near));
    pair.stop();
}

#[test]
fn upgrades_in_a_row_do_not_let_the_watchdog_expire() {
    if !possible("upgrades_in_a_row_do_not_let_the_watchdog_expire") {
        return;
    }
    let _turn = turn();
    let world = World::new();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    // The first message of the timer is sent after 50 s, later than all upgrades.
    let before = vec!["env".into(), format!("NOTIFY_SOCKET={}", path.display()), "WATCHDOG_USEC=100000000".into()];
    let pair = Pair::start(&world, &Wish { before, ..Wish::default() });
    for _ in 0..2 {
        let output = pair.command(Side::Near, "upgrade");
        assert!(output.status.success(), "{output:?}");
    }
    // Both gateways when they start, and the two next programs.
    for _ in 0..4 {
        let mut buffer = [0; 4096];
        let octets = manager.recv(&mut buffer).unwrap();
        let message = String::from_utf8_lossy(&buffer[..octets]);
        let lines: Vec<&str> = message.lines().collect();
        assert_eq!(lines, ["READY=1", "WATCHDOG=1"]);
    }
    pair.stop();
}

/// An `nft` that waits as long as the test requires.
struct Slow {
    folder: TempDir,
    path: String,
}

impl Slow {
    fn new() -> Slow {
        let slow = Slow { folder: tempfile::tempdir().unwrap(), path: std::env::var("PATH").unwrap() };
        let text = format!(
            "#!/bin/sh\nPATH={path}:/usr/sbin:/sbin\nif [ -e {slow} ]; then touch {begun}; fi\n\
             while [ -e {slow} ]; do sleep 0.02; done\nexec nft \"$@\"\n",
            path = slow.path,
            slow = slow.file("slow").display(),
            begun = slow.file("begun").display(),
        );
        fs::write(slow.file("nft"), text).unwrap();
        fs::set_permissions(slow.file("nft"), fs::Permissions::from_mode(0o755)).unwrap();
        slow
    }
    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
    /// Returns the words that run a daemon with it.
    fn before(&self) -> Vec<String> {
        vec!["env".into(), format!("PATH={}:{}", self.folder.path().display(), self.path)]
    }
    /// Makes it wait from now on.
    fn begin(&self) {
        fs::write(self.file("slow"), "").unwrap();
    }
    /// Waits until it was called and waits.
    fn wait(&self) {
        let start = Instant::now();
        while !self.file("begun").exists() {
            assert!(start.elapsed() < PATIENCE, "nft is not asked");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    /// Lets it continue.
    fn end(&self) {
        fs::remove_file(self.file("slow")).unwrap();
    }
}

#[test]
fn a_slow_nft_delays_no_connection() {
    if !possible("a_slow_nft_delays_no_connection") {
        return;
    }
    let _turn = turn();
    let world = World::new();
    let slow = Slow::new();
    let mut pair = Pair::start(&world, &Wish { before: slow.before(), ..Wish::default() });

    slow.begin();
    // A reload sets the intercepted networks again.
    pair.edit(Side::Near, "fd00:9:2::/64", "fd00:9:2::/65");
    pair.signal(Side::Near, Signal::HUP);
    slow.wait();
    for version in [Version::V4, Version::V6] {
        exchange(&world, version);
    }
    assert_eq!(pair.number(Side::Near, "/counters/opened/intercepted"), 2);
    assert_eq!(pair.status(Side::Near).unwrap()["peers"][0]["up"], true, "its networks are taken as before");

    slow.end();
    // Orders before the end are executed before it.
    pair.end(Side::Near);
    assert!(!taken(&world.near).contains("elements"), "{}", taken(&world.near));
    assert_eq!(pair.written(Side::Near).matches("the rules cannot follow").count(), 0);
    pair.stop();
}

#[test]
fn a_syn_that_arrives_while_a_peer_is_lost_is_retransmitted_and_passes() {
    if !possible("a_syn_that_arrives_while_a_peer_is_lost_is_retransmitted_and_passes") {
        return;
    }
    let _turn = turn();
    let world = World::new();
    let slow = Slow::new();
    let wish = Wish { before: slow.before(), peer: "outage = \"1 s\"".into(), ..Wish::default() };
    let mut pair = Pair::start(&world, &wish);
    let (listener, server) = world.server.run(|| listen(at(Version::V4, SERVERS, 0), 8));
    slow.begin();
    pair.kill(Side::Far);
    // Nothing has arrived from it for a second, and the kernel still intercepts its networks. Before that, `nft` may
    // have been started to check the rules.
    slow.wait();
    until("the far gateway is lost", || pair.number(Side::Near, "/peers/0/downs") == 1);
    let client = world.client.run(move || {
        let socket = socket(server.ip());
        socket.set_nonblocking(true).unwrap();
        assert_eq!(outcome(&socket.connect(&server.into())), "EINPROGRESS");
        socket
    });
    slow.end();
    assert!(accept(&listener).is_ok() && ready(&client, PollFlags::OUT, PATIENCE));
    assert_eq!(client.take_error().unwrap().map(|error| error.to_string()), None);
    assert_eq!(pair.number(Side::Near, "/counters/refused/peer-lost"), 0);
    pair.stop();
}
