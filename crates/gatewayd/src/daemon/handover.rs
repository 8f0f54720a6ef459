//! Handover to another program: sockets, devices and states of all connections, which continue.
//!
//! The process stays the same and executes the other program (execve(2)), so that a supervisor sees no change. The
//! connections to the peers end, as keys of TLS sessions cannot be handed over; the peers keep the state of the flows
//! until the next connection continues it.

use std::ffi::OsString;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::Path;

use cellway_sys::Parcel;
use serde::{Deserialize, Serialize};

use super::attempts::Attempt;
use super::drain::Drain;
use super::hosts::HostsRecord;
use super::interception::{Interception, InterceptionRecord};
use super::moment::Moment;
use super::peers::{Peers, PeersRecord};
use super::port_listeners::{PortListeners, PortListenersRecord};
use super::rules::KernelRules;
use super::{Daemon, PORTS};
use crate::config::Config;
use crate::error::Error;

/// The version of the record of a handover. Programs with different versions cannot take over from each other.
pub(crate) const VERSION: u32 = 2;

/// The kind of error of an upgrade that has failed.
pub(crate) const FAILED: &str = "upgrade";

/// The state that another program continues. The layout of a handover has the renamed fields.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Record {
    version: u32,
    hosts: HostsRecord,
    peers: PeersRecord,
    #[serde(rename = "openings")]
    interception: Option<InterceptionRecord>,
    #[serde(rename = "doors")]
    ports: PortListenersRecord,
    attempts: Vec<Attempt>,
    /// Set if a command to drain arrived after the one to hand over.
    drain: Drain,
}

/// The files and the configuration for a handover to which the daemon has agreed.
#[derive(Debug)]
pub(super) struct Prepared {
    parcel: Parcel,
    config: Config,
}

impl Prepared {
    /// Opens the files: once it hands over, the daemon needs no more descriptors.
    ///
    /// # Errors
    /// There is no memory or no descriptor left.
    pub(super) fn new(config: Config) -> io::Result<Prepared> {
        Ok(Prepared { parcel: Parcel::new()?, config })
    }
}

/// The state that a daemon hands over, and the configuration for the next one.
#[derive(Debug)]
pub(crate) struct Handover {
    parcel: Parcel,
    config: Config,
    record: Record,
}

fn failed(what: &str) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::Io { what: what.to_owned(), source }
}

impl Handover {
    /// Executes `program`, which takes over. Returns only if that fails, with the error.
    pub(crate) fn exec(&mut self, program: &Path, arguments: &[OsString]) -> io::Error {
        let mut out = BufWriter::new(self.parcel.data());
        let written =
            ciborium::into_writer(&self.record, &mut out).map_err(io::Error::other).and_then(|()| out.flush());
        drop(out);
        written.map_or_else(|error| error, |()| self.parcel.exec(program, arguments))
    }
}

/// Reads the record that the previous program has handed over.
fn received(parcel: &mut Parcel) -> Result<Record, Error> {
    let wrong = |error| failed("read what is handed over")(io::Error::new(io::ErrorKind::InvalidData, error));
    parcel.rewind().map_err(failed("read what is handed over"))?;
    let record: Record =
        ciborium::from_reader(BufReader::new(parcel.data())).map_err(|error| wrong(error.to_string()))?;
    if record.version != VERSION {
        return Err(wrong(format!("version {} instead of {VERSION}", record.version)));
    }
    Ok(record)
}

#[cfg(test)]
impl Handover {
    pub(super) fn record(&self) -> &Record {
        &self.record
    }
}

impl Daemon {
    /// Creates the daemon of a process: it continues the state that the previous program has handed over, or is new.
    ///
    /// # Errors
    /// As [`Daemon::new`] and [`Daemon::resume`].
    pub(crate) fn begin(config: Config) -> Result<Daemon, Error> {
        match Parcel::received().map_err(failed("take over from the program before"))? {
            Some(mut parcel) => Daemon::resume(Handover { record: received(&mut parcel)?, parcel, config }),
            None => Daemon::new(config),
        }
    }
    /// Continues the state that this process has handed over, as no other program could be executed.
    ///
    /// # Errors
    /// As [`Daemon::resume`].
    pub(crate) fn resume_own(handover: Handover) -> Result<Daemon, Error> {
        let mut daemon = Daemon::resume(handover)?;
        daemon.cx.tally.error(FAILED);
        Ok(daemon)
    }
    /// Ends the daemon without resets. Returns the state that another program, or [`Daemon::resume`], continues.
    pub(super) fn hand_over(&mut self, prepared: Prepared) -> Handover {
        let Prepared { mut parcel, config } = prepared;
        self.step(|Daemon { hosts, cx, .. }| hosts.write(cx));
        // Events of the transport change the states that are handed over.
        while let Some(event) = self.peers.next() {
            self.step(|Daemon { peers, hosts, cx, .. }| peers.receive(event, hosts, cx));
        }
        let peers = self.peers.hand_over(self.cx.now);
        self.rules.end();
        let record = Record {
            version: VERSION,
            hosts: self.hosts.hand_over(&mut parcel),
            peers,
            interception: self.interception.hand_over(&mut parcel),
            ports: self.ports.hand_over(&mut parcel),
            attempts: self.attempts.drain(),
            drain: self.drain.clone(),
        };
        tracing::info!(connections = record.hosts.len(), "hands over");
        Handover { parcel, config, record }
    }

    /// Continues the state of another daemon.
    ///
    /// # Errors
    /// As [`Daemon::new`], or the record has another version or belongs to another configuration.
    pub(crate) fn resume(handover: Handover) -> Result<Daemon, Error> {
        let Handover { mut parcel, config, record } = handover;
        let Record { hosts, peers, interception, ports, attempts, drain, version: _ } = record;
        let now = Moment::now();
        let connections = hosts.len();
        let interception = match (&config.intercept, interception) {
            (Some(intercept), Some(interception)) => Interception::resume(intercept, interception, &mut parcel)?,
            (None, None) => Interception::default(),
            _ => return Err(Error::Config { what: "`intercept` differs from the one that was handed over".into() }),
        };
        let peers = Peers::resume(&config, peers, now)?;
        let mut daemon = Daemon::with(config, now, peers, interception, |config, orders| {
            KernelRules::resume(config, orders.handle().clone())
        })?;
        let Daemon { readiness, cx, .. } = &mut daemon;
        daemon.ports = PortListeners::resume(&cx.config.clone(), PORTS, ports, &mut parcel, readiness, cx)?;
        daemon.watch().map_err(|source| Error::System { what: "watch a descriptor".into(), source })?;
        let Daemon { hosts: all, lookups, readiness, cx, .. } = &mut daemon;
        all.resume(hosts, &mut parcel, lookups, readiness, cx).map_err(failed("take over connections"))?;
        attempts.into_iter().for_each(|attempt| daemon.attempts.add(attempt));
        // Nothing is sent before the next connection to a peer: all are held before the first event is processed.
        daemon.step(|Daemon { peers, hosts, cx, .. }| peers.ids().for_each(|peer| peers.wake(peer, hosts, cx)));
        for peer in daemon.peers.ids() {
            daemon.rules.follow(peer, daemon.peers.is_up(peer) && !drain.is_on());
        }
        drain.resume(&mut daemon.cx);
        daemon.drain = drain;
        let config = daemon.cx.config.clone();
        let mut applied = Ok(());
        daemon.step(|Daemon { peers, hosts, cx, .. }| applied = peers.reload(&config, hosts, cx));
        applied?;
        tracing::info!(connections, "has taken over");
        Ok(daemon)
    }
}
