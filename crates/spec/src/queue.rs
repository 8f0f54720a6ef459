//! Queue disciplines of packet lines, each with its parameters.

use std::fmt;

use cellway_settings::choice;

use crate::{Ared, Codel, Drr, DualPi2, Fifo, FqCodel, Pie, Prio, Problem, Red};

/// The parameters of a queue discipline.
pub trait QueueParameters {
    /// Returns the rule between keys that they break, if any. They are in their ranges.
    fn rule(&self) -> Option<Problem> {
        None
    }
    /// Returns true if packets of flows with ECN are marked instead of dropped.
    fn marks(&self) -> bool {
        false
    }
    /// Returns how the discipline differs from first in, first out with drops at the tail; `None` if it is that.
    fn unlike_fifo(&self) -> Option<UnlikeFifo> {
        None
    }
}

/// The difference of a discipline from first in, first out with drops at the tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnlikeFifo {
    /// Its name in sentences.
    pub name: &'static str,
    /// What it does that a FIFO does not, after its name.
    pub effect: &'static str,
}

impl fmt::Display for UnlikeFifo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.effect)
    }
}

impl Queue {
    /// First in, first out with drops at the tail: the discipline of a file that names none.
    pub const PLAIN: Queue = Queue::Fifo(Fifo::TAIL);
}

/// Declares the disciplines: the enum of their names, and the enum of their parameters.
macro_rules! disciplines {
    ($($(#[doc = $doc:literal])+ $discipline:ident = $name:literal,)+) => {
        choice! {
            /// The queue discipline of a packet line.
            pub enum QueueDiscipline {
                $($(#[doc = $doc])+ $discipline = $name,)+
            }
        }

        /// A queue discipline with its parameters.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Queue {
            $($(#[doc = $doc])+ $discipline($discipline),)+
        }

        impl Queue {
            /// Returns the discipline.
            pub const fn discipline(&self) -> QueueDiscipline {
                match self {
                    $(Queue::$discipline(_) => QueueDiscipline::$discipline,)+
                }
            }
            /// Returns the first rule that its parameters break, if any: a range, or a rule between keys.
            pub fn problem(&self) -> Option<Problem> {
                match self {
                    $(Queue::$discipline(parameters) => {
                        parameters.in_range().err().map(Problem::from).or_else(|| parameters.rule())
                    })+
                }
            }
            /// Returns its parameters.
            pub fn parameters(&self) -> &dyn QueueParameters {
                match self {
                    $(Queue::$discipline(parameters) => parameters,)+
                }
            }
        }

        cellway_settings::in_files! {
            impl Queue {
                /// Returns the parameters as a table of TOML.
                pub fn print(&self) -> String {
                    use cellway_settings::in_file::Printed;
                    use cellway_settings::section::Setting;
                    match *self {
                        $(Queue::$discipline(parameters) => parameters.given().map(|keys| keys.print()),)+
                    }
                    .unwrap_or_default()
                }
            }
        }
    };
}

disciplines! {
    /// First in, first out: packets are dropped when the buffer is full.
    Fifo = "fifo",
    /// Random early detection: packets are dropped or marked as the average queue grows.
    Red = "red",
    /// Adaptive random early detection: RED whose parameters follow from the rate of the link.
    Ared = "ared",
    /// Controlled delay (RFC 8289): packets are dropped or marked once they wait too long.
    Codel = "codel",
    /// Fair queues with controlled delay (RFC 8290): a queue for each flow, with CoDel in each.
    FqCodel = "fq-codel",
    /// Proportional integral control (RFC 8033): packets are dropped or marked with a probability that follows the wait.
    Pie = "pie",
    /// Two coupled queues (RFC 9332): one with little delay for packets with ECT(1), one for all others.
    DualPi2 = "dualpi2",
    /// Deficit round robin: a queue for each flow.
    Drr = "drr",
    /// Strict priorities by the DSCP of packets.
    Prio = "prio",
}
