//! The data thread: an event loop over the sockets of hosts, the transport to the peers and the TUN device of SYNs.
//!
//! [`Daemon`] owns the components and calls them; each holds its own data. A component pushes events for others into
//! the outbox, and the loop processes these before it calls the next component.

mod admission;
mod attempts;
mod context;
mod dispatch;
mod drain;
mod drops;
mod handle;
pub(crate) mod handover;
mod hosts;
mod interception;
mod lookup;
mod moment;
mod outbox;
mod peers;
mod port_listeners;
mod reload;
mod route;
mod rules;
pub(crate) mod socks;
pub(crate) mod tally;
#[cfg(test)]
mod tests;
mod timers;

use cellway_gateway::Reason;
use cellway_sys::{Interest, Readiness, Ready, SysError};
use cellway_units::Span;

use crate::config::Config;
use crate::error::Error;

pub use handle::Handle;
pub(crate) use handover::Handover;

use attempts::Attempts;
use context::Context;
use drain::Drain;
use drops::Drops;
use handle::{Command, Orders};
use hosts::{Hosts, block};
use interception::Interception;
use lookup::Lookups;
use moment::{Moment, duration};
use peers::Peers;
use port_listeners::PortListeners;
use rules::KernelRules;
use timers::{Due, Timers};

/// The time for which no connections are accepted after descriptors have run out.
const PAUSE: Span = Span::from_ms(100);
/// Most timers that are processed in one pass.
const TIMERS: usize = 1_024;
/// Most connections to servers that begin in one pass: about 2 ms of work, at 30 us for each.
const ATTEMPTS: usize = 64;
/// The least coalescing delay after a batch from a peer: waking once per packet would cost more than the packet
/// itself.
const REST: Span = Span::from_us(250);

const ORDERS: u64 = 0;
const PEERS: u64 = 1;
const HOLD: u64 = 2;
const LISTENERS: [u64; 2] = [3, 4];
const WATCH: [u64; 2] = [5, 6];
/// The first token of the ports to which hosts connect (forwarded ports, SOCKS); SOCKS clients that have not sent their
/// requests follow.
const PORTS: u64 = 16;

/// A gateway that runs in the network namespace of the thread that created it.
#[derive(Debug)]
pub struct Daemon {
    readiness: Readiness,
    orders: Orders,
    timers: Timers,
    peers: Peers,
    hosts: Hosts,
    interception: Interception,
    ports: PortListeners,
    attempts: Attempts,
    lookups: Lookups,
    rules: KernelRules,
    drops: Drops,
    drain: Drain,
    cx: Context,
    running: bool,
    /// The error that has ended it, if any.
    failed: Option<Error>,
    /// Set if it ends to hand over.
    next: Option<Box<handover::Prepared>>,
}

impl Daemon {
    /// Opens sockets and devices; peers are dialled when it runs.
    ///
    /// # Errors
    /// An address is in use, a key cannot be read, or the kernel refuses a device or a socket.
    pub fn new(config: Config) -> Result<Daemon, Error> {
        let now = Moment::now();
        let peers = Peers::new(&config, now)?;
        let interception = Interception::open(config.intercept.as_ref())?;
        let mut daemon = Daemon::with(config, now, peers, interception, |config, orders| {
            KernelRules::start(config, orders.handle().clone())
        })?;
        daemon.ports = PortListeners::open(&daemon.cx.config, PORTS)?;
        daemon.watch().map_err(|source| Error::System { what: "watch a descriptor".into(), source })?;
        Ok(daemon)
    }
    /// Creates a daemon without ports whose descriptors are not yet polled.
    fn with(
        config: Config,
        now: Moment,
        peers: Peers,
        interception: Interception,
        rules: impl FnOnce(&Config, &Orders) -> Result<KernelRules, Error>,
    ) -> Result<Daemon, Error> {
        let readiness = Readiness::new().map_err(|source| Error::System { what: "start".into(), source })?;
        let orders = Orders::new()?;
        let rules = rules(&config, &orders)?;
        Ok(Daemon {
            hosts: Hosts::new(config.peers.len()),
            lookups: Lookups::new(orders.handle().clone()),
            readiness,
            orders,
            timers: Timers::default(),
            peers,
            interception,
            ports: PortListeners::default(),
            attempts: Attempts::default(),
            rules,
            drops: Drops::default(),
            drain: Drain::default(),
            cx: Context::new(config, now),
            running: true,
            failed: None,
            next: None,
        })
    }
    /// Adds all descriptors to the readiness that the loop polls.
    fn watch(&self) -> Result<(), SysError> {
        self.readiness.add(&self.orders, ORDERS, Interest::Read)?;
        self.readiness.add(&self.peers, PEERS, Interest::Read)?;
        let device = self.interception.device().into_iter().zip([HOLD]);
        let listeners = self.interception.listeners().zip(LISTENERS);
        let rules = self.rules.fds().zip(WATCH);
        for (fd, token) in device.chain(listeners).chain(rules).chain(self.ports.fds()) {
            self.readiness.add(fd, token, Interest::Read)?;
        }
        Ok(())
    }
    /// Returns a handle with which other threads send commands.
    pub fn handle(&self) -> Handle {
        self.orders.handle().clone()
    }

