//! The totals and the samples of a conversation slot.

use std::sync::Arc;

use cellway_apps::Side;
use cellway_net::{ChannelId, Framing, PortId};
use cellway_record::metric::{Metric, slot};
use cellway_record::stats::{Moments, Sample, TimeWeighted};
use cellway_scenario::{App, Protocol, Traffic};
use cellway_units::{Rate, Span, Time};

use super::Changes;
use super::answers::Answers;
use super::datagrams::Datagrams;
use super::flows::{Flows, Ideal};
use super::trace::Trace;

/// The TCP counters of a slot, over all its connections and both ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpTotals {
    /// Segments sent again.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Losses found by duplicate acknowledgements.
    pub fast_retransmits: u64,
    /// Congestion windows that fell to one segment.
    pub collapses: u64,
    /// Segments that the receiver reported as duplicates.
    pub spurious: u64,
    /// Reductions of the window that were undone.
    pub undone: u64,
}

impl TcpTotals {
    /// Returns the difference to earlier totals.
    #[must_use]
    pub fn since(self, before: TcpTotals) -> TcpTotals {
        TcpTotals {
            retransmissions: self.retransmissions - before.retransmissions,
            timeouts: self.timeouts - before.timeouts,
            fast_retransmits: self.fast_retransmits - before.fast_retransmits,
            collapses: self.collapses - before.collapses,
            spurious: self.spurious - before.spurious,
            undone: self.undone - before.undone,
        }
    }
}

/// Counts of a slot since the end of the warm-up, or since the start before it has ended.
#[derive(Debug, Default)]
pub(crate) struct SlotTotals {
    /// In-order bytes handed to the responder and to the originator.
    pub(crate) delivered: [u64; 2],
    /// Bits on the bottleneck link of the packets that the responder received, with their framing.
    pub(crate) line_bits: u64,
    pub(crate) conversations: u64,
    pub(crate) failures: u64,
    pub(crate) items: u64,
    /// Boxed, since many slots lose nothing.
    pub(crate) tcp: Option<Box<TcpTotals>>,
}

/// Figures of the traffic of some slots.
#[derive(Debug)]
pub(super) enum Own {
    /// Of datagrams; the slot has none of TCP and of items.
    Datagrams(Box<Datagrams>),
    /// Of datagrams from the originator and from the responder.
    BothWays(Box<[Datagrams; 2]>),
    /// Of flows that arrive by themselves.
    Flows(Box<Flows>),
    /// Of the answers or pages that it waits for.
    Answers(Box<Answers>),
    /// Of measured conversations, which are flows that wait for answers.
    Measured(Box<(Flows, Answers)>),
}

/// The records of a slot over time, as far as the scenario asks for them.
#[derive(Debug)]
pub(crate) struct Records {
    pub(crate) trace: Option<Trace>,
    pub(crate) series: Option<SlotSeries>,
}

/// The figures of a slot that only series have.
#[derive(Debug)]
pub(crate) struct SlotSeries {
    /// The time that each item took, recorded at the instant of its arrival.
    pub(super) items: Changes,
    /// In-order bytes handed to the responder and to the originator in the present bin.
    pub(super) delivered: [u64; 2],
    /// The send window since the start of the bin.
    pub(super) window: TimeWeighted,
}

impl SlotSeries {
    /// Creates those of a slot, with at most so many rows of items.
    pub(crate) fn new(most: usize) -> SlotSeries {
        SlotSeries { items: Changes::new(most), delivered: [0; 2], window: TimeWeighted::new(Time::ZERO, 0) }
    }
}

/// The times of a slot's items and the delays that its application has observed.
#[derive(Debug, Default)]
pub(super) struct Samples {
    pub(super) delays: Sample,
    pub(super) delays_in_bin: Moments,
    pub(super) item_times: Sample,
    pub(super) item_rates: Moments,
}

