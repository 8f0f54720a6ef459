//! A bad path: a relay for UDP datagrams in the middle of the path, like a NAT.
//!
//! The near gateway dials the relay, which forwards to the far one from its own socket. The fate of a datagram is drawn
//! from a seed; only its timing depends on the run.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::set_socket_recv_buffer_size_force;

use super::numbers::Numbers;
use super::pair::Side;
use super::world::{LINE, LINE_BEYOND, Version, World, address, start};

/// Octets that may wait in each socket: losses are random, and not because this thread is late.
const BUFFER: usize = 8 << 20;
/// The interval of checks for new settings.
const LOOK: Duration = Duration::from_millis(10);
/// The delay of a datagram that is overtaken: this and up to twice as much.
const LATE: Duration = Duration::from_millis(2);

/// The addresses of the near gateway in the view of the far one, at first the first.
pub(crate) const HOSTS: [u8; 2] = [3, 4];

/// The impairments of the datagrams towards one gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ills {
    /// Lost datagrams per thousand.
    pub(crate) lost: u64,
    /// Datagrams per thousand that later ones overtake.
    pub(crate) late: u64,
    /// Duplicated datagrams per thousand.
    pub(crate) twice: u64,
    /// The delay of each.
    pub(crate) delay: Duration,
    /// The rate in octets per second, and the longest that a packet waits for its turn.
    pub(crate) carries: Option<(u64, Duration)>,
    /// Larger IP packets (octets) are lost.
    pub(crate) most: usize,
    /// All are lost.
    pub(crate) silent: bool,
}

impl Ills {
    pub(crate) const NONE: Ills =
        Ills { lost: 0, late: 0, twice: 0, delay: Duration::ZERO, carries: None, most: usize::MAX, silent: false };
}

/// Counts of the fates of datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) carried: u64,
    pub(crate) lost: u64,
    pub(crate) late: u64,
    pub(crate) twice: u64,
    pub(crate) too_large: u64,
    pub(crate) silenced: u64,
    /// Datagrams that found the queue full.
    pub(crate) crowded: u64,
    /// The largest IP packet that was carried (octets).
    pub(crate) largest: usize,
}

#[derive(Debug)]
struct State {
    /// Towards the near gateway, towards the far one.
    ills: [Ills; 2],
    counts: [Counts; 2],
    /// The next datagrams to the far one leave from a new port of this address.
    rebind: Option<IpAddr>,
    /// The source address of datagrams to the far gateway.
    from: SocketAddr,
    stop: bool,
}

/// The relay. It ends when dropped.
#[derive(Debug)]
pub(crate) struct Relay {
    version: Version,
    state: Arc<Mutex<State>>,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    /// Starts it between the gateways of a network with a middle, over this version of IP, without impairments.
    pub(crate) fn start(world: &World, version: Version, seed: u64) -> Relay {
        let middle = world.middle.as_ref().unwrap();
        let end = if version == Version::V4 { "/24 dev far" } else { "/64 dev far nodad" };
        middle.configure(&format!("address add {}{end}", address(version, LINE_BEYOND, HOSTS[1]))).unwrap();
        let [door, beyond] = [Relay::door_of(version), (address(version, LINE_BEYOND, HOSTS[0]), 0).into()];
        let (door, onward) = middle.run(move || (socket(door), socket(beyond)));
        let from = onward.local_addr().unwrap();
        let state = State { ills: [Ills::NONE; 2], counts: [Counts::default(); 2], rebind: None, from, stop: false };
        let state = Arc::new(Mutex::new(state));
        let line = Line {
            headers: if version == Version::V4 { 28 } else { 48 },
            door,
            onward,
            forgotten: Vec::new(),
            near: None,
            far: Side::Far.address(version),
            waiting: BinaryHeap::new(),
            free: [Instant::now(); 2],
            count: 0,
            numbers: Numbers(seed),
        };
        let shared = Arc::clone(&state);
        let thread = Some(start(middle, move || line.run(&shared)));
        Relay { version, state, thread }
    }

    fn door_of(version: Version) -> SocketAddr {
        (address(version, LINE, 3), 4433).into()
    }

