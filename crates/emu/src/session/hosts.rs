//! The hosts of a running network, for a caller that works inside them.

use std::net::Ipv4Addr;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cellway_scenario::{Link, LinkDirection, LinkIndex, Scenario};
use cellway_testbed::LinkChange;

use super::network::Names;
use crate::error::Error;
use crate::sys::{Child, Group, Namespace, NamespaceHandle};

/// Changes of links by the caller, not applied yet. A mutex for the same reason as that of
/// [`Watch`](crate::pump::Watch)'s observations.
pub(crate) type LinkChanges = Arc<Mutex<Vec<(LinkIndex, LinkDirection, LinkChange)>>>;

/// The hosts of a running network, and its links.
#[derive(Debug)]
pub struct Hosts {
    names: Names,
    handles: Vec<NamespaceHandle>,
    /// The links of the scenario.
    links: Vec<Link>,
    changes: LinkChanges,
    /// Set at the end of the run, and to end it.
    stop: Arc<AtomicBool>,
}

impl Hosts {
    pub(super) fn new(
        scenario: &Scenario,
        names: Names,
        namespaces: &[Namespace],
        changes: LinkChanges,
        stop: Arc<AtomicBool>,
    ) -> Hosts {
        let handles = namespaces.iter().map(Namespace::handle).collect();
        Hosts { names, handles, links: scenario.links.clone(), changes, stop }
    }

    /// Returns the names of the hosts and gateways with their IPv4 addresses.
    pub fn all(&self) -> impl Iterator<Item = (&str, Ipv4Addr)> {
        self.names.all()
    }

    /// Returns the names of the links.
    pub fn links(&self) -> impl Iterator<Item = &str> {
        self.links.iter().map(|link| link.name.as_str())
    }

    /// Returns the IPv4 address of a host; the IPv6 address has it as its last 32 bits.
    pub fn address(&self, host: &str) -> Option<Ipv4Addr> {
        Some(self.names.address(self.names.place(host)?))
    }

    /// Runs `work` inside a host: sockets that it opens belong to the host. `None` without such a host.
    pub fn run<T: Send + 'static>(&self, host: &str, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        Some(self.handles[self.names.place(host)?].run(work))
    }

    /// Starts a program inside a host, in a process group of its own, with the addresses of all hosts in its
    /// environment. It ends with the run.
    ///
    /// # Errors
    /// No such host, or the program cannot be started.
    pub fn spawn(&self, host: &str, mut command: Command) -> Result<Child, Error> {
        let place = self.names.place(host).ok_or_else(|| Error::NoSuchHost { name: host.to_owned() })?;
        command.envs(self.names.environment());
        Ok(self.handles[place].spawn(command, Group::Own)?)
    }

    /// Returns true if a process in a host listens on a TCP port or has bound a UDP port. `None` without such a host.
    pub fn is_listening(&self, host: &str, port: u16) -> Option<bool> {
        Some(self.handles[self.names.place(host)?].is_listening(port))
    }

    /// Changes a link within some milliseconds, 50 ms if nothing is sent.
    ///
    /// # Errors
    /// No such link, or one that cannot have the change.
    pub fn change_link(&self, link: &str, direction: LinkDirection, change: LinkChange) -> Result<(), Error> {
        let Some(place) = self.links.iter().position(|known| known.name == link) else {
            let known = self.links().collect::<Vec<_>>().join(", ");
            return Err(Error::NoSuchLink { name: link.to_owned(), known });
        };
        change.check(&self.links[place], direction)?;
        let change = (LinkIndex(place), direction, change);
        self.changes.lock().unwrap_or_else(PoisonError::into_inner).push(change);
        Ok(())
    }

    /// Ends the run now; its results are those until now.
    pub fn end(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Returns true once the run is over.
    pub fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
