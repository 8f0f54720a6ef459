//! A run in slices, for a caller that does something else in between, such as showing progress.

use std::borrow::Cow;

use cellway_apps::GroupWorkload;
use cellway_net::Delivery;
use cellway_record::{Row, RunRecord};
use cellway_scenario::Scenario;
use cellway_units::{Span, Time};

use super::{Control, Run};
use crate::body::Body;
use crate::error::Error;
use crate::view::{Scene, View};

/// A run between two slices. The sizes of the slices have no effect on the record.
pub struct Slices<'a> {
    run: Run<'a>,
    /// The last instant that was simulated.
    now: Time,
    end: Time,
    /// Reused from instant to instant.
    delivered: Vec<Delivery<Body>>,
}

/// A run after a slice.
pub enum Advanced<'a> {
    /// It has not reached its end.
    Runs(Box<Slices<'a>>),
    /// It has ended, with this record.
    Ended(RunRecord),
}

impl<'a> Slices<'a> {
    /// Begins a run of `scenario` with `seed` and the built-in TCP; `workloads` as for [`crate::run`].
    pub fn new(scenario: &Scenario, workloads: Vec<GroupWorkload>, seed: u64) -> Result<Box<Slices<'a>>, Error> {
        Slices::with(scenario, Cow::Owned(workloads), seed, Control::new(&|| false))
    }

    /// As [`Slices::new`] with the options of `control`; its `stop` is for the caller.
    pub(super) fn with(
        scenario: &Scenario,
        workloads: Cow<'a, [GroupWorkload]>,
        seed: u64,
        control: Control<'a>,
    ) -> Result<Box<Slices<'a>>, Error> {
        let run = Run::new(scenario, workloads, seed, control)?;
        let end = Time::ZERO + scenario.run.duration;
        Ok(Box::new(Slices { run, now: Time::ZERO, end, delivered: Vec::new() }))
    }

    /// Forgets the hosts' names, which only [`Slices::scene`] needs: memory for each conversation.
    pub(super) fn forget_hosts(&mut self) {
        self.run.bed.forget_hosts();
    }

    /// Advances by up to `instants` instants in which a packet or a timer reaches a host; the network between two of them
    /// comes with them. If the run begins so, and the scenario allows it, the network then runs ahead of the hosts, in
    /// windows, and cannot be viewed.
    ///
    /// # Errors
    /// If a stack, a controller or a record of the caller has failed.
    pub fn advance(mut self: Box<Self>, instants: u64) -> Result<Advanced<'a>, Error> {
        self.run.may_enter |= self.now == Time::ZERO;
        for _ in 0..instants {
            match self.run.step(self.end, &mut self.delivered)? {
                Some(now) => self.now = now,
                None => return self.run.into_record(self.end).map(Advanced::Ended),
            }
        }
        Ok(Advanced::Runs(self))
    }

    /// Returns the rows over time up to now, which need copies of all of them.
    pub fn so_far(&self) -> Vec<Row> {
        self.run.bed.meter.so_far().finish()
    }

    /// Advances through all instants up to `until`, which is the simulated time then.
    ///
    /// # Errors
    /// As those of [`Slices::advance`].
    pub fn advance_until(mut self: Box<Self>, until: Time) -> Result<Advanced<'a>, Error> {
        let limit = if until < self.end { until + Span::from_ps(1) } else { self.end };
        while self.run.step(limit, &mut self.delivered)?.is_some() {}
        if until >= self.end || self.run.has_failed() {
            return self.run.into_record(self.end).map(Advanced::Ended);
        }
        self.now = self.now.max(until);
        Ok(Advanced::Runs(self))
    }

    /// Advances through the next instant in which anything moves: a cell or packet in the network, or a timer of a
    /// host.
    ///
    /// # Errors
    /// As those of [`Slices::advance`].
    pub fn step(self: Box<Self>) -> Result<Advanced<'a>, Error> {
        let next = self.run.next_move(self.now).unwrap_or(self.end);
        self.advance_until(next)
    }

    /// Returns the network and the traffic of the run.
    pub fn scene(&self) -> Scene {
        self.run.scene(self.now)
    }

    /// Returns the cells, packets and windows at [`Slices::now`]; `None` if the network has run ahead of it. It has no effect
    /// on the run.
    pub fn view(&self) -> Option<View> {
        (!self.run.bed.fabric.has_windows()).then(|| self.run.view(self.now))
    }

    /// Returns the simulated time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the simulated time at its end.
    pub fn end(&self) -> Time {
        self.end
    }
}
