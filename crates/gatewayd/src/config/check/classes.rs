//! The classes of each peer.

use std::num::NonZeroU16;

use cellway_gateway::{Class, Classes, DEFAULT_CLASS, MAX_CLASSES};
use cellway_settings::found::{Found, one_of};
use cellway_settings::tree::{Step, at};
use cellway_units::Rate;

use super::Check;
use super::coverage::is_covered;
use crate::config::file::ClassFile;
use crate::config::{LineRate, Peer};

/// A class, and the name of its peer.
pub(super) struct Checked<'f> {
    /// Its place in the file.
    place: usize,
    file: &'f ClassFile,
    class: Class,
}

impl Checked<'_> {
    fn is_of(&self, peer: &str) -> bool {
        self.file.peer.iter().flatten().all(|name| name.0 == *peer)
    }
    fn path(&self, key: &str) -> [Step; 3] {
        at!["class", self.place, key]
    }
}

impl Check<'_> {
    /// Checks each class alone, and that it can match connections of one of the peers `names`. Classes with problems
    /// are left out.
    pub(super) fn classes<'f>(&mut self, files: &'f [ClassFile], names: &[String]) -> Vec<Checked<'f>> {
        let all: Vec<Checked<'f>> =
            files.iter().enumerate().filter_map(|(place, file)| self.class(place, file, names)).collect();
        for place in 0..all.len() {
            if let Some(message) = matches_nothing(&all, place, names) {
                let accepted = "a place before them, or other clients or ports";
                self.refuse(&all[place].path("name"), message, Some(accepted));
            }
        }
        all
    }

    fn class<'f>(&mut self, place: usize, file: &'f ClassFile, names: &[String]) -> Option<Checked<'f>> {
        let before = self.found.len();
        let path = |key: &str| at!["class", place, key];
        if let Some(name) = file.peer.iter().flatten().find(|name| !names.contains(&name.0)) {
            let accepted = one_of(names.iter().map(String::as_str));
            self.refuse(&path("peer"), format!("there is no peer \"{}\"", name.0), Some(&accepted));
        }
        if file.clients.iter().flatten().any(Vec::is_empty) {
            self.refuse(&path("clients"), "is empty", Some("at least one network, or no clients for any client"));
        }
        if file.ports.iter().flatten().any(Vec::is_empty) {
            self.refuse(&path("ports"), "is empty", Some("at least one port, or no ports for any port"));
        }
        file.peer.as_ref()?;
        let class = Class {
            clients: file.clients.clone()?.unwrap_or_default(),
            ports: file.ports.clone()?.unwrap_or_default().into_iter().map(|ports| ports.0).collect(),
            share: NonZeroU16::new(file.share?)?,
            ceiling: file.ceiling?,
            ..Class::new(&file.name.as_ref()?.0)
        };
        (self.found.len() == before).then_some(Checked { place, file, class })
    }

    /// Returns the classes of a peer: those that name it, or no peer.
    pub(super) fn classes_of(&mut self, peer: &Peer, all: &[Checked<'_>]) -> Classes {
        let own: Vec<&Checked<'_>> = all.iter().filter(|checked| checked.is_of(&peer.name)).collect();
        let before = self.found.len();
        for (place, checked) in own.iter().enumerate() {
            let class = &checked.class;
            let earlier = || own[..place].iter().map(|other| &other.class);
            let found = if earlier().any(|other| other.name == class.name) {
                let message = format!("there are two classes \"{}\" at peer \"{}\"", class.name, peer.name);
                Some((message, "a name of its own"))
            } else if *class.name == *DEFAULT_CLASS && !class.takes_all() {
                let message = "\"default\" is the class of connections in no other class".to_owned();
                Some((message, "another name, or neither clients nor ports"))
            } else {
                earlier().find(|other| other.takes_all() && class.takes_all()).map(|other| {
                    let message = format!("takes the connections of class \"{}\", which comes first", other.name);
                    (message, "other clients or ports than those of another class")
                })
            };
            if let Some((message, accepted)) = found {
                self.once(&checked.path("name"), message, accepted);
            }
            if let Some((message, accepted)) = too_high(class, peer) {
                self.once(&checked.path("ceiling"), message, &accepted);
            }
        }
        if own.len() >= MAX_CLASSES {
            let message =
                format!("peer \"{}\" has {} classes; at most {} are possible", peer.name, own.len(), MAX_CLASSES - 1);
            self.refuse(&at!["class"], message, None);
        }
        if self.found.len() > before {
            return Classes::default();
        }
        Classes::new(own.iter().map(|checked| checked.class.clone()).collect()).unwrap_or_else(|error| {
            self.refuse(&at!["class"], error.to_string(), None);
            Classes::default()
        })
    }

    /// Reports a problem, unless a class of several peers has reported it already.
    fn once(&mut self, path: &[Step], message: String, accepted: &str) {
        let new = Found::in_tree(self.tree, path, message).accepted(accepted);
        if !self.found.iter().any(|old| (&old.at, &old.key) == (&new.at, &new.key)) {
            self.found.push(new);
        }
    }
}

/// Returns the problem of a ceiling above the rate of the peer, which would have no effect, and what is accepted.
fn too_high(class: &Class, peer: &Peer) -> Option<(String, String)> {
    let most: Rate = match peer.rate {
        LineRate::Fixed { rate, .. } => rate,
        LineRate::Auto { most } => most?,
    };
    class.ceiling.filter(|ceiling| *ceiling > most)?;
    Some((format!("is above the rate to peer \"{}\", {most}", peer.name), format!("at most \"{most}\"")))
}

/// Returns the problem of a class that gets no connections, because those before it match all of them at each peer.
fn matches_nothing(all: &[Checked<'_>], place: usize, names: &[String]) -> Option<String> {
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
    if !peers.all(covers) {
        return None;
    }
    let alone = before.iter().find(|other| {
        names.iter().all(|name| !this.is_of(name) || other.is_of(name)) && is_covered(&this.class, &[&other.class])
    });
    Some(match alone {
        Some(other) => format!("takes only connections of class \"{}\", which comes first", other.class.name),
        None => "takes only connections of the classes before it".to_owned(),
    })
}
