//! The thread that touches bytes: one loop over the sockets of hosts, the transport to the peers and
//! the state machines between them.

mod attempts;
mod block;
mod bypassed;
mod charge;
mod doors;
mod drops;
mod ending;
mod flow;
mod handle;
mod leftover;
mod link;
mod machine;
mod newcomers;
mod peers;
mod raw;
mod report;
mod ring;
mod route;
mod silence;
pub(crate) mod socks;
mod streams;
mod table;
pub(crate) mod tally;
#[cfg(test)]
mod tests;
mod timers;
mod unresponsive;

use std::collections::{HashMap, VecDeque};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use cellway_sys::{Interest, Readiness, Ready, now_ns};
use cellway_units::Span;

use crate::config::Config;
use crate::error::Error;
use crate::intercept::{Follower, Hold, Listeners, Rules};
use crate::peering::Peering;

pub use handle::Handle;

use attempts::Attempts;
use bypassed::Bypassed;
use doors::Doors;
use drops::Drops;
use flow::Flow;
use handle::{Command, Orders};
use link::Link;
use machine::Later;
use route::Routes;
use table::{FLOW, Table};
use tally::Tally;
use timers::{Due, Timers};

/// How long nobody is accepted after that failed (ns).
const PAUSE: u64 = 100_000_000;
/// Octets that may wait in the transport before the machine is held: TLS over TCP can be slower than the rate.
const MOST_BACKLOG: usize = 256 * 1024;
/// After this long a connection to a peer is made anew, as the machines count time in 64 bits.
const OLDEST: Span = Span::from_secs(200 * 86_400);
/// Picoseconds in a nanosecond.
const PS_PER_NS: u64 = 1000;
/// Most timers that are dealt with in one pass.
const TIMERS: usize = 1_024;
/// The least coalescing delay after a batch from a peer (ns): waking once per packet would cost more than the packet
/// itself.
const REST: u64 = 250_000;
/// A pass that takes longer than this is counted (ns).
const LONG_PASS: u64 = 5_000_000;

const ORDERS: u64 = 0;
const PEERS: u64 = 1;
const HOLD: u64 = 2;
const LISTENERS: [u64; 2] = [3, 4];
/// Doors (forwarded ports, SOCKS) have tokens from here on, and behind them newcomers at a SOCKS port.
const DOORS: u64 = 16;

/// A gateway that runs in the network namespace of the thread that made it.
#[derive(Debug)]
pub struct Daemon {
    config: Config,
    orders: Orders,
    readiness: Readiness,
    peering: Peering,
    links: Vec<Link>,
    routes: Routes,
    rules: Option<Follower>,
    hold: Option<Hold>,
    listeners: Option<Listeners>,
    doors: Doors,
    table: Table,
    /// Intercepted connections, by client and server.
    held: HashMap<(std::net::SocketAddr, std::net::SocketAddr), u64>,
    /// Those that went to their servers without the pair.
    bypassed: Bypassed,
    timers: Timers,
    tally: Tally,
    drops: Drops,
    /// What follows from what the machines asked for, to be told to them when they have finished.
    later: VecDeque<Later>,
    /// Connection attempts that peers have requested.
    attempts: Attempts,
    /// Names that are being looked up.
    lookups: u32,
    /// Connections with something to write.
    writers: Vec<u64>,
    packet: BytesMut,
    /// The instant of this pass (ns), and as the transport counts.
    now: u64,
    start: (u64, Instant),
    running: bool,
    /// What ended it, if nobody asked for that.
    failed: Option<Error>,
}

