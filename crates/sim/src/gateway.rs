//! The gateways of a run: their state machines, driven between TCP endpoints and the network.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use cellway_gateway::{Action, ConfigError, FlowId, Gateway, Output, Reason, Request, Server, TpPacket};
use cellway_net::{NodeId, Packet};
use cellway_record::Rows;
use cellway_record::metric::gateway as metric;
use cellway_tcp::{Event, State};
use cellway_testbed::{Error as BuildError, PairPlan, class_port};
use cellway_units::{Ecn, Time};

use crate::body::Body;
use crate::connection::{Place, Relay};
use crate::drive::{Run, Todo};
use crate::error::Error;
use crate::timers::{TimerKey, TimerKind};

/// Two gateways and the packets between them.
#[derive(Debug)]
pub(crate) struct GatewayPair {
    /// Their names, for reports.
    pub(crate) names: [String; 2],
    pub(crate) gateways: [Gateway; 2],
    /// The hosts inside the gateways that end the connections.
    pub(crate) hosts: [NodeId; 2],
    /// The network's conversation between them.
    pub(crate) conversation: u32,
    /// The connection behind each flow: slot and serial number.
    pub(crate) flows: Vec<(u32, u32)>,
    /// The request of the flows of each traffic group: the connection determines their hosts, its port the group.
    requests: Vec<Arc<Request>>,
    /// True if the scenario has classes.
    classes: bool,
    armed: [Option<Time>; 2],
}

impl GatewayPair {
    /// Creates the state machines of a planned pair, for `groups` traffic groups.
    pub(crate) fn new(plan: &PairPlan, groups: usize) -> Result<GatewayPair, Error> {
        let refused = |which: usize| {
            let node = plan.names[which].clone();
            move |e: ConfigError| Error::Build(BuildError::Gateway { node, message: e.to_string() })
        };
        let machine = |which: usize| {
            let gateway = Gateway::new(plan.configs[which]).map_err(refused(which))?;
            Ok::<Gateway, Error>(gateway.with_classes(plan.classes.clone().unwrap_or_default()))
        };
        let (names, gateways) = (plan.names.clone(), [machine(0)?, machine(1)?]);
        let PairPlan { hosts, conversation, .. } = *plan;
        let request = |group| {
            let server = Server::Address(SocketAddr::from((Ipv4Addr::UNSPECIFIED, class_port(group))));
            Arc::new(Request { server, ..Request::UNNAMED })
        };
        let (requests, classes) = ((0..groups).map(request).collect(), plan.classes.is_some());
        let flows = Vec::new();
        Ok(GatewayPair { names, gateways, hosts, conversation, flows, requests, classes, armed: [None; 2] })
    }

    /// Adds the counters of each gateway for the whole run, its warm-up included.
    pub(crate) fn report(&self, rows: &mut Rows) {
        for (name, gateway) in self.names.iter().zip(&self.gateways) {
            let subject: Arc<str> = name.as_str().into();
            let stats = gateway.stats();
            rows.put(&subject, &metric::GATEWAY_FLOWS, stats.flows_opened as f64);
            rows.put(&subject, &metric::GATEWAY_FLOWS_OPEN, stats.flows as f64);
            rows.put(&subject, &metric::GATEWAY_REFUSED, stats.flows_refused as f64);
            rows.put(&subject, &metric::GATEWAY_BUFFERED_MAX, stats.buffered_max as f64);
            rows.put(&subject, &metric::GATEWAY_RESENT, stats.resent_bytes as f64);
            for (class, stats) in gateway.classes().filter(|_| self.classes) {
                let subject: Arc<str> = format!("{name}/{}", class.name).into();
                rows.put(&subject, &metric::GATEWAY_CLASS_FLOWS_OPEN, stats.flows as f64);
                rows.put(&subject, &metric::GATEWAY_CLASS_FRAMES, stats.frames as f64);
                rows.put(&subject, &metric::GATEWAY_CLASS_SENT, stats.data_bytes as f64);
                rows.put(&subject, &metric::GATEWAY_CLASS_LINE, (stats.line.0 / 8) as f64);
                rows.put(&subject, &metric::GATEWAY_CLASS_AT_CEILING, stats.at_ceiling.as_secs_f64());
            }
        }
    }

    /// Creates a flow, for a connection of `slot`.
    pub(crate) fn flow(&mut self, slot: u32, serial: u32) -> FlowId {
        self.flows.push((slot, serial));
        FlowId(self.flows.len() as u64 - 1)
    }
}