/// The rate of the ABR source of a slot.
#[derive(Debug)]
pub(crate) struct AbrRate {
    /// The first output port of the slot's cells and their channel, while they are open.
    pub(crate) queue: Option<(PortId, ChannelId)>,
    pub(super) acr: Moments,
    pub(super) acr_min: f64,
}

/// A conversation slot that is reported.
#[derive(Debug)]
pub(crate) struct SlotMeter {
    pub(super) subject: Arc<str>,
    pub(super) bottleneck: Rate,
    /// The framing of the bottleneck link.
    pub(super) framing: Framing,
    pub(super) interactive: bool,
    pub(super) own: Option<Own>,
    /// The send window and the model of congestion control at each change, if the scenario traces them.
    pub(super) trace: Option<Box<Trace>>,
    pub(crate) totals: SlotTotals,
    /// The bytes that the responder had received at the start of the present fairness window.
    pub(super) at_fairness: u64,
    pub(super) window: TimeWeighted,
    pub(super) full: TimeWeighted,
    /// Boxed, since many slots have none.
    pub(super) samples: Option<Box<Samples>>,
    /// If series are recorded.
    pub(super) series: Option<Box<SlotSeries>>,
    /// If ABR paces the slot's cells.
    pub(crate) abr: Option<Box<AbrRate>>,
}

impl SlotMeter {
    /// Creates the meter of a slot; `round_trip` is the propagation round trip of its path.
    pub(crate) fn new(name: &Arc<str>, traffic: &Traffic, round_trip: Span, records: Records) -> SlotMeter {
        let own = match &traffic.protocol {
            Protocol::Udp(source) => Some(Own::Datagrams(Box::new(Datagrams::new(source)))),
            Protocol::Class(_) => Some(Own::BothWays(Box::default())),
            Protocol::Tcp(tcp) => match &tcp.app {
                App::Flows(_) => Some(Own::Flows(Box::new(Flows::new(Ideal::new(traffic, tcp, round_trip))))),
                // A conversation has times to think, so that its completion time has no least value on a path.
                app @ App::Workload(_) => {
                    Answers::of(app).map(|answers| Own::Measured(Box::new((Flows::without_ideal(), answers))))
                }
                app => Answers::of(app).map(|answers| Own::Answers(Box::new(answers))),
            },
        };
        let interactive = matches!(traffic.app(), Some(App::Telnet { .. }));
        SlotMeter::with_own(name, traffic, interactive, own, records)
    }

    /// Creates the meter of a slot that stacks of others drive.
    pub(crate) fn of_stack(name: &Arc<str>, traffic: &Traffic, records: Records) -> SlotMeter {
        SlotMeter::with_own(name, traffic, false, Some(Own::Datagrams(Box::default())), records)
    }

    fn with_own(
        name: &Arc<str>,
        traffic: &Traffic,
        interactive: bool,
        own: Option<Own>,
        records: Records,
    ) -> SlotMeter {
        let (trace, series) = (records.trace.map(Box::new), records.series.map(Box::new));
        let nothing = TimeWeighted::new(Time::ZERO, 0);
        SlotMeter {
            subject: name.clone(),
            bottleneck: traffic.bottleneck,
            framing: traffic.bottleneck_framing,
            interactive,
            own,
            trace,
            totals: SlotTotals::default(),
            at_fairness: 0,
            window: nothing,
            full: nothing,
            samples: None,
            series,
            abr: None,
        }
    }

    /// Records a send window that differs from the last one.
    pub(super) fn change_window(&mut self, now: Time, window: u64) {
        self.window.set(now, window);
        if let Some(series) = &mut self.series {
            series.window.set(now, window);
        }
        if let Some(trace) = &mut self.trace {
            trace.window.push(now, window as f64);
        }
    }

    /// Returns the bytes delivered to the responder in the present fairness window.
    pub(super) fn delivered_in_window(&self) -> f64 {
        (self.totals.delivered[0] - self.at_fairness) as f64
    }

