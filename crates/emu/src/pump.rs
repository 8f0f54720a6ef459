//! The event loop of an emulation: read packets, advance the network to the present time, write packets, wait.
//!
//! One thread. Each pass handles all events that are due, however many cells that is, and between passes the thread
//! sleeps. Under light load a pass starts at once when a packet arrives or a deadline is reached, and the last
//! microseconds before a deadline are spent spinning. Under heavy load passes keep a minimum interval, so a network
//! full of cells costs a few thousand passes a second.

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
use crate::session::LinkChanges;
use crate::snapshot::Snapshot;
use crate::sys::{DriverThread, Interest, Readiness, Scheduling, SysError, Tun, sleep_until};
use crate::treatment::{Observed, Treatment};

pub(crate) use exchange::Device;
use ingress::Ingress;
use pace::Pace;

/// The longest wait, and so the longest delay of a request to stop.
const PATIENCE: Span = Span::from_ms(50);
/// After a wait longer than this, the arrival of the packets that ended it is bounded by the thread's run delay. After
/// a shorter wait the last check of the devices is a close enough bound, which saves reading the run delay.
const NEAR: Span = Span::from_us(50);

/// The connections of a run to its caller.
pub(crate) struct Watch<'a> {
    /// Ends the run.
    pub(crate) stop: Arc<AtomicBool>,
    /// The end of the run.
    pub(crate) end: Time,
    /// The interval of snapshots, and their receiver.
    pub(crate) view: Option<(Span, SyncSender<Snapshot>)>,
    /// The observations of the player. A mutex, not a channel: a receiver spins while a sender is mid-push, and this
    /// thread has real-time priority, so the sender would never run.
    pub(crate) observed: Arc<Mutex<Vec<Observation>>>,
    /// Changes of links that the caller requests while the network runs.
    pub(crate) changes: LinkChanges,
    /// Captures the packets that pass a node.
    pub(crate) capture: Option<Capture<'a>>,
}

/// Drives a network: exchanges packets with the devices of its hosts, and measures the lateness.
pub(crate) struct Pump<D = Tun, C = Clock> {
    pub(crate) engine: Engine,
    /// One for each host, in their order.
    pub(crate) devices: Vec<D>,
    /// Segments of a connection that arrive together are written as one.
    pub(crate) joins: bool,
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
    /// The processor time of the loop.
    pub(crate) cpu: Span,
    /// The scheduling of its thread by the kernel.
    pub(crate) treatment: Treatment,
    /// The state of each device, in the order of `devices`.
    intake: Vec<Intake>,
    /// Upper bounds of the time that packets waited in their devices, over the whole run.
    pub(crate) ingress: Lateness,
    pace: Pace,
    /// The latest instant at which every device that is not marked `readable` was known to be empty.
    checked: Time,
    /// The run delay of this thread at its last reading.
    delayed: Span,
    buffer: Vec<u8>,
    /// The observations since the last pass.
    observed: Vec<Observation>,
}

/// The state of the packets in a device.
#[derive(Clone, Debug)]
struct Intake {
    /// True from an arrival until a read finds the device empty.
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
            joins: true,
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
    /// Records the outcome of a wait from `before` to `after` with the deadline `until`: packets are in the devices of
    /// `ready`. `delay` is the part of the wait in which this thread was ready to run, if known.
    fn found(&mut self, before: Time, after: Time, until: Option<Time>, delay: Option<Span>, ready: &[u64]) {
        if ready.is_empty() {
            // No packet had arrived by the deadline.
            let empty = until.filter(|&until| until <= after);
            if let Some(until) = empty {
                self.pace.overslept(after.since(until));
            }
            self.checked = self.checked.max(empty.unwrap_or(before));
            return;
        }
        let worked = before.since(self.checked);
        // A packet that ended a sleep arrived when the thread became ready to run. Where the kernel does not report the
        // run delay, it is taken to be zero.
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
    /// Runs until the end, or until a request to stop. Returns the time of that.
    pub(crate) fn run(&mut self, mut watch: Watch<'_>) -> Result<Time, Error> {
        let thread = DriverThread::prepare(Scheduling { before_others: Some(self.pace.demand()), cpu: None });
        let treatment = Observed::begin(&thread);
        let mut readiness = Readiness::new()?;
        for (token, device) in self.devices.iter().enumerate() {
            readiness.add(device, token as u64, Interest::Arrival)?;
        }
        let mut ready = Vec::new();
        let mut next_view = watch.view.as_ref().map(|(every, _)| Time::ZERO + *every);
        // No packet is read before time zero: it would wait inside the network, where its wait is not measured.
        while self.clock.now().is_none() && !watch.stop.load(Ordering::Relaxed) {
            Readiness::new()?.wait(Some(self.clock.deadline_ns(Time::ZERO)), &mut ready)?;
        }
        loop {
            // Before the clock is read, so that no observation is dated before it was made. If the player holds the
            // lock, the next pass is soon enough.
            if let Ok(mut observed) = watch.observed.try_lock() {
                std::mem::swap(&mut *observed, &mut self.observed);
            }
            let now = self.catch_up(watch.end)?;
            self.observed.drain(..).for_each(|observation| self.engine.observe(observation));
            if let Ok(mut changes) = watch.changes.try_lock() {
                changes.drain(..).for_each(|(link, ends, change)| self.engine.change_link(link, ends, change));
            }
            if let Some(capture) = &mut watch.capture {
                self.engine.write_capture(capture)?;
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
        // The receiver may not exist any more.
        let _ = show.try_send(snapshot);
    }

    /// Sleeps until a host sends or an event is due. With `more` packets to read, sleeps only for the minimum interval
    /// between passes.
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
        // With a deadline in the past the wait polls the devices and returns at once.
        let deadline = if until > before { self.clock.deadline_ns(until) } else { 0 };
        readiness.wait(Some(deadline), ready)?;
        let after = self.clock.now().unwrap_or(Time::ZERO);
        let delay = if after.since(before) > NEAR { self.run_delay(treatment) } else { None };
        self.found(before, after, (until > before).then_some(until), delay, ready);
        if ready.is_empty() && !margin.is_zero() && after < next {
            // A host that sends now is served after the spin.
            while self.clock.now().unwrap_or(Time::ZERO) < next {
                std::hint::spin_loop();
            }
            self.pace.spun(next.since(after));
        }
        Ok(())
    }

    /// Returns the time since the last call in which this thread was ready to run but did not run.
    fn run_delay(&mut self, treatment: &Observed) -> Option<Span> {
        let delay = treatment.run_delay()?;
        let before = std::mem::replace(&mut self.delayed, delay);
        Some(delay.saturating_sub(before))
    }
}
