//! Commands of other threads to the daemon.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use cellway_units::Span;
use rustix::event::{EventfdFlags, eventfd};

use super::hosts::Token;
use crate::config::Config;
use crate::error::Error;
use crate::intercept;
use crate::status::Snapshot;

/// The longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(2);

pub(crate) enum Command {
    Stop,
    /// Accept no new connections; end when there are none, or after this time.
    Drain {
        within: Option<Span>,
    },
    Reload(Box<Config>),
    /// Hands over to another program with this configuration, or reports the reason for which that is impossible.
    HandOver {
        config: Box<Config>,
        to: Sender<Result<(), String>>,
    },
    /// A reload whose file cannot be used.
    NotReloaded,
    Snapshot {
        connections: bool,
        to: Sender<Snapshot>,
    },
    /// The addresses of the name of a server, for the flow with this token.
    Found {
        token: Token,
        addresses: Vec<std::net::SocketAddr>,
    },
    /// A report about the rules of the kernel.
    Rules(intercept::RulesReport),
}

/// Sends commands to a [`Daemon`](crate::Daemon) from another thread.
#[derive(Clone, Debug)]
pub struct Handle {
    commands: Sender<Command>,
    bell: Arc<OwnedFd>,
}

impl Handle {
    /// Stops the daemon: it resets the connections and notifies the peers.
    pub fn stop(&self) {
        self.send(Command::Stop);
    }
    /// Makes it accept no new connections, and end when there are none, or after `within`.
    pub fn drain(&self, within: Option<Span>) {
        self.send(Command::Drain { within });
    }
    /// Makes it apply another configuration; connections stay.
    pub fn reload(&self, config: Config) {
        self.send(Command::Reload(Box::new(config)));
    }
    /// Makes it hand over to another program with this configuration. Returns the reason if that is impossible.
    pub(crate) fn hand_over(&self, config: Config) -> Result<(), String> {
        let (to, answer) = channel();
        self.send(Command::HandOver { config: Box::new(config), to });
        answer.recv_timeout(PATIENCE).unwrap_or_else(|_| Err("the gateway does not answer".to_owned()))
    }
    /// Counts a reload whose file cannot be used.
    pub(crate) fn not_reloaded(&self) {
        self.send(Command::NotReloaded);
    }
    /// Returns its status, with a line for each connection if `connections`; none if it does not answer within 2 s.
    pub fn snapshot(&self, connections: bool) -> Option<Snapshot> {
        let (to, answer) = channel();
        self.send(Command::Snapshot { connections, to });
        answer.recv_timeout(PATIENCE).ok()
    }
    pub(crate) fn send(&self, command: Command) {
        if self.commands.send(command).is_ok() {
            let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
        }
    }
}

/// The commands of all handles, and an event descriptor that is readable when there are some.
#[derive(Debug)]
pub(crate) struct Orders {
    commands: Receiver<Command>,
    handle: Handle,
}

impl Orders {
    pub(crate) fn new() -> Result<Orders, Error> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|e| Error::Io { what: "make an event descriptor".into(), source: e.into() })?;
        let (sender, commands) = channel();
        Ok(Orders { commands, handle: Handle { commands: sender, bell: Arc::new(bell) } })
    }
    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }
    pub(crate) fn next(&self) -> Option<Command> {
        self.commands.try_recv().ok()
    }
    /// Makes the descriptor unreadable until the next command.
    pub(crate) fn clear(&self) {
        let _ = rustix::io::read(&self.handle.bell, &mut [0u8; 8]);
    }
}

impl AsFd for Orders {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.bell.as_fd()
    }
}
