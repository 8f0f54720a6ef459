//! The events of qlog, each with its data. draft-ietf-quic-qlog-quic-events-03.

use cellway_tcp::congestion::{BbrState, Variable};
use cellway_tcp::{Endpoint, Flags, LossRecovery, Segment, State};
use cellway_units::{Span, Time};

use super::recorder::Addresses;
use super::writer::{Millis, Object, Writer};

/// The largest integer that every reader of JSON takes exactly. RFC 7493 section 2.2.
const MOST_EXACT: u64 = 1 << 53;

/// Writes the addresses of a connection that is opened.
pub(super) fn connection_started(writer: &mut Writer<'_>, now: Time, Addresses { local, peer }: Addresses) {
    writer.event(now, "connectivity:connection_started", |data| {
        data.string("ip_version", if local.is_ipv4() { "v4" } else { "v6" });
        data.string("src_ip", local.ip());
        data.string("dst_ip", peer.ip());
        data.string("protocol", "TCP");
        data.plain("src_port", local.port());
        data.plain("dst_port", peer.port());
    });
}

/// The direction of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Sent,
    Received,
}

/// A segment, with its packet numbers.
pub(super) struct Packet<'a> {
    pub(super) segment: &'a Segment,
    pub(super) number: Option<u64>,
    /// Its first position in the sequence space.
    pub(super) position: Option<u64>,
    /// The numbers of the segments that it is the first to acknowledge, ascending.
    pub(super) acknowledged: &'a [u64],
    /// The reason for which it is sent again.
    pub(super) trigger: Option<&'static str>,
}

/// Writes a segment that is sent or received.
pub(super) fn packet(writer: &mut Writer<'_>, now: Time, way: Way, packet: &Packet<'_>) {
    let Packet { segment, number, position, acknowledged, trigger } = *packet;
    let name = if way == Way::Sent { "transport:packet_sent" } else { "transport:packet_received" };
    writer.event(now, name, |data| {
        header(data, segment.is(Flags::SYN), number);
        data.objects("frames", |frames| {
            if !acknowledged.is_empty() {
                frames.object(|frame| {
                    frame.string("frame_type", "ack");
                    frame.ranges("acked_ranges", acknowledged);
                });
            }
            let fin = segment.is(Flags::FIN);
            if let Some(position) = position.filter(|_| segment.len > 0 || fin) {
                frames.object(|frame| {
                    frame.string("frame_type", "stream");
                    frame.plain("stream_id", 0);
                    // Position 0 is the SYN.
                    frame.plain("offset", position.saturating_sub(1));
                    frame.plain("length", segment.len);
                    if fin {
                        frame.plain("fin", true);
                    }
                });
            }
        });
        data.object("raw", |raw| {
            raw.plain("length", segment.header_len() + segment.len);
            raw.plain("payload_length", segment.len);
        });
        trigger.into_iter().for_each(|trigger| data.string("trigger", trigger));
    });
}

/// Writes that segment `number` is lost.
pub(super) fn packet_lost(writer: &mut Writer<'_>, now: Time, number: u64, after_timeout: bool) {
    writer.event(now, "recovery:packet_lost", |data| {
        header(data, number == 0, Some(number));
        if after_timeout {
            data.string("trigger", "pto_expired");
        }
    });
}

/// A SYN is an Initial packet, by which qvis aligns the clocks of two ends.
fn header(data: &mut Object<'_>, syn: bool, number: Option<u64>) {
    data.object("header", |header| {
        header.string("packet_type", if syn { "initial" } else { "1RTT" });
        number.into_iter().for_each(|number| header.plain("packet_number", number));
    });
}

/// The state of an endpoint as last written.
#[derive(Debug, Default)]
pub(super) struct Reported {
    connection: Option<&'static str>,
    congestion: Option<&'static str>,
    parameters: bool,
    metrics: Metrics,
    /// The least of the round trips measured, for a sender that keeps none.
    least: Option<Span>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Metrics {
    min_rtt: Option<Span>,
    smoothed_rtt: Option<Span>,
    latest_rtt: Option<Span>,
    congestion_window: Option<u64>,
    bytes_in_flight: Option<u64>,
    ssthresh: Option<u64>,
    pacing_rate: Option<u64>,
}

impl Reported {
    /// Writes what has changed; `rtt` is the round trip that has just been measured.
    pub(super) fn update(&mut self, writer: &mut Writer<'_>, now: Time, tcp: &Endpoint, rtt: Option<Span>) {
        self.connection_state(writer, now, tcp.state());
        if !matches!(tcp.state(), State::Closed | State::Listen | State::SynSent | State::SynReceived) {
            self.parameters(writer, now, tcp);
            self.metrics(writer, now, tcp, rtt);
            self.congestion_state(writer, now, congestion_state(tcp));
        }
    }