    /// Runs until the command to stop. Then every connection is reset and the peers are notified.
    ///
    /// # Errors
    /// The kernel has no memory left to wait with.
    pub fn run(&mut self) -> Result<(), Error> {
        self.serve()?;
        self.finish().map(drop)
    }
    /// Runs until the command to stop, which it executes as [`Daemon::run`] does, or to hand over. [`Daemon::finish`]
    /// must follow.
    ///
    /// # Errors
    /// The kernel has no memory left to wait with.
    pub(crate) fn serve(&mut self) -> Result<(), Error> {
        let mut events = Vec::new();
        self.cx.now = Moment::now();
        while self.running {
            let deadline = self.deadline().map(Moment::as_ns);
            self.readiness
                .wait_for(deadline, &mut events)
                .map_err(|source| Error::System { what: "wait".into(), source })?;
            self.cx.now = Moment::now();
            let idle = events.is_empty();
            let from_peers = events.iter().any(|ready| ready.token == PEERS);
            self.pass(&mut events);
            self.cx.tally.add_pass(Moment::now().since(self.cx.now));
            if !idle && !self.has_work() {
                let rest = if from_peers { self.peers.rest().max(REST) } else { self.peers.rest() };
                std::thread::sleep(duration((self.cx.now + rest).since(Moment::now())));
            }
        }
        if self.next.is_none() {
            self.stop();
        }
        Ok(())
    }
    /// Hands over, if that is the command, and returns what another program continues. Commands that have arrived
    /// meanwhile are executed first: one to stop ends the daemon instead. To be called when no more commands can
    /// arrive.
    ///
    /// # Errors
    /// The error that has ended the daemon.
    pub(crate) fn finish(&mut self) -> Result<Option<Handover>, Error> {
        if self.next.is_some() {
            while let Some(command) = self.orders.next() {
                self.step(|daemon| daemon.command(command));
            }
            match self.next.take() {
                Some(prepared) => return Ok(Some(self.hand_over(*prepared))),
                None => self.stop(),
            }
        }
        self.failed.take().map_or(Ok(None), Err)
    }
    /// Returns true if the next pass can begin at once. Sockets that may accept more bytes, and packets that were read
    /// and not processed, are not reported as ready again.
    fn is_busy(&self) -> bool {
        self.hosts.has_writers() || !self.attempts.is_empty() || self.peers.has_more()
    }
    /// Returns true if the last pass has left work that can be done at once.
    fn has_work(&self) -> bool {
        self.is_busy() || self.timers.deadline().is_some_and(|at| at <= self.cx.now)
    }
    fn deadline(&mut self) -> Option<Moment> {
        if self.is_busy() {
            return Some(self.cx.now);
        }
        self.peers.deadline().into_iter().chain(self.timers.deadline()).min()
    }

