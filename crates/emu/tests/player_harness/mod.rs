//! A bench on loopback: hosts are addresses, and observations of the player are collected by slot.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use cellway_apps::{Knot, Outcome, QuantileModel, Side, Tables, Variable, Workload};
use cellway_emu::Clock;
use cellway_emu::player::{
    HostTcp, MakeSocket, Observation, Played, Player, PlayerEnd, PlayerError, PlayerHost, PlayerPlan, PlayerSlot, Seen,
    TcpReport,
};
use cellway_units::{Span, Time};
use socket2::Socket;

/// Longer than any test may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// Returns tables from which tcplib's rule always draws `value`.
pub(crate) fn always(tables: Tables, variable: Variable, value: f64) -> Tables {
    let knots = vec![Knot { probability: 0.9995, value }, Knot { probability: 1.0, value: value + 1.0 }];
    tables.with(variable, QuantileModel::new(knots, "test").unwrap())
}

/// Returns an address of this computer. Tests run in parallel, so each has its own.
pub(crate) fn loopback(number: u8) -> IpAddr {
    Ipv4Addr::new(127, 77, 0, number).into()
}

pub(crate) fn free_port(address: IpAddr) -> u16 {
    TcpListener::bind((address, 0)).unwrap().local_addr().unwrap().port()
}

/// A change to a socket that the player does not see.
type Meddling = fn(&Socket) -> io::Result<()>;

#[derive(Clone)]
pub(crate) struct Bench {
    seed: u64,
    slots: Vec<PlayerSlot>,
    hosts: Vec<IpAddr>,
    every: Option<Span>,
    duration: Span,
    nobody_listens: bool,
    /// Copies of all sockets, by host, if requested: a copy keeps the socket open.
    sockets: Arc<Mutex<Vec<(usize, Socket)>>>,
    copies: bool,
    meddle: Option<(Duration, Meddling)>,
}

/// All observations.
pub(crate) struct All {
    pub(crate) played: Played,
    slots: Vec<OfSlot>,
}

#[derive(Clone, Default)]
pub(crate) struct OfSlot(Vec<(Time, Seen)>);

impl Bench {
    pub(crate) fn new(seed: u64) -> Bench {
        Bench {
            seed,
            slots: Vec::new(),
            hosts: Vec::new(),
            every: None,
            duration: Span::from_secs(100),
            nobody_listens: false,
            sockets: Arc::default(),
            copies: false,
            meddle: None,
        }
    }

    pub(crate) fn slot(mut self, name: &str, workload: Workload, from: IpAddr, to: IpAddr) -> Bench {
        let ends = [from, to].map(|address| {
            let known = self.hosts.iter().position(|host| *host == address);
            let host = known.unwrap_or_else(|| {
                self.hosts.push(address);
                self.hosts.len() - 1
            });
            PlayerEnd { host, address, tcp: HostTcp::default() }
        });
        let (name, start) = (name.to_owned(), Time::ZERO);
        let (slot, well_known_ports) = (self.slots.len(), [0; 2]);
        self.slots.push(PlayerSlot { slot, name, workload, start, repeat: false, ends, well_known_ports });
        self
    }

    fn last(mut self, change: impl FnOnce(&mut PlayerSlot)) -> Bench {
        change(self.slots.last_mut().unwrap());
        self
    }

    // These change the slot that was added last.

    pub(crate) fn repeat(self) -> Bench {
        self.last(|slot| slot.repeat = true)
    }

    pub(crate) fn start(self, at: Time) -> Bench {
        self.last(|slot| slot.start = at)
    }

    pub(crate) fn ports(self, ports: [u16; 2]) -> Bench {
        self.last(|slot| slot.well_known_ports = ports)
    }

    pub(crate) fn tcp(self, tcp: HostTcp) -> Bench {
        self.last(|slot| slot.ends.iter_mut().for_each(|end| end.tcp = tcp.clone()))
    }

