//! Namespaces, TUN devices and programs on the real kernel. Skipped with the reason if it does not allow them.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod bridge;
mod common;

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bridge::{Bridge, HEADER};
use cellway_emu::sys::{Group, Interest, Namespace, Prefix, Readiness, SysError, Tun, TunConfig, now_ns};
use common::{possible, skip};

fn prefix(text: &str) -> Prefix {
    text.parse().unwrap()
}

fn host(name: &str, number: u8, mtu: u32) -> (Namespace, Tun) {
    let namespace = Namespace::new(name).unwrap();
    let config = TunConfig::new("cell0", mtu)
        .address(prefix(&format!("10.9.0.{number}/24")))
        .address(prefix(&format!("fd00:9::{number}/64")));
    let tun = Tun::open(&namespace, &config).unwrap();
    (namespace, tun)
}

#[test]
fn two_namespaces_exchange_octets_through_two_devices() {
    if !possible("two_namespaces_exchange_octets_through_two_devices") {
        return;
    }
    let (client, near) = host("client", 1, 1500);
    let (server, far) = host("server", 2, 1500);
    let bridge = Bridge::start(near, far);
    let mut no_ping = false;
    for target in ["10.9.0.2", "fd00:9::2"] {
        let mut ping = Command::new("ping");
        ping.args(["-c", "2", "-i", "0.2", "-W", "5", target]).stdout(Stdio::piped());
        match client.spawn(ping, Group::Own) {
            Ok(mut ping) => {
                let mut said = String::new();
                ping.take_stdout().unwrap().read_to_string(&mut said).unwrap();
                assert!(ping.wait().unwrap().success(), "{said}");
                assert!(said.contains("2 received"), "{said}");
            }
            Err(SysError::Program { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                no_ping = true;
            }
            Err(e) => panic!("{e}"),
        }
    }
    for target in ["10.9.0.2", "fd00:9::2"] {
        let address = SocketAddr::new(target.parse::<IpAddr>().unwrap(), 0);
        transfer(&client, &server, address, 4 << 20);
    }
    let seen = bridge.stop();
    assert!(seen.segments > 0, "the kernel left the cutting to us: {seen:?}");
    assert!(seen.largest > 1500 + HEADER, "{seen:?}");
    if no_ping {
        skip("the program `ping` is missing (package iputils-ping); all but that was tested");
    }
}

/// Sends `octets` distinguishable octets from the client to the server and checks them.
fn transfer(client: &Namespace, server: &Namespace, address: SocketAddr, octets: usize) {
    let listener = server.run(move || TcpListener::bind(address)).unwrap();
    let address = listener.local_addr().unwrap();
    let receiver = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        all
    });
    let mut stream = client.run(move || TcpStream::connect_timeout(&address, Duration::from_secs(10))).unwrap();
    let sent: Vec<u8> = (0..octets).map(|i| (i.wrapping_mul(2_654_435_761) >> 16) as u8).collect();
    stream.write_all(&sent).unwrap();
    drop(stream);
    assert!(receiver.join().unwrap() == sent, "the octets that came are not those that went");
}

#[test]
fn a_fresh_device_is_quiet_and_set_up() {
    if !possible("a_fresh_device_is_quiet_and_set_up") {
        return;
    }
    let (namespace, tun) = host("quiet", 1, 9180);
    assert_eq!((tun.name(), tun.mtu()), ("cell0", 9180));
    let mut set = Readiness::new().unwrap();
    set.add(tun.as_fd(), 0, Interest::Read).unwrap();
    let mut ready = Vec::new();
    set.wait(Some(now_ns() + 300_000_000), &mut ready).unwrap();
    let mut buffer = vec![0; Tun::LARGEST];
    let packet = tun.read(&mut buffer).unwrap();
    assert!(ready.is_empty() && packet.is_none(), "{:x?}", &buffer[..packet.unwrap_or(0)]);
    assert!(tun.write(&[0; 4]).is_err(), "shorter than a header");
    assert_eq!(namespace.refused(), [""; 0]);
    for (key, value) in [
        ("net/ipv4/ip_forward", "1"),
        ("net/ipv6/conf/all/forwarding", "1"),
        ("net/ipv4/conf/cell0/rp_filter", "0"),
        ("net/ipv6/conf/all/accept_dad", "0"),
    ] {
        assert_eq!(namespace.get(key).unwrap(), value, "{key}");
    }
    let groups = namespace.get("net/ipv4/ping_group_range").unwrap();
    // In a user namespace there is no group but 0.
    assert!(["0\t2147483647", "0\t0"].contains(&&groups[..]), "{groups}");
    for key in ["net/ipv4/tcp_rmem", "net/ipv4/tcp_wmem"] {
        assert!(namespace.get(key).unwrap().ends_with("67108864"), "{key}");
    }
    let links = namespace.run(|| Command::new("ip").args(["-d", "link", "show", "cell0"]).output().unwrap().stdout);
    let links = String::from_utf8(links).unwrap();
    for word in ["mtu 9180", "qlen 1000", "vnet_hdr on", "UP"] {
        assert!(links.contains(word), "{word}: {links}");
    }
    drop(tun);
    let there =
        || namespace.run(|| Command::new("ip").args(["link", "show", "cell0"]).output().unwrap().status.success());
    // Another test may be between fork and exec, with a copy of the descriptor.
    let start = Instant::now();
    while there() {
        assert!(start.elapsed() < Duration::from_secs(10), "a closed device is removed");
    }
}

