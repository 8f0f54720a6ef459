//! The classes of each peer.

use std::num::NonZeroU16;

use cellway_gateway::{Class, Classes, DEFAULT_CLASS, MAX_CLASSES};
use cellway_units::Rate;

use super::Check;
use crate::config::file::ClassFile;
use crate::config::leaf::Leaf;
use crate::config::problem::{Found, one_of};
use crate::config::{LineRate, Peer};

/// A class, and the peer that it names.
pub(super) struct Checked<'f> {
    file: &'f ClassFile,
    class: Class,
}

impl Check<'_> {
    /// Checks each class alone; those with a problem are left out.
    pub(super) fn classes<'f>(&mut self, files: &'f [ClassFile], names: &[String]) -> Vec<Checked<'f>> {
        files.iter().filter_map(|file| self.class(file, names)).collect()
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
        let name = self.value(file.name.clone());
        self.value(file.peer.clone());
        let share = self.value(file.share.clone()).unwrap_or(1);
        let class = Class {
            clients: self.all(file.clients.clone()),
            ports: self.all(file.ports.clone()).into_iter().map(|ports| ports.0).collect(),
            share: NonZeroU16::new(share).unwrap_or(NonZeroU16::MIN),
            ceiling: self.value(file.ceiling.clone()),
            ..Class::new(&name?.0)
        };
        (self.found.len() == before).then_some(Checked { file, class })
    }

    /// The classes of a peer: those that name it, or no peer.
    pub(super) fn classes_of(&mut self, peer: &Peer, all: &[Checked<'_>]) -> Classes {
        let named = |file: &ClassFile| file.peer.as_ref().and_then(Leaf::get).map(|name| name.0.clone());
        let of = |checked: &&Checked<'_>| named(checked.file).is_none_or(|name| name == peer.name);
        let own: Vec<&Checked<'_>> = all.iter().filter(of).collect();
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
                let same = |other: &&Class| (&other.clients, &other.ports) == (&class.clients, &class.ports);
                earlier().find(same).map(|other| {
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

    /// Keeps a problem, unless a class of several peers has shown it already.
    fn once(&mut self, found: Option<Found>) {
        let known = |new: &Found| self.found.iter().any(|old| (&old.span, &old.key) == (&new.span, &new.key));
        self.found.extend(found.filter(|new| !known(new)).into_iter().collect::<Vec<_>>());
    }
}

/// A ceiling above the rate of the peer would never bind.
fn too_high(file: &ClassFile, peer: &Peer) -> Option<Found> {
    let most: Rate = match peer.rate {
        LineRate::Fixed { rate, .. } => rate,
        LineRate::Auto { most } => most?,
    };
    let leaf = file.ceiling.as_ref().filter(|leaf| leaf.get().is_some_and(|ceiling| *ceiling > most))?;
    let message = format!("is above the rate to peer \"{}\", {most}", peer.name);
    Some(leaf.wrong(message).accepted(format!("at most \"{most}\"")))
}
