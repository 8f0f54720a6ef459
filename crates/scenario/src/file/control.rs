//! Services, traffic control at ports, and what changes while it runs.

use cellway_settings::{choice, table};
use cellway_units::{CellRate, Cells, Rate, Span};

use crate::model::{AbrParameters, Fraction, LinkDirection, PolicerAction};
use crate::quantity::{LineRate, RttSpan};

/// The parameters of ABR where a contract names only the peak rate. The initial rate has a rule of its own.
const ABR: AbrParameters = AbrParameters::new(Rate::from_bps(0));

table! {
    /// The service that channels ask of the network. Rates are those of cells of 53 octets.
    pub(crate) struct ServiceFile {
        /// The service category.
        class: ServiceClass = ServiceClass::Ubr,
        /// Peak cell rate, to which the source paces each channel. Required but for ubr, whose default is the rate of the line.
        #[range(above = "0 bit/s")]
        pcr: Option<CellRate>,
        /// vbr-nrt: sustainable cell rate; required, at most `pcr`.
        #[range(above = "0 bit/s")]
        scr: Option<CellRate>,
        /// vbr-nrt: the longest burst at the peak rate; required.
        #[range(min = "1 cell")]
        mbs: Option<Cells>,
        /// vbr-nrt: whether the source paces its cells to the contract; false tests a policer.
        shape: bool = true,
        /// abr: minimum cell rate.
        mcr: CellRate = CellRate(ABR.mcr),
        /// abr: initial cell rate, from `mcr` to `pcr`. Default: a sixteenth of `pcr`, but at least `mcr`.
        #[range(above = "0 bit/s")]
        icr: Option<CellRate>,
        /// abr: rate increase factor.
        #[range(above = "0/1")]
        rif: Fraction = ABR.rif,
        /// abr: rate decrease factor.
        #[range(above = "0/1")]
        rdf: Fraction = ABR.rdf,
        /// abr: of so many cells of a source, at least one is a forward RM cell.
        #[range(min = 2, max = 256)]
        nrm: u32 = ABR.nrm,
        /// abr: the longest time between forward RM cells of an active source.
        #[range(above = "0 s")]
        trm: Span = ABR.trm,
        /// abr: forward RM cells without an answer, after which the source slows down.
        #[range(min = 1, max = 16_777_215)]
        crm: u32 = ABR.crm,
        /// abr: in place of `crm`: the cells in flight (transient buffer exposure). `crm` is then tbe / nrm, rounded up.
        tbe: Option<Cells>,
        /// abr: the idle time after which the rate falls to `icr`.
        #[range(above = "0 s")]
        adtf: Span = ABR.adtf,
        /// abr: cutoff decrease factor; "0/1" for none.
        cdf: Fraction = ABR.cdf,
        /// abr: the two nodes of the path that bound the control loop, in its order. Default: the ends of each part of the
        /// path with ATM links.
        #[length(min = 2, max = 2)]
        between: Option<Vec<String>>,
    }
}

choice! {
    /// A service category.
    pub enum ServiceClass {
        /// Unspecified bit rate.
        Ubr = "ubr",
        /// Constant bit rate.
        Cbr = "cbr",
        /// Variable bit rate, not real-time.
        VbrNrt = "vbr-nrt",
        /// Available bit rate.
        Abr = "abr",
    }
}

table! {
    /// A class of traffic groups at the gateways that split their connections. Classes with data to send share what a gateway may
    /// send to its peer, and the connections of a class its part.
    pub(crate) struct ClassFile {
        /// Letters, digits, - and _; unique among classes.
        name: String,
        /// Its groups, each in at most one class. Default: the groups that are in no other class.
        #[length(min = 1)]
        traffic: Option<Vec<String>>,
        /// Its weight.
        #[range(min = 1, max = 65_535)]
        share: u32 = 1,
        /// The maximum rate of the class, also if others are idle, in cells of 53 octets: at most the `rate` of each gateway.
        /// Default: no limit.
        #[range(above = "0 bit/s")]
        ceiling: Option<CellRate>,
    }
}

table! {
    /// A cell spacer or shaper at an output port, one for each channel. Rates are those of cells of 53 octets.
    pub(crate) struct ShaperFile {
        /// Letters, digits, - and _; unique among shapers.
        name: String,
        /// The router, switch or gateway that has the port.
        at: String,
        /// The ATM link of the port, by name.
        link: String,
        /// The groups that are shaped. Default: all that pass the port.
        #[length(min = 1)]
        traffic: Option<Vec<String>>,
        /// Peak cell rate, at most that of the line.
        #[range(above = "0 bit/s")]
        rate: CellRate,
        /// Sustainable cell rate, at most `rate`; needs `mbs`. Default: none.
        #[range(above = "0 bit/s")]
        scr: Option<CellRate>,
        /// The longest burst at the peak rate; needs `scr`.
        #[range(min = "1 cell")]
        mbs: Option<Cells>,
    }
}

table! {
    /// A policer of cells about to enter the queue of an output port, one for each channel (ITU-T I.371). Rates are those of
    /// cells of 53 octets.
    pub(crate) struct PolicerFile {
        /// Letters, digits, - and _; unique among policers.
        name: String,
        /// The router, switch or gateway that has the port.
        at: String,
        /// The ATM link of the port, by name.
        link: String,
        /// The groups that are policed. Default: all that pass the port.
        #[length(min = 1)]
        traffic: Option<Vec<String>>,
        /// Peak cell rate.
        #[range(above = "0 bit/s")]
        pcr: CellRate,
        /// Cell delay variation tolerance.
        cdvt: Span = Span::ZERO,
        /// Sustainable cell rate, at most `pcr`; needs `mbs`. Default: none.
        #[range(above = "0 bit/s")]
        scr: Option<CellRate>,
        /// The longest burst at the peak rate; needs `scr`.
        #[range(min = "1 cell")]
        mbs: Option<Cells>,
        /// The action on cells that do not conform.
        action: PolicerAction = PolicerAction::Discard,
    }
}

table! {
    /// A rate that changes while it runs: of a shaper, of a link, or of the service of a group.
    pub(crate) struct ChangeFile {
        /// The name in paths, unique among changes. Without it paths use the number, from 1: change.1.rate.
        name: Option<String>,
        /// When, from the start of the run.
        at: RttSpan,
        /// The shaper whose peak rate changes.
        shaper: Option<String>,
        /// The link whose rate changes.
        link: Option<String>,
        /// link: the direction whose rate changes.
        direction: LinkDirection = LinkDirection::Both,
        /// The group whose peak cell rate changes.
        traffic: Option<String>,
        /// shaper, link: the new rate.
        #[range(above = "0 bit/s")]
        rate: Option<LineRate>,
        /// traffic: the new peak cell rate.
        #[range(above = "0 bit/s")]
        pcr: Option<CellRate>,
    }
}