    pub(crate) fn host_of_originator(self, host: usize) -> Bench {
        self.last(|slot| slot.ends[0].host = host)
    }

    pub(crate) fn report_every(self, every: Span) -> Bench {
        Bench { every: Some(every), ..self }
    }

    /// Stops all listeners before any connection is opened.
    pub(crate) fn nobody_listens(self) -> Bench {
        Bench { nobody_listens: true, copies: true, ..self }
    }

    /// Applies a change to the sockets of the first host after a time.
    pub(crate) fn meddle(self, after: Duration, with: Meddling) -> Bench {
        Bench { meddle: Some((after, with)), copies: true, ..self }
    }

    fn meddler(&self) -> Option<thread::JoinHandle<()>> {
        let (after, with) = self.meddle?;
        let sockets = self.sockets.clone();
        Some(thread::spawn(move || {
            thread::sleep(after);
            sockets.lock().unwrap().iter().filter(|(host, _)| *host == 0).for_each(|(_, s)| with(s).unwrap());
        }))
    }

    fn maker(&self, host: usize) -> MakeSocket {
        let (sockets, copies, nobody_listens) = (self.sockets.clone(), self.copies, self.nobody_listens);
        Box::new(move |domain, kind, protocol| {
            let socket = Socket::new(domain, kind, Some(protocol))?;
            let mut sockets = sockets.lock().unwrap();
            if nobody_listens {
                // A listener is made before the socket that connects to it.
                sockets.iter().for_each(|(_, socket)| _ = socket.shutdown(std::net::Shutdown::Both));
            }
            if copies {
                sockets.push((host, socket.try_clone()?));
            }
            Ok(socket)
        })
    }

    fn plan(&self) -> PlayerPlan {
        let host =
            |(index, address): (usize, &IpAddr)| PlayerHost { name: address.to_string(), socket: self.maker(index) };
        PlayerPlan {
            hosts: self.hosts.iter().enumerate().map(host).collect(),
            slots: self.slots.clone(),
            seed: self.seed,
            duration: self.duration,
            tcp_every: self.every,
            verify: true,
        }
    }

    pub(crate) fn run_until_all_ended(self) -> All {
        let slots = self.slots.len();
        self.run_until(|seen| (0..slots).all(|slot| !seen.slot(slot).ended().is_empty()))
    }

    pub(crate) fn run_for(self, duration: Span) -> All {
        Bench { duration, ..self }.run_until(|_| false)
    }

    /// Runs, and gives the local ports of all sockets of a host.
    pub(crate) fn run_and_look_at_ports(self, host: usize) -> (All, Vec<u16>) {
        let sockets = self.sockets.clone();
        let seen = Bench { copies: true, ..self }.run_until_all_ended();
        let sockets = sockets.lock().unwrap();
        let port = |(_, socket): &(usize, Socket)| socket.local_addr().ok()?.as_socket().map(|a: SocketAddr| a.port());
        let ports = sockets.iter().filter(|(h, _)| *h == host).filter_map(port).collect();
        (seen, ports)
    }

    pub(crate) fn try_run(self) -> Result<Played, PlayerError> {
        let (sender, _receiver) = channel();
        let player = Player::new(self.plan(), sender)?;
        let meddler = self.meddler();
        let played = player.run(Clock::start());
        meddler.into_iter().for_each(|thread| thread.join().unwrap());
        played
    }

    /// Runs until `enough` returns true or the run is over.
    pub(crate) fn run_until(self, enough: impl Fn(&All) -> bool) -> All {
        let (sender, receiver) = channel();
        let player = Player::new(self.plan(), sender).unwrap();
        let stopper = player.stopper();
        let running = thread::spawn(move || player.run(Clock::start()));
        let meddler = self.meddler();
        let mut all = All { played: Played::default(), slots: vec![OfSlot::default(); self.slots.len()] };
        let late = collect(&receiver, &mut all, &enough);
        stopper.stop();
        while let Ok(Observation { at, slot, seen }) = receiver.recv() {
            all.slots[slot].0.push((at, seen));
        }
        all.played = running.join().unwrap().unwrap();
        meddler.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(!late, "not enough was seen in {PATIENCE:?}: {}", all.summary());
        all
    }
}

