//! `cellway shell --internet` on a machine with a network that the test makes: two namespaces, joined by Ethernet.
//!
//! ```text
//!   program ── path ── machine, 192.0.2.2 ── eth0 ── world, 192.0.2.1: 203.0.113.80, 2001:db8:80::1
//! ```
//!
//! The world has no route to the addresses of the path: what arrives without a translated address gets no answer.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;
mod world;

use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use common::Ran;
use world::{Machine, told};

/// The test that this file starts as a child process, to act as a client or a server.
const VEHICLE: &str = "programs_reach_the_network_of_the_machine";
/// Parallel emulations make each other late.
static ONE: Mutex<()> = Mutex::new(());
/// The round trip of [`PATH`], in ms, and the goodput of TCP over it: 1448 octets of payload in packets of 1500, in bit/s.
const RTT: f64 = 40.0;
const GOODPUT: f64 = 8e6 * 1448.0 / 1500.0;
const PATH: [&str; 5] = ["shell", "--rate=8 Mbit/s", "--rtt=40 ms", "--lateness-limit=10 s", "--internet"];
/// The longest wait for something that happens at once on an idle machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Returns a machine, or reports why there is none.
fn machine() -> Option<(MutexGuard<'static, ()>, Machine)> {
    let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    match cellway_lab::emulate::missing().map_or_else(|| Machine::new(VEHICLE), Err) {
        Ok(machine) => Some((one, machine)),
        Err(why) => {
            use std::io::Write;
            std::io::stderr().write_all(format!("skipped: {why}\n").as_bytes()).unwrap();
            None
        }
    }
}

/// Returns `cellway` on the machine, with the options of the path, more options, and parts as its program.
fn cellway(machine: &Machine, options: &[&str], parts: &str) -> Command {
    let mut command = machine.command(env!("CARGO_BIN_EXE_cellway"));
    command.args(PATH).args(options).arg("--").args(world::words(VEHICLE, parts));
    command
}

fn ran(machine: &Machine, options: &[&str], part: &str) -> Ran {
    Ran(cellway(machine, options, part).output().unwrap())
}

/// A packet is never early; a busy computer makes it late, by a time that says nothing of the path.
fn assert_takes(ms: f64, least: f64, what: &str) {
    assert!(ms >= least, "{what}: {ms} ms, of at least {least} ms");
}

#[test]
fn programs_reach_the_network_of_the_machine() {
    if world::played() {
        return;
    }
    let Some((_one, machine)) = machine() else { return };
    let before = machine.state();
    let ran = ran(&machine, &[], "echo 203.0.113.80, down 203.0.113.80, up 203.0.113.80").done();
    let told = told(&ran.out());
    let [echo, down, up] = told[..] else { panic!("{}{}", ran.out(), ran.err()) };
    assert_takes(echo, RTT, "an echo");
    for (rate, what) in [(down, "download"), (up, "upload")] {
        // At least half of it: slow start, and a busy computer.
        assert!((GOODPUT * 0.5..=GOODPUT).contains(&rate), "{what}: {rate} bit/s of {GOODPUT}");
    }
    assert!(ran.err().contains("\ninternet: IPv4"), "{}", ran.err());
    assert_eq!(machine.state(), before);
}

/// The packets of the path may be larger than those of the machine's network, as in a tunnel.
#[test]
fn connections_fit_the_mtu_of_the_machine() {
    let Some((_one, machine)) = machine() else { return };
    machine.run("ip link set eth0 mtu 1300");
    let ran = ran(&machine, &["--framing", "atm"], "down 203.0.113.80, up 203.0.113.80").done();
    let told = told(&ran.out());
    assert_eq!(told.len(), 2, "{}", ran.err());
    // A connection whose segments do not fit loses most of them: a tenth of this.
    told.iter().for_each(|&rate| assert!(rate > GOODPUT * 0.4, "{rate} bit/s"));
}

