//! The directions of links: losses, delays and rates over time.

use cellway_net::{DelaySpec, LightLoad, Loss, PortSpec, RateSchedule, Schedule, Share, Stream};
use cellway_scenario::{
    Change, ChangeOf, Direction, Framing, Link, LinkIndex, LinkTrace, Outage, OutageBuffer, OutagePackets, Recorded,
    TraceEnd,
};
use cellway_units::{Probability, Rate, Span, Time};

use crate::build::Builder;

impl<B: Clone> Builder<'_, B> {
    /// Returns the ports of a link of the file, in both directions, without their buffers and queues. `names` are those of its
    /// nodes.
    pub(crate) fn directions(&self, index: LinkIndex, names: [&str; 2]) -> [PortSpec; 2] {
        let link = &self.scenario.links[index.0];
        [0, 1].map(|direction| {
            let trace = link.traces[direction].as_deref();
            // Queue disciplines are configured for the mean of a recording.
            let mean = trace.and_then(|trace| trace.rate.as_ref()).map(Recorded::<Rate>::mean);
            let rate = mean.unwrap_or_else(|| link.rate_of(direction)).max(Rate::from_bps(1));
            let named = |what| stream_name(link, names, direction, what);
            let repeats = link.directions[direction].trace.end == TraceEnd::Repeat;
            let light = trace.and_then(|trace| trace.light.clone()).map(|trains| LightLoad { trains, repeats });
            // The delay of a recording of loads is before the queue.
            let delay = if light.is_some() { Span::ZERO } else { link.delay_of(direction) };
            PortSpec {
                light,
                varying: Some(self.varying(link, names, direction)),
                // Changes of an ATM link are applied from cell to cell by [`Testbed::change`](crate::Testbed::change).
                schedule: (link.framing != Framing::Atm).then(|| self.schedule(index, direction)),
                loss: self.loss(link, names, direction),
                duplicate: self.share(link.directions[direction].duplicate, &named("duplicate")),
                corrupt: self.share(link.directions[direction].corrupt, &named("corrupt")),
                flushes: flushes(link.directions[direction].outage),
                ..PortSpec::new(rate, delay)
            }
        })
    }

    /// Returns the draws of a share of packets, from the random stream of this name.
    fn share(&self, chance: Probability, stream: &str) -> Option<Share> {
        let mut stream = self.streams.stream(stream);
        Share::new(chance, move || stream.bits())
    }

    fn loss(&self, link: &Link, names: [&str; 2], direction: usize) -> Loss {
        let (own, trace) = (&link.directions[direction], link.traces[direction].as_deref());
        let chance = link.loss_of(direction);
        let mut stream = self.streams.stream(&stream_name(link, names, direction, "loss"));
        let source = move || stream.bits();
        let recorded = trace.and_then(|trace| trace.loss.as_ref());
        let loss = match (recorded, own.burst) {
            (Some(recorded), _) => Loss::scheduled(chance, of_recording(recorded, own, None), source),
            (None, Some(length)) => Loss::in_bursts(chance, length, source),
            (None, None) => Loss::random(chance, source),
        };
        loss.with_outages(outages(own.outage, OutagePackets::Lost)).with_listed(link.lost[direction].clone())
    }

    fn varying(&self, link: &Link, names: [&str; 2], direction: usize) -> DelaySpec {
        let (own, trace) = (&link.directions[direction], link.traces[direction].as_deref());
        let jitter = (!own.jitter.deviation.is_zero()).then(|| {
            let mut stream = self.streams.stream(&stream_name(link, names, direction, "jitter"));
            (own.jitter, Stream::new(move || stream.bits()))
        });
        let recorded = trace.and_then(|trace| trace.delay.as_ref());
        let schedule = recorded.map_or_else(never, |recorded| of_recording(recorded, own, None));
        let values = trace.and_then(|trace| trace.jitter.clone());
        DelaySpec { schedule, jitter, values, reorder: own.reorder }
    }

    /// Returns the rates of a packet line: those of a recording, or the changes, and none in outages.
    fn schedule(&self, index: LinkIndex, direction: usize) -> RateSchedule {
        let link = &self.scenario.links[index.0];
        let (own, trace) = (&link.directions[direction], link.traces[direction].as_deref());
        let rates = match trace.and_then(|trace: &LinkTrace| trace.rate.as_ref()) {
            Some(recorded) => of_recording(recorded, own, Some(Rate::from_bps(0))),
            None => Schedule::once(self.changes_of(index, direction)),
        };
        RateSchedule::new(rates, outages(own.outage, OutagePackets::Wait))
    }

    /// Returns the changes of the rate of a direction.
    fn changes_of(&self, link: LinkIndex, end: usize) -> Vec<(Time, Rate)> {
        let of = |change: &Change| -> Option<(Time, Rate)> {
            let ChangeOf::Link(changed, direction) = change.what else { return None };
            let is_here = changed == link && direction.ports().contains(&end);
            is_here.then_some((Time::ZERO + change.at, change.rate))
        };
        self.scenario.changes.iter().filter_map(of).collect()
    }
}

/// Returns the name of a random stream of a direction: "link/r1-s1/r1>s1/loss", with the name of the link first, as nodes may
/// have several.
pub(crate) fn stream_name(link: &Link, [a, b]: [&str; 2], direction: usize, what: &str) -> String {
    let (from, to) = if direction == 0 { (a, b) } else { (b, a) };
    format!("link/{}/{from}>{to}/{what}", link.name)
}

fn never<T: Copy>() -> Schedule<T> {
    Schedule::once(Vec::new())
}

/// Returns the values of a recording. One that is not repeated has `at_end` after its end, or keeps its last value.
fn of_recording<T: Copy>(recorded: &Recorded<T>, own: &Direction, at_end: Option<T>) -> Schedule<T> {
    let mut changes = recorded.changes.clone();
    match own.trace.end {
        TraceEnd::Repeat => Schedule::repeating(changes, recorded.length),
        TraceEnd::Stop => {
            changes.extend(at_end.map(|value| (Time::ZERO + recorded.length, value)));
            Schedule::once(changes)
        }
    }
}

/// Returns the outages in which packets have this fate: true at the start of each, false at its end.
fn outages(outage: Outage, packets: OutagePackets) -> Schedule<bool> {
    if outage.packets == packets { spans(outage) } else { never() }
}

/// Returns the outages that empty the queue: true at the start of each.
fn flushes(outage: Outage) -> Schedule<bool> {
    if outage.buffer == OutageBuffer::Flushed { spans(outage) } else { never() }
}

/// Returns the spans of outages: true at the start of each, false at its end.
fn spans(outage: Outage) -> Schedule<bool> {
    if outage.length.is_zero() {
        return never();
    }
    let changes = vec![(Time::ZERO, true), (Time::ZERO + outage.length, false)];
    match outage.every {
        Some(every) => Schedule::repeating(changes, every).starting_at(outage.first),
        None => Schedule::once(changes).starting_at(outage.first),
    }
}
