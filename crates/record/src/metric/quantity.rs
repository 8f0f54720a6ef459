//! A metric in its unit, as a row has it.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use super::{Definition, Metric, Source, Unit, named};

/// A metric of the registry in its unit, or a metric that a scenario defines for one of its programs.
#[derive(Clone, Copy)]
pub struct Quantity(Kind);

#[derive(Clone, Copy)]
enum Kind {
    Defined(&'static Definition, Unit),
    Own(&'static Own),
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Own {
    name: String,
    unit: String,
}

impl Quantity {
    pub(super) fn defined(definition: &'static Definition, unit: Unit) -> Quantity {
        Quantity(Kind::Defined(definition, unit))
    }

    /// Returns a metric that a scenario defines itself, for the output of a program. Each distinct one is kept for the
    /// lifetime of the process; scenarios have few.
    pub fn own(name: &str, unit: &str) -> Quantity {
        static KNOWN: Mutex<BTreeSet<&'static Own>> = Mutex::new(BTreeSet::new());
        let own = Own { name: name.to_owned(), unit: unit.to_owned() };
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = known.get(&own) {
            return Quantity(Kind::Own(kept));
        }
        let kept: &'static Own = Box::leak(Box::new(own));
        known.insert(kept);
        Quantity(Kind::Own(kept))
    }

    /// Returns the quantity with this name and unit in a table: that of the registry if it exists, else
    /// [`Quantity::own`].
    pub fn read(name: &str, unit: &str) -> Quantity {
        let units = |metric: &Definition| match metric.unit {
            Unit::CellOrPacket => [Unit::Cell, Unit::Packet],
            unit => [unit; 2],
        };
        let found = named(name).find_map(|metric| {
            let unit = units(metric).into_iter().find(|known| known.symbol() == unit)?;
            Some(Quantity::defined(metric, unit))
        });
        found.unwrap_or_else(|| Quantity::own(name, unit))
    }

    /// Returns the text in the column `metric`.
    pub fn name(self) -> &'static str {
        match self.0 {
            Kind::Defined(metric, _) => metric.name,
            Kind::Own(own) => &own.name,
        }
    }

    /// Returns the text in the column `unit`.
    pub fn unit(self) -> &'static str {
        match self.0 {
            Kind::Defined(_, unit) => unit.symbol(),
            Kind::Own(own) => &own.unit,
        }
    }

    /// Its declaration; `None` for a metric that a scenario defines.
    pub fn definition(self) -> Option<&'static Definition> {
        match self.0 {
            Kind::Defined(metric, _) => Some(metric),
            Kind::Own(_) => None,
        }
    }

    /// Returns true if rows of `source` can have it.
    pub fn seen_by(self, source: Source) -> bool {
        self.definition().is_none_or(|metric| metric.seen_by(source))
    }
}

impl From<&'static Metric> for Quantity {
    fn from(metric: &'static Metric) -> Quantity {
        Quantity::defined(&metric.0, metric.unit)
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} [{}]", self.name(), self.unit())
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Quantity) -> bool {
        self.name() == other.name() && self.unit() == other.unit()
    }
}

/// Compares with a metric of the registry, by identity: a metric of the same name of another subject is another one.
impl PartialEq<Definition> for Quantity {
    fn eq(&self, other: &Definition) -> bool {
        self.definition().is_some_and(|metric| std::ptr::eq(metric, other))
    }
}

impl PartialEq<Metric> for Quantity {
    fn eq(&self, other: &Metric) -> bool {
        *self == **other
    }
}

/// Compares with a name.
impl PartialEq<str> for Quantity {
    fn eq(&self, name: &str) -> bool {
        self.name() == name
    }
}

/// Compares with a name.
impl PartialEq<&str> for Quantity {
    fn eq(&self, name: &&str) -> bool {
        self.name() == *name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::{QueueUnit, port, slot};

    #[test]
    fn a_table_has_the_metrics_of_the_registry_and_those_of_programs() {
        assert_eq!(Quantity::read("utilisation", "1").definition().unwrap().name(), "utilisation");
        let queue = port::QUEUE_MEAN.counted_in(QueueUnit::Packet);
        assert_eq!((queue, queue.unit()), (Quantity::read("queue_mean", "packet"), "packet"));
        assert!(Quantity::read("queue_mean", "cell or packet").definition().is_none(), "no row has two units");
        assert!(Quantity::read("utilisation", "%").definition().is_none());
        let own = Quantity::own("mean_opinion", "1");
        assert_eq!((own.name(), own.unit()), ("mean_opinion", "1"));
        assert!(std::ptr::eq(own.name(), Quantity::own(&["mean", "opinion"].join("_"), "1").name()), "kept once");
    }

    #[test]
    fn any_source_has_the_figures_of_programs_and_only_a_simulation_those_of_its_tcp() {
        assert!(Quantity::own("frames", "1").seen_by(Source::Emulate));
        let timeouts = Quantity::from(&slot::TIMEOUTS);
        let seen = [Source::Simulate, Source::Emulate, Source::Published].map(|source| timeouts.seen_by(source));
        assert_eq!(seen, [true, false, true]);
    }
}