    /// Returns the address that the near gateway dials.
    pub(crate) fn door(&self) -> SocketAddr {
        Relay::door_of(self.version)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Sets the impairments of datagrams towards a gateway.
    pub(crate) fn set(&self, toward: Side, ills: Ills) {
        self.state().ills[toward as usize] = ills;
    }

    /// Sets the impairments of both directions.
    pub(crate) fn set_both(&self, ills: Ills) {
        self.state().ills = [ills; 2];
    }

    /// Returns the counts of datagrams towards a gateway.
    pub(crate) fn counts(&self, toward: Side) -> Counts {
        self.state().counts[toward as usize]
    }

    /// Changes the binding of the near gateway: the far one gets its datagrams from another port, of host `host` (of
    /// [`HOSTS`]), and those that it sends to the old one are lost. Returns the new source address.
    pub(crate) fn rebind(&self, host: u8) -> SocketAddr {
        let ip = address(self.version, LINE_BEYOND, host);
        let before = self.state().from;
        self.state().rebind = Some(ip);
        while self.state().rebind.is_some() {
            std::thread::sleep(LOOK);
        }
        let now = self.state().from;
        assert_ne!(now, before);
        now
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        if let Ok(mut state) = self.state.lock() {
            state.stop = true;
        }
        if let Some(thread) = self.thread.take() {
            // A failure there has failed the test already: nothing passed.
            let _ = thread.join();
        }
    }
}

fn socket(at: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind(at).unwrap();
    socket.set_nonblocking(true).unwrap();
    let _ = set_socket_recv_buffer_size_force(&socket, BUFFER);
    socket
}

/// A datagram that waits: its time, its turn at that time, its direction, its octets.
type Waiting = Reverse<(Instant, u64, Side, Vec<u8>)>;

/// The state of the thread.
struct Line {
    /// Octets of IP and UDP.
    headers: usize,
    /// The near gateway's end, and the far one's.
    door: UdpSocket,
    onward: UdpSocket,
    /// Kept open, so that no ICMP error reports them as closed, and never read.
    forgotten: Vec<UdpSocket>,
    near: Option<SocketAddr>,
    far: SocketAddr,
    waiting: BinaryHeap<Waiting>,
    /// The time at which the link is free, in each direction.
    free: [Instant; 2],
    count: u64,
    numbers: Numbers,
}

impl Line {
    fn run(mut self, shared: &Mutex<State>) {
        let mut buffer = vec![0; 1 << 16];
        loop {
            {
                let mut state = shared.lock().unwrap();
                if state.stop {
                    return;
                }
                if let Some(ip) = state.rebind.take() {
                    let old = std::mem::replace(&mut self.onward, socket((ip, 0).into()));
                    self.forgotten.push(old);
                    state.from = self.onward.local_addr().unwrap();
                }
                self.take(Side::Far, &mut state, &mut buffer);
                self.take(Side::Near, &mut state, &mut buffer);
            }
            self.give();
            self.wait();
        }
    }

    /// Reads datagrams towards `toward`, and decides their fates.
    fn take(&mut self, toward: Side, state: &mut State, buffer: &mut [u8]) {
        let ills = state.ills[toward as usize];
        let counts = &mut state.counts[toward as usize];
        let now = Instant::now();
        // Bounded, so that the other direction is served in time.
        for _ in 0..64 {
            let socket = if toward == Side::Far { &self.door } else { &self.onward };
            let Ok((octets, from)) = socket.recv_from(buffer) else { return };
            if toward == Side::Far {
                self.near = Some(from);
            }
            let length = octets + self.headers;
            // Drawn for each, so that its fate does not depend on those of others.
            let [lost, late, twice] = [ills.lost, ills.late, ills.twice].map(|of| self.numbers.below(1_000) < of);
            let more = LATE + LATE.mul_f64(self.numbers.below(1_000) as f64 / 1_000.0);
            let turn = match ills.carries {
                Some((rate, queue)) => {
                    let free = &mut self.free[toward as usize];
                    let begins = now.max(*free);
                    let fits = begins - now <= queue;
                    if fits {
                        *free = begins + Duration::from_secs_f64(length as f64 / rate as f64);
                    }
                    fits.then_some(*free)
                }
                None => Some(now),
            };
            if ills.silent {
                counts.silenced += 1;
            } else if length > ills.most {
                counts.too_large += 1;
            } else if lost {
                counts.lost += 1;
            } else if let Some(turn) = turn {
                counts.carried += 1;
                counts.late += u64::from(late);
                counts.twice += u64::from(twice);
                counts.largest = counts.largest.max(length);
                let due = turn + ills.delay + if late { more } else { Duration::ZERO };
                for _ in 0..=u32::from(twice) {
                    self.count += 1;
                    self.waiting.push(Reverse((due, self.count, toward, buffer[..octets].to_vec())));
                }
            } else {
                counts.crowded += 1;
            }
        }
    }

    /// Sends datagrams that are due.
    fn give(&mut self) {
        let now = Instant::now();
        while self.waiting.peek().is_some_and(|Reverse(first)| first.0 <= now) {
            let Some(Reverse((_, _, toward, octets))) = self.waiting.pop() else { return };
            // A datagram that the kernel refuses is lost, as on any link.
            let _ = match (toward, self.near) {
                (Side::Far, _) => self.onward.send_to(&octets, self.far),
                (Side::Near, Some(near)) => self.door.send_to(&octets, near),
                (Side::Near, None) => Ok(0),
            };
        }
    }

    fn wait(&self) {
        let due = self.waiting.peek().map(|Reverse(first)| first.0.saturating_duration_since(Instant::now()));
        let time = Timespec::try_from(due.unwrap_or(LOOK).min(LOOK)).unwrap();
        let mut fds = [&self.door, &self.onward].map(|socket| PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::IN));
        let _ = poll(&mut fds, Some(&time));
    }
}
