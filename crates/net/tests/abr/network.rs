//! Switches in a row, cell by cell: sources that always have data, a FIFO queue before each line,
//! and RM cells that come back over the same switches without queueing.

use std::collections::{BTreeMap, VecDeque};

use cellway_net::{
    AbrDestination, AbrParameters, AbrSource, EfciMarker, Erica, EricaSpec, InRateCell, Line, RmCell, Waiting,
};
use cellway_units::{CELL_BITS, Cells, Rate, Span, Time};

/// The control of ABR by switches.
#[derive(Clone, Copy)]
pub(crate) enum Control {
    Erica(EricaSpec),
    Efci(Cells),
}

/// An output line and the link behind it.
#[derive(Clone, Copy)]
pub(crate) struct Hop {
    pub(crate) rate: Rate,
    pub(crate) delay: Span,
}

/// A connection, its hops, and the delays of both ends to their switches.
#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) parameters: AbrParameters,
    pub(crate) path: &'static [usize],
    pub(crate) access: Span,
    pub(crate) start: Time,
}

#[derive(Clone, Copy)]
struct TestCell {
    connection: usize,
    efci: bool,
    rm: Option<RmCell>,
}

enum Event {
    /// The source may send, unless its rate has changed since.
    Source(usize),
    /// A cell reaches the n-th hop of its path, or past the last the destination.
    Arrive(usize, TestCell),
    /// A hop's line is free again.
    Free(usize),
    /// A backward RM cell reaches the switch of the n-th hop of its path.
    Back(usize, usize, RmCell),
    /// ... and the source.
    Answer(usize, RmCell),
}

struct Port {
    hop: Hop,
    line: Line,
    busy: bool,
    queue: VecDeque<TestCell>,
    longest: usize,
    sent: u64,
    erica: Option<Erica>,
    efci: Option<EfciMarker>,
}

struct End {
    connection: Connection,
    source: AbrSource,
    destination: AbrDestination,
    wake: Time,
    delivered: u64,
    /// Each ACR and since when.
    acr: Vec<(Time, Rate)>,
    lose_answers: bool,
}

pub(crate) struct Network {
    now: Time,
    events: BTreeMap<(Time, u64), Event>,
    number: u64,
    ports: Vec<Port>,
    ends: Vec<End>,
}

impl Network {
    pub(crate) fn new(control: Control, hops: &[Hop], connections: &[Connection]) -> Network {
        let port = |&hop: &Hop| Port {
            hop,
            line: Line::new(hop.rate),
            busy: false,
            queue: VecDeque::new(),
            longest: 0,
            sent: 0,
            erica: match control {
                Control::Erica(spec) => Some(Erica::new(spec, hop.rate)),
                Control::Efci(_) => None,
            },
            efci: match control {
                Control::Efci(threshold) => Some(EfciMarker::new(threshold)),
                Control::Erica(_) => None,
            },
        };
        let end = |connection: &Connection| {
            let source = AbrSource::new(connection.parameters);
            End {
                acr: vec![(connection.start, source.acr())],
                source,
                connection: connection.clone(),
                destination: AbrDestination::new(),
                wake: connection.start,
                delivered: 0,
                lose_answers: false,
            }
        };
        let mut network = Network {
            now: Time::ZERO,
            events: BTreeMap::new(),
            number: 0,
            ports: hops.iter().map(port).collect(),
            ends: connections.iter().map(end).collect(),
        };
        (0..connections.len()).for_each(|c| network.at(connections[c].start, Event::Source(c)));
        network
    }

    pub(crate) fn run(&mut self, until: Time) {
        while let Some(entry) = self.events.first_entry()
            && entry.key().0 <= until
        {
            let ((now, _), event) = entry.remove_entry();
            self.now = now;
            self.happen(event);
        }
        self.now = until;
    }

    /// Drops all further backward RM cells to this source.
    pub(crate) fn lose_answers(&mut self, connection: usize) {
        self.ends[connection].lose_answers = true;
    }

    pub(crate) fn acr(&self, connection: usize) -> Rate {
        self.ends[connection].source.acr()
    }

    /// Returns the lowest, the mean over time and the highest ACR (bit/s) of a connection since `from`.
    pub(crate) fn acr_since(&self, connection: usize, from: Time) -> (f64, f64, f64) {
        let acr = &self.ends[connection].acr;
        let ends = acr.iter().skip(1).map(|&(at, _)| at).chain([self.now]);
        let pieces: Vec<_> = (acr.iter().zip(ends))
            .filter(|&(_, end)| end > from)
            .map(|(&(start, rate), end)| (rate.as_bps() as f64, (end - start.max(from)).as_secs_f64()))
            .collect();
        let area: f64 = pieces.iter().map(|(rate, span)| rate * span).sum();
        let of = |pick: fn(f64, f64) -> f64| pieces.iter().map(|p| p.0).reduce(pick).expect("it has an ACR");
        (of(f64::min), area / (self.now - from).as_secs_f64(), of(f64::max))
    }

