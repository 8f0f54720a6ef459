//! The thread that touches bytes: one loop over the sockets of hosts, the transport to the peers and
//! the state machines between them.

mod attempts;
mod block;
mod bypassed;
mod charge;
mod connection;
mod doors;
mod drain;
mod drops;
mod ending;
mod halves;
mod handle;
mod leftover;
mod link;
mod machine;
mod moment;
mod newcomers;
mod openings;
mod peers;
mod report;
mod ring;
mod route;
mod silence;
pub(crate) mod socks;
mod state;
mod streams;
mod table;
pub(crate) mod tally;
#[cfg(test)]
mod tests;
mod timers;
mod unresponsive;

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::Instant;

use bytes::BytesMut;
use cellway_sys::{Interest, Readiness, Ready};
use cellway_units::Span;

use crate::config::Config;
use crate::error::Error;
use crate::intercept::{Follower, Hold, Listeners, Rules, Watch};
use crate::peer_id::PerPeer;
use crate::peering::Peering;

pub use handle::Handle;

use attempts::Attempts;
use bypassed::Bypassed;
use connection::Connection;
use doors::Doors;
use drain::Drain;
use drops::Drops;
use handle::{Command, Orders};
use link::Link;
use machine::Later;
use moment::{Moment, duration};
use openings::Openings;
use route::Routes;
use table::{Table, Token};
use tally::Tally;
use timers::{Due, Timers};

/// How long nobody is accepted after that failed.
const PAUSE: Span = Span::from_ms(100);
/// Octets that may wait in the transport before the machine is held: TLS over TCP can be slower than the rate.
const MOST_BACKLOG: usize = 256 * 1024;
/// After this long a connection to a peer is made anew, as the machines count time in 64 bits.
const OLDEST: Span = Span::from_secs(200 * 86_400);
/// Most timers that are dealt with in one pass.
const TIMERS: usize = 1_024;
/// The least coalescing delay after a batch from a peer: waking once per packet would cost more than the packet
/// itself.
const REST: Span = Span::from_us(250);
/// A pass that takes longer than this is counted.
const LONG_PASS: Span = Span::from_ms(5);

const ORDERS: u64 = 0;
const PEERS: u64 = 1;
const HOLD: u64 = 2;
const LISTENERS: [u64; 2] = [3, 4];
const WATCH: [u64; 2] = [5, 6];
/// Doors (forwarded ports, SOCKS) have tokens from here on, and behind them newcomers at a SOCKS port.
const DOORS: u64 = 16;

/// A gateway that runs in the network namespace of the thread that made it.
#[derive(Debug)]
pub struct Daemon {
    config: Config,
    orders: Orders,
    readiness: Readiness,
    peering: Peering,
    links: PerPeer<Link>,
    routes: Routes,
    rules: Option<Follower>,
    watch: Option<Watch>,
    hold: Option<Hold>,
    listeners: Option<Listeners>,
    doors: Doors,
    table: Table,
    /// Intercepted connections, by client and server.
    held: HashMap<(SocketAddr, SocketAddr), Token>,
    openings: Openings,
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
    writers: Vec<Token>,
    packet: BytesMut,
    /// The instant of this pass.
    now: Moment,
    /// That of the start, also as the transport counts.
    start: (Moment, Instant),
    running: bool,
    /// Set if no new connections are taken.
    drain: Option<Drain>,
    /// What ended it, if nobody asked for that.
    failed: Option<Error>,
}

