//! The loop of an emulation: packets in, the network up to now, packets out, wait.
//!
//! One thread. Each pass handles all that is due, however many cells that is; between passes it sleeps, and only
//! the last moments before a lone deadline are spun away. So a network full of cells costs a few thousand passes
//! a second, not a wake-up for each cell.

use std::io::IoSlice;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex};

use cellway_testbed::Capture;
use cellway_units::{Span, Time};
use cellway_wire::ip::VirtioNetHeader;

use crate::batch::batches;
use crate::clock::{Clock, thread_time};
use crate::engine::{Engine, HostIndex};
use crate::error::Error;
use crate::lateness::Lateness;
use crate::player::Observation;
use crate::snapshot::Snapshot;
use crate::sys::{DriverThread, Interest, Readiness, Scheduling, SysError, Tun};

/// While the network has something to do all the time, it is looked at this often.
const PASS: Span = Span::from_us(50);
/// A wait for a lone deadline ends this much early, and the rest is spun.
const SPIN: Span = Span::from_us(60);
/// The longest wait: a request to stop is seen this soon.
const PATIENCE: Span = Span::from_ms(50);
/// The most packets that are read from one host in a pass; the others of that host wait for the next.
const READS: u32 = 64;

/// What a run wants to know while it goes on.
pub(crate) struct Watch<'a> {
    /// Ends the run.
    pub(crate) stop: Arc<AtomicBool>,
    /// The end of the run.
    pub(crate) end: Time,
    /// How often to look, and who is shown what is seen.
    pub(crate) view: Option<(Span, SyncSender<Snapshot>)>,
    /// What the player has seen. No channel: the receiver of one yields while a sender is half done, and this thread,
    /// before which no ordinary one gets its CPU, would yield to nobody for as long as the sender waits for that CPU.
    pub(crate) observed: Arc<Mutex<Vec<Observation>>>,
    /// Writes what passes a node.
    pub(crate) capture: Option<Capture<'a>>,
}

/// A network, the devices of its hosts, and how punctual they are served.
pub(crate) struct Pump {
    pub(crate) engine: Engine,
    /// One for each host, in their order.
    pub(crate) tuns: Vec<Tun>,
    clock: Clock,
    limit: Span,
    /// Of the whole run.
    pub(crate) lateness: Lateness,
    /// Since the last view.
    recent: Lateness,
    /// Packets that a device did not take.
    pub(crate) untaken: u64,
    /// Passes of the loop.
    pub(crate) passes: u64,
    /// What the loop took of a processor.
    pub(crate) cpu: Span,
    /// Why its thread did not go before all ordinary ones, if it did not.
    pub(crate) not_real_time: Option<String>,
    /// Hosts that are not read from, nor watched, until their lines have room again.
    paused: Vec<HostIndex>,
    buffer: Vec<u8>,
    /// What was seen since the last pass.
    observed: Vec<Observation>,
}

impl Pump {
    pub(crate) fn new(engine: Engine, tuns: Vec<Tun>, clock: Clock, limit: Span) -> Pump {
        Pump {
            engine,
            tuns,
            clock,
            limit,
            lateness: Lateness::default(),
            recent: Lateness::default(),
            untaken: 0,
            passes: 0,
            cpu: Span::ZERO,
            not_real_time: None,
            paused: Vec::new(),
            buffer: vec![0; Tun::LARGEST],
            observed: Vec::new(),
        }
    }

    /// Runs until the end, or until it is told to stop. Returns when that was.
    pub(crate) fn run(&mut self, mut watch: Watch<'_>) -> Result<Time, Error> {
        let thread = DriverThread::prepare(Scheduling { real_time: true, cpu: None });
        self.not_real_time = thread.real_time().err().map(str::to_owned);
        let mut readiness = Readiness::new()?;
        for (token, tun) in self.tuns.iter().enumerate() {
            readiness.add(tun, token as u64, Interest::Read)?;
        }
        let mut ready = Vec::new();
        let mut next_view = watch.view.as_ref().map(|(every, _)| Time::ZERO + *every);
        loop {
            let now = self.clock.now().unwrap_or(Time::ZERO).min(watch.end);
            self.engine.advance(now)?;
            self.hand_out();
            // If it is being written to, the next pass is soon enough.
            if let Ok(mut observed) = watch.observed.try_lock() {
                std::mem::swap(&mut *observed, &mut self.observed);
            }
            self.observed.drain(..).for_each(|observation| self.engine.observe(observation));
            if let Some(capture) = &mut watch.capture {
                capture.write(&mut self.engine.testbed, |packet| packet.body.octets.to_vec())?;
            }
            if now >= watch.end || watch.stop.load(Ordering::Relaxed) {
                if let Some(capture) = watch.capture {
                    capture.finish()?;
                }
                self.cpu = thread_time();
                return Ok(now);
            }
            let more = self.take_in(now, &ready, &readiness)?;
            self.hand_out();
            if next_view.is_some_and(|at| at <= now) {
                self.show(now, &watch);
                next_view = watch.view.as_ref().map(|(every, _)| now + *every);
            }
            self.passes += 1;
            if more {
                ready.clear();
                ready.extend(0..self.tuns.len() as u64);
                continue;
            }
            self.resume(&readiness)?;
            self.wait(now, watch.end, &mut readiness, &mut ready)?;
        }
    }

