//! Services, traffic control at ports, and what changes while it runs.

use cellway_units::{CellRate, Cells, Span};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::model::{Fraction, LinkDirection, PolicerAction};
use crate::quantity::{LineRate, Quantity, RttSpan};

/// The service that channels ask of the network. Rates are those of cells of 53 octets.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct ServiceFile {
    /// The service category.
    #[schemars(extend("default" = "ubr"))]
    pub(crate) class: Option<ServiceClass>,
    /// Peak cell rate. ubr: to which the source paces each channel, default: the rate of its line. Required for the rest.
    #[schemars(extend("x-above" = "0 bit/s"))]
    pub(crate) pcr: Option<Quantity<CellRate>>,
    /// vbr-nrt: sustainable cell rate; required, at most `pcr`.
    #[schemars(extend("x-above" = "0 bit/s"))]
    pub(crate) scr: Option<Quantity<CellRate>>,
    /// vbr-nrt: the longest burst at the peak rate; required.
    #[schemars(extend("x-minimum" = "1 cell"))]
    pub(crate) mbs: Option<Quantity<Cells>>,
    /// vbr-nrt: whether the source shapes to these.
    #[schemars(extend("default" = true))]
    pub(crate) shape: Option<bool>,
    /// abr: minimum cell rate.
    #[schemars(extend("default" = "0 bit/s"))]
    pub(crate) mcr: Option<Quantity<CellRate>>,
    /// abr: initial cell rate, from `mcr` to `pcr`. Default: a sixteenth of `pcr`, but at least `mcr`.
    #[schemars(extend("x-above" = "0 bit/s"))]
    pub(crate) icr: Option<Quantity<CellRate>>,
    /// abr: rate increase factor.
    #[schemars(extend("default" = "1/16"), extend("x-above" = "0/1"))]
    pub(crate) rif: Option<Quantity<Fraction>>,
    /// abr: rate decrease factor.
    #[schemars(extend("default" = "1/16"), extend("x-above" = "0/1"))]
    pub(crate) rdf: Option<Quantity<Fraction>>,
    /// abr: a forward RM cell after at most this many cells less one.
    #[schemars(range(min = 2, max = 256), extend("default" = 32))]
    pub(crate) nrm: Option<u32>,
    /// abr: the longest time between forward RM cells of an active source.
    #[schemars(extend("default" = "100 ms"), extend("x-above" = "0 s"))]
    pub(crate) trm: Option<Quantity<Span>>,
    /// abr: forward RM cells without a backward one before the source slows down.
    #[schemars(range(min = 1, max = 16_777_215), extend("default" = 32))]
    pub(crate) crm: Option<u32>,
    /// abr: transient buffer exposure, in place of `crm`, which is then tbe / nrm, rounded up.
    pub(crate) tbe: Option<Quantity<Cells>>,
    /// abr: the time without sending after which the rate falls back to `icr`.
    #[schemars(extend("default" = "500 ms"), extend("x-above" = "0 s"))]
    pub(crate) adtf: Option<Quantity<Span>>,
    /// abr: cutoff decrease factor; "0/1" for none.
    #[schemars(extend("default" = "1/16"))]
    pub(crate) cdf: Option<Quantity<Fraction>>,
    /// abr: two nodes of the path, in its order: control runs only between them. Default: from end to end of each stretch
    /// of ATM links.
    #[schemars(length(min = 2, max = 2))]
    pub(crate) between: Option<Vec<String>>,
}

/// A service category.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ServiceClass {
    /// Unspecified bit rate.
    Ubr,
    /// Constant bit rate.
    Cbr,
    /// Variable bit rate, not real-time.
    VbrNrt,
    /// Available bit rate.
    Abr,
}

impl ServiceClass {
    /// The word in the file.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            ServiceClass::Ubr => "ubr",
            ServiceClass::Cbr => "cbr",
            ServiceClass::VbrNrt => "vbr-nrt",
            ServiceClass::Abr => "abr",
        }
    }
}

