//! Classes that match nothing, as those before them match every connection that they would.

use std::ops::RangeInclusive;

use cellway_gateway::Class;
use ipnet::IpNet;

const ALL_PORTS: RangeInclusive<u16> = 1..=u16::MAX;

fn ports(class: &Class) -> &[RangeInclusive<u16>] {
    if class.ports.is_empty() { &[ALL_PORTS] } else { &class.ports }
}
fn has_port(class: &Class, port: u16) -> bool {
    ports(class).iter().any(|range| range.contains(&port))
}

/// Returns true if `earlier` together match every connection of `class`. The classes that match a port change only at
/// the ends of ranges, so these ports are enough to check.
pub(super) fn is_covered(class: &Class, earlier: &[&Class]) -> bool {
    let all = || earlier.iter().copied().chain([class]).flat_map(ports);
    let begins = all().map(|range| *range.start());
    let after = all().filter_map(|range| range.end().checked_add(1));
    begins.chain(after).filter(|&port| has_port(class, port)).all(|port| {
        let mut taken = earlier.iter().filter(|other| has_port(other, port));
        if taken.clone().any(|other| other.clients.is_empty()) {
            return true;
        }
        let nets = taken.by_ref().flat_map(|other| other.clients.iter().copied()).collect();
        // Connections without the address of a client are in no network.
        let nets = IpNet::aggregate(&nets);
        !class.clients.is_empty() && class.clients.iter().all(|net| nets.iter().any(|other| other.contains(net)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(clients: &[&str], ports: &[RangeInclusive<u16>]) -> Class {
        let clients = clients.iter().map(|net| net.parse().unwrap()).collect();
        Class { clients, ports: ports.to_vec(), ..Class::new("c") }
    }
    fn covered(class: &Class, earlier: &[Class]) -> bool {
        is_covered(class, &earlier.iter().collect::<Vec<_>>())
    }

    #[test]
    fn a_class_is_covered_if_every_port_and_client_of_it_is() {
        let web = class(&[], &[80..=89]);
        let ten = class(&["10.0.0.0/8"], &[]);
        assert!(covered(&class(&[], &[82..=85, 87..=87]), std::slice::from_ref(&web)));
        assert!(covered(&class(&["192.0.2.0/24"], &[80..=80]), &[ten.clone(), web.clone()]));
        assert!(covered(&class(&["10.1.0.0/16", "10.2.0.0/16"], &[]), std::slice::from_ref(&ten)));
        assert!(!covered(&class(&[], &[85..=90]), std::slice::from_ref(&web)));
        assert!(!covered(&class(&["10.0.0.0/7"], &[]), std::slice::from_ref(&ten)));
        assert!(!covered(&class(&[], &[]), &[ten.clone(), web.clone()]));
        assert!(!covered(&ten, &[]));
        let every = class(&["0.0.0.0/0", "::/0"], &[]);
        assert!(covered(&ten, std::slice::from_ref(&every)));
        assert!(!covered(&web, std::slice::from_ref(&every)), "connections without an address");
    }

    #[test]
    fn several_classes_cover_one_together() {
        let halves = [class(&["10.0.0.0/9"], &[]), class(&["10.128.0.0/9"], &[])];
        let ten = class(&["10.0.0.0/8"], &[22..=22]);
        assert!(covered(&ten, &halves) && !covered(&ten, &halves[..1]));
        let ranges = [class(&[], &[1..=100]), class(&["10.0.0.0/8"], &[101..=200])];
        assert!(covered(&class(&["10.3.0.0/16"], &[50..=150]), &ranges));
        assert!(!covered(&class(&["10.3.0.0/16"], &[50..=201]), &ranges));
        assert!(!covered(&class(&[], &[50..=150]), &ranges));
        assert!(covered(&class(&[], &[]), &[class(&[], &[1..=9]), class(&[], &[10..=u16::MAX])]));
    }
}