/// Returns true if the time limit expired.
fn collect(receiver: &Receiver<Observation>, all: &mut All, enough: &impl Fn(&All) -> bool) -> bool {
    let end = Instant::now() + PATIENCE;
    while !enough(all) {
        match receiver.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(Observation { at, slot, seen }) => all.slots[slot].0.push((at, seen)),
            Err(RecvTimeoutError::Timeout) => return true,
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    false
}

/// Writes an octet that is not part of the stream.
pub(crate) fn intrude(socket: &Socket) -> io::Result<()> {
    socket.send(b"!").map(|_| ())
}

/// Ends the connection of a socket with a reset (connect(2), `AF_UNSPEC`).
pub(crate) fn reset(socket: &Socket) -> io::Result<()> {
    Ok(rustix::net::connect_unspec(socket)?)
}

impl All {
    pub(crate) fn slot(&self, slot: usize) -> &OfSlot {
        &self.slots[slot]
    }

    fn summary(&self) -> String {
        let of = |slot: &OfSlot| {
            let delivered = [Side::Originator, Side::Responder].map(|side| slot.delivered(side));
            format!("begun {:?}, ended {:?}, delivered {delivered:?}", slot.begun(), slot.ended())
        };
        self.slots.iter().map(of).collect::<Vec<_>>().join("; ")
    }
}

impl OfSlot {
    fn pick<T>(&self, of: impl Fn(&Seen) -> Option<T>) -> Vec<T> {
        self.0.iter().filter_map(|(_, seen)| of(seen)).collect()
    }

    pub(crate) fn times(&self, of: impl Fn(&Seen) -> bool) -> Vec<Time> {
        self.0.iter().filter(|(_, seen)| of(seen)).map(|(at, _)| *at).collect()
    }

    pub(crate) fn begun(&self) -> Vec<u32> {
        self.pick(|seen| if let Seen::Begun { conversation } = seen { Some(*conversation) } else { None })
    }

    pub(crate) fn ended(&self) -> Vec<(u32, Outcome)> {
        self.pick(|seen| match seen {
            Seen::Ended { conversation, outcome, .. } => Some((*conversation, *outcome)),
            _ => None,
        })
    }

    pub(crate) fn reasons(&self) -> Vec<String> {
        self.pick(|seen| if let Seen::Ended { reason, .. } = seen { reason.clone() } else { None })
    }

    /// Bytes that `from` wrote and its peer read.
    pub(crate) fn delivered(&self, from: Side) -> u64 {
        let of = |seen: &Seen| match seen {
            Seen::Delivered { from: side, bytes } if *side == from => Some(*bytes),
            _ => None,
        };
        self.pick(of).iter().sum()
    }

    pub(crate) fn items(&self) -> Vec<u64> {
        self.pick(|seen| if let Seen::Item { bytes, .. } = seen { Some(bytes.0) } else { None })
    }

    pub(crate) fn delays(&self) -> usize {
        self.pick(|seen| matches!(seen, Seen::Delay { .. }).then_some(())).len()
    }

    pub(crate) fn reports(&self) -> Vec<(Time, TcpReport)> {
        let of =
            |(at, seen): &(Time, Seen)| if let Seen::Tcp(report) = seen { Some((*at, report.clone())) } else { None };
        self.0.iter().filter_map(of).collect()
    }

    pub(crate) fn last_reports(&self) -> usize {
        self.reports().iter().filter(|(_, report)| report.last).count()
    }

    pub(crate) fn segment_sizes(&self) -> Vec<u64> {
        self.reports().iter().filter(|(_, report)| report.last).map(|(_, report)| report.info.snd_mss.0).collect()
    }
}
