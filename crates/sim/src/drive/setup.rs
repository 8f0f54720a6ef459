//! A run at its start: the network, the slots and their first timers.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use cellway_apps::random::Streams;
use cellway_apps::{DatagramSource, GroupWorkload};
use cellway_gateway as gateway;
use cellway_record::Source;
use cellway_scenario::Scenario;
use cellway_tcp::Output;
use cellway_testbed::{SlotPlan, Testbed};
use cellway_units::Time;

use super::{Control, Run, stacks};
use crate::connection::SIDES;
use crate::error::Error;
use crate::gateway::GatewayPair;
use crate::qlog::Recorder;
use crate::slot::Slot;
use crate::timers::{TimerKey, TimerKind, Timers};

impl<'a> Run<'a> {
    /// Builds the network and the slots of a run at its start.
    pub(super) fn new(
        scenario: &Scenario,
        workloads: Cow<'a, [GroupWorkload]>,
        seed: u64,
        mut control: Control<'a>,
    ) -> Result<Run<'a>, Error> {
        if scenario.traffic.is_empty() {
            return Err(Error::NoTraffic);
        }
        let streams = Streams::new(seed);
        let encapsulation = scenario.multiplexing.encapsulation;
        let stacks = stacks::stacks_of(scenario, control.stacks)?;
        let controllers = control.controllers.map(|own| own.of(scenario)).transpose()?.unwrap_or_default();
        let mut bed = Testbed::with_stacks(scenario, &streams, Source::Simulate, &stacks::driven(&stacks))?;
        bed.open_planned()?;
        if let Some(capture) = &mut control.capture {
            capture.begin(&mut bed)?;
        }
        let slot = |plan: &Arc<SlotPlan>| {
            Slot::new(plan.clone(), &workloads[plan.group], &streams, stacks[plan.group].clone())
        };
        let slots: Vec<Slot> = bed.slots().iter().map(slot).collect();
        let qlog = control.qlog.map(|qlog| Recorder::begin(qlog, &slots).map(Box::new)).transpose()?;
        let pairs: Result<Vec<GatewayPair>, Error> =
            bed.pairs().iter().map(|plan| GatewayPair::new(plan, scenario.traffic.len())).collect();
        let mut timers = Timers::default();
        for (index, slot) in slots.iter().enumerate() {
            let index = index as u32;
            match slot {
                Slot::Udp(slot) => {
                    for side in SIDES {
                        let at = slot.sources[side as usize].as_ref().and_then(DatagramSource::next);
                        timers.add_if(at, TimerKey { slot: index, kind: TimerKind::Datagram { side } });
                    }
                }
                other => timers.add(other.plan().start, TimerKey { slot: index, kind: TimerKind::Begin }),
            }
        }
        for (index, at) in bed.changes().enumerate() {
            timers.add(at, TimerKey { slot: index as u32, kind: TimerKind::Change });
        }
        let mut changes: Vec<Time> = bed.changes().collect();
        changes.sort_unstable();
        changes.dedup();
        Ok(Run {
            workloads,
            streams,
            encapsulation,
            legs: bed.legs(),
            bed,
            slots,
            pairs: pairs?,
            timers,
            packets: 0,
            timers_fired: 0,
            output: Output::default(),
            gateway_output: gateway::Output::default(),
            actions: Vec::new(),
            todo: VecDeque::new(),
            touched: Vec::new(),
            controllers,
            capture: control.capture,
            qlog,
            changes: changes.into(),
            may_enter: false,
            fault: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use cellway_scenario::{Engine, Plan};
    use cellway_units::Span;

    use super::*;

    fn in_windows(text: &str, engine: Engine) -> bool {
        let plan = Plan::parse(text, "t.toml").unwrap();
        let workloads: Vec<GroupWorkload> =
            plan.base().traffic.iter().map(|group| crate::workload(group, None).unwrap()).collect();
        let mut scenario = plan.base().clone();
        scenario.run.engine = engine;
        let mut run = Run::new(&scenario, Cow::Borrowed(&workloads), 1, Control::new(&|| false)).unwrap();
        run.may_enter = true;
        run.step(Time::ZERO + Span::from_secs(1), &mut Vec::new()).unwrap();
        run.bed.fabric.has_windows()
    }

    /// Comparisons of both engines would say nothing if neither ran in windows. Delays that vary need the calendar.
    #[test]
    fn a_network_runs_in_windows_where_it_can() {
        let cells = include_str!("../../../../papers/cellsim/cellsim.toml");
        let packets = include_str!("../../../../scenarios/rrul.toml");
        let gateways = include_str!("../../../../papers/kdd/atm-gateway.toml");
        let abr = include_str!("../../../../scenarios/abr-parking-lot.toml");
        for text in [cells, packets, gateways, abr] {
            assert!(in_windows(text, Engine::Windows));
            assert!(!in_windows(text, Engine::Cells));
        }
        let varying = packets.replacen("20 Mbit/s\" }", "20 Mbit/s\", jitter = { deviation = \"1 ms\" } }", 1);
        assert!(!in_windows(&varying, Engine::Windows));
    }
}
