//! Classes at gateways.

use std::num::NonZeroU16;

use cellway_units::{CellRate, Rate};

use crate::check::Check;
use crate::check::names::Names;
use crate::check::network::Network;
use crate::file::ClassFile;
use crate::model::{Class, Traffic};
use crate::tree::at;

/// The class of groups that are in no other one has this name if the file has none for them.
const DEFAULT: &str = "default";
/// The most classes, the one of groups that are in no other included.
const MOST: usize = 64;

impl Check<'_> {
    pub(super) fn classes(
        &mut self,
        files: &[ClassFile],
        network: &Network,
        traffic: &[Traffic],
    ) -> Option<Vec<Class>> {
        let before = self.found.len();
        let names = self.names("class", files.iter().map(|file| file.name.as_deref()));
        if files.len() >= MOST {
            let message = format!("there are {} classes", files.len());
            self.refuse(&at!["class"], message, format!("at most {}", MOST - 1));
            return None;
        }
        let mut classes: Vec<Class> = Vec::new();
        for (i, file) in files.iter().enumerate() {
            let ceiling = match file.ceiling {
                Some(Some(CellRate(rate))) => self.ceiling(i, rate, network).map(Some),
                Some(None) => Some(None),
                None => None,
            };
            let groups = match &file.traffic {
                Some(Some(given)) => self.of_class(i, given, traffic, &classes).map(Some),
                Some(None) => self.others(i, &names, &classes).then_some(None),
                None => None,
            };
            if names[i].as_deref() == Some(DEFAULT) && matches!(file.traffic, Some(Some(_))) {
                let message = format!("{DEFAULT:?} is the name of the class of groups that are in no other");
                self.refuse(&at!["class", i, "name"], message, "another name, or no traffic");
            }
            let share = file.share.and_then(|share| NonZeroU16::new(u16::try_from(share).ok()?));
            let (Some(name), Some(traffic), Some(share), Some(ceiling)) = (names[i].clone(), groups, share, ceiling)
            else {
                continue;
            };
            classes.push(Class { name, traffic, share, ceiling });
        }
        (self.found.len() == before && classes.len() == files.len()).then_some(classes)
    }

    /// A ceiling that binds at every gateway.
    fn ceiling(&mut self, i: usize, ceiling: Rate, network: &Network) -> Option<Rate> {
        let path = at!["class", i, "ceiling"];
        let slowest = network.nodes.iter().filter_map(|node| Some((node, node.gateway.as_ref()?.rate)));
        if let Some((node, rate)) = slowest.min_by_key(|(_, rate)| *rate).filter(|(_, rate)| ceiling > *rate) {
            let message = format!("is above the rate of gateway {:?}, {rate}", node.name);
            self.refuse_value(&path, &message, format!("at most \"{rate}\""));
            return None;
        }
        Some(ceiling)
    }

    /// Only one class can be of the groups that are in no other.
    fn others(&mut self, i: usize, names: &[Option<String>], earlier: &[Class]) -> bool {
        let twice = earlier.iter().find(|class| class.traffic.is_none());
        if let Some(class) = twice {
            let own = names[i].as_deref().unwrap_or("?");
            let message = format!("{own:?} and {:?} are both of the groups that are in no other class", class.name);
            self.refuse(&at!["class", i], message, "traffic = [\"...\"] in all classes but one");
        }
        twice.is_none()
    }

    fn of_class(&mut self, i: usize, given: &[String], traffic: &[Traffic], earlier: &[Class]) -> Option<Vec<usize>> {
        let known = Names::of(traffic.iter().map(|group| &group.name));
        let mut groups = Vec::new();
        for (k, name) in given.iter().enumerate() {
            let path = at!["class", i, "traffic", k];
            let group = self.named(&path, "traffic", name, &known)?;
            let of = |class: &&Class| class.traffic.as_ref().is_some_and(|groups| groups.contains(&group));
            if let Some(class) = earlier.iter().find(of) {
                let message = format!("{name:?} is in the class {:?} already", class.name);
                self.refuse(&path, message, "groups that are in no other class");
                return None;
            }
            groups.push(group);
        }
        groups.sort_unstable();
        groups.dedup();
        Some(groups)
    }
}
