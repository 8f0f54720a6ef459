//! The traffic of the scenario, played over the TCP and UDP of its hosts.

use std::net::IpAddr;
use std::sync::mpsc::Sender;

use cellway_apps::{Arrivals, DatagramEcn, Family, GroupWorkload, MeasuredDatagrams, UdpSource};
use cellway_scenario::{Scenario, TcpSpec};
use cellway_testbed::{SlotPlan, TcpSlotPlan};
use cellway_units::{Rate, Span, Time};
use socket2::Socket;

use super::network::Network;
use crate::addresses::ipv6;
use crate::error::Error;
use crate::player::{
    DatagramPlan, DatagramPlayer, DatagramSlot, DatagramsPlayed, HostTcp, MakeSocket, Observation, Player, PlayerEnd,
    PlayerHost, PlayerPlan, PlayerSlot, host_settings,
};

/// The interval at which the kernel's figures are polled.
const FIGURES: Span = Span::from_ms(100);
/// The rate for which the buffers of measured datagrams are made.
const MEASURED_RATE: Rate = Rate::from_bps(100_000_000);
/// Datagrams that were sent in this last part of a run need not have arrived: they may wait in the kernel of a host,
/// where the network does not count them.
const DRAIN: Span = Span::from_ms(100);

/// The players of the slots of a scenario.
pub(super) struct Players {
    /// The conversations over TCP, if there are any.
    pub(super) conversations: Option<Player>,
    /// The datagrams, if there are any.
    pub(super) datagrams: Option<DatagramPlayer>,
}

impl Players {
    /// No players.
    pub(super) const NONE: Players = Players { conversations: None, datagrams: None };

    /// Players for all slots.
    pub(super) fn new(
        scenario: &Scenario,
        workloads: &[GroupWorkload],
        network: &mut Network,
        seed: u64,
        sender: Sender<Observation>,
        notes: &mut Vec<String>,
    ) -> Result<Players, Error> {
        let (mut conversations, mut datagrams) = (Vec::new(), Vec::new());
        for (number, slot) in network.engine.testbed.slots().iter().enumerate() {
            let group = &scenario.traffic[slot.group];
            let v6 = group.family() == Family::Ipv6;
            let ends = slot.hosts.map(|node| {
                let host = network.engine.testbed.hosts().position(|host| host.node == node);
                let host = host.expect("slots are between hosts");
                let address = network.names.address(host);
                (host, if v6 { ipv6(address).into() } else { IpAddr::V4(address) })
            });
            match (&workloads[slot.group], slot.tcp(), group.tcp()) {
                (GroupWorkload::Conversations(workload), Some(plan), Some(tcp)) => {
                    set_hosts(&tcp.tcp, ends, network, notes);
                    let spec = HostTcp { traffic_class: slot.dscp << 2, ..HostTcp::from_spec(&tcp.tcp) };
                    let ends = ends.map(|(host, address)| PlayerEnd { host, address, tcp: spec.clone() });
                    let TcpSlotPlan { repeat, well_known_ports, .. } = *plan;
                    let SlotPlan { name, start, .. } = &**slot;
                    let (name, start, workload) = (name.to_string(), *start, workload.clone());
                    let played = PlayerSlot { slot: number, name, workload, start, repeat, ends, well_known_ports };
                    conversations.push(played);
                }
                (GroupWorkload::Datagrams(source), ..) => {
                    datagrams.push(datagram_slot(number, slot, ends, *source, None));
                }
                (GroupWorkload::MeasuredDatagrams(measured), ..) => {
                    datagrams.push(datagram_slot(number, slot, ends, buffered(measured), Some(measured.clone())));
                }
                _ => unreachable!("a slot has the protocol of its group"),
            }
        }
        let duration = scenario.run.duration;
        let settled = duration.saturating_sub(DRAIN);
        network.engine.testbed.meter.settle_datagrams(Time::ZERO + settled);
        let mut players = Players::NONE;
        if !conversations.is_empty() {
            let (slots, tcp_every) = (conversations, Some(FIGURES));
            let plan = PlayerPlan { hosts: hosts(network), slots, seed, duration, tcp_every, verify: false };
            players.conversations = Some(Player::new(plan, sender.clone())?);
        }
        if !datagrams.is_empty() {
            let plan = DatagramPlan { hosts: hosts(network), slots: datagrams, seed, duration };
            players.datagrams = Some(DatagramPlayer::new(plan, sender)?);
        }
        Ok(players)
    }

    /// Returns true if anything is played.
    pub(super) fn any(&self) -> bool {
        self.conversations.is_some() || self.datagrams.is_some()
    }
}

/// Returns the datagrams of slot `slot`: those of `source`, or of measured conversations.
fn datagram_slot(
    slot: usize,
    plan: &SlotPlan,
    ends: [(usize, IpAddr); 2],
    source: UdpSource,
    measured: Option<Box<MeasuredDatagrams>>,
) -> DatagramSlot {
    let (name, start, port) = (plan.name.to_string(), plan.start, plan.datagram_port());
    let traffic_class = plan.dscp << 2 | source.ecn.field().bits();
    DatagramSlot { slot, name, source, measured, start, ends, port, traffic_class }
}

/// Returns a source for which the buffers of sockets are large enough for measured datagrams: their rate is not known.
fn buffered(measured: &MeasuredDatagrams) -> UdpSource {
    let (rate, ecn) = (MEASURED_RATE, DatagramEcn::NotEct);
    let (family, packet) = (measured.family, measured.largest);
    UdpSource { arrivals: Arrivals::Constant, family, packet, rate, duration: None, ecn }
}

/// Sets the values that a host has for all its sockets.
fn set_hosts(spec: &TcpSpec, ends: [(usize, IpAddr); 2], network: &Network, notes: &mut Vec<String>) {
    for (host, _) in ends {
        for (key, value) in host_settings(spec) {
            // A kernel may lack one; then its own behaviour is measured, and a note reports it.
            if let Err(refused) = network.namespaces[host].set(&format!("net/ipv4/{key}"), &value.to_string()) {
                let note = format!("TCP of this kernel does not follow the scenario: {refused}");
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
    }
}

fn hosts(network: &Network) -> Vec<PlayerHost> {
    let hosts = network.namespaces.iter().map(|namespace| {
        let maker = namespace.handle();
        let socket: MakeSocket =
            Box::new(move |domain, kind, protocol| maker.run(move || Socket::new(domain, kind, Some(protocol))));
        PlayerHost { name: namespace.name().to_owned(), socket }
    });
    hosts.collect()
}

/// Returns a note for the reader of the results about the datagrams of a run, if one is needed.
pub(super) fn note(played: &DatagramsPlayed) -> Option<String> {
    let DatagramsPlayed { sent, refused, reason, .. } = played;
    let reason = reason.as_ref().filter(|_| *refused > 0)?;
    Some(format!("{refused} of {sent} datagrams were refused by the kernel of their host and count as lost: {reason}"))
}