    /// Starts the totals anew at the end of the warm-up.
    pub(super) fn end_warmup(&mut self, now: Time) {
        self.totals = SlotTotals::default();
        self.at_fairness = 0;
        self.window.restart(now);
        self.full.restart(now);
    }

    /// Returns the samples, to be added to.
    pub(super) fn samples_mut(&mut self) -> &mut Samples {
        self.samples.get_or_insert_default()
    }

    /// Records the ABR rate of a queue from now on.
    pub(crate) fn paced_by(&mut self, queue: (PortId, ChannelId)) {
        let none = || Box::new(AbrRate { queue: None, acr: Moments::default(), acr_min: f64::INFINITY });
        self.abr.get_or_insert_with(none).queue = Some(queue);
    }

    /// Ends the record of the ABR rate of a channel.
    pub(crate) fn forget_channel(&mut self, channel: ChannelId) {
        if let Some(abr) = &mut self.abr {
            abr.queue = abr.queue.filter(|queue| queue.1 != channel);
        }
    }

    /// Returns the datagrams of each direction that has any of its own: the echoes of pings are of the way there.
    pub(super) fn directions(&self) -> &[Datagrams] {
        match &self.own {
            Some(Own::Datagrams(datagrams)) => std::slice::from_ref(datagrams),
            Some(Own::BothWays(both)) => &both[..],
            _ => &[],
        }
    }

    /// Returns the datagrams that a side has sent, in whose direction that has a meaning.
    pub(super) fn sent_by_mut(&mut self, side: Side) -> Option<&mut Datagrams> {
        match &mut self.own {
            Some(Own::BothWays(both)) => Some(&mut both[side as usize]),
            _ => None,
        }
    }

    pub(super) fn datagrams(&self) -> Option<&Datagrams> {
        match &self.own {
            Some(Own::Datagrams(datagrams)) => Some(datagrams),
            _ => None,
        }
    }

    pub(super) fn datagrams_mut(&mut self) -> Option<&mut Datagrams> {
        match &mut self.own {
            Some(Own::Datagrams(datagrams)) => Some(datagrams),
            _ => None,
        }
    }

    pub(super) fn flows(&self) -> Option<&Flows> {
        match &self.own {
            Some(Own::Flows(flows)) => Some(flows),
            Some(Own::Measured(both)) => Some(&both.0),
            _ => None,
        }
    }

    pub(super) fn flows_mut(&mut self) -> Option<&mut Flows> {
        match &mut self.own {
            Some(Own::Flows(flows)) => Some(flows),
            Some(Own::Measured(both)) => Some(&mut both.0),
            _ => None,
        }
    }

    pub(super) fn answers(&self) -> Option<&Answers> {
        match &self.own {
            Some(Own::Answers(answers)) => Some(answers),
            Some(Own::Measured(both)) => Some(&both.1),
            _ => None,
        }
    }

    pub(super) fn answers_mut(&mut self) -> Option<&mut Answers> {
        match &mut self.own {
            Some(Own::Answers(answers)) => Some(answers),
            Some(Own::Measured(both)) => Some(&mut both.1),
            _ => None,
        }
    }

    /// Returns the metric of the mean delay in a bin.
    pub(super) fn delay_metric(&self) -> &'static Metric {
        match &self.own {
            Some(Own::Answers(answers)) => answers.mean_metric(),
            Some(Own::Measured(both)) => both.1.mean_metric(),
            Some(Own::Datagrams(datagrams)) => datagrams.times()[0],
            Some(Own::BothWays(both)) => both[0].times()[0],
            Some(Own::Flows(_)) | None => &slot::DELAY_MEAN,
        }
    }

    /// Bytes over a span as a share of the bottleneck rate.
    pub(super) fn throughput(&self, bytes: u64, span: Span) -> f64 {
        bytes as f64 * 8.0 / (self.bottleneck.as_bps() as f64 * span.as_secs_f64())
    }
}