    /// Reads what the hosts of `ready` have sent; whether there may be more.
    fn take_in(&mut self, now: Time, ready: &[u64], readiness: &Readiness) -> Result<bool, Error> {
        let mut more = false;
        for &token in ready {
            let host = HostIndex(token as usize);
            let mut reads = 0;
            while self.engine.has_room(host) {
                if reads == READS {
                    more = true;
                    break;
                }
                reads += 1;
                match self.tuns[host.0].read(&mut self.buffer) {
                    Ok(Some(octets)) => self.engine.receive(now, host, &self.buffer[..octets])?,
                    Ok(None) => break,
                    Err(source) => return Err(Error::Device { host: self.engine.name(host).to_owned(), source }),
                }
            }
            if !self.engine.has_room(host) && !self.paused.contains(&host) {
                // What it has is ready all the time: watched, it would end each wait at once.
                readiness.remove(&self.tuns[host.0])?;
                self.paused.push(host);
            }
        }
        self.engine.serve(now);
        Ok(more)
    }

    /// Watches again those hosts whose lines have room again. A line makes room as it sends, which ends a wait.
    fn resume(&mut self, readiness: &Readiness) -> Result<(), SysError> {
        if self.paused.is_empty() {
            return Ok(());
        }
        let (room, full): (Vec<_>, Vec<_>) = self.paused.drain(..).partition(|&host| self.engine.has_room(host));
        self.paused = full;
        room.into_iter().try_for_each(|host| readiness.add(&self.tuns[host.0], host.0 as u64, Interest::Read))
    }

    /// Gives the hosts what has come for them.
    fn hand_out(&mut self) {
        if self.engine.due().is_empty() {
            return;
        }
        let due = std::mem::take(self.engine.due());
        for mut batch in batches(&due) {
            let tun = &self.tuns[batch.host.0];
            let taken = match batch.joined.as_mut().filter(|joined| joined.count() > 1) {
                Some(joined) => {
                    let header = joined.header_len();
                    let (offload, headers) = joined.finish();
                    let offload = offload.octets();
                    let mut parts = vec![IoSlice::new(&offload), IoSlice::new(headers)];
                    parts.extend(batch.members.iter().map(|&place| IoSlice::new(&due[place].octets[header..])));
                    tun.write_vectored(&parts)
                }
                None => {
                    // Nothing is left to the host: checksums are complete.
                    let offload = VirtioNetHeader::default().octets();
                    tun.write_vectored(&[IoSlice::new(&offload), IoSlice::new(&due[batch.members[0]].octets)])
                }
            };
            if !matches!(taken, Ok(Some(_))) {
                self.untaken += batch.members.len() as u64;
            }
            let now = self.clock.now().unwrap_or(Time::ZERO);
            for &place in &batch.members {
                let late = now.since(due[place].at);
                self.lateness.record(late);
                self.recent.record(late);
            }
        }
        // The list itself is used again.
        let list = self.engine.due();
        *list = due;
        list.clear();
    }

    fn show(&mut self, now: Time, watch: &Watch<'_>) {
        let Some((_, show)) = &watch.view else { return };
        let mut snapshot = self.engine.snapshot(now);
        snapshot.lateness_p99 = self.recent.p99().as_secs_f64();
        snapshot.valid = self.lateness.is_valid(self.limit);
        self.recent.clear();
        // Nobody may be looking any more.
        let _ = show.try_send(snapshot);
    }

    /// Sleeps until a host sends or something is due.
    fn wait(&self, now: Time, end: Time, readiness: &mut Readiness, ready: &mut Vec<u64>) -> Result<(), SysError> {
        let next = self.engine.deadline().unwrap_or(Time::MAX).min(end).min(now + PATIENCE);
        if next.since(now) <= PASS {
            return readiness.wait(Some(self.clock.deadline_ns(now + PASS)), ready);
        }
        readiness.wait(Some(self.clock.deadline_ns(next).saturating_sub(SPIN.as_ps() / 1000)), ready)?;
        if ready.is_empty() {
            // A host that sends now is heard at the end of the spin.
            while self.clock.now().unwrap_or(Time::ZERO) < next {
                std::hint::spin_loop();
            }
        }
        Ok(())
    }
}
