//! Where programs in hosts look names up: the hosts of the scenario are in `/etc/hosts`, and the resolver is one that
//! they can reach, or one that refuses at once. That of the machine is out of their reach.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::net::Ipv4Addr;

use super::Foreground;
use super::network::Network;

/// Names and addresses (`hosts(5)`).
const HOSTS: &str = "/etc/hosts";
/// The resolver (`resolv.conf(5)`).
const RESOLVER: &str = "/etc/resolv.conf";

impl Network {
    /// Replaces the files of the resolver for the programs in hosts, by their places. What a program in the foreground
    /// talks to is its resolver, which serves whom starts one there; other programs have none. A path whose far end is
    /// this machine leaves everything as it is.
    pub(super) fn name_hosts(&mut self, places: impl Iterator<Item = usize>, foreground: Option<&Foreground>) {
        if foreground.is_some_and(|wanted| wanted.here.is_some()) {
            return;
        }
        let own = foreground.and_then(|wanted| self.names.place(&wanted.host));
        let other = (0..self.namespaces.len()).find(|&place| own.is_some() && Some(place) != own);
        let resolver = other.map_or(Ipv4Addr::LOCALHOST, |place| self.names.address(place));
        let known = std::fs::read_to_string(HOSTS).unwrap_or_default();
        let hosts: Vec<(String, Ipv4Addr)> = self.names.all().map(|(name, at)| (name.to_owned(), at)).collect();
        let files = [(HOSTS, hosts_file(&hosts, &known)), (RESOLVER, resolver_file(resolver))];
        for place in places.collect::<BTreeSet<usize>>() {
            let why = match self.namespaces[place].replace_files(files.to_vec()) {
                Ok(failures) => failures.into_iter().find(|(path, _)| *path == HOSTS).map(|(_, why)| why.to_string()),
                Err(error) => Some(error.to_string()),
            };
            if let Some(why) = why {
                let note = format!("programs find hosts by address only, not by name: {why}");
                if !self.notes.contains(&note) {
                    self.notes.push(note);
                }
            }
        }
    }
}

/// The hosts of the scenario, before what the machine knows.
fn hosts_file(hosts: &[(String, Ipv4Addr)], known: &str) -> String {
    let mut text = String::new();
    for (name, address) in hosts {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{address} {name}");
    }
    text + known
}

fn resolver_file(address: Ipv4Addr) -> String {
    format!(
        "# of cellway: the resolver of this machine cannot be reached from here\nnameserver {address}\noptions timeout:1 attempts:1\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_come_before_those_of_the_machine() {
        let hosts = [("a".to_owned(), Ipv4Addr::new(100, 64, 0, 1)), ("b-1".to_owned(), Ipv4Addr::new(100, 64, 0, 2))];
        assert_eq!(hosts_file(&hosts, "127.0.0.1 localhost\n"), "100.64.0.1 a\n100.64.0.2 b-1\n127.0.0.1 localhost\n");
    }
}
