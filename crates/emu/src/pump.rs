//! The loop of an emulation: packets in, the network up to now, packets out, wait.
//!
//! One thread. Each pass handles all that is due, however many cells that is, and between passes it sleeps. While there
//! is little to do a pass follows at once whatever calls for it, and the last moments before a deadline are spun; while
//! there is much, passes keep a distance. So a network full of cells costs some thousand passes a second.

mod exchange;
mod ingress;
mod pace;
#[cfg(test)]
mod tests;

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex};

use cellway_testbed::Capture;
use cellway_units::{Span, Time};

use crate::clock::{Clock, TimeSource, thread_time};
use crate::engine::Engine;
use crate::error::Error;
use crate::lateness::Lateness;
use crate::player::Observation;
use crate::snapshot::Snapshot;
use crate::sys::{DriverThread, Interest, Readiness, Scheduling, SysError, Tun, sleep_until};
use crate::treatment::{Observed, Treatment};

pub(crate) use exchange::Device;
use ingress::Ingress;
use pace::Pace;

/// The longest wait: a request to stop is seen this soon.
const PATIENCE: Span = Span::from_ms(50);
/// What ends a longer wait is dated by the run delay of this thread; the bound that is known anyway is near enough else.
const NEAR: Span = Span::from_us(50);

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
    /// Of each device: it may have packets, and how long they may have waited.
    intake: Vec<Intake>,
    /// How long packets waited in their devices, at most; of the whole run.
    pub(crate) ingress: Lateness,
    pace: Pace,
    /// All devices that were not told to have packets were empty then.
    checked: Time,
    /// The run delay of this thread when it was last asked for.
    delayed: Span,
    buffer: Vec<u8>,
    /// What was seen since the last pass.
    observed: Vec<Observation>,
}

/// What is known of the packets in a device.
#[derive(Clone, Debug)]
struct Intake {
    /// There may be some: something came, and no read has found it empty since.
    readable: bool,
    ingress: Ingress,
}

impl<D: Device, C: TimeSource> Pump<D, C> {
    pub(crate) fn new(engine: Engine, devices: Vec<D>, clock: C, limit: Span) -> Pump<D, C> {
        let intake = devices.iter().map(|_| Intake { readable: true, ingress: Ingress::default() }).collect();
        Pump {
            engine,
            devices,
            intake,
            clock,
            limit,
            lateness: Lateness::default(),
            recent: Lateness::default(),
            untaken: 0,
            passes: 0,
            cpu: Span::ZERO,
            treatment: Treatment::default(),
            ingress: Lateness::default(),
            pace: Pace::new(limit),
            checked: Time::ZERO,
            delayed: Span::ZERO,
            buffer: vec![0; Tun::LARGEST],
            observed: Vec::new(),
        }
    }
}

impl<D: Device, C: TimeSource> Pump<D, C> {
    /// A wait from `before` to `after`, for `until` at the latest, has found packets in the devices of `ready`. This
    /// thread was ready to run for `delay` of it, if that is known.
    fn found(&mut self, before: Time, after: Time, until: Option<Time>, delay: Option<Span>, ready: &[u64]) {
        if ready.is_empty() {
            // Nothing had come when the deadline came.
            let empty = until.filter(|&until| until <= after);
            if let Some(until) = empty {
                self.pace.overslept(after.since(until));
            }
            self.checked = self.checked.max(empty.unwrap_or(before));
            return;
        }
        let worked = before.since(self.checked);
        // A packet that ended a sleep came when the thread became ready to run. Where the kernel does not count that,
        // it is taken to have run at once.
        let unseen = match delay {
            Some(delay) => worked + delay,
            None if after.since(before) > NEAR => worked,
            None => after.since(self.checked),
        };
        let came = Time::from_ps(after.as_ps().saturating_sub(unseen.as_ps())).max(self.checked);
        for &token in ready {
            let intake = &mut self.intake[token as usize];
            if !intake.readable {
                intake.readable = true;
                intake.ingress.clear(came);
            }
        }
        self.checked = came;
    }
}

impl<D: Device + AsFd, C: TimeSource> Pump<D, C> {
    /// Runs until the end, or until it is told to stop. Returns when that was.
    pub(crate) fn run(&mut self, mut watch: Watch<'_>) -> Result<Time, Error> {
        let thread = DriverThread::prepare(Scheduling { before_others: Some(self.pace.demand()), cpu: None });
        let treatment = Observed::begin(&thread);
        let mut readiness = Readiness::new()?;
        for (token, device) in self.devices.iter().enumerate() {
            readiness.add(device, token as u64, Interest::Arrival)?;
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
            let more = self.take_in(watch.end)?;
            if next_view.is_some_and(|at| at <= now) {
                self.show(&watch);
                next_view = watch.view.as_ref().map(|(every, _)| now + *every);
            }
            self.passes += 1;
            self.wait(watch.end, more, &treatment, &mut readiness, &mut ready)?;
        }
    }

    fn show(&mut self, watch: &Watch<'_>) {
        let Some((_, show)) = &watch.view else { return };
        let mut snapshot = self.engine.snapshot();
        snapshot.lateness_p99 = self.recent.p99().as_secs_f64();
        snapshot.valid = self.lateness.is_valid(self.limit) && self.ingress.is_valid(self.limit);
        self.recent.clear();
        // Nobody may be looking any more.
        let _ = show.try_send(snapshot);
    }

    /// Sleeps until a host sends or something is due; with `more` to be read, only as long as the pace asks for.
    fn wait(
        &mut self,
        end: Time,
        more: bool,
        treatment: &Observed,
        readiness: &mut Readiness,
        ready: &mut Vec<u64>,
    ) -> Result<(), SysError> {
        let now = self.clock.now().unwrap_or(Time::ZERO);
        let mut next = self.engine.deadline().unwrap_or(Time::MAX).min(end).min(now + PATIENCE);
        if more {
            next = now;
        }
        let earliest = self.pace.passed(now).min(end);
        if earliest > now {
            sleep_until(self.clock.deadline_ns(earliest));
        }
        let margin = self.pace.margin();
        let until = Time::from_ps(next.as_ps().saturating_sub(margin.as_ps()));
        let before = self.clock.now().unwrap_or(Time::ZERO);
        // A deadline that has come asks what is ready and returns at once.
        let deadline = if until > before { self.clock.deadline_ns(until) } else { 0 };
        readiness.wait(Some(deadline), ready)?;
        let after = self.clock.now().unwrap_or(Time::ZERO);
        let delay = if after.since(before) > NEAR { self.run_delay(treatment) } else { None };
        self.found(before, after, (until > before).then_some(until), delay, ready);
        if ready.is_empty() && !margin.is_zero() && after < next {
            // A host that sends now is served at the end of the spin.
            while self.clock.now().unwrap_or(Time::ZERO) < next {
                std::hint::spin_loop();
            }
            self.pace.spun(next.since(after));
        }
        Ok(())
    }

    /// Time in which this thread was ready to run and did not, since the last call.
    fn run_delay(&mut self, treatment: &Observed) -> Option<Span> {
        let delay = treatment.run_delay()?;
        let before = std::mem::replace(&mut self.delayed, delay);
        Some(delay.saturating_sub(before))
    }
}
