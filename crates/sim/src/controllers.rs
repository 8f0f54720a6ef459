//! Congestion controllers of others, which take the place of the `control` of traffic groups.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use cellway_scenario::{LossRecovery, Scenario};
use cellway_tcp::congestion::Controller;

use crate::error::Error;

/// Creates the controller of one end of a connection.
pub(crate) type Factory = Arc<dyn Fn() -> Box<dyn Controller> + Send + Sync>;

/// The traffic groups whose hosts use a congestion controller of the caller, by name.
#[derive(Clone, Default)]
pub struct Controllers {
    groups: BTreeMap<String, Factory>,
}

impl Controllers {
    /// Creates an empty table: all groups have the controller of the scenario.
    pub fn new() -> Controllers {
        Controllers::default()
    }

    /// Adds the controller of the traffic group `group`, in place of an earlier one. `factory` creates one for each of
    /// the two hosts of a connection; those of gateways keep their own.
    #[must_use]
    pub fn with(
        mut self,
        group: &str,
        factory: impl Fn() -> Box<dyn Controller> + Send + Sync + 'static,
    ) -> Controllers {
        self.groups.insert(group.to_owned(), Arc::new(factory));
        self
    }

    /// Returns the names of the groups.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.groups.keys().map(String::as_str)
    }

    /// Returns the controller of each traffic group of `scenario` that has one.
    ///
    /// # Errors
    /// A group that the scenario does not have, that has no TCP, or whose recovery keeps no records of segments for a
    /// controller that [sets the window](Controller::sets_window).
    pub(crate) fn of(&self, scenario: &Scenario) -> Result<Vec<Option<Factory>>, Error> {
        for (name, factory) in &self.groups {
            let Some(group) = scenario.traffic.iter().find(|group| group.name == *name) else {
                let known = scenario.traffic.iter().map(|group| format!("{:?}", group.name)).collect::<Vec<_>>();
                return Err(Error::NoSuchGroup { part: "controller", group: name.clone(), known: known.join(", ") });
            };
            let refuse = |why: &str| Err(Error::Controller { group: name.clone(), why: why.to_owned() });
            let Some(traffic) = group.tcp() else { return refuse("its traffic has no TCP") };
            if factory().sets_window() && traffic.tcp.recovery() != LossRecovery::Rack {
                return refuse("it sets the window itself, which needs recovery = \"rack\" for the group");
            }
        }
        Ok(scenario.traffic.iter().map(|group| self.groups.get(&group.name).cloned()).collect())
    }
}

impl fmt::Debug for Controllers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
