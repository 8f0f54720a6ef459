//! Flows that arrive by themselves: an open loop of transfers from the originator to the responder.
//!
//! Each flow has a connection of its own, which the originator opens at the instant of the arrival and closes behind the
//! last byte. Arrivals depend on nothing that happens in the network.

use std::sync::Arc;

use cellway_units::{Bytes, Span, Time};

use crate::action::{Action, ConnId, FlowEvent, Side};
use crate::datagrams::exponential;
use crate::flow_sizes::SizeLaw;
use crate::open_loop::OpenLoop;
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

/// The flows of one slot.
#[derive(Debug)]
pub(crate) struct Flows {
    source: Source,
    open: OpenLoop<Flow>,
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
        let count = workload.count.unwrap_or(u64::MAX);
        Flows { source, open: OpenLoop::new(count, workload.duration, workload.limit) }
    }

    /// Returns true once no flow is open and none arrives any more.
    pub(crate) fn is_over(&self) -> bool {
        self.open.is_over()
    }

    pub(crate) fn start(&mut self, now: Time, out: &mut Vec<Action>) {
        self.open.begin(now);
        self.schedule(now, out);
    }

    /// Sets the time of the next arrival, after one at `last`.
    fn schedule(&mut self, last: Time, out: &mut Vec<Action>) {
        let start = self.open.start();
        let at = self.open.number().and_then(|number| match &mut self.source {
            Source::Poisson { interval, arrivals, .. } => Some(last + exponential(arrivals, *interval)),
            Source::Periodic { interval, .. } => Some(start + interval.saturating_mul(number)),
            Source::Trace(flows) => flows.get(number as usize).map(|flow| start + flow.at),
        });
        self.open.schedule(at, out);
    }

    /// Lets the flow arrive that is due.
    pub(crate) fn timer(&mut self, now: Time, out: &mut Vec<Action>) {
        let Some((number, at)) = self.open.due(now) else { return };
        let size = match &mut self.source {
            Source::Poisson { sizes, drawn, .. } | Source::Periodic { sizes, drawn, .. } => sizes.draw(drawn),
            Source::Trace(flows) => flows.get(number as usize).map_or(1, |flow| flow.size),
        };
        self.open.arrive(|_| Flow { size, left: size, since: at }, out);
        self.schedule(at, out);
    }

    pub(crate) fn connected(&mut self, conn: ConnId, side: Side, out: &mut Vec<Action>) {
        if side == Side::Originator
            && let Some(flow) = self.open.get(conn)
        {
            out.push(Action::Write { conn, side, bytes: flow.size });
            out.push(Action::Close { conn, side });
        }
    }

    pub(crate) fn received(&mut self, conn: ConnId, side: Side, bytes: u64, out: &mut Vec<Action>) {
        let Some(flow) = self.open.get(conn).filter(|flow| side == Side::Responder && flow.left > 0) else {
            return;
        };
        flow.left = flow.left.saturating_sub(bytes);
        if flow.left == 0 {
            out.push(Action::Flow(FlowEvent::Completed { bytes: Bytes(flow.size), since: flow.since }));
        }
    }

    pub(crate) fn closed(&mut self, conn: ConnId) {
        self.open.closed(conn);
    }

    /// Ends a flow whose connection was reset or timed out.
    pub(crate) fn failed(&mut self, conn: ConnId, out: &mut Vec<Action>) {
        self.open.failed(conn, |flow| (flow.left > 0).then_some(flow.since), out);
    }
}