impl Daemon {
    /// A gateway, its sockets and devices open, its peers being dialled.
    ///
    /// # Errors
    /// An address is taken, a key cannot be read, or the kernel refuses a device or a socket.
    pub fn new(config: Config) -> Result<Daemon, Error> {
        let (now, instant) = (now_ns(), Instant::now());
        let io = |what: &str| {
            let what = what.to_owned();
            move |e: cellway_sys::SysError| Error::System { what, source: e }
        };
        let readiness = Readiness::new().map_err(io("start"))?;
        let orders = Orders::new()?;
        let peering = Peering::new(&config, instant)?;
        let (mut hold, mut listeners, mut rules) = (None, None, None);
        if let Some(intercept) = &config.intercept {
            hold = Some(Hold::open(intercept)?);
            listeners = Some(Listeners::open(intercept)?);
            let taken = Rules::of(&config);
            // What an earlier daemon left taken would wait here for ever.
            taken.settle()?;
            let handle = orders.handle().clone();
            let answer = move |change, result| handle.tell(Command::Followed { change, result });
            rules = Some(Follower::start(taken, answer)?);
        }
        let doors = Doors::open(&config)?;
        readiness.add(&orders, ORDERS, Interest::Read).map_err(io("watch for orders"))?;
        readiness.add(&peering, PEERS, Interest::Read).map_err(io("watch the peers"))?;
        if let Some(hold) = &hold {
            readiness.add(hold, HOLD, Interest::Read).map_err(io("watch the device of openings"))?;
        }
        for (fd, token) in listeners.iter().flat_map(Listeners::fds).zip(LISTENERS) {
            readiness.add(fd, token, Interest::Read).map_err(io("watch the listeners"))?;
        }
        for (index, door) in doors.all.iter().enumerate() {
            readiness.add(&door.socket, DOORS + index as u64, Interest::Read).map_err(io("watch a port"))?;
        }
        let links = config.peers.iter().map(|peer| Link::new(peer, &config)).collect::<Result<_, _>>()?;
        let routes = Routes::of(&config);
        Ok(Daemon {
            config,
            orders,
            readiness,
            peering,
            links,
            routes,
            rules,
            hold,
            listeners,
            doors,
            table: Table::default(),
            held: HashMap::new(),
            bypassed: Bypassed::default(),
            timers: Timers::default(),
            tally: Tally::default(),
            drops: Drops::default(),
            later: VecDeque::new(),
            attempts: Attempts::default(),
            lookups: 0,
            writers: Vec::new(),
            packet: BytesMut::new(),
            now,
            start: (now, instant),
            running: true,
            failed: None,
        })
    }
    /// How to tell it things.
    pub fn handle(&self) -> Handle {
        self.orders.handle().clone()
    }

    /// Works until it is told to stop. Then every connection is reset and the peers are told.
    ///
    /// # Errors
    /// The kernel has no memory left to wait with.
    pub fn run(&mut self) -> Result<(), Error> {
        let mut events = Vec::new();
        self.now = now_ns();
        while self.running {
            let deadline = self.deadline();
            self.readiness
                .wait_for(deadline, &mut events)
                .map_err(|source| Error::System { what: "wait".into(), source })?;
            self.now = now_ns();
            let came = !events.is_empty();
            let from_peers = events.iter().any(|ready| ready.token == PEERS);
            for ready in events.drain(..) {
                self.happened(ready);
                self.settle();
            }
            self.turn();
            self.tally.add_pass(now_ns().saturating_sub(self.now));
            let rest = if from_peers { self.rest().max(REST) } else { self.rest() };
            if came && !self.has_work() {
                std::thread::sleep(Duration::from_nanos((self.now + rest).saturating_sub(now_ns())));
            }
        }
        self.stop();
        self.failed.take().map_or(Ok(()), Err)
    }

    /// True if the last pass has left work that can be done at once.
    fn has_work(&self) -> bool {
        let due = |at: Option<u64>| at.is_some_and(|at| at <= self.now);
        let waits = !self.writers.is_empty() || !self.attempts.is_empty();
        waits || self.peering.has_more() || due(self.timers.deadline())
    }
    /// Returns the coalescing delay after a pass (ns).
    fn rest(&self) -> u64 {
        self.links.iter().filter(|link| link.up).map(Link::batch).min().unwrap_or(0)
    }
    /// The instant on the transport's clock.
    fn instant(&self) -> Instant {
        self.start.1 + Duration::from_nanos(self.now - self.start.0)
    }
    fn deadline(&mut self) -> Option<u64> {
        if !self.writers.is_empty() || !self.attempts.is_empty() {
            // A socket has taken all that it might, and now may have more: it tells nothing before it is full.
            return Some(self.now);
        }
        let peering = self
            .peering
            .deadline()
            .map(|at| self.start.0 + at.saturating_duration_since(self.start.1).as_nanos() as u64);
        let machines = self.links.iter().filter_map(Link::deadline);
        machines.chain(peering).chain(self.timers.deadline()).min()
    }