    /// Cells that reached the destination, RM cells included.
    pub(crate) fn delivered(&self, connection: usize) -> u64 {
        self.ends[connection].delivered
    }

    /// Cells that left a hop's line.
    pub(crate) fn sent(&self, hop: usize) -> u64 {
        self.ports[hop].sent
    }

    /// Returns the longest queue of a hop since the last call.
    pub(crate) fn longest(&mut self, hop: usize) -> usize {
        std::mem::take(&mut self.ports[hop].longest)
    }

    fn at(&mut self, time: Time, event: Event) {
        self.number += 1;
        self.events.insert((time, self.number), event);
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Source(c) if self.ends[c].wake == self.now => self.send(c),
            Event::Source(_) => {}
            Event::Arrive(n, cell) => self.arrive(n, cell),
            Event::Free(hop) => {
                self.ports[hop].busy = false;
                self.serve(hop);
            }
            Event::Back(c, n, mut rm) => {
                let path = self.ends[c].connection.path;
                if let Some(erica) = &mut self.ports[path[n]].erica {
                    erica.backward(self.now, c, &mut rm);
                }
                match n.checked_sub(1) {
                    Some(n) => self.at(self.now + self.ports[path[n]].hop.delay, Event::Back(c, n, rm)),
                    None => self.at(self.now + self.ends[c].connection.access, Event::Answer(c, rm)),
                }
            }
            Event::Answer(c, rm) => {
                let end = &mut self.ends[c];
                if !end.lose_answers {
                    end.source.receive(self.now, &rm);
                    self.schedule(c);
                }
            }
        }
    }

    fn send(&mut self, c: usize) {
        let end = &mut self.ends[c];
        let cell = end.source.send(self.now, Waiting { data: true, backward: false }).expect("there is data");
        let rm = if let InRateCell::ForwardRm(rm) = cell { Some(rm) } else { None };
        let arrives = self.now + end.connection.access;
        self.at(arrives, Event::Arrive(0, TestCell { connection: c, efci: false, rm }));
        self.schedule(c);
    }

    /// Has the source send as soon as it may, and notes its ACR.
    fn schedule(&mut self, c: usize) {
        let end = &mut self.ends[c];
        end.wake = end.source.earliest(self.now);
        let (wake, acr) = (end.wake, end.source.acr());
        if end.acr.last().is_some_and(|&(_, last)| last != acr) {
            end.acr.push((self.now, acr));
        }
        self.at(wake, Event::Source(c));
    }

    fn arrive(&mut self, n: usize, cell: TestCell) {
        let c = cell.connection;
        let end = &mut self.ends[c];
        let path = end.connection.path;
        if n == path.len() {
            end.delivered += 1;
            let Some(rm) = cell.rm else { return end.destination.data(cell.efci) };
            end.destination.forward(rm);
            let rm = end.destination.send().expect("one was turned around");
            let back = end.connection.access + self.ports[path[n - 1]].hop.delay;
            return self.at(self.now + back, Event::Back(c, n - 1, rm));
        }
        let port = &mut self.ports[path[n]];
        if let Some(erica) = &mut port.erica {
            match &cell.rm {
                Some(rm) => erica.forward(self.now, c, rm),
                None => erica.cell(self.now, c),
            }
        }
        port.queue.push_back(cell);
        port.longest = port.longest.max(port.queue.len());
        self.serve(path[n]);
    }

    fn serve(&mut self, hop: usize) {
        let port = &mut self.ports[hop];
        let waiting = Cells(port.queue.len() as u64);
        if port.busy || port.queue.is_empty() {
            return;
        }
        let mut cell = port.queue.pop_front().expect("it is not empty");
        cell.efci |= port.efci.is_some_and(|marker| marker.marks(waiting));
        let leaves = port.line.send_cell(self.now);
        port.busy = true;
        port.sent += 1;
        let connection = &self.ends[cell.connection].connection;
        let n = connection.path.iter().position(|&h| h == hop).expect("it is on the path") + 1;
        let access = if n == connection.path.len() { connection.access } else { Span::ZERO };
        let arrives = leaves + port.hop.delay + access;
        self.at(leaves, Event::Free(hop));
        self.at(arrives, Event::Arrive(n, cell));
    }
}

/// Cells in a span as bit/s.
pub(crate) fn rate_of(cells: u64, span: Span) -> f64 {
    (cells * CELL_BITS.0) as f64 / span.as_secs_f64()
}
