//! Snapshots of a running emulation.

use cellway_net::PortCounters;
use cellway_units::Time;
use cellway_wire::ip::protocol;

use super::{Engine, HostIndex, Open};
use crate::snapshot::{ConversationView, PortView, Snapshot};

impl Engine {
    /// Returns a snapshot of the network, with the rates since the last call.
    pub(crate) fn snapshot(&mut self) -> Snapshot {
        let now = self.now;
        let interval = now.since(self.shown).as_secs_f64();
        self.shown = now;
        let ports = self.ports(now, interval);
        let mut conversations: Vec<ConversationView> = Vec::new();
        for place in 0..self.open.len() {
            if let Some(view) = self.conversation(place, now, interval) {
                conversations.push(view);
            }
        }
        conversations.sort_by(|a, b| (b.rate[0] + b.rate[1]).total_cmp(&(a.rate[0] + a.rate[1])));
        Snapshot {
            t: now.as_secs_f64(),
            interval,
            lateness_p99: 0.0,
            valid: true,
            ports,
            conversations,
            refused: self.refusals.iter().collect(),
        }
    }

    fn ports(&mut self, now: Time, interval: f64) -> Vec<PortView> {
        let ports: Vec<_> = self.testbed.meter.ports().collect();
        self.ports_shown.resize(ports.len(), PortCounters::default());
        let mut views = Vec::new();
        for (port, before) in ports.into_iter().zip(&mut self.ports_shown) {
            let counters = self.testbed.fabric.port_counters(port.port, now);
            views.push(PortView {
                name: port.subject.to_string(),
                utilisation: per((counters.busy - before.busy).as_secs_f64(), interval),
                queue: self.testbed.fabric.waiting(port.port),
                unit: port.unit.symbol(),
                dropped: counters.dropped_frames + counters.dropped_cells + counters.policed_discarded + counters.lost,
            });
            *before = counters;
        }
        views
    }

    fn conversation(&mut self, place: usize, now: Time, interval: f64) -> Option<ConversationView> {
        let Open { id, number, delivered, ref mut shown } = *self.open[place].as_mut()?;
        let rate = [0, 1].map(|direction| per((delivered[direction] - shown[direction]) as f64 * 8.0, interval));
        *shown = delivered;
        let known = self.table.get(id)?;
        let fabric = &self.testbed.fabric;
        let waiting = [0, 1].map(|direction| {
            let segments = fabric.channels(number, direction);
            let waiting = |(channel, ports): &(_, Vec<_>)| -> u32 {
                ports.iter().map(|&port| fabric.waiting_of(port, *channel)).sum()
            };
            segments.iter().map(waiting).sum::<u32>()
        });
        let counters = fabric.conversation_counters(number);
        let name = |host: u16, port: Option<u16>| {
            let name = self.name(HostIndex(host.into()));
            port.filter(|&port| port > 0).map_or(name.to_owned(), |port| format!("{name}:{port}"))
        };
        Some(ConversationView {
            from: name(known.from, known.flow.map(|flow| flow.source_port)),
            to: name(known.to, known.flow.map(|flow| flow.destination_port)),
            protocol: known.flow.map_or("several".to_owned(), |flow| protocol_name(flow.protocol)),
            kind: known.kind.name(),
            rate,
            queue: waiting[0] + waiting[1],
            dropped: counters.refused + counters.damaged,
            idle: now.since(known.last).as_secs_f64(),
        })
    }
}

fn per(amount: f64, interval: f64) -> f64 {
    if interval > 0.0 { amount / interval } else { 0.0 }
}

fn protocol_name(number: u8) -> String {
    match number {
        protocol::TCP => "tcp".to_owned(),
        protocol::UDP => "udp".to_owned(),
        protocol::ICMP | protocol::ICMPV6 => "icmp".to_owned(),
        protocol::SCTP => "sctp".to_owned(),
        other => other.to_string(),
    }
}
