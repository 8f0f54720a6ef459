//! Changes of a port by a caller, while the network runs.

use cellway_units::{Probability, Rate, Span, Time};

use super::{Ahead, Kind, Port};
use crate::faults::Faults;
use crate::link::Unit;
use crate::loss::{Loss, RandomBits};
use crate::schedule::Schedule;

impl Port {
    /// Has the link take the packet that the line sends at its departure, as a line with losses does: it may leave at another
    /// time than the line had expected, or be lost. Returns true if there is such a packet; then the events of the port change.
    pub(crate) fn hold_back(&mut self, now: Time) -> bool {
        let is_busy = self.is_sending_packet(now);
        if is_busy && self.is_ahead() {
            self.sending = Some(Unit::Packet(self.link.take_back()));
            self.ahead = Ahead::Nothing;
        }
        is_busy
    }

    /// Returns the departure from the line, and the arrivals at the far end, for which there are events after
    /// [`Port::hold_back`] has returned true.
    pub(crate) fn awaited(&self) -> (Time, impl Iterator<Item = Time>) {
        (self.line.free_at(), self.link.awaited())
    }

    /// Changes the rate: of cells from the next one on, of packets also for the rest of the one on the line.
    pub(crate) fn set_rate(&mut self, now: Time, rate: Rate) {
        let is_busy = self.is_sending_packet(now);
        match &mut self.kind {
            Kind::Cells(cells) => {
                self.link.keep_spacing(&self.line);
                self.line.set_cell_rate(rate);
                if let Some(abr) = &mut cells.abr {
                    abr.set_line_rate(now, rate);
                }
            }
            // A packet is processed before it is sent.
            Kind::Packets(packets) if is_busy => self.line.set_rate(now.max(packets.sends_from(self.began)), rate),
            Kind::Packets(_) => self.line.set_rate(now, rate),
        }
    }

    /// Changes the delay of packets that leave the line from now on.
    pub(crate) fn set_delay(&mut self, now: Time, delay: Span) {
        self.link.set_delay(now, delay);
    }

    /// Has the units that leave the line from now on lost with this probability, independently of each other.
    pub(crate) fn set_loss(&mut self, chance: Probability, stream: impl RandomBits) {
        match &mut self.faults {
            Some(faults) => faults.loss.set_chance(chance, stream),
            None => {
                let never = Schedule::once(Vec::new());
                self.faults = Faults::new(Loss::random(chance, stream), None, None, never).map(Box::new);
            }
        }
    }

    fn is_sending_packet(&self, now: Time) -> bool {
        matches!(self.kind, Kind::Packets(_)) && !self.is_idle() && self.line.free_at() > now
    }
}
