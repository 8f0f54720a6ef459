//! The metrics of the variables of a congestion controller.

use cellway_record::metric::{Metric, model};
use cellway_tcp::Endpoint;
use cellway_tcp::congestion::Variable;
use cellway_testbed::Meter;
use cellway_units::Time;

fn metric(variable: Variable) -> &'static Metric {
    match variable {
        Variable::State => &model::BBR_STATE,
        Variable::RoundCount => &model::BBR_ROUND_COUNT,
        Variable::PacingGain => &model::BBR_PACING_GAIN,
        Variable::CwndGain => &model::BBR_CWND_GAIN,
        Variable::PacingRate => &model::BBR_PACING_RATE,
        Variable::SendQuantum => &model::BBR_SEND_QUANTUM,
        Variable::Cwnd => &model::BBR_CWND,
        Variable::Inflight => &model::BBR_INFLIGHT,
        Variable::DeliveryRate => &model::BBR_DELIVERY_RATE,
        Variable::IsAppLimited => &model::BBR_IS_APP_LIMITED,
        Variable::MaxBw => &model::BBR_MAX_BW,
        Variable::Bw => &model::BBR_BW,
        Variable::BwShortterm => &model::BBR_BW_SHORTTERM,
        Variable::InflightShortterm => &model::BBR_INFLIGHT_SHORTTERM,
        Variable::InflightLongterm => &model::BBR_INFLIGHT_LONGTERM,
        Variable::InflightWithHeadroom => &model::BBR_INFLIGHT_WITH_HEADROOM,
        Variable::InflightTarget => &model::BBR_INFLIGHT_TARGET,
        Variable::Bdp => &model::BBR_BDP,
        Variable::MinRtt => &model::BBR_MIN_RTT,
        Variable::ExtraAcked => &model::BBR_EXTRA_ACKED,
        Variable::FullBwCount => &model::BBR_FULL_BW_COUNT,
        Variable::FullBwNow => &model::BBR_FULL_BW_NOW,
        Variable::FullBwReached => &model::BBR_FULL_BW_REACHED,
        Variable::BwProbeWait => &model::BBR_BW_PROBE_WAIT,
        Variable::IdleRestart => &model::BBR_IDLE_RESTART,
        Variable::Undone => &model::BBR_UNDONE,
        Variable::UndoBwShortterm => &model::BBR_UNDO_BW_SHORTTERM,
        Variable::UndoInflightShortterm => &model::BBR_UNDO_INFLIGHT_SHORTTERM,
        Variable::UndoInflightLongterm => &model::BBR_UNDO_INFLIGHT_LONGTERM,
    }
}

/// Records the variables of the model of an endpoint that has sent more than it has received: of the two ends of a
/// connection, the sender.
pub(crate) fn observe_model(meter: &mut Meter, now: Time, slot: usize, tcp: &Endpoint) {
    if tcp.stats().bytes_sent > tcp.stats().bytes_received {
        tcp.variables(|variable, value| meter.variable(now, slot, metric(variable), value));
    }
}
