//! The applications of the scenario, played over the TCP of its hosts.

use std::net::IpAddr;
use std::sync::mpsc::Sender;

use cellway_apps::Workload;
use cellway_scenario::Scenario;
use cellway_units::Span;
use socket2::Socket;

use super::network::Network;
use crate::error::Error;
use crate::player::{
    HostTcp, MakeSocket, Observation, Player, PlayerEnd, PlayerHost, PlayerPlan, PlayerSlot, host_settings,
};

/// How often the kernel's figures are asked for.
const FIGURES: Span = Span::from_ms(100);

/// A player for all slots; none if there are none.
pub(super) fn player(
    scenario: &Scenario,
    workloads: &[Workload],
    network: &Network,
    seed: u64,
    tell: Sender<Observation>,
    notes: &mut Vec<String>,
) -> Result<Option<Player>, Error> {
    let testbed = &network.engine.testbed;
    if testbed.slots().is_empty() {
        return Ok(None);
    }
    let place = |node| testbed.hosts().position(|host| host.node == node).expect("slots are between hosts");
    let mut slots = Vec::new();
    for slot in testbed.slots() {
        let spec = &scenario.traffic[slot.group].tcp;
        let tcp = HostTcp::from_spec(spec);
        let ends = slot.hosts.map(|node| {
            let host = place(node);
            PlayerEnd { host, address: IpAddr::V4(network.names.address(host)), tcp: tcp.clone() }
        });
        for end in &ends {
            for (key, value) in host_settings(spec) {
                // A kernel may lack one; then its own way is what is measured, and the reader is told.
                if let Err(refused) = network.namespaces[end.host].set(&format!("net/ipv4/{key}"), &value.to_string()) {
                    let told = format!("TCP of this kernel does not follow the scenario: {refused}");
                    if !notes.contains(&told) {
                        notes.push(told);
                    }
                }
            }
        }
        slots.push(PlayerSlot {
            name: slot.name.clone(),
            workload: workloads[slot.group].clone(),
            start: slot.start,
            repeat: slot.repeat,
            ends,
            well_known_ports: slot.well_known_ports,
        });
    }
    let hosts = network.namespaces.iter().map(|namespace| {
        let maker = namespace.handle();
        let socket: MakeSocket =
            Box::new(move |domain, kind, protocol| maker.run(move || Socket::new(domain, kind, Some(protocol))));
        PlayerHost { name: namespace.name().to_owned(), socket }
    });
    let plan = PlayerPlan {
        hosts: hosts.collect(),
        slots,
        seed,
        duration: scenario.run.duration,
        tcp_every: Some(FIGURES),
        verify: false,
    };
    Ok(Some(Player::new(plan, tell)?))
}
