//! The parameters of a link between two nodes.

use cellway_spec::{Discipline, Framing};
use cellway_units::{Rate, Span};

use crate::buffer::BufferSpec;
use crate::delay::DelaySpec;
use crate::faults::Share;
use crate::light::LightLoad;
use crate::loss::Loss;
use crate::qdisc::QdiscSpec;
use crate::rate_schedule::RateSchedule;
use crate::schedule::Schedule;

/// A link: a line in each direction, with the output port before it and the propagation delay behind it.
#[derive(Clone, Debug)]
pub struct LinkSpec {
    /// The framing of both lines.
    pub framing: Framing,
    /// The order in which a cell line serves its channels; unused on a packet line.
    pub discipline: Discipline,
    /// The output port at the first node, and the one at the second.
    pub ports: [PortSpec; 2],
}

/// The output port at one end of a link, with the line and the delay behind it.
#[derive(Clone, Debug)]
pub struct PortSpec {
    /// The rate of the line, in bit/s; until the first change of the schedule.
    pub rate: Rate,
    /// The propagation delay.
    pub delay: Span,
    /// The variation of the delay of packets; that of cells is fixed.
    pub varying: Option<DelaySpec>,
    /// The delay of packets before the queue, besides that of the link, and the trains that pass it; none on a cell line.
    pub light: Option<LightLoad>,
    /// The buffer memory; `None` is unlimited.
    pub buffer: Option<BufferSpec>,
    /// The queue discipline of a packet line; unused on a cell line. `None` is a FIFO that drops at the tail.
    pub queue: Option<QdiscSpec>,
    /// The changes of the rate of a packet line; those of a cell line are made by
    /// [`Fabric::set_line_rate`](crate::Fabric::set_line_rate). The default is a fixed rate.
    pub schedule: Option<RateSchedule>,
    /// The time for which each packet keeps a packet line busy besides its transmission: the processing time of the
    /// host of the port.
    pub packet_cost: Span,
    /// The loss of cells or packets that have left the line.
    pub loss: Loss,
    /// The packets that arrive twice, the copy directly behind the original; none on a cell line.
    pub duplicate: Option<Share>,
    /// The packets whose payload is corrupted on the link; none on a cell line.
    pub corrupt: Option<Share>,
    /// At each change to true all packets that wait before the line are dropped; none on a cell line.
    pub flushes: Schedule<bool>,
}

impl PortSpec {
    /// Creates a port with an unlimited FIFO, a fixed rate and delay, no packet cost and no faults.
    pub fn new(rate: Rate, delay: Span) -> PortSpec {
        PortSpec {
            rate,
            delay,
            varying: None,
            light: None,
            buffer: None,
            queue: None,
            schedule: None,
            packet_cost: Span::ZERO,
            loss: Loss::default(),
            duplicate: None,
            corrupt: None,
            flushes: Schedule::once(Vec::new()),
        }
    }
}

impl LinkSpec {
    /// Creates a link with default ports, the same in both directions, whose cell lines serve their channels in round robin.
    pub fn new(rate: Rate, delay: Span, framing: Framing) -> LinkSpec {
        LinkSpec { framing, discipline: Discipline::RoundRobin, ports: [0, 1].map(|_| PortSpec::new(rate, delay)) }
    }

    /// Sets the queue disciplines of both ports.
    #[must_use]
    pub fn with_queues(mut self, queues: [Option<QdiscSpec>; 2]) -> LinkSpec {
        for (port, queue) in self.ports.iter_mut().zip(queues) {
            port.queue = queue;
        }
        self
    }

    /// Sets the order in which a cell line serves its channels.
    #[must_use]
    pub fn with_discipline(mut self, discipline: Discipline) -> LinkSpec {
        self.discipline = discipline;
        self
    }

    /// Sets the losses behind both lines.
    #[must_use]
    pub fn with_losses(mut self, losses: [Loss; 2]) -> LinkSpec {
        for (port, loss) in self.ports.iter_mut().zip(losses) {
            port.loss = loss;
        }
        self
    }

    /// Sets the buffers of both ports.
    #[must_use]
    pub fn with_buffers(mut self, buffers: [Option<BufferSpec>; 2]) -> LinkSpec {
        for (port, buffer) in self.ports.iter_mut().zip(buffers) {
            port.buffer = buffer;
        }
        self
    }
}