#[test]
fn ipv6_is_translated_too_or_refused_at_once() {
    let Some((_one, machine)) = machine() else { return };
    let before = machine.state();
    if machine.forwards_ipv6() {
        let ran = ran(&machine, &[], "echo 2001:db8:80::1, down 2001:db8:80::1").done();
        assert!(ran.err().contains("\ninternet: IPv4 and IPv6\n"), "{}", ran.err());
        assert_takes(told(&ran.out())[0], RTT, "an echo");
    } else {
        assert!(ran(&machine, &[], "unreachable 2001:db8:80::1").done().err().contains("without IPv6: net.ipv6"));
    }
    // Routes end at the machine, so that nothing is tried over IPv6 and waited for.
    machine.run("ip -6 route del default");
    let without = machine.state();
    let ran = ran(&machine, &[], "unreachable 2001:db8:80::1, echo 203.0.113.80").done();
    assert!(ran.err().contains("without IPv6: this machine has no default route of IPv6"), "{}", ran.err());
    assert_eq!(machine.state(), without);
    assert_ne!(without, before);
}

/// A resolver that the path reaches, then one on a loopback address of the machine, as systemd-resolved has it.
#[test]
fn a_look_up_takes_a_round_trip() {
    let Some((_one, machine)) = machine() else { return };
    for resolver in ["203.0.113.53", "127.0.0.53"] {
        machine.set_resolver(resolver);
        let before = machine.state();
        let ran = ran(&machine, &[], "look-up www.example, look-up-tcp www.example").done();
        let told = told(&ran.out());
        let [udp, tcp] = told[..] else { panic!("{}{}", ran.out(), ran.err()) };
        assert_takes(udp, RTT, resolver);
        // A connection, then the query.
        assert_takes(tcp, 2.0 * RTT, resolver);
        assert_eq!(machine.state(), before);
    }
}

/// The addresses of the inner path are behind the outer one, and so is the resolver.
#[test]
fn paths_nest() {
    let Some((_one, machine)) = machine() else { return };
    machine.set_resolver("127.0.0.53");
    let before = machine.state();
    for options in [&["--rtt", "10 ms"][..], &["--rtt", "10 ms", "--internet"]] {
        let part = world::words(VEHICLE, "echo 203.0.113.80, look-up www.example");
        let mut command = machine.command(env!("CARGO_BIN_EXE_cellway"));
        let inner = [env!("CARGO_BIN_EXE_cellway"), "shell", "--lateness-limit=10 s"];
        command.args(PATH).arg("--").args(inner).args(options).arg("--").args(part);
        let ran = Ran(command.output().unwrap()).done();
        let told = told(&ran.out());
        assert!(told.len() == 2, "{}{}", ran.out(), ran.err());
        told.iter().for_each(|&ms| assert_takes(ms, RTT + 10.0, "both paths"));
        assert_eq!(machine.state(), before);
    }
}

/// The other path stays joined when one ends, and the last one restores the settings.
#[test]
fn paths_beside_each_other_have_their_own_addresses() {
    let Some((_one, machine)) = machine() else { return };
    let before = machine.state();
    let mut first = running(&machine);
    let during = machine.state();
    assert!(ran(&machine, &[], "echo 203.0.113.80").done().err().contains("internet: "));
    assert_eq!(machine.state(), during);
    let mut second = running(&machine);
    end(&mut first);
    assert!(ran(&machine, &[], "echo 203.0.113.80").done().err().contains("internet: "));
    assert!(machine.state().contains("table inet cellway-"));
    end(&mut second);
    assert_eq!(machine.state(), before);
}

/// Starts a path that lasts until [`end`], and waits until it is joined.
fn running(machine: &Machine) -> Child {
    let mut child = cellway(machine, &[], "stay").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.as_mut().unwrap()));
    assert!(lines.any(|line| line.unwrap().starts_with("told: ")), "it has ended");
    child
}

fn end(child: &mut Child) {
    child.stdin = None;
    assert!(child.wait().unwrap().success());
}