    fn happened(&mut self, ready: Ready) {
        match ready.token {
            ORDERS => self.obey_orders(),
            PEERS => {} // every pass has its turn
            HOLD => self.openings(),
            token if LISTENERS.contains(&token) => self.accepted(),
            token if token & FLOW != 0 => self.stream(ready),
            token => self.newcomer(token),
        }
    }

    /// Watches those who take connections, or does not while there are no descriptors left: they would be
    /// ready all the time.
    fn listen(&mut self, watch: bool) {
        if !watch {
            self.timers.add(self.now + PAUSE, Due::Listen);
        }
        let listeners = self.listeners.iter().flat_map(Listeners::fds).zip(LISTENERS);
        let doors = self.doors.all.iter().map(|door| door.socket.as_fd()).zip(DOORS..);
        for (fd, token) in listeners.chain(doors) {
            // What is watched already, or no longer, is as it should be.
            let _ = if watch { self.readiness.add(fd, token, Interest::Read) } else { self.readiness.remove(fd) };
        }
    }

    /// What every pass does: the peers' packets, what is due, what can be written, what must be sent.
    fn turn(&mut self) {
        self.peering.turn(self.instant());
        while let Some(event) = self.peering.next() {
            self.peer_tells(event);
            self.settle();
        }
        self.begin_attempts();
        // What is left is due in the next pass, which begins at once.
        for _ in 0..TIMERS {
            let Some(due) = self.timers.next(self.now) else { break };
            self.is_due(due);
            self.settle();
        }
        for peer in 0..self.links.len() {
            let (now, backlog) = (self.links[peer].time(self.now), self.peering.backlog(peer));
            let behind = backlog > if self.links[peer].behind { MOST_BACKLOG / 2 } else { MOST_BACKLOG };
            if behind != self.links[peer].behind {
                self.links[peer].behind = behind;
                self.machine(peer, |machine, now, out| machine.hold(now, behind, out));
            }
            if now.as_ps() > OLDEST.as_ps() {
                self.peering.abandon(peer, self.instant(), "its clock has run for 200 days and begins anew");
            }
            if self.links[peer].machine.deadline().is_some_and(|(at, _)| at <= now) {
                self.machine(peer, |machine, now, out| machine.wake(now, out));
                self.settle();
            }
        }
        self.write();
        self.settle();
        self.report_leftover();
        self.schedule_blocks();
        self.peering.flush(self.instant());
        self.charge();
        self.watch_drops();
    }

    fn obey_orders(&mut self) {
        self.orders.heard();
        while let Some(command) = self.orders.next() {
            match command {
                Command::Stop => self.running = false,
                Command::Reload(config) => self.reload(*config),
                Command::NotReloaded => self.tally.error("reload"),
                Command::Snapshot { connections, to } => {
                    // Whoever asked may have gone.
                    let _ = to.send(self.snapshot(connections));
                }
                Command::Found { token, addresses } => self.found(token, &addresses),
                Command::Followed { change, result } => self.followed(change, result),
            }
            self.settle();
        }
    }
    fn is_due(&mut self, due: Due) {
        match due {
            Due::Accept(token) => self.not_accepted(token),
            Due::Look(token) => self.look(token),
            Due::Silence(token) => self.remove(token),
            Due::Listen => self.listen(true),
            Due::Greeting(token) => self.doors.forget(token),
            Due::Blocks => self.give_back_blocks(),
        }
    }

    fn stop(&mut self) {
        for peer in 0..self.links.len() {
            self.tell_rules(peer, false);
        }
        for peer in 0..self.links.len() {
            self.lose(peer, cellway_gateway::Reason::Stopping);
        }
        self.write();
        self.peering.close(self.instant(), "the gateway stops");
        self.peering.flush(self.instant());
        // A slow `nft` holds nobody up: hosts and peers have been told.
        self.leave_rules();
        tracing::info!("stopped");
    }
}