#[test]
fn refusals_name_the_refused_value() {
    if !possible("refusals_name_the_refused_value") {
        return;
    }
    let namespace = Namespace::new("strict").unwrap();
    let error = namespace.configure("link set dev lo up\nroute add 10.0.0.0/8 via 10.9.9.9").unwrap_err().to_string();
    assert!(error.contains("`strict`") && error.contains("`ip route add 10.0.0.0/8 via 10.9.9.9`"), "{error}");
    let error = namespace.set("net/ipv4/no_such_thing", "1").unwrap_err().to_string();
    assert!(error.contains("net/ipv4/no_such_thing"), "{error}");
    let error = namespace.spawn(Command::new("/no/such/program"), Group::Own).unwrap_err().to_string();
    assert!(error.contains("/no/such/program"), "{error}");
    let tun = Tun::open(&namespace, &TunConfig::new("twice", 1500)).unwrap();
    let error = Tun::open(&namespace, &TunConfig::new("twice", 1500)).unwrap_err().to_string();
    assert!(error.contains("`twice`"), "{error}");
    drop(tun);
}

#[test]
fn a_namespace_serves_after_a_panic_and_is_another_one() {
    if !possible("a_namespace_serves_after_a_panic_and_is_another_one") {
        return;
    }
    let (a, here) = (Namespace::new("a").unwrap(), Namespace::here().unwrap());
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| a.run(|| panic!("on purpose"))));
    assert!(panicked.is_err());
    let link = || std::fs::read_link("/proc/thread-self/ns/net").unwrap();
    let ours = link();
    assert_ne!(a.run(link), ours);
    assert_eq!(here.run(link), ours);
    let mut which = Command::new("readlink");
    which.arg("/proc/self/ns/net").stdout(Stdio::piped());
    let mut which = a.spawn(which, Group::Own).unwrap();
    let mut said = String::new();
    which.take_stdout().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(said.trim(), a.run(link).to_str().unwrap());
    assert!(which.wait().unwrap().success());
}

#[test]
fn a_program_is_ended_with_all_that_it_started() {
    if !possible("a_program_is_ended_with_all_that_it_started") {
        return;
    }
    let namespace = Namespace::new("programs").unwrap();
    // One in its group, one that left it, one that ignores SIGTERM; each prints its number.
    let script = "sleep 1001 & echo $!; setsid sleep 1002 & echo $!; \
                  setsid sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; done' & wait";
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).stdout(Stdio::piped());
    let mut shell = namespace.spawn(shell, Group::Own).unwrap();
    let numbers = read_numbers(shell.take_stdout().unwrap(), 3);
    assert!(numbers.iter().all(|&pid| alive(pid)));
    assert_eq!(shell.try_wait().unwrap(), None);
    let mut set = Readiness::new().unwrap();
    set.add(shell.as_fd(), 5, Interest::Read).unwrap();
    let status = shell.end(Duration::from_secs(5)).unwrap();
    assert!(!status.success());
    let mut ready = Vec::new();
    set.wait(Some(0), &mut ready).unwrap();
    assert_eq!(ready, [5], "its descriptor tells the end");
    assert!(!alive(numbers[0]), "of its group");
    let ended = namespace.end_programs(Duration::from_millis(200));
    assert!(ended.iter().any(|left| left.command == "sleep 1002"), "{ended:?}");
    assert!(numbers.iter().all(|&pid| !alive(pid)));
    assert!(namespace.end_programs(Duration::ZERO).is_empty());
}

#[test]
fn a_dropped_namespace_takes_its_programs_with_it() {
    if !possible("a_dropped_namespace_takes_its_programs_with_it") {
        return;
    }
    let (namespace, other) = (Namespace::new("one").unwrap(), Namespace::new("two").unwrap());
    let sleeper = |namespace: &Namespace| {
        let mut sleep = Command::new("sleep");
        sleep.arg("1003");
        namespace.spawn(sleep, Group::Own).unwrap()
    };
    let (mut gone, mut stays) = (sleeper(&namespace), sleeper(&other));
    drop(namespace);
    assert!(!gone.wait().unwrap().success());
    assert_eq!(stays.try_wait().unwrap(), None);
}

fn read_numbers(output: impl Read, count: usize) -> Vec<i32> {
    use std::io::{BufRead, BufReader};
    BufReader::new(output).lines().take(count).map(|line| line.unwrap().parse().unwrap()).collect()
}

/// Returns true if process `pid` runs; it may take a moment to exit.
fn alive(pid: i32) -> bool {
    let start = Instant::now();
    loop {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let runs = stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']));
        if !runs || start.elapsed() > Duration::from_millis(300) {
            return runs;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
