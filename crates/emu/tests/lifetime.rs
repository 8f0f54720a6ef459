//! The state left by a run that was killed, and runs without root. Some tests start themselves again, in a part that
//! the variable `CELLWAY_TEST_PART` names.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod bridge;
mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use bridge::Bridge;
use cellway_emu::sys::{
    Group, Interest, Namespace, Readiness, Reentry, StopSignals, Support, Tun, TunConfig, clear_leftovers, reenter,
    support,
};
use common::skip;
use rustix::process::{Pid, Signal, geteuid, kill_process};

/// Files cleared by one test are not found by another, and `reenter` clears.
static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());

const PART: &str = "CELLWAY_TEST_PART";

fn part() -> Option<String> {
    std::env::var(PART).ok()
}

/// Returns the arguments with which this program runs the test `name` alone.
fn alone(name: &str) -> [&str; 4] {
    ["--exact", name, "--nocapture", "--test-threads=1"]
}

/// Sends a line to the test that started this process.
fn tell(line: &str) {
    println!("\ntold: {line}");
    std::io::stdout().flush().unwrap();
}

/// The lines of the started part.
struct Told(BufReader<ChildStdout>);

impl Told {
    fn by(child: &mut Child) -> Self {
        Self(BufReader::new(child.stdout.take().unwrap()))
    }

    fn next(&mut self) -> Option<String> {
        let lines = (&mut self.0).lines().map(|line| line.unwrap());
        lines.filter_map(|line| line.strip_prefix("told: ").map(str::to_owned)).next()
    }
}