/// A class of traffic groups at the gateways that split their connections. Classes with data to send share what a gateway may
/// send to its peer, and the connections of a class its part.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct ClassFile {
    /// Letters, digits, - and _; unique among classes.
    #[schemars(required)]
    pub(crate) name: Option<String>,
    /// Its groups; none can be in two classes. Default: those that are in no other class.
    #[schemars(length(min = 1))]
    pub(crate) traffic: Option<Vec<String>>,
    /// Its weight beside the other classes.
    #[schemars(range(min = 1, max = 65_535), extend("default" = 1))]
    pub(crate) share: Option<u32>,
    /// The most that a gateway sends of it to its peer, whatever the others leave, in cells of 53 octets; at most the `rate` of
    /// every gateway. Default: no limit.
    #[schemars(extend("x-above" = "0 bit/s"))]
    pub(crate) ceiling: Option<Quantity<CellRate>>,
}

/// A cell spacer or shaper at an output port, one for each channel. Rates are those of cells of 53 octets.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct ShaperFile {
    /// Letters, digits, - and _; unique among shapers.
    #[schemars(required)]
    pub(crate) name: Option<String>,
    /// Whose output is shaped: a router, switch or gateway.
    #[schemars(required)]
    pub(crate) at: Option<String>,
    /// The name of the ATM link that it sends on.
    #[schemars(required)]
    pub(crate) link: Option<String>,
    /// The groups whose channels are shaped. Default: all that pass.
    #[schemars(length(min = 1))]
    pub(crate) traffic: Option<Vec<String>>,
    /// Peak cell rate, at most that of the line.
    #[schemars(required, extend("x-above" = "0 bit/s"))]
    pub(crate) rate: Option<Quantity<CellRate>>,
    /// Sustainable cell rate, at most `rate`; needs `mbs`. Default: none.
    #[schemars(extend("x-above" = "0 bit/s"))]
    pub(crate) scr: Option<Quantity<CellRate>>,
    /// The longest burst at the peak rate; needs `scr`.
    #[schemars(extend("x-minimum" = "1 cell"))]
    pub(crate) mbs: Option<Quantity<Cells>>,
}

/// A policer of cells about to enter the queue of an output port, one for each channel (ITU-T I.371). Rates are those of
/// cells of 53 octets.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct PolicerFile {
    /// Letters, digits, - and _; unique among policers.
    #[schemars(required)]
    pub(crate) name: Option<String>,
    /// Before whose output: a router, switch or gateway.
    #[schemars(required)]
    pub(crate) at: Option<String>,
    /// The name of the ATM link of that output.
    #[schemars(required)]
    pub(crate) link: Option<String>,
    /// The groups whose channels are policed. Default: all that pass.
    #[schemars(length(min = 1))]
    pub(crate) traffic: Option<Vec<String>>,
    /// Peak cell rate.
    #[schemars(required, extend("x-above" = "0 bit/s"))]
    pub(crate) pcr: Option<Quantity<CellRate>>,
    /// Cell delay variation tolerance.
    #[schemars(extend("default" = "0 s"))]
    pub(crate) cdvt: Option<Quantity<Span>>,
    /// Sustainable cell rate, at most `pcr`; needs `mbs`. Default: none.
    #[schemars(extend("x-above" = "0 bit/s"))]
    pub(crate) scr: Option<Quantity<CellRate>>,
    /// The longest burst at the peak rate; needs `scr`.
    #[schemars(extend("x-minimum" = "1 cell"))]
    pub(crate) mbs: Option<Quantity<Cells>>,
    /// What happens to cells that do not conform.
    #[schemars(extend("default" = "discard"))]
    pub(crate) action: Option<PolicerAction>,
}

/// A rate that changes while it runs: of a shaper, of a link, or of the service of a group.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct ChangeFile {
    /// By which paths mean it; unique among changes. Default: none, and its number, from 1.
    pub(crate) name: Option<String>,
    /// When, since the start of the run.
    #[schemars(required)]
    pub(crate) at: Option<Quantity<RttSpan>>,
    /// The shaper whose peak rate changes.
    pub(crate) shaper: Option<String>,
    /// The link whose rate changes.
    pub(crate) link: Option<String>,
    /// link: the direction whose rate changes; forward is from the first node of its `between` to the second.
    #[schemars(extend("default" = "both"))]
    pub(crate) direction: Option<LinkDirection>,
    /// The group whose peak cell rate changes.
    pub(crate) traffic: Option<String>,
    /// shaper, link: the new rate.
    #[schemars(extend("x-above" = "0 bit/s"))]
    pub(crate) rate: Option<Quantity<LineRate>>,
    /// traffic: the new peak cell rate.
    #[schemars(extend("x-above" = "0 bit/s"))]
    pub(crate) pcr: Option<Quantity<CellRate>>,
}
