//! The four machines of a trial, and the programs in them.

use std::io;
use std::net::Ipv4Addr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use cellway_emu::Hosts;

/// Machines named `client`, `g1`, `g2` and `server`, whatever connects them.
pub(crate) trait Net: Sync {
    /// Returns the IPv4 address of a host.
    fn address(&self, machine: &str) -> Ipv4Addr;

    /// Starts a program in a host.
    fn spawn(&self, machine: &str, command: Command) -> io::Result<Child>;
}

impl Net for Hosts {
    fn address(&self, machine: &str) -> Ipv4Addr {
        Hosts::address(self, machine).expect("the scenario of the bench has this host")
    }

    fn spawn(&self, machine: &str, mut command: Command) -> io::Result<Child> {
        self.run(machine, move || command.spawn()).expect("the scenario of the bench has this host")
    }
}

/// Within this time a server that was started listens: a connection before that would be refused.
pub(crate) const LISTENING: Duration = Duration::from_millis(300);

/// A running program, killed when dropped.
#[derive(Debug)]
pub(crate) struct Running(Child);

impl Running {
    /// Starts a program whose standard output is read with [`Running::output`].
    pub(crate) fn start(net: &dyn Net, machine: &str, words: &[&str]) -> Result<Running, String> {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::piped());
        net.spawn(machine, command).map(Running).map_err(|e| format!("{}: {e}", words.join(" ")))
    }

    /// Starts a command without output.
    pub(crate) fn quiet(net: &dyn Net, machine: &str, mut command: Command) -> Result<Running, String> {
        command.stdin(Stdio::null()).stdout(Stdio::null());
        net.spawn(machine, command).map(Running).map_err(|e| e.to_string())
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Waits for the end of the program; an error if it failed.
    pub(crate) fn wait(mut self) -> Result<(), String> {
        let status = self.0.wait().map_err(|e| e.to_string())?;
        if status.success() { Ok(()) } else { Err(format!("a program of the bench ended with {status}")) }
    }

    /// Waits until the program closes its standard output, and returns what it has printed.
    pub(crate) fn output(mut self) -> Result<String, String> {
        let mut stdout = self.0.stdout.take().expect("it was started with a pipe");
        let mut text = String::new();
        io::Read::read_to_string(&mut stdout, &mut text).map_err(|e| e.to_string())?;
        Ok(text)
    }

    /// Kills the program and returns what it has printed.
    pub(crate) fn kill(mut self) -> Result<String, String> {
        // It may have ended by itself.
        let _ = self.0.kill();
        self.output()
    }

    /// Takes the pipe from the program's standard output.
    pub(crate) fn take_stdout(&mut self) -> Option<std::process::ChildStdout> {
        self.0.stdout.take()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
