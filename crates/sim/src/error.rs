//! The reasons for which a checked scenario cannot be run.

/// The errors of [`crate::run`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The network cannot be built.
    #[error(transparent)]
    Build(#[from] cellway_testbed::Error),
    /// The scenario has no traffic.
    #[error(
        "there is no traffic to simulate: the programs of [[run.command]] run in an emulation only; add [[traffic]]"
    )]
    NoTraffic,
    /// A congestion controller of the caller has failed.
    #[error("traffic {group:?}: its own congestion controller: it failed at {at} of simulated time: {why}")]
    ControllerFailed {
        /// The name of the group.
        group: String,
        /// The time of the failure.
        at: cellway_units::Time,
        /// The reason.
        why: String,
    },
    /// A congestion controller of the caller does not fit its traffic group.
    #[error("traffic {group:?}: its own congestion controller: {why}")]
    Controller {
        /// The name of the group.
        group: String,
        /// The reason.
        why: String,
    },
    /// A stack or a controller is given for a traffic group that the scenario does not have.
    #[error("there is a {part} for the traffic group {group:?}, which the scenario does not have; it has {known}")]
    NoSuchGroup {
        /// The part of others: stack or controller.
        part: &'static str,
        /// The name of the group.
        group: String,
        /// The groups there are.
        known: String,
    },
    /// A stack is given for a traffic group whose connections gateways split.
    #[error(
        "traffic {group:?}: gateways split its connections, which works with the built-in TCP only; leave out its \
         stack, or set gateways = false for the group"
    )]
    SplitStack {
        /// The name of the group.
        group: String,
    },
    /// A stack cannot be created, or breaks the rules of [`crate::Stack`].
    #[error("traffic {group:?}: the stack of the {end} of {flow} failed at {at} of simulated time: {fault}")]
    Stack {
        /// The name of the group.
        group: String,
        /// The name of the flow.
        flow: String,
        /// The end: originator or responder.
        end: &'static str,
        /// The time of the fault.
        at: cellway_units::Time,
        /// The fault.
        fault: crate::StackFault,
    },
    /// The ends of a flow cannot be created.
    #[error("traffic {group:?}: the stacks of {flow} cannot be created: {why}")]
    NoEnds {
        /// The name of the group.
        group: String,
        /// The name of the flow.
        flow: String,
        /// The reason.
        why: String,
    },
    /// An end of a connection that cannot be recorded as qlog.
    #[error("cannot record {name:?} as qlog: {why}")]
    Qlog {
        /// The requested name.
        name: String,
        /// The reason, and the accepted names.
        why: String,
    },
    /// The record of a connection cannot be written.
    #[error("cannot write the qlog: {0}")]
    QlogNotWritten(std::io::Error),
    /// The run was stopped before its end.
    #[error("the run was stopped at {at} of simulated time")]
    Stopped {
        /// The time at which it stopped.
        at: cellway_units::Time,
    },
}
