//! The files with which programs in hosts resolve names. `/etc/hosts` lists the hosts of the scenario.
//! `/etc/resolv.conf` names a resolver that the programs can reach or that refuses at once, since they cannot reach the
//! resolver of the machine.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::net::Ipv4Addr;

use super::Foreground;
use super::network::Network;

/// Sockets at which resolvers of the machine answer `nss-resolve` and `nscd`, past the path and `resolv.conf`.
const SOCKETS: [&str; 3] = ["/run/systemd/resolve/io.systemd.Resolve", "/run/nscd/socket", "/var/run/nscd/socket"];
/// Names and addresses (`hosts(5)`).
const HOSTS: &str = "/etc/hosts";
/// The resolver (`resolv.conf(5)`).
pub(crate) const RESOLVER: &str = "/etc/resolv.conf";

impl Network {
    /// Replaces `/etc/hosts` and `/etc/resolv.conf` for the programs in the hosts at `places`. With a foreground
    /// program the resolver is the other host of its path, where the user may start one, or that of [`Internet`].
    /// Otherwise it is the loopback address, where nothing listens, so that look-ups are refused at once. Does nothing
    /// if the far end of the path is this machine without [`Internet`], nor for this machine itself.
    ///
    /// [`Internet`]: crate::internet::Internet
    pub(super) fn name_hosts(&mut self, places: impl Iterator<Item = usize>, foreground: Option<&Foreground>) {
        let here = foreground.and_then(|wanted| wanted.here.as_ref());
        if here.is_some() && self.internet.is_none() {
            return;
        }
        let machine = here.and_then(|here| self.names.place(&here.host));
        let own = foreground.and_then(|wanted| self.names.place(&wanted.host));
        let other = (0..self.namespaces.len()).find(|&place| own.is_some() && Some(place) != own);
        let resolver = other.map_or(Ipv4Addr::LOCALHOST, |place| self.names.address(place));
        let known = std::fs::read_to_string(HOSTS).unwrap_or_default();
        let hosts: Vec<(String, Ipv4Addr)> = self.names.all().map(|(name, at)| (name.to_owned(), at)).collect();
        let mut files = vec![(HOSTS, hosts_file(&hosts, &known))];
        match &self.internet {
            None => files.push((RESOLVER, resolver_file(resolver))),
            Some(internet) => {
                files.extend(internet.resolver().map(|file| (RESOLVER, file.to_owned())));
                files.extend(SOCKETS.map(|socket| (socket, String::new())));
            }
        }
        let places = places.filter(|&place| Some(place) != machine);
        for place in places.collect::<BTreeSet<usize>>() {
            let why = match self.namespaces[place].replace_files(files.clone()) {
                Ok(failures) => failures.into_iter().find(|(path, _)| *path == HOSTS).map(|(_, why)| why.to_string()),
                Err(error) => Some(error.to_string()),
            };
            if let Some(why) = why {
                let note = format!("programs cannot resolve the names of hosts, only addresses work: {why}");
                if !self.notes.contains(&note) {
                    self.notes.push(note);
                }
            }
        }
    }
}

/// Returns the hosts of the scenario, followed by the entries of the machine's own file.
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
