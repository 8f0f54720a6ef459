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
        /// Peak cell rate. ubr: to which the source paces each channel, default: the rate of its line. Required for the rest.
        #[range(above = "0 bit/s")]
        pcr: Option<CellRate>,
        /// vbr-nrt: sustainable cell rate; required, at most `pcr`.
        #[range(above = "0 bit/s")]
        scr: Option<CellRate>,
        /// vbr-nrt: the longest burst at the peak rate; required.
        #[range(min = "1 cell")]
        mbs: Option<Cells>,
        /// vbr-nrt: whether the source shapes to these.
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
        /// abr: a forward RM cell after at most this many cells less one.
        #[range(min = 2, max = 256)]
        nrm: u32 = ABR.nrm,
        /// abr: the longest time between forward RM cells of an active source.
        #[range(above = "0 s")]
        trm: Span = ABR.trm,
        /// abr: forward RM cells without a backward one before the source slows down.
        #[range(min = 1, max = 16_777_215)]
        crm: u32 = ABR.crm,
        /// abr: transient buffer exposure, in place of `crm`, which is then tbe / nrm, rounded up.
        tbe: Option<Cells>,
        /// abr: the time without sending after which the rate falls back to `icr`.
        #[range(above = "0 s")]
        adtf: Span = ABR.adtf,
        /// abr: cutoff decrease factor; "0/1" for none.
        cdf: Fraction = ABR.cdf,
        /// abr: two nodes of the path, in its order: control runs only between them. Default: from end to end of each stretch
        /// of ATM links.
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
        /// Its groups; none can be in two classes. Default: those that are in no other class.
        #[length(min = 1)]
        traffic: Option<Vec<String>>,
        /// Its weight beside the other classes.
        #[range(min = 1, max = 65_535)]
        share: u32 = 1,
        /// The most that a gateway sends of it to its peer, whatever the others leave, in cells of 53 octets; at most the `rate` of
        /// every gateway. Default: no limit.
        #[range(above = "0 bit/s")]
        ceiling: Option<CellRate>,
    }
}

table! {
    /// A cell spacer or shaper at an output port, one for each channel. Rates are those of cells of 53 octets.
    pub(crate) struct ShaperFile {
        /// Letters, digits, - and _; unique among shapers.
        name: String,
        /// Whose output is shaped: a router, switch or gateway.
        at: String,
        /// The name of the ATM link that it sends on.
        link: String,
        /// The groups whose channels are shaped. Default: all that pass.
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
        /// Before whose output: a router, switch or gateway.
        at: String,
        /// The name of the ATM link of that output.
        link: String,
        /// The groups whose channels are policed. Default: all that pass.
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
        /// By which paths mean it; unique among changes. Default: none, and its number, from 1.
        name: Option<String>,
        /// The time of the change, since the start of the run.
        at: RttSpan,
        /// The shaper whose peak rate changes.
        shaper: Option<String>,
        /// The link whose rate changes.
        link: Option<String>,
        /// link: the direction whose rate changes; forward is from the first node of its `between` to the second.
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