impl Daemon {
    /// A gateway, its sockets and devices open, its peers being dialled.
    ///
    /// # Errors
    /// An address is taken, a key cannot be read, or the kernel refuses a device or a socket.
    pub fn new(config: Config) -> Result<Daemon, Error> {
        let (now, instant) = (Moment::now(), Instant::now());
        let io = |what: &str| {
            let what = what.to_owned();
            move |e: cellway_sys::SysError| Error::System { what, source: e }
        };
        let readiness = Readiness::new().map_err(io("start"))?;
        let orders = Orders::new()?;
        let peering = Peering::new(&config, instant)?;
        let (mut hold, mut listeners, mut rules, mut watch) = (None, None, None, None);
        if let Some(intercept) = &config.intercept {
            hold = Some(Hold::open(intercept)?);
            listeners = Some(Listeners::open(intercept)?);
            let taken = Rules::of(&config);
            // What an earlier daemon left taken would wait here for ever.
            taken.settle()?;
            let handle = orders.handle().clone();
            // Before the rules are looked at for the first time.
            watch = Some(Watch::new(intercept).map_err(|source| Error::Io { what: "watch the rules".into(), source })?);
            rules = Some(Follower::start(taken, move |news| handle.tell(Command::Rules(news)))?);
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
        for (fd, token) in watch.iter().flat_map(Watch::fds).zip(WATCH) {
            readiness.add(fd, token, Interest::Read).map_err(io("watch the rules"))?;
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
            watch,
            hold,
            listeners,
            doors,
            table: Table::default(),
            held: HashMap::new(),
            openings: Openings::default(),
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
            drain: None,
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
        self.now = Moment::now();
        while self.running {
            let deadline = self.deadline().map(Moment::as_ns);
            self.readiness
                .wait_for(deadline, &mut events)
                .map_err(|source| Error::System { what: "wait".into(), source })?;
            self.now = Moment::now();
            let came = !events.is_empty();
            let from_peers = events.iter().any(|ready| ready.token == PEERS);
            for ready in events.drain(..) {
                self.happened(ready);
                self.settle();
            }
            self.turn();
            self.tally.add_pass(Moment::now().since(self.now));
            let rest = if from_peers { self.rest().max(REST) } else { self.rest() };
            if came && !self.has_work() {
                std::thread::sleep(duration((self.now + rest).since(Moment::now())));
            }
        }
        self.stop();
        self.failed.take().map_or(Ok(()), Err)
    }

    /// True if the last pass has left work that can be done at once.
    fn has_work(&self) -> bool {
        let due = |at: Option<Moment>| at.is_some_and(|at| at <= self.now);
        let waits = !self.writers.is_empty() || !self.attempts.is_empty();
        waits || self.peering.has_more() || due(self.timers.deadline())
    }
    /// Returns the coalescing delay after a pass.
    fn rest(&self) -> Span {
        self.links.iter().filter(|link| link.up).map(Link::batch).min().unwrap_or(Span::ZERO)
    }
    /// The instant on the transport's clock.
    fn instant(&self) -> Instant {
        self.start.1 + duration(self.now.since(self.start.0))
    }
    fn deadline(&mut self) -> Option<Moment> {
        if !self.writers.is_empty() || !self.attempts.is_empty() || self.peering.has_more() {
            // A socket has taken all that it might, and now may have more: it tells nothing before it is full. Packets that
            // were read and not dealt with tell nothing either.
            return Some(self.now);
        }
        let peering = self
            .peering
            .deadline()
            .map(|at| self.start.0 + Span::from_ns(at.saturating_duration_since(self.start.1).as_nanos() as u64));
        let machines = self.links.iter().filter_map(Link::deadline);
        machines.chain(peering).chain(self.timers.deadline()).min()
    }

    fn happened(&mut self, ready: Ready) {
        match ready.token {
            ORDERS => self.obey_orders(),
            PEERS => {} // every pass has its turn
            HOLD => self.read_openings(),
            token if LISTENERS.contains(&token) => self.accepted(),
            token if WATCH.contains(&token) => {
                if self.watch.as_mut().is_some_and(Watch::has_heard) {
                    self.rules_deleted();
                }
            }
            token => match Token::of(ready) {
                Some(token) => self.stream(token, ready),
                None => self.newcomer(token),
            },
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
        for peer in self.links.ids() {
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
        self.end_if_drained();
    }

    fn obey_orders(&mut self) {
        self.orders.heard();
        while let Some(command) = self.orders.next() {
            match command {
                Command::Stop => self.running = false,
                Command::Drain { within } => self.begin_drain(within),
                Command::Reload(config) => self.reload(*config),
                Command::NotReloaded => self.tally.error("reload"),
                Command::Snapshot { connections, to } => {
                    // Whoever asked may have gone.
                    let _ = to.send(self.snapshot(connections));
                }
                Command::Found { token, addresses } => self.found(token, &addresses),
                Command::Rules(news) => self.rules_news(news),
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
            // Every pass looks.
            Due::Drained => {}
            Due::Rules => self.set_rules_again(),
            Due::Blocks => self.give_back_blocks(),
        }
    }

    fn stop(&mut self) {
        for peer in self.links.ids() {
            self.tell_rules(peer, false);
        }
        for peer in self.links.ids() {
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