/// Returns true if process `pid` runs; it may take a moment to exit.
fn alive(pid: i32) -> bool {
    let start = Instant::now();
    loop {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let runs = stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']));
        if !runs || start.elapsed() > Duration::from_millis(500) {
            return runs;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the number of processes in the network namespace `link`.
fn population(link: &str) -> usize {
    let links = std::fs::read_dir("/proc").unwrap().flatten();
    links.filter(|p| std::fs::read_link(p.path().join("ns/net")).is_ok_and(|to| to.to_str() == Some(link))).count()
}

#[test]
fn nothing_stays_after_kill_9_and_the_next_start() {
    if support() != Support::Direct {
        skip(&format!("namespaces and TUN devices cannot be had as we are: {:?}", support()));
        return;
    }
    if part().is_some() {
        hold();
    }
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let ours = Namespace::new("ours").unwrap();
    let mut sleep = Command::new("sleep");
    sleep.arg("1005");
    let mut bystander = ours.spawn(sleep, Group::Own).unwrap();

    let mut holder = Command::new(std::env::current_exe().unwrap())
        .args(alone("nothing_stays_after_kill_9_and_the_next_start"))
        .env(PART, "holder")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = Told::by(&mut holder);
    let namespace = told.next().unwrap();
    let mut number = || told.next().unwrap().parse::<i32>().unwrap();
    let (grandchild, child) = (number(), number());
    assert!(alive(grandchild) && alive(child));
    assert_eq!(population(&namespace), 2);
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert!(!alive(child), "it is tied to its parent");
    assert!(alive(grandchild), "or there is nothing to clear");

    let found = clear_leftovers();
    let left = found.iter().find(|left| left.pid == grandchild).unwrap_or_else(|| panic!("not in {found:?}"));
    assert_eq!(left.command, "sleep 1004");
    assert_eq!(left.owner.pid().unsigned_abs(), holder.id());
    assert!(!alive(grandchild));
    assert_eq!(population(&namespace), 0);
    assert_eq!(bystander.try_wait().unwrap(), None, "its owner runs");
    assert!(!clear_leftovers().iter().any(|left| left.pid == grandchild), "once is enough");
}

/// Holds a namespace with a device and programs until killed.
fn hold() -> ! {
    let namespace = Namespace::new("held").unwrap();
    let _tun = Tun::open(&namespace, &TunConfig::new("cell0", 1500)).unwrap();
    tell(namespace.run(|| std::fs::read_link("/proc/thread-self/ns/net").unwrap()).to_str().unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-c", "setsid sleep 1004 >&- & echo $!; echo $$; wait"]).stdout(Stdio::piped());
    let mut shell = namespace.spawn(shell, Group::Own).unwrap();
    for line in BufReader::new(shell.take_stdout().unwrap()).lines().take(2) {
        tell(&line.unwrap());
    }
    loop {
        std::thread::park();
    }
}

/// Starts `part` of the test `name` as an ordinary user; prints the reason and returns `None` if it cannot.
fn as_ordinary_user(name: &str, part: &str) -> Option<Child> {
    let program = std::env::current_exe().unwrap();
    let mut command = if geteuid().is_root() {
        let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"];
        let readable = Command::new("setpriv").args(nobody).args(["test", "-x"]).arg(&program).status();
        match readable {
            Ok(status) if status.success() => {}
            Ok(_) => {
                skip(&format!("the user nobody may not run {}", program.display()));
                return None;
            }
            Err(e) => {
                skip(&format!("the program `setpriv` (package util-linux) cannot be run: {e}"));
                return None;
            }
        }
        let mut command = Command::new("setpriv");
        command.args(nobody).arg(&program);
        command
    } else {
        Command::new(&program)
    };
    command.args(alone(name)).env(PART, part).current_dir("/").stdout(Stdio::piped());
    Some(command.spawn().unwrap())
}

/// Enters the namespaces, in a part. Returns inside; the process outside exits with the status of the one inside.
fn go_inside() {
    match reenter() {
        Ok(Reentry::Here) => tell("inside"),
        Ok(Reentry::Ended(status)) => std::process::exit(status.into()),
        Err(e) => {
            tell(&format!("refused: {e}"));
            std::process::exit(9);
        }
    }
}

/// Returns true if the part entered the namespaces; prints the reason if it may not.
fn went_inside(told: &mut Told) -> bool {
    let first = told.next().unwrap();
    let refused = first.strip_prefix("refused: ");
    if let Some(why) = refused {
        skip(why);
    } else {
        assert_eq!(first, "inside");
    }
    refused.is_none()
}

#[test]
fn an_ordinary_user_gets_a_network_inside_a_user_namespace() {
    if part().is_some() {
        go_inside();
        assert!(!geteuid().is_root(), "the user keeps the own number");
        assert_eq!(reenter().unwrap(), Reentry::Here, "once is enough");
        talk();
        tell("talked");
        std::process::exit(7);
    }
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let Some(mut outside) = as_ordinary_user("an_ordinary_user_gets_a_network_inside_a_user_namespace", "talk") else {
        return;
    };
    let mut told = Told::by(&mut outside);
    if went_inside(&mut told) {
        assert_eq!(told.next().as_deref(), Some("talked"));
        assert_eq!(outside.wait().unwrap().code(), Some(7), "the status of the program inside");
    }
    outside.wait().unwrap();
}

/// Sends some octets from one namespace to another, through two devices.
fn talk() {
    let open = |name: &str, address: &str| {
        let namespace = Namespace::new(name).unwrap();
        let config = TunConfig::new("cell0", 1500).address(address.parse().unwrap());
        let tun = Tun::open(&namespace, &config).unwrap();
        (namespace, tun)
    };
    let ((client, near), (server, far)) = (open("client", "10.9.0.1/24"), open("server", "10.9.0.2/24"));
    let bridge = Bridge::start(near, far);
    let listener = server.run(|| TcpListener::bind("10.9.0.2:5000")).unwrap();
    let receiver = std::thread::spawn(move || {
        let mut all = Vec::new();
        listener.accept().unwrap().0.read_to_end(&mut all).unwrap();
        all
    });
    let mut stream = client.run(|| TcpStream::connect("10.9.0.2:5000")).unwrap();
    stream.write_all(&[7; 300_000]).unwrap();
    drop(stream);
    assert!(receiver.join().unwrap() == [7; 300_000]);
    let mut ping = Command::new("ping");
    ping.args(["-c", "1", "-W", "5", "10.9.0.2"]).stdout(Stdio::null());
    match client.spawn(ping, Group::Own) {
        Ok(mut ping) => assert!(ping.wait().unwrap().success()),
        // The transfer has shown that packets pass.
        Err(e) => println!("no ping: {e}"),
    }
    let seen = bridge.stop();
    assert!(seen.packets > 0 && seen.segments > 0, "{seen:?}");
}

#[test]
fn signals_pass_into_the_user_namespace_and_death_too() {
    if let Some(part) = part() {
        // Sent from inside only: the process outside waits in `reenter`.
        go_inside();
        tell(&std::process::id().to_string());
        if part == "holder" {
            hold();
        }
        let signals = StopSignals::catch().unwrap();
        let mut set = Readiness::new().unwrap();
        set.add(&signals, 0, Interest::Read).unwrap();
        tell("ready");
        set.wait(None, &mut Vec::new()).unwrap();
        let stop = signals.take().unwrap();
        std::process::exit(if stop.signal == Signal::TERM && !stop.from_terminal { 5 } else { 6 });
    }
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let name = "signals_pass_into_the_user_namespace_and_death_too";
    let Some(mut outside) = as_ordinary_user(name, "listening") else { return };
    let mut told = Told::by(&mut outside);
    if !went_inside(&mut told) {
        outside.wait().unwrap();
        return;
    }
    let inside: i32 = told.next().unwrap().parse().unwrap();
    assert_ne!(inside.unsigned_abs(), outside.id(), "two processes: outside and inside");
    assert_eq!(told.next().as_deref(), Some("ready"));
    kill_process(Pid::from_child(&outside), Signal::TERM).unwrap();
    assert_eq!(outside.wait().unwrap().code(), Some(5));

    let mut outside = as_ordinary_user(name, "holder").unwrap();
    let mut told = Told::by(&mut outside);
    assert!(went_inside(&mut told));
    let inside: i32 = told.next().unwrap().parse().unwrap();
    let _namespace = told.next();
    let grandchild: i32 = told.next().unwrap().parse().unwrap();
    assert!(alive(inside) && alive(grandchild));
    outside.kill().unwrap();
    outside.wait().unwrap();
    assert!(!alive(inside), "it is tied to the process outside");
    assert!(clear_leftovers().iter().any(|left| left.pid == grandchild));
    assert!(!alive(grandchild), "seen and ended from outside of its user namespace");
}