    /// Processes ready descriptors, the packets of peers, timers and writes, and sends the resulting packets.
    fn pass(&mut self, events: &mut Vec<Ready>) {
        let now = self.cx.now;
        for ready in events.drain(..) {
            if ready.token == ORDERS {
                self.orders.clear();
                while let Some(command) = self.orders.next() {
                    self.step(|daemon| daemon.command(command));
                }
            } else {
                self.step(|daemon| daemon.ready(ready));
            }
        }
        self.peers.turn(now);
        while let Some(event) = self.peers.next() {
            self.step(|Daemon { peers, hosts, cx, .. }| peers.receive(event, hosts, cx));
        }
        self.begin_attempts();
        // The next pass processes the rest, and begins at once.
        for _ in 0..TIMERS {
            let Some(due) = self.timers.next(now) else { break };
            self.step(|daemon| daemon.expired(due));
        }
        for peer in self.peers.ids() {
            self.step(|Daemon { peers, hosts, cx, .. }| peers.wake(peer, hosts, cx));
        }
        self.step(|Daemon { hosts, cx, .. }| hosts.write(cx));
        for peer in self.peers.ids() {
            self.step(|Daemon { peers, hosts, cx, .. }| peers.report_leftover(peer, hosts, cx));
        }
        self.peers.flush(now);
        self.peers.charge(now);
        self.step(Daemon::maintain);
    }
    /// Runs `step`, and processes all events that follow from it. The outbox is empty between two steps.
    fn step(&mut self, step: impl FnOnce(&mut Daemon)) {
        step(self);
        while let Some(event) = self.cx.outbox.pop() {
            self.process(event);
        }
    }
    /// Begins connections that peers request. One waits while more packets of its peer can be read.
    fn begin_attempts(&mut self) {
        for _ in 0..ATTEMPTS {
            let Daemon { attempts, peers, cx, .. } = self;
            let Some(attempt) = attempts.next(cx.now, |peer| peers.has_more_of(peer)) else { return };
            self.step(|daemon| daemon.attempt(attempt));
        }
    }
    /// Returns memory, reads the counts of dropped packets, and ends a daemon that has drained.
    fn maintain(&mut self) {
        if let Some(wait) = block::schedule() {
            self.cx.timer(wait, Due::Blocks);
        }
        if self.drops.is_due(self.cx.now) {
            self.drops.set(self.peers.drops(), self.cx.now);
        }
        if self.drain.is_over(self.left(), &mut self.cx) {
            self.running = false;
        }
    }
    /// Returns the number of connections for which a drain waits. Connections whose host gets no more answers do not
    /// count: they would take minutes.
    fn left(&self) -> u64 {
        (self.hosts.len() as u64).saturating_sub(u64::from(self.hosts.blackholed())) + self.attempts.len() as u64
    }
    /// Starts or stops accepting connections. Without free descriptors the listeners would be ready all the time.
    fn listen(&mut self, accept: bool) {
        if !accept {
            self.cx.timer(PAUSE, Due::Listen);
        }
        for (fd, token) in self.interception.listeners().zip(LISTENERS).chain(self.ports.fds()) {
            // An error means that the descriptor is added or removed already.
            let _ = if accept { self.readiness.add(fd, token, Interest::Read) } else { self.readiness.remove(fd) };
        }
    }

    fn stop(&mut self) {
        for peer in self.peers.ids() {
            self.rules.follow(peer, false);
        }
        for peer in self.peers.ids() {
            self.step(|Daemon { peers, hosts, cx, .. }| peers.lose(peer, Reason::Stopping, hosts, cx));
        }
        self.step(|Daemon { hosts, cx, .. }| hosts.write(cx));
        self.peers.close(self.cx.now);
        // Hosts and peers have been notified before: `nft` can be slow.
        self.rules.end();
        self.peers.linger();
        while let Some(command) = self.orders.next() {
            if let Command::Rules(report) = command {
                self.rules.report(report, &mut self.cx);
            }
        }
        tracing::info!("stopped");
    }
}
