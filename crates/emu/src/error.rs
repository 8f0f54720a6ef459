//! The reasons for which an emulation cannot be run.

use std::io;

use cellway_units::Time;

use crate::addresses::Block;
use crate::internet::InternetError;
use crate::player::PlayerError;
use crate::sys::SysError;

/// The errors of [`crate::emulate`]: of its arguments, and of a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The network cannot be built, or cannot be emulated.
    #[error(transparent)]
    Build(#[from] cellway_testbed::Error),
    /// Linux refuses something.
    #[error(transparent)]
    System(#[from] SysError),
    /// The applications cannot be played.
    #[error(transparent)]
    Player(#[from] PlayerError),
    /// More hosts than there are addresses.
    #[error(
        "{hosts} hosts do not fit into the addresses {block}: each path inside another has fewer; use fewer hosts, or fewer paths inside each other"
    )]
    TooManyHosts {
        /// Hosts of the scenario.
        hosts: usize,
        /// The addresses that it has.
        block: Block,
    },
    /// Paths are nested too deeply, or too many begin at one host.
    #[error("no addresses of {block} are free for another path that begins here; end one of those that run")]
    NoBlock {
        /// The addresses of the path outside.
        block: Block,
    },
    /// The network of this machine has no room for the addresses of a path.
    #[error("all addresses that a path could have here are in routes of this machine (`ip route show table all`)")]
    NoFreeBlock,
    /// The far end of a path cannot use the network of this machine.
    #[error(transparent)]
    Internet(#[from] InternetError),
    /// A host that the scenario does not have.
    #[error("there is no host {name:?}")]
    NoSuchHost {
        /// The requested name.
        name: String,
    },
    /// A link that the scenario does not have.
    #[error("there is no link {name:?}; accepted: {known}")]
    NoSuchLink {
        /// The requested name.
        name: String,
        /// The links there are.
        known: String,
    },
    /// The device of a host failed.
    #[error("the device of host {host:?} failed: {source}")]
    Device {
        /// The host.
        host: String,
        /// The reason.
        source: io::Error,
    },
    /// A program cannot be started.
    #[error("program {name:?}: {source}")]
    NotStarted {
        /// Its name in the scenario.
        name: String,
        /// The reason.
        source: SysError,
    },
    /// A program cannot be waited for.
    #[error("program {name:?}: {source}")]
    Program {
        /// Its name.
        name: String,
        /// The reason.
        source: io::Error,
    },
    /// A server program, which the run depends on, has failed.
    #[error("program {name:?} {why}: {said}")]
    ProgramFailed {
        /// The program's name in the scenario.
        name: String,
        /// A description of the failure.
        why: String,
        /// The last line that it printed.
        said: String,
    },
    /// The scenario has classes, which only simulated gateways have.
    #[error(
        "class: gateways of an emulation have no classes; leave the [[class]] tables out, or set run.emulate.gateways = false"
    )]
    Classes,
    /// The keys of gateways cannot be made.
    #[error("cannot make keys and certificates for the gateways: {0}")]
    Identity(#[source] io::Error),
    /// A program that gateways need is missing.
    #[error(
        "gateways need the program `{program}`: install the package {package}, or set run.emulate.gateways = false"
    )]
    NoProgram {
        /// The program.
        program: &'static str,
        /// The package that contains it.
        package: &'static str,
    },
    /// A gateway cannot work.
    #[error("gateway {gateway:?}: {source}")]
    Gateway {
        /// Its name.
        gateway: String,
        /// The reason.
        source: Box<cellway_gatewayd::Error>,
    },
    /// Gateways that do not reach each other.
    #[error("gateway {gateway:?} has not reached {peer:?} within {seconds} s: {why}")]
    GatewaysApart {
        /// Its name.
        gateway: String,
        /// The other's.
        peer: String,
        /// The seconds that the run waited.
        seconds: u64,
        /// The reported reason.
        why: String,
    },
    /// A thread could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
    /// A thread of the emulation has panicked, and has printed the reason.
    #[error("the emulation was aborted: one of its threads panicked")]
    Driver,
    /// The run was stopped before its end.
    #[error("the emulation was stopped after {at}")]
    Stopped {
        /// The time at which it stopped.
        at: Time,
    },
}
