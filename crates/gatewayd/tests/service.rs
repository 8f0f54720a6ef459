//! The gateway as a service: with the privileges that its unit of systemd leaves it, told of by it, and beside an `nft`
//! that takes its time.
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![cfg(target_os = "linux")]

mod common;

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use cellway_sys::{Namespace, Support, support};
use rustix::process::Signal;
use socket2::Socket;

use common::pair::{Pair, Side, Wish};
use common::tcp::{PATIENCE, accept, listen, outcome, peer, received, sent, socket};
use common::world::{CLIENTS, PROHIBITED, SERVERS, UNREACHABLE, Version, World, address};
use common::{installed, one_at_a_time, possible, skip};

/// A user that no machine has.
const USER: u32 = 64_999;

/// What the unit says of `key`.
fn unit(key: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/cellway-gateway.service");
    let text = fs::read_to_string(path).unwrap();
    let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    value.unwrap_or_else(|| panic!("the unit has no {key}")).to_owned()
}

/// The words that run a program as the unit does: `setpriv`, its options.
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

/// Whether a program can be run as the unit does here; says why not.
fn can_be_less() -> bool {
    if !installed("setpriv") {
        return false;
    }
    let words = privileges();
    let mut cat = Command::new(&words[0]);
    cat.args(&words[1..]).args(["cat", "/dev/net/tun"]).env("LC_ALL", "C");
    let tried = cat.output().unwrap();
    let said = String::from_utf8_lossy(&tried.stderr).into_owned();
    // A device that was opened and belongs to nothing has nothing to read (EBADFD).
    let opened = said.contains("File descriptor in bad state");
    if !opened {
        skip(&format!("an ordinary user cannot open /dev/net/tun here: {}", said.trim()));
    }
    opened
}

fn at(version: Version, network: u8, port: u16) -> SocketAddr {
    SocketAddr::new(address(version, network, 2), port)
}

/// A connection of the client's host.
fn connect(world: &World, to: SocketAddr) -> io::Result<Socket> {
    world.client.run(move || {
        let socket = socket(to.ip());
        socket.connect(&to.into())?;
        Ok(socket)
    })
}

/// A server answers a client; the address from which it was connected to.
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

/// The networks that the kernel takes for a gateway.
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
    let _one = one_at_a_time();
    let world = World::new();
    // What the service manager is told.
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
fn a_slow_nft_holds_nobody_up() {
    if !possible("a_slow_nft_holds_nobody_up") {
        return;
    }
    let _one = one_at_a_time();
    let world = World::new();
    let folder = tempfile::tempdir().unwrap();
    let (slow, begun) = (folder.path().join("slow"), folder.path().join("begun"));
    let (script, path) = (folder.path().join("nft"), std::env::var("PATH").unwrap());
    // As long as the file is there.
    let text = format!(
        "#!/bin/sh\nPATH={path}:/usr/sbin:/sbin\nif [ -e {slow} ]; then touch {begun}; fi\n\
         while [ -e {slow} ]; do sleep 0.02; done\nexec nft \"$@\"\n",
        slow = slow.display(),
        begun = begun.display(),
    );
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let before = vec!["env".into(), format!("PATH={}:{path}", folder.path().display())];
    let mut pair = Pair::start(&world, &Wish { before, ..Wish::default() });

    fs::write(&slow, "").unwrap();
    // A reload tells the kernel again which networks are taken.
    pair.edit(Side::Near, "fd00:9:2::/64", "fd00:9:2::/65");
    pair.signal(Side::Near, Signal::HUP);
    let start = Instant::now();
    while !begun.exists() {
        assert!(start.elapsed() < PATIENCE, "nft is not asked");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    for version in [Version::V4, Version::V6] {
        exchange(&world, version);
    }
    assert_eq!(pair.number(Side::Near, "/counters/opened/intercepted"), 2);
    assert_eq!(pair.status(Side::Near).unwrap()["peers"][0]["up"], true, "its networks are taken as before");

    fs::remove_file(&slow).unwrap();
    // What was ordered before the end is done before it.
    pair.end(Side::Near);
    assert!(!taken(&world.near).contains("elements"), "{}", taken(&world.near));
    assert_eq!(pair.written(Side::Near).matches("the rules cannot follow").count(), 0);
    pair.stop();
}
