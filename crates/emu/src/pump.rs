//! The loop of an emulation: packets in, the network up to now, packets out, wait.
//!
//! One thread. Each pass handles all that is due, however many cells that is; between passes it sleeps, and only
//! the last moments before a lone deadline are spun away. So a network full of cells costs a few thousand passes
//! a second, not a wake-up for each cell.

mod exchange;
#[cfg(test)]
mod tests;

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex};

use cellway_testbed::Capture;
use cellway_units::{Span, Time};

use crate::clock::{Clock, TimeSource, thread_time};
use crate::engine::{Engine, HostIndex};
use crate::error::Error;
use crate::lateness::Lateness;
use crate::player::Observation;
use crate::snapshot::Snapshot;
use crate::sys::{DriverThread, Interest, Readiness, Scheduling, SysError, Tun};
use crate::treatment::{Observed, Treatment};

pub(crate) use exchange::Device;

/// While the network has something to do all the time, it is looked at this often.
const PASS: Span = Span::from_us(50);
/// A wait for a lone deadline ends this much early, and the rest is spun.
const SPIN: Span = Span::from_us(60);
/// The longest wait: a request to stop is seen this soon.
const PATIENCE: Span = Span::from_ms(50);

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

/// Drives a network: exchanges packets with the devices of its hosts, and measures how punctually.
pub(crate) struct Pump<D = Tun, C = Clock> {
    pub(crate) engine: Engine,
    /// One for each host, in their order.
    pub(crate) devices: Vec<D>,
    clock: C,
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
    /// How the kernel treated its thread.
    pub(crate) treatment: Treatment,
    /// Hosts that are not read from until their lines have room again, and whether they are still watched.
    paused: Vec<(HostIndex, bool)>,
    buffer: Vec<u8>,
    /// What was seen since the last pass.
    observed: Vec<Observation>,
}

impl<D: Device, C: TimeSource> Pump<D, C> {
    pub(crate) fn new(engine: Engine, devices: Vec<D>, clock: C, limit: Span) -> Pump<D, C> {
        Pump {
            engine,
            devices,
            clock,
            limit,
            lateness: Lateness::default(),
            recent: Lateness::default(),
            untaken: 0,
            passes: 0,
            cpu: Span::ZERO,
            treatment: Treatment::default(),
            paused: Vec::new(),
            buffer: vec![0; Tun::LARGEST],
            observed: Vec::new(),
        }
    }
}

impl<D: Device + AsFd, C: TimeSource> Pump<D, C> {
    /// Runs until the end, or until it is told to stop. Returns when that was.
    pub(crate) fn run(&mut self, mut watch: Watch<'_>) -> Result<Time, Error> {
        let thread = DriverThread::prepare(Scheduling { real_time: true, cpu: None });
        let treatment = Observed::begin(&thread);
        let mut readiness = Readiness::new()?;
        for (token, device) in self.devices.iter().enumerate() {
            readiness.add(device, token as u64, Interest::Read)?;
        }
        let mut ready = Vec::new();
        let mut next_view = watch.view.as_ref().map(|(every, _)| Time::ZERO + *every);
        // Nothing is read before time begins: it would wait inside, where nobody sees it wait.
        while self.clock.now().is_none() && !watch.stop.load(Ordering::Relaxed) {
            Readiness::new()?.wait(Some(self.clock.deadline_ns(Time::ZERO)), &mut ready)?;
        }
        loop {
            // Before the clock is read: nothing is dated earlier than it was observed. If the list is being written
            // to, the next pass is soon enough.
            if let Ok(mut observed) = watch.observed.try_lock() {
                std::mem::swap(&mut *observed, &mut self.observed);
            }
            let now = self.catch_up(watch.end)?;
            self.observed.drain(..).for_each(|observation| self.engine.observe(observation));
            if let Some(capture) = &mut watch.capture {
                capture.write(&mut self.engine.testbed, |packet| packet.body.octets.to_vec())?;
            }
            if now >= watch.end || watch.stop.load(Ordering::Relaxed) {
                if let Some(capture) = watch.capture {
                    capture.finish()?;
                }
                self.cpu = thread_time();
                self.treatment = treatment.end();
                return Ok(now);
            }
            let more = self.take_in(watch.end, &ready)?;
            if next_view.is_some_and(|at| at <= now) {
                self.show(&watch);
                next_view = watch.view.as_ref().map(|(every, _)| now + *every);
            }
            self.passes += 1;
            if more {
                ready.clear();
                ready.extend(0..self.devices.len() as u64);
                continue;
            }
            self.watch(&readiness)?;
            self.wait(watch.end, &mut readiness, &mut ready)?;
        }
    }

    /// Stops watching hosts that were paused, whose packets would end each wait at once, and watches again those whose
    /// lines have room again. A line makes room as it sends, which ends a wait.
    fn watch(&mut self, readiness: &Readiness) -> Result<(), SysError> {
        let Pump { engine, devices, paused, .. } = self;
        let mut failed = Ok(());
        paused.retain_mut(|(host, watched)| {
            let room = engine.has_room(*host);
            let device = &devices[host.0];
            let changed = match (room, *watched) {
                (true, false) => readiness.add(device, host.0 as u64, Interest::Read),
                (false, true) => readiness.remove(device),
                _ => Ok(()),
            };
            *watched = room;
            if failed.is_ok() {
                failed = changed;
            }
            !room
        });
        failed
    }

    fn show(&mut self, watch: &Watch<'_>) {
        let Some((_, show)) = &watch.view else { return };
        let mut snapshot = self.engine.snapshot();
        snapshot.lateness_p99 = self.recent.p99().as_secs_f64();
        snapshot.valid = self.lateness.is_valid(self.limit);
        self.recent.clear();
        // Nobody may be looking any more.
        let _ = show.try_send(snapshot);
    }

    /// Sleeps until a host sends or something is due.
    fn wait(&self, end: Time, readiness: &mut Readiness, ready: &mut Vec<u64>) -> Result<(), SysError> {
        let now = self.engine.now();
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
