//! Flows that arrive by themselves: an open loop of transfers from the originator to the responder.
//!
//! Each flow has a connection of its own, which the originator opens at the instant of the arrival and closes behind the
//! last byte. Arrivals depend on nothing that happens in the network.

use std::collections::BTreeMap;
use std::sync::Arc;

use cellway_units::{Bytes, Span, Time};

use crate::action::{Action, ConnId, FlowEvent, Side};
use crate::datagrams::exponential;
use crate::flow_sizes::SizeLaw;
use crate::random::{Named, Stream};

/// A flow of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceFlow {
    /// When it arrives, from the start of the slot.
    pub at: Span,
    /// Its size in bytes, 1 or more.
    pub size: u64,
}

/// The times and the sizes of flows.
#[derive(Clone, Debug, PartialEq)]
pub enum FlowProcess {
    /// A Poisson process.
    Poisson {
        /// The mean time between arrivals. Never zero.
        interval: Span,
        /// The distribution of the sizes.
        sizes: SizeLaw,
    },
    /// Equal times between arrivals, the first at the start.
    Periodic {
        /// The time between arrivals. Never zero.
        interval: Span,
        /// The distribution of the sizes.
        sizes: SizeLaw,
    },
    /// The flows of a trace, in the order of their times.
    Trace(Arc<[TraceFlow]>),
}

/// Flows that arrive by themselves: see [`Workload::Flows`](crate::Workload::Flows).
#[derive(Clone, Debug, PartialEq)]
pub struct FlowsWorkload {
    /// Their times and sizes.
    pub process: FlowProcess,
    /// The number of flows after which no more arrive; without end if absent.
    pub count: Option<u64>,
    /// The time after which no more arrive; without end if absent.
    pub duration: Option<Span>,
    /// The most flows that are open at once; one that arrives beyond is rejected.
    pub limit: u32,
}

/// The flows of one slot. The memory is proportional to the number of open flows.
#[derive(Debug)]
pub(crate) struct Flows {
    source: Source,
    start: Time,
    /// When the next flow arrives; `None` once none does any more.
    next: Option<Time>,
    /// Flows that have arrived.
    arrived: u64,
    count: u64,
    duration: Option<Span>,
    limit: usize,
    /// Connections opened.
    opened: u32,
    open: BTreeMap<ConnId, Flow>,
}

#[derive(Debug)]
enum Source {
    Poisson { interval: f64, sizes: SizeLaw, arrivals: Box<Stream>, drawn: Stream },
    Periodic { interval: Span, sizes: SizeLaw, drawn: Stream },
    Trace(Arc<[TraceFlow]>),
}

/// A flow whose connection is open.
#[derive(Clone, Copy, Debug)]
struct Flow {
    size: u64,
    /// Bytes that have not arrived at the responder.
    left: u64,
    since: Time,
}

impl Flows {
    pub(crate) fn new(workload: &FlowsWorkload, named: &Named<'_>) -> Flows {
        let source = match &workload.process {
            FlowProcess::Poisson { interval, sizes } => Source::Poisson {
                interval: interval.as_secs_f64(),
                sizes: sizes.clone(),
                arrivals: Box::new(named.stream("arrivals")),
                drawn: named.stream("sizes"),
            },
            FlowProcess::Periodic { interval, sizes } => {
                Source::Periodic { interval: *interval, sizes: sizes.clone(), drawn: named.stream("sizes") }
            }
            FlowProcess::Trace(flows) => Source::Trace(flows.clone()),
        };
        Flows {
            source,
            start: Time::ZERO,
            next: None,
            arrived: 0,
            count: workload.count.unwrap_or(u64::MAX),
            duration: workload.duration,
            limit: workload.limit as usize,
            opened: 0,
            open: BTreeMap::new(),
        }
    }

    /// Returns true once no flow is open and none arrives any more.
    pub(crate) fn is_over(&self) -> bool {
        self.next.is_none() && self.open.is_empty()
    }

    pub(crate) fn start(&mut self, now: Time, out: &mut Vec<Action>) {
        self.start = now;
        self.schedule(now, out);
    }

    /// Sets the time of the next arrival, after one at `last`.
    fn schedule(&mut self, last: Time, out: &mut Vec<Action>) {
        let at = match &mut self.source {
            _ if self.arrived >= self.count => None,
            Source::Poisson { interval, arrivals, .. } => Some(last + exponential(arrivals, *interval)),
            Source::Periodic { interval, .. } => Some(self.start + interval.saturating_mul(self.arrived)),
            Source::Trace(flows) => flows.get(self.arrived as usize).map(|flow| self.start + flow.at),
        };
        self.next = at.filter(|&at| self.duration.is_none_or(|duration| at < self.start + duration));
        out.extend(self.next.map(|at| Action::Timer { at, id: 0 }));
    }

    /// Lets the flow arrive that is due.
    pub(crate) fn timer(&mut self, now: Time, out: &mut Vec<Action>) {
        let Some(at) = self.next.filter(|&at| at <= now) else { return };
        let size = match &mut self.source {
            Source::Poisson { sizes, drawn, .. } | Source::Periodic { sizes, drawn, .. } => sizes.draw(drawn),
            Source::Trace(flows) => flows.get(self.arrived as usize).map_or(1, |flow| flow.size),
        };
        self.arrived += 1;
        if self.open.len() < self.limit {
            let conn = ConnId(self.opened);
            self.opened += 1;
            self.open.insert(conn, Flow { size, left: size, since: at });
            out.push(Action::Flow(FlowEvent::Arrived));
            out.push(Action::Open { conn, from: Side::Originator });
        } else {
            out.push(Action::Flow(FlowEvent::Rejected));
        }
        self.schedule(at, out);
    }

    pub(crate) fn connected(&mut self, conn: ConnId, side: Side, out: &mut Vec<Action>) {
        if side == Side::Originator
            && let Some(flow) = self.open.get(&conn)
        {
            out.push(Action::Write { conn, side, bytes: flow.size });
            out.push(Action::Close { conn, side });
        }
    }

    pub(crate) fn received(&mut self, conn: ConnId, side: Side, bytes: u64, out: &mut Vec<Action>) {
        let Some(flow) = self.open.get_mut(&conn).filter(|flow| side == Side::Responder && flow.left > 0) else {
            return;
        };
        flow.left = flow.left.saturating_sub(bytes);
        if flow.left == 0 {
            out.push(Action::Flow(FlowEvent::Completed { bytes: Bytes(flow.size), since: flow.since }));
        }
    }

    pub(crate) fn closed(&mut self, conn: ConnId) {
        self.open.remove(&conn);
    }

    /// Ends a flow whose connection was reset or timed out.
    pub(crate) fn failed(&mut self, conn: ConnId, out: &mut Vec<Action>) {
        if let Some(flow) = self.open.remove(&conn) {
            if flow.left > 0 {
                out.push(Action::Flow(FlowEvent::Failed { since: flow.since }));
            }
            out.push(Action::Abort { conn });
        }
    }
}
