//! The classes of each peer.

use std::num::NonZeroU16;

use cellway_gateway::{Class, Classes, DEFAULT_CLASS, MAX_CLASSES};
use cellway_units::Rate;

use super::Check;
use super::coverage::is_covered;
use crate::config::file::{ClassFile, SHARE};
use crate::config::{LineRate, Peer};
use cellway_settings::found::{Found, one_of};
use cellway_settings::leaf::Leaf;

/// A class, and the name of its peer.
pub(super) struct Checked<'f> {
    file: &'f ClassFile,
    class: Class,
}

impl Checked<'_> {
    fn is_of(&self, peer: &str) -> bool {
        self.file.peer.as_ref().and_then(Leaf::get).is_none_or(|name| name.0 == *peer)
    }
}

impl Check<'_> {
    /// Checks each class alone, and that it can match connections of one of the peers `names`. Classes with problems
    /// are left out.
    pub(super) fn classes<'f>(&mut self, files: &'f [ClassFile], names: &[String]) -> Vec<Checked<'f>> {
        let all: Vec<Checked<'f>> = files.iter().filter_map(|file| self.class(file, names)).collect();
        let found = all.iter().enumerate().filter_map(|(place, _)| matches_nothing(&all, place, names));
        self.found.extend(found);
        all
    }

    /// Reports an empty list of `class`.
    fn not_empty<T>(&mut self, class: &ClassFile, key: &str, list: Option<&Vec<T>>, accepted: &str) {
        let Some(leaf) = class.name.as_ref().filter(|_| list.is_some_and(Vec::is_empty)) else { return };
        let key = leaf.key.strip_suffix("name").map_or(key.to_owned(), |table| format!("{table}{key}"));
        self.found.push(Found::new(leaf.at, key, "is empty").accepted(accepted));
    }

    fn class<'f>(&mut self, file: &'f ClassFile, names: &[String]) -> Option<Checked<'f>> {
        let before = self.found.len();
        if let Some((leaf, name)) = file.peer.as_ref().and_then(|leaf| Some((leaf, leaf.get()?)))
            && !names.contains(&name.0)
        {
            let message = format!("there is no peer \"{}\"", name.0);
            self.found.push(leaf.wrong(message).accepted(one_of(names.iter().map(String::as_str))));
        }
        if let Some(leaf) = file.ceiling.as_ref().filter(|leaf| leaf.get().is_some_and(|rate| rate.as_bps() == 0)) {
            self.found.push(leaf.wrong("is zero: nothing would ever be sent").accepted("a rate above zero"));
        }
        self.not_empty(file, "clients", file.clients.as_ref(), "at least one network, or no clients for any client");
        self.not_empty(file, "ports", file.ports.as_ref(), "at least one port, or no ports for any port");
        let name = self.value(file.name.clone());
        self.value(file.peer.clone());
        let share = self.or(file.share.clone(), SHARE);
        let class = Class {
            clients: self.all(file.clients.clone()),
            ports: self.all(file.ports.clone()).into_iter().map(|ports| ports.0).collect(),
            share: NonZeroU16::new(share).unwrap_or(NonZeroU16::MIN),
            ceiling: self.value(file.ceiling.clone()),
            ..Class::new(&name?.0)
        };
        (self.found.len() == before).then_some(Checked { file, class })
    }

    /// Returns the classes of a peer: those that name it, or no peer.
    pub(super) fn classes_of(&mut self, peer: &Peer, all: &[Checked<'_>]) -> Classes {
        let own: Vec<&Checked<'_>> = all.iter().filter(|checked| checked.is_of(&peer.name)).collect();
        let before = self.found.len();
        for (place, Checked { file, class }) in own.iter().enumerate() {
            let Some(leaf) = &file.name else { continue };
            let earlier = || own[..place].iter().map(|other| &other.class);
            let found = if earlier().any(|other| other.name == class.name) {
                let message = format!("there are two classes \"{}\" at peer \"{}\"", class.name, peer.name);
                Some(leaf.wrong(message).accepted("a name of its own"))
            } else if *class.name == *DEFAULT_CLASS && !class.takes_all() {
                let message = "\"default\" is the class of connections in no other class";
                Some(leaf.wrong(message).accepted("another name, or neither clients nor ports"))
            } else {
                earlier().find(|other| other.takes_all() && class.takes_all()).map(|other| {
                    let message = format!("takes the connections of class \"{}\", which comes first", other.name);
                    leaf.wrong(message).accepted("other clients or ports than those of another class")
                })
            };
            self.once(found);
            self.once(too_high(file, peer));
        }
        if own.len() >= MAX_CLASSES {
            let message =
                format!("peer \"{}\" has {} classes; at most {} are possible", peer.name, own.len(), MAX_CLASSES - 1);
            self.at("class", &message);
        }
        if self.found.len() > before {
            return Classes::default();
        }
        Classes::new(own.iter().map(|checked| checked.class.clone()).collect()).unwrap_or_else(|error| {
            self.at("class", &error.to_string());
            Classes::default()
        })
    }

    /// Adds a problem, unless a class of several peers has reported it already.
    fn once(&mut self, found: Option<Found>) {
        let known = |new: &Found| self.found.iter().any(|old| (&old.at, &old.key) == (&new.at, &new.key));
        self.found.extend(found.filter(|new| !known(new)).into_iter().collect::<Vec<_>>());
    }
}

/// Reports a ceiling above the rate of the peer, which would have no effect.
fn too_high(file: &ClassFile, peer: &Peer) -> Option<Found> {
    let most: Rate = match peer.rate {
        LineRate::Fixed { rate, .. } => rate,
        LineRate::Auto { most } => most?,
    };
    let leaf = file.ceiling.as_ref().filter(|leaf| leaf.get().is_some_and(|ceiling| *ceiling > most))?;
    let message = format!("is above the rate to peer \"{}\", {most}", peer.name);
    Some(leaf.wrong(message).accepted(format!("at most \"{most}\"")))
}

/// Reports a class that gets no connections, because those before it match all of them at each peer.
fn matches_nothing(all: &[Checked<'_>], place: usize, names: &[String]) -> Option<Found> {
    let this = &all[place];
    let last = this.class.takes_all();
    let first = |(n, other): (usize, &Checked<'_>)| !other.class.takes_all() && (last || n < place);
    let before: Vec<&Checked<'_>> =
        all.iter().enumerate().filter(|&(n, other)| first((n, other))).map(|(_, other)| other).collect();
    let mut peers = names.iter().filter(|name| this.is_of(name)).peekable();
    peers.peek()?;
    let covers = |peer: &String| {
        let of_peer: Vec<&Class> = before.iter().filter(|other| other.is_of(peer)).map(|other| &other.class).collect();
        is_covered(&this.class, &of_peer)
    };
    let leaf = this.file.name.as_ref().filter(|_| peers.all(covers))?;
    let alone = before.iter().find(|other| {
        names.iter().all(|name| !this.is_of(name) || other.is_of(name)) && is_covered(&this.class, &[&other.class])
    });
    let message = match alone {
        Some(other) => format!("takes only connections of class \"{}\", which comes first", other.class.name),
        None => "takes only connections of the classes before it".to_owned(),
    };
    Some(leaf.wrong(message).accepted("a place before them, or other clients or ports"))
}
