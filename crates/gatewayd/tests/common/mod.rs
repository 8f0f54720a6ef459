//! The shared part of all live tests of the gateway: requirements, turns, the network, the pair of daemons, programs in
//! it.
#![allow(dead_code, reason = "each test binary uses its own part")]

pub(crate) mod numbers;
pub(crate) mod pair;
pub(crate) mod programs;
pub(crate) mod relay;
pub(crate) mod tcp;
pub(crate) mod world;

use std::io::Write;
use std::process::Command;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use cellway_sys::{Reentry, Support, SysError, reenter, support};

/// Set in a test that runs in a process of its own.
const AGAIN: &str = "CELLWAY_TEST_AGAIN";

/// The most tests of this program that run at once: they mostly wait.
const PLACES: usize = 2;
static FREE: Mutex<usize> = Mutex::new(PLACES);
static FREED: Condvar = Condvar::new();

/// The turn of a test, which ends with this value.
pub(crate) struct Turn {
    places: usize,
}

impl Turn {
    fn wait(places: usize) -> Turn {
        let free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        *FREED.wait_while(free, |free| *free < places).unwrap_or_else(PoisonError::into_inner) -= places;
        Turn { places }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *FREE.lock().unwrap_or_else(PoisonError::into_inner) += self.places;
        FREED.notify_all();
    }
}

/// Waits until few other tests of this program run.
pub(crate) fn turn() -> Turn {
    Turn::wait(1)
}

/// Waits until no other test of this program runs, for one that compares rates or times.
pub(crate) fn alone() -> Turn {
    Turn::wait(PLACES)
}

/// Waits for a condition. The timeout only turns a hang into a failure.
pub(crate) fn until(what: &str, mut is: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is() {
        assert!(begin.elapsed() < Duration::from_secs(40), "not so after 40 s: {what}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// Prints to the terminal that a test was skipped. Not by the print macros, whose text the test harness captures.
pub(crate) fn skip(why: &str) {
    std::io::stderr().write_all(format!("skipped: {why}\n").as_bytes()).unwrap();
}

/// Returns the path of `program`, also in `sbin`.
pub(crate) fn find(program: &str) -> Option<String> {
    let script = format!("PATH=\"$PATH:/usr/sbin:/sbin\" command -v {program}");
    let output = Command::new("sh").args(["-c", &script]).output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !path.is_empty()).then_some(path)
}

/// Returns true if `program` is installed; otherwise prints a message.
pub(crate) fn installed(program: &str) -> bool {
    let found = find(program).is_some();
    if !found {
        skip(&format!("the program `{program}` is missing"));
    }
    found
}

/// Returns true if a program can become another user here, as servers do at a login; otherwise prints a message.
pub(crate) fn can_change_user() -> bool {
    // A user namespace made without privileges has one user (user_namespaces(7)).
    let groups = std::fs::read_to_string("/proc/self/setgroups").unwrap_or_default();
    let can = rustix::process::geteuid().is_root() && groups.trim() != "deny";
    if !can {
        skip("a server that changes its user needs root itself, not a user namespace");
    }
    can
}

/// Returns true if the test `name` can continue in this process. If only a user namespace permits it, runs it there in
/// another process.
pub(crate) fn possible(name: &str) -> bool {
    if !installed("nft") {
        return false;
    }
    match support() {
        Support::Direct => return true,
        Support::UserNamespace if std::env::var_os(AGAIN).is_some() => match reenter().unwrap() {
            Reentry::Ended(status) => std::process::exit(status.into()),
            Reentry::Here => return true,
        },
        Support::UserNamespace => {
            // The turns of that process are its own.
            let _turn = alone();
            let mut again = Command::new(std::env::current_exe().unwrap());
            again.args(["--exact", name, "--test-threads=1"]).env(AGAIN, "1");
            let output = again.output().unwrap();
            let [said, complained] =
                [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
            let passed = output.status.success() && said.contains("1 passed");
            assert!(passed, "in a user namespace: {said}{complained}");
            complained.lines().filter_map(|line| line.strip_prefix("skipped: ")).for_each(skip);
        }
        Support::Missing(missing) => skip(&SysError::Unsupported(missing).to_string()),
    }
    false
}