fn wait_until(what: &str, is: impl Fn() -> bool) {
    let start = Instant::now();
    while !is() {
        assert!(start.elapsed() < PATIENCE, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn nothing_stays_after_a_kill() {
    let Some((_one, machine)) = machine() else { return };
    let before = machine.state();
    let mut child = running(&machine);
    assert_ne!(machine.state(), before);
    // The process of cellway itself: the command executes it in its place.
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("the machine is as before", || machine.state() == before);
}

/// If the process that cleans up is killed too, a table and the settings stay until the next path.
#[test]
fn the_next_run_removes_what_a_killed_one_left() {
    let Some((_one, machine)) = machine() else { return };
    let before = machine.state();
    let mut child = running(&machine);
    let cleaners = Machine::children(child.id(), "sh");
    assert_eq!(cleaners.len(), 1);
    machine.run(&format!("kill -9 {}", cleaners[0]));
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("the device is gone", || !machine.state().contains(": cw"));
    assert!(machine.state().contains("table inet cellway-"));
    ran(&machine, &[], "echo 203.0.113.80").done();
    assert_eq!(machine.state(), before);
}

/// Docker and ufw set such a policy.
#[test]
fn a_firewall_that_drops_is_named() {
    let Some((_one, machine)) = machine() else { return };
    machine.set_resolver("127.0.0.53");
    for (hook, message) in [("forward", "what it should forward"), ("input", "look-ups of names")] {
        machine.run(&format!(
            "nft 'table ip filter {{ chain SOME {{ type filter hook {hook} priority filter; policy drop; iif lo accept; }}; }}'"
        ));
        let before = machine.state();
        let ran = ran(&machine, &[], "echo 203.0.113.80");
        let said = ran.err();
        assert_eq!(ran.code(), 125, "{said}");
        assert!(said.contains(&format!("drops {message}")) && said.contains("chain SOME of table ip filter"), "{said}");
        assert_eq!(machine.state(), before);
        // With the rule that the message names, it works.
        machine.run(
            "nft insert rule ip filter SOME iifname 'cw*' accept; nft insert rule ip filter SOME oifname 'cw*' accept",
        );
        self::ran(&machine, &[], "echo 203.0.113.80").done();
        machine.run("nft delete table ip filter");
    }
}

/// Only the packets of the program are forwarded.
#[test]
fn the_machine_is_no_router_for_others() {
    let Some((_one, machine)) = machine() else { return };
    // Another network behind the machine, and a way to it and to the path in the world.
    machine.run(
        "ip link add side type veth peer name other; ip link set side up; ip link set other up; \
                 ip addr add 198.18.5.1/24 dev side",
    );
    machine.run("nft 'table ip seen { chain c { type filter hook postrouting priority 0; oifname side counter; oifname \"cw*\" counter; }; }'");
    machine.world("ip route add 198.18.5.0/24 via 192.0.2.2; ip route add 100.64.0.0/10 via 192.0.2.2");
    let mut child = running(&machine);
    let state = machine.state();
    machine.world("ping -c 1 -W 1 198.18.5.7 || ping -c 1 -W 1 100.68.0.1 || true");
    assert!(state.contains("table inet cellway-") && state.contains("100.68.0.2"), "{state}");
    let seen = machine.output("nft list table ip seen");
    assert_eq!(seen.matches("counter packets 0 ").count(), 2, "{seen}");
    // Without the guard, both arrive.
    let table = machine.output("nft list tables inet").replace("table inet ", "");
    machine.run(&format!("nft flush chain inet {} guard", table.trim()));
    machine.world("ping -c 1 -W 1 198.18.5.7 || ping -c 1 -W 1 100.68.0.1 || true");
    let seen = machine.output("nft list table ip seen");
    assert_eq!(seen.matches("counter packets 1 ").count(), 2, "{seen}");
    end(&mut child);
}

#[test]
fn a_missing_program_is_named_with_its_package() {
    let Some((_one, machine)) = machine() else { return };
    let before = machine.state();
    // In the machine's own mount namespace.
    machine.run("mount --bind /dev/null $(readlink -f $(command -v nft))");
    let ran = ran(&machine, &[], "echo 203.0.113.80");
    assert_eq!(ran.code(), 125, "{}", ran.err());
    assert!(ran.err().contains("`nft` is missing: install the package nftables"), "{}", ran.err());
    machine.run("umount /usr/sbin/nft");
    assert_eq!(machine.state(), before);
}