    fn connection_state(&mut self, writer: &mut Writer<'_>, now: Time, state: State) {
        let new = match state {
            State::Listen | State::SynSent => "attempted",
            State::SynReceived => "handshake_started",
            State::Established | State::CloseWait => "handshake_confirmed",
            State::FinWait1 | State::FinWait2 | State::Closing | State::LastAck => "closing",
            State::TimeWait => "draining",
            State::Closed => "closed",
        };
        changed(writer, now, "connectivity:connection_state_updated", &mut self.connection, new);
    }

    fn congestion_state(&mut self, writer: &mut Writer<'_>, now: Time, new: &'static str) {
        changed(writer, now, "recovery:congestion_state_updated", &mut self.congestion, new);
    }

    fn parameters(&mut self, writer: &mut Writer<'_>, now: Time, tcp: &Endpoint) {
        if std::mem::replace(&mut self.parameters, true) {
            return;
        }
        let settings = &tcp.config().tcp;
        writer.event(now, "recovery:parameters_set", |data| {
            // Whole milliseconds by the format, rounded up.
            let granularity =
                settings.timer_granularity.round_up_to(Span::from_ms(1)).as_ps() / Span::from_ms(1).as_ps();
            data.plain("timer_granularity", granularity.min(u64::from(u16::MAX)));
            data.plain("max_datagram_size", tcp.mss());
            data.plain("initial_congestion_window", tcp.congestion_window());
        });
    }

    fn metrics(&mut self, writer: &mut Writer<'_>, now: Time, tcp: &Endpoint, rtt: Option<Span>) {
        self.least = self.least.into_iter().chain(rtt).min();
        let keeps_least = tcp.config().tcp.recovery() == LossRecovery::Rack;
        let old = self.metrics;
        let new = Metrics {
            min_rtt: if keeps_least { tcp.min_rtt() } else { self.least },
            smoothed_rtt: tcp.smoothed_rtt(),
            latest_rtt: rtt.or(old.latest_rtt),
            congestion_window: Some(tcp.congestion_window()),
            bytes_in_flight: Some(tcp.in_flight()),
            // Before the first loss it has no bound.
            ssthresh: Some(tcp.ssthresh()).filter(|bytes| *bytes < cellway_tcp::MAX_WINDOW),
            pacing_rate: tcp.pacing_rate(),
        };
        if new == old {
            return;
        }
        self.metrics = new;
        writer.event(now, "recovery:metrics_updated", |data| {
            let mut rtt = |name, [old, new]: [Option<Span>; 2]| {
                new.filter(|_| old != new).into_iter().for_each(|span| data.plain(name, Millis::from(span)));
            };
            rtt("min_rtt", [old.min_rtt, new.min_rtt]);
            rtt("smoothed_rtt", [old.smoothed_rtt, new.smoothed_rtt]);
            rtt("latest_rtt", [old.latest_rtt, new.latest_rtt]);
            let mut whole = |name, [old, new]: [Option<u64>; 2]| {
                new.filter(|n| old != new && *n < MOST_EXACT).into_iter().for_each(|number| data.plain(name, number));
            };
            whole("congestion_window", [old.congestion_window, new.congestion_window]);
            whole("bytes_in_flight", [old.bytes_in_flight, new.bytes_in_flight]);
            whole("ssthresh", [old.ssthresh, new.ssthresh]);
            whole("pacing_rate", [old.pacing_rate, new.pacing_rate]);
        });
    }
}

/// Writes a state if it is not the last one.
fn changed(writer: &mut Writer<'_>, now: Time, event: &str, last: &mut Option<&'static str>, new: &'static str) {
    let old = last.replace(new);
    if old != Some(new) {
        writer.event(now, event, |data| {
            old.into_iter().for_each(|old| data.string("old", old));
            data.string("new", new);
        });
    }
}

/// Returns the state of BBR by its name in the draft; of others, the phases of RFC 5681.
pub(crate) fn congestion_state(tcp: &Endpoint) -> &'static str {
    let mut bbr = None;
    tcp.variables(|variable, value| {
        if variable == Variable::State {
            bbr = BbrState::ALL.get(value as usize);
        }
    });
    match bbr {
        Some(state) => state.name(),
        None if tcp.in_recovery() => "recovery",
        None if tcp.congestion_window() < tcp.ssthresh() => "slow_start",
        None => "congestion_avoidance",
    }
}
