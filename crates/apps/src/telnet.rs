//! Remote terminal sessions. The originator writes packets at times of its own, whatever the progress of earlier ones;
//! the responder echoes all received bytes. After the drawn duration the originator stops writing, waits for
//! outstanding echoes and closes.

use std::collections::VecDeque;

use cellway_units::{Span, Time};

use crate::action::{Action, ConnId, Side};
use crate::model::Sampler;
use crate::random::{Named, Stream};
use crate::tables::Variable;
use crate::workload::TelnetWorkload;

const CONN: ConnId = ConnId(0);
/// Write a packet.
const SEND: u32 = 0;
/// The duration is over.
const STOP: u32 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Writing,
    /// The duration is over, packets are outstanding.
    Draining,
    Closing,
}

/// One TELNET conversation.
#[derive(Debug)]
pub(crate) struct Telnet {
    echo: bool,
    duration: Span,
    packet_size: (Sampler, Stream),
    interarrival: (Sampler, Stream),
    end: Time,
    phase: Phase,
    /// Bytes the originator has written.
    written: u64,
    /// Bytes of them that have come back, or are acknowledged.
    returned: u64,
    /// Packets whose last byte has not returned: the count of bytes up to it, and the time of the write.
    outstanding: VecDeque<(u64, Time)>,
}

impl Telnet {
    pub(crate) fn new(telnet: &TelnetWorkload, named: &Named) -> Telnet {
        let sampler = |variable| telnet.tables.sampler(variable, telnet.draw);
        let duration = span(&sampler(Variable::TelnetDuration), &mut named.stream("duration"));
        Telnet {
            echo: telnet.echo,
            duration,
            packet_size: (sampler(Variable::TelnetPacketSize), named.stream("packet-size")),
            interarrival: (sampler(Variable::TelnetInterarrival), named.stream("interarrival")),
            end: Time::MAX,
            phase: Phase::Writing,
            written: 0,
            returned: 0,
            outstanding: VecDeque::new(),
        }
    }

    pub(crate) fn connected(&mut self, now: Time, side: Side, out: &mut Vec<Action>) {
        if side == Side::Originator {
            self.end = now + self.duration;
            self.schedule(now, out);
        }
    }

    pub(crate) fn received(&mut self, now: Time, side: Side, bytes: u64, out: &mut Vec<Action>) {
        match side {
            Side::Responder if self.echo => out.push(Action::Write { conn: CONN, side, bytes }),
            Side::Responder => {}
            Side::Originator => self.returned(now, bytes, out),
        }
    }

    pub(crate) fn acked(&mut self, now: Time, side: Side, bytes: u64, out: &mut Vec<Action>) {
        if side == Side::Originator && !self.echo {
            self.returned(now, bytes, out);
        }
    }

    pub(crate) fn timer(&mut self, now: Time, id: u32, out: &mut Vec<Action>) {
        match id {
            SEND if self.phase == Phase::Writing => {
                let bytes = self.packet_size.0.count(&mut self.packet_size.1);
                self.written += bytes;
                self.outstanding.push_back((self.written, now));
                out.push(Action::Write { conn: CONN, side: Side::Originator, bytes });
                self.schedule(now, out);
            }
            STOP if self.phase == Phase::Writing => {
                self.phase = Phase::Draining;
                self.close_if_done(out);
            }
            _ => {}
        }
    }

    fn schedule(&mut self, now: Time, out: &mut Vec<Action>) {
        let at = now + span(&self.interarrival.0, &mut self.interarrival.1);
        out.push(if at < self.end { Action::Timer { at, id: SEND } } else { Action::Timer { at: self.end, id: STOP } });
    }

    fn returned(&mut self, now: Time, bytes: u64, out: &mut Vec<Action>) {
        self.returned += bytes;
        while let Some(&(_, since)) = self.outstanding.front().filter(|(up_to, _)| *up_to <= self.returned) {
            self.outstanding.pop_front();
            out.push(Action::Delay { span: now.since(since) });
        }
        self.close_if_done(out);
    }

    fn close_if_done(&mut self, out: &mut Vec<Action>) {
        if self.phase == Phase::Draining && self.outstanding.is_empty() {
            self.phase = Phase::Closing;
            out.push(Action::Close { conn: CONN, side: Side::Originator });
        }
    }
}

/// Returns the next drawn time; tables count milliseconds.
fn span(sampler: &Sampler, stream: &mut Stream) -> Span {
    Span::from_secs_f64(sampler.value(stream) / 1000.0)
}
