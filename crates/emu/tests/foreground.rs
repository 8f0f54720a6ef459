//! A main program on a terminal. The test starts itself again on its own terminal.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cellway_emu::sys::{Group, Interest, Namespace, Readiness, Stop, StopSignals, now_ns};
use rustix::process::{Pid, Signal, getpgrp};
use rustix::termios::tcgetpgrp;

const PART: &str = "CELLWAY_TEST_PART";

#[test]
fn a_foreground_program_has_the_terminal_and_gives_it_back() {
    if std::env::var_os(PART).is_some() {
        on_the_terminal();
        return;
    }
    let program = std::env::current_exe().unwrap();
    // A shell that stayed would be in our group, and control-C would end it too. These tests may have been started in
    // the background of a shell, which ignores SIGINT, and programs inherit that.
    let line = format!(
        "exec env --default-signal=INT,TERM,HUP {} --exact a_foreground_program_has_the_terminal_and_gives_it_back --nocapture --test-threads=1",
        program.display()
    );
    let started = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .env(PART, "terminal")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut script = match started {
        Ok(script) => script,
        Err(e) => {
            common::skip(&format!("the program `script` (package util-linux or bsdutils) cannot be run: {e}"));
            return;
        }
    };
    let mut keyboard = script.stdin.take().unwrap();
    let mut screen = String::new();
    for line in BufReader::new(script.stdout.take().unwrap()).lines().map_while(Result::ok) {
        // The keyboard input after the prompt of the program on the terminal.
        if line.ends_with("type a word") {
            keyboard.write_all(b"hello\n").unwrap();
        } else if line.ends_with("type control-C") {
            keyboard.write_all(b"\x03").unwrap();
        }
        screen += &line;
        screen.push('\n');
    }
    assert!(script.wait().unwrap().success(), "{screen}");
    assert!(screen.contains("all done"), "{screen}");
}

fn on_the_terminal() {
    let terminal = File::options().read(true).write(true).open("/dev/tty").unwrap();
    let foreground = || tcgetpgrp(&terminal).unwrap();
    let ours: Pid = getpgrp();
    assert_eq!(foreground(), ours);
    let here = Namespace::here().unwrap();
    let shell = |script: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]);
        here.spawn(shell, Group::Foreground).unwrap()
    };

    // From the background, reading would stop it.
    let mut reader = shell("echo; echo type a word; read word; test \"$word\" = hello");
    assert!(reader.wait().unwrap().success());

    let signals = StopSignals::catch().unwrap();
    let mut sleeper = shell("echo type control-C; exec sleep 1006");
    let status = sleeper.wait().unwrap();
    assert_eq!(status.signal(), Some(Signal::INT.as_raw()), "the terminal's signal reaches it");
    let mut set = Readiness::new().unwrap();
    set.add(&signals, 0, Interest::Read).unwrap();
    set.wait(Some(now_ns() + 10_000_000_000), &mut Vec::new()).unwrap();
    assert_eq!(signals.take(), Some(Stop { signal: Signal::INT, from_terminal: true }), "and us");
    drop(signals);

    // A shell with job control moves its own job into the foreground, and is ended meanwhile.
    let mut jobs = shell("set -m; sleep 1007; true");
    let start = Instant::now();
    while foreground() == ours {
        assert!(start.elapsed() < Duration::from_secs(10), "the shell does not take the terminal");
        std::thread::sleep(Duration::from_millis(2));
    }
    jobs.end(Duration::from_millis(200)).unwrap();
    assert_eq!(foreground(), ours, "it is given back");
    let ended = here.end_programs(Duration::from_millis(200));
    assert!(ended.iter().any(|left| left.command == "sleep 1007"), "{ended:?}");
    println!("all done");
}