impl Run<'_> {
    /// Calls a gateway; sends its packets, and queues its actions.
    pub(crate) fn gateway(
        &mut self,
        now: Time,
        pair: usize,
        which: usize,
        act: impl FnOnce(&mut Gateway, &mut Output),
    ) {
        let this = &mut self.pairs[pair];
        let out = &mut self.gateway_output;
        out.clear();
        act(&mut this.gateways[which], out);
        let excess = this.gateways[which].excess();
        assert!(excess.is_none(), "{}: a simulated peer is honest: {excess:?}", this.names[which]);
        for packet in out.packets.drain(..) {
            let octets = this.gateways[which].config().transport.overhead() + packet.octets();
            let (from, to) = (this.hosts[which], this.hosts[1 - which]);
            let body = Body::Transport { pair: pair as u32, packet: Box::new(packet) };
            self.bed.fabric.send(
                now,
                Packet { conversation: this.conversation, from, to, flow: 0, octets, ecn: Ecn::NotEct, dscp: 0, body },
            );
            self.packets += 1;
        }
        self.todo.extend(out.actions.drain(..).map(|action| Todo::Gateway { pair, which, action }));
        if let Some((at, _)) = this.gateways[which].deadline()
            && this.armed[which].is_none_or(|armed| at < armed)
        {
            this.armed[which] = Some(at);
            self.timers.add(at, TimerKey { slot: pair as u32, kind: TimerKind::Gateway { which: which as u8 } });
        }
    }

    pub(crate) fn wake_gateway(&mut self, now: Time, pair: usize, which: usize) {
        let this = &mut self.pairs[pair];
        if this.armed[which] == Some(now) {
            this.armed[which] = None;
        }
        self.gateway(now, pair, which, |gateway, out| {
            if gateway.deadline().is_some_and(|(at, _)| at <= now) {
                gateway.wake(now, out);
            }
        });
    }

    /// Processes a packet of the peer that has arrived at a gateway.
    pub(crate) fn deliver_to_gateway(&mut self, now: Time, pair: usize, host: NodeId, packet: &TpPacket) {
        let which = usize::from(self.pairs[pair].hosts[1] == host);
        self.gateway(now, pair, which, |gateway, out| gateway.receive(now, packet, out));
    }

    /// Processes an event of a TCP end at a gateway.
    pub(crate) fn notify_gateway(&mut self, now: Time, index: usize, serial: u32, place: Place, event: Event) {
        let Some(connection) = self.slots[index].tcp().connection(serial) else { return };
        let Some(relay) = &connection.relay else { return };
        let (pair, flow) = (relay.pair, relay.flow);
        let which = if place == Place::Near { relay.near } else { 1 - relay.near };
        let Some(end) = connection.end(place) else { return };
        let room = end.tcp.writable();
        let opened_by_gateway = end.is_active();
        self.gateway(now, pair, which, |gateway, out| match event {
            Event::Connected => {
                if opened_by_gateway {
                    gateway.connected(now, flow, out);
                }
                gateway.writable(now, flow, room, out);
            }
            Event::Readable { bytes } => gateway.received(now, flow, bytes, out),
            Event::Acked { .. } | Event::Writable => gateway.writable(now, flow, room, out),
            Event::PeerClosed => gateway.local_closed(now, flow, out),
            Event::Closed => {}
            Event::Reset => gateway.local_reset(now, flow, Reason::Reset, out),
            Event::TimedOut => gateway.local_reset(now, flow, Reason::TimedOut, out),
            _ => unreachable!("every event of an endpoint is known here"),
        });
    }

    /// Ends the flow of a dropped connection at both gateways.
    pub(crate) fn abandon(&mut self, now: Time, relay: &Relay) {
        for which in [0, 1] {
            self.gateway(now, relay.pair, which, |gateway, out| {
                gateway.local_reset(now, relay.flow, Reason::Stopping, out)
            });
        }
    }

    /// Executes an action of a gateway on its own TCP end of a flow.
    pub(crate) fn execute_gateway(&mut self, now: Time, pair: usize, which: usize, action: Action) {
        let flow = action.flow();
        let (slot, serial) = self.pairs[pair].flows[flow.0 as usize];
        let index = slot as usize;
        let Some(connection) = self.slots[index].tcp().connection(serial) else { return };
        let Some(relay) = &mut connection.relay else { return };
        let place = if which == relay.near { Place::Near } else { Place::Far };
        match action {
            Action::Connect { .. } => self.end(now, index, serial, place, |end, out| end.tcp.connect(now, out)),
            Action::Accept { .. } => {
                if let Some(syn) = relay.held.take() {
                    self.end(now, index, serial, place, |end, out| end.tcp.receive(now, &syn, out));
                }
            }
            Action::Refuse { .. } => {
                if let Some(syn) = relay.held.take() {
                    self.end(now, index, serial, place, |end, out| {
                        // A closed endpoint answers with a reset.
                        end.tcp.shutdown(now, out);
                        end.tcp.receive(now, &syn, out);
                    });
                }
            }
            Action::Consume { bytes, .. } => {
                self.end(now, index, serial, place, |end, out| end.tcp.consume(now, bytes, out));
            }
            Action::Write { bytes, .. } => {
                self.end(now, index, serial, place, |end, out| end.write(now, bytes, false, out));
            }
            Action::Shutdown { .. } => self.end(now, index, serial, place, |end, out| end.write(now, 0, true, out)),
            Action::Reset { .. } => self.end(now, index, serial, place, |end, out| end.tcp.abort(now, out)),
            // The last written bytes may still be in flight; the endpoint ends by itself.
            _ => {}
        }
    }

    /// Processes a segment for an end at a gateway. A SYN waits for the answer of the far host.
    pub(crate) fn segment_at_gateway(
        &mut self,
        now: Time,
        index: usize,
        serial: u32,
        place: Place,
        segment: &cellway_tcp::Segment,
    ) {
        let Some(connection) = self.slots[index].tcp().connection(serial) else { return };
        let listens = connection.end(place).is_some_and(|end| end.tcp.state() == State::Listen);
        let Some(relay) = &mut connection.relay else { return };
        if !listens || !segment.is(cellway_tcp::Flags::SYN) {
            return self.end(now, index, serial, place, |end, out| end.tcp.receive(now, segment, out));
        }
        // A repeated SYN replaces the held one.
        if relay.held.replace(*segment).is_none() {
            let (pair, flow) = (relay.pair, relay.flow);
            let which = if place == Place::Near { relay.near } else { 1 - relay.near };
            let request = self.pairs[pair].requests[self.slots[index].plan().group].clone();
            self.gateway(now, pair, which, |gateway, out| gateway.incoming(now, flow, request, out));
        }
    }
}
