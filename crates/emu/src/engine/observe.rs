//! Writes the observations of the applications of hosts into the tables of the run.

use cellway_apps::{Outcome, Side};
use cellway_measure::tcp::TcpInfo;
use cellway_testbed::{TcpSample, TcpTotals};
use cellway_units::Rate;

use super::Engine;
use crate::player::{Observation, Seen, TcpReport};

impl Engine {
    /// Notes an observation. It is dated by the network's clock, which has passed it by less than a pass of the loop.
    pub(crate) fn observe(&mut self, observation: Observation) {
        let (now, slot) = (self.now, observation.slot);
        match observation.seen {
            Seen::Delivered { from, bytes } => {
                let reader = match from {
                    Side::Originator => Side::Responder,
                    Side::Responder => Side::Originator,
                };
                self.testbed.meter.delivered(slot, reader, bytes);
            }
            Seen::Delay { span } => self.testbed.meter.delay(now, slot, span),
            Seen::Item { bytes, span } => self.testbed.meter.item(now, slot, bytes, span),
            Seen::Answer { since } => self.testbed.meter.answer(observation.at, slot, since),
            Seen::Flow(event) => self.testbed.meter.flow(observation.at, slot, event),
            Seen::Ended { outcome, reason, .. } => {
                self.testbed.meter.conversation(slot, outcome == Outcome::Failed);
                if let Some(reason) = reason {
                    self.failures.entry(reason).and_modify(|count| *count += 1).or_insert(1);
                }
            }
            Seen::FrameSent { packets } => self.testbed.meter.frame_sent(slot, observation.at, packets),
            Seen::DatagramSent => self.testbed.meter.datagram_sent(slot, observation.at),
            Seen::DatagramSentBy(side) => self.testbed.meter.datagram_sent_by(slot, side, observation.at),
            Seen::DatagramReceived { reader, mark, payload } => {
                self.testbed.meter.datagram_received(slot, observation.at, reader, mark, payload);
            }
            Seen::Tcp(report) => self.tcp(slot, &report),
            Seen::Begun { .. } => {}
        }
    }

    fn tcp(&mut self, slot: usize, report: &TcpReport) {
        let totals = TcpTotals { retransmissions: report.retransmissions, ..TcpTotals::default() };
        self.testbed.meter.tcp(slot, totals);
        if report.newest {
            let TcpInfo { bytes_sent, rtt, rtt_min, unacked, snd_mss, pacing_rate, .. } = report.info;
            let sample = TcpSample {
                sent: bytes_sent.0,
                cwnd: report.info.cwnd_bytes().0,
                srtt: (!rtt.is_zero()).then_some(rtt),
                in_flight: u64::from(unacked) * snd_mss.0,
                pacing_rate: pacing_rate.map(Rate::as_bps),
                min_rtt: rtt_min,
            };
            self.testbed.meter.sample(slot, report.side, (!report.last).then_some(sample));
        }
        if report.newest && report.side == Side::Originator && !report.last {
            let congestion = u64::from(report.info.cwnd) * report.info.snd_mss.0;
            let config = self.testbed.slots()[slot].tcp().map(|tcp| &tcp.config);
            let full = config.is_some_and(|config| congestion >= config.tcp.window.0);
            self.testbed.meter.window(self.now, slot, congestion.min(report.info.peer_window.0), full);
        }
    }
}
