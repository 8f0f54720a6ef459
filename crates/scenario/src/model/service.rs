//! The service that channels ask of the network. ATM Forum TM 4.0.

use cellway_settings::{choice, section};
use cellway_spec::AbrParameters;
use cellway_units::{Cells, Rate, Span};

use crate::model::NodeIndex;

/// The service category of a group's channels and its parameters. Rates are bit/s of whole cells (53 octets), never zero
/// unless said otherwise. TM 4.0 section 2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Service {
    /// Unspecified bit rate.
    Ubr {
        /// The peak cell rate to which the source paces each channel; the rate of its line if absent.
        pcr: Option<Rate>,
    },
    /// Constant bit rate, shaped at the source.
    Cbr {
        /// The peak cell rate.
        pcr: Rate,
    },
    /// Variable bit rate, not real-time.
    Vbr {
        /// The peak cell rate.
        pcr: Rate,
        /// The sustainable cell rate; at most `pcr`.
        scr: Rate,
        /// The longest burst at the peak rate; at least 1.
        mbs: Cells,
        /// True if the source shapes to these; else it sends at the rate of its line.
        shape: bool,
    },
    /// Available bit rate: the network tells the source its rate.
    Abr(AbrSpec),
}

impl Service {
    /// The peak cell rate, if it has one.
    pub const fn pcr(&self) -> Option<Rate> {
        match self {
            Service::Ubr { pcr } => *pcr,
            Service::Cbr { pcr } | Service::Vbr { pcr, .. } => Some(*pcr),
            Service::Abr(abr) => Some(abr.parameters.pcr),
        }
    }

    /// Returns true if two services can be those of one channel. The ends of an ABR loop have the order of their group's
    /// path, which may lead the other way.
    pub fn is_same(&self, other: &Service) -> bool {
        match (self, other) {
            (Service::Abr(one), Service::Abr(two)) => {
                let turned = two.between.map(|[a, b]| [b, a]);
                one.parameters == two.parameters && (one.between == two.between || one.between == turned)
            }
            (one, two) => one == two,
        }
    }
}

/// ABR control. TM 4.0 section 5.10.3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbrSpec {
    /// The parameters of the connection.
    pub parameters: AbrParameters,
    /// The nodes between which control runs, in the direction from `from` to `to`; the ends of each stretch of ATM links
    /// if absent.
    pub between: Option<[NodeIndex; 2]>,
}

section! {
    /// The part of switches and routers in ABR control.
    #[derive(Copy)]
    pub struct AbrSwitch, AbrSwitchKeys {
        /// The treatment of cells of ABR channels.
        pub marking: Marking = Marking::Erica,
        /// erica: the part of the line that ABR may use.
        #[range(min = 0.000001, max = 1)]
        pub target: f64 = 0.95,
        /// erica: how long input is averaged.
        #[range(above = "0 s")]
        pub interval: Span = Span::from_ms(1),
        /// efci: the queue at and above which cells are marked.
        pub threshold: Cells = Cells(64),
    }
}

choice! {
    /// The treatment of cells of ABR channels by switches.
    pub enum Marking {
        /// Mark data cells while the queue is long; the destination tells the source.
        Efci = "efci",
        /// Compute a rate for each channel and write it into backward RM cells.
        Erica = "erica",
    }
}
