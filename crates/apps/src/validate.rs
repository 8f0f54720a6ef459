//! Checks of the settings of an application.

use cellway_spec::{DataConnection, Spike};
use cellway_units::{Bytes, Rate, Span};

use crate::flow_sizes::SizeLaw;
use crate::flows::{FlowProcess, FlowsWorkload};
use crate::measured::{MeasuredArrivals, MeasuredDatagrams, MeasuredWorkload};
use crate::workload::{Handshakes, Workload};

/// The faults of a setting.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// A weight that is no probability.
    #[error("spike weight is {weight}; it must be 0 to 1")]
    Weight {
        /// The given value.
        weight: f64,
    },
    /// An amount of zero.
    #[error("{what} is 0 B; it must be 1 B or more")]
    Empty {
        /// The setting.
        what: &'static str,
    },
    /// More exchanges than any protocol has.
    #[error("{what} is {given} round trips; the limit is {limit}")]
    Handshakes {
        /// The setting.
        what: &'static str,
        /// The given value.
        given: u32,
        /// The limit.
        limit: u32,
    },
    /// More than can be counted on.
    #[error("{what} is {given} B; the limit is {limit} B")]
    TooLarge {
        /// The setting.
        what: &'static str,
        /// The given value (bytes).
        given: u128,
        /// The limit (bytes).
        limit: u64,
    },
    /// An empty list or a count of zero.
    #[error("{what} is empty; it needs at least one")]
    None {
        /// The setting.
        what: &'static str,
    },
    /// A rate of zero.
    #[error("{what} is 0 bit/s; it must be above that")]
    Stopped {
        /// The setting.
        what: &'static str,
    },
    /// A pace that no clock keeps.
    #[error("rate is {rate} frames/s; it must be {LEAST_FRAME_RATE} to {MOST_FRAME_RATE}")]
    FrameRate {
        /// The given value (frames/s).
        rate: f64,
    },
    /// A session without time.
    #[error("duration is 0 s; it must be above that")]
    NoTime,
    /// Flows without time between them.
    #[error("interval is 0 s; it must be above that")]
    NoTimeBetween,
    /// Open arrivals of a class whose gaps were not seen.
    #[error("the class has no arrival_gap; conversations that arrive by themselves need it")]
    NoArrivals,
    /// Conversations that arrive too fast.
    #[error("conversations arrive every {gap:e} s; the mean must be at least {LEAST_GAP:e} s, with a lower scale")]
    ArrivalGap {
        /// The mean time between two (s).
        gap: f64,
    },
    /// A parameter of a distribution that is out of range.
    #[error("{what} is {given}; it must be above 0")]
    Parameter {
        /// The setting.
        what: &'static str,
        /// The given value.
        given: f64,
    },
    /// A largest size that is not above the least.
    #[error("maximum is not above minimum; it must be larger")]
    Bounds,
    /// A data connection without a handshake that requests it.
    #[error("a data connection per item needs at least 1 handshake per item, which asks for it")]
    Unannounced,
}

/// The least mean time between measured conversations of a slot (s).
const LEAST_GAP: f64 = 1e-6;
/// The most exchanges in a row, far above any protocol: a typing error, not a workload.
const MOST_HANDSHAKES: u32 = 1000;
/// The largest transfer, far above any: 1 PiB.
const MOST_BYTES: u64 = 1 << 50;
/// The slowest animation (frames/s): a frame in some ten days.
const LEAST_FRAME_RATE: f64 = 1e-6;
/// The fastest animation (frames/s).
const MOST_FRAME_RATE: f64 = 1e6;

impl Workload {
    /// Checks that conversations can be made of it.
    pub fn validate(&self) -> Result<(), WorkloadError> {
        match self {
            Workload::Ftp(ftp) => {
                if let Some(Spike { size, weight }) = ftp.spike {
                    if !(0.0..=1.0).contains(&weight) {
                        return Err(WorkloadError::Weight { weight });
                    }
                    filled("spike size", size)?;
                }
                if ftp.data_connection == DataConnection::PerItem && ftp.handshakes.per_item == 0 {
                    return Err(WorkloadError::Unannounced);
                }
                ftp.handshakes.validate()
            }
            Workload::Nntp(nntp) => nntp.handshakes.validate(),
            Workload::Smtp(smtp) => smtp.handshakes.validate(),
            Workload::Telnet(_) => Ok(()),
            Workload::Bulk(bulk) => {
                bulk.size.map_or(Ok(()), |size| filled("size", size))?;
                filled("write", bulk.write)
            }
            Workload::Ttcp(ttcp) => {
                filled("write", ttcp.write)?;
                if ttcp.buffers == 0 {
                    return Err(WorkloadError::None { what: "buffers" });
                }
                bounded("write x buffers", u128::from(ttcp.write.0) * u128::from(ttcp.buffers))
            }
            Workload::FtpGet(get) => {
                filled("size", get.size)?;
                bounded("size", u128::from(get.size.0))?;
                running("disk rate", get.disk_rate)?;
                count("handshake", get.handshake)
            }
            Workload::Www(www) => {
                if www.sizes.is_empty() {
                    return Err(WorkloadError::None { what: "sizes" });
                }
                for size in &www.sizes {
                    filled("a file of sizes", *size)?;
                    bounded("a file of sizes", u128::from(size.0))?;
                }
                filled("request", www.request)?;
                bounded("request", u128::from(www.request.0))?;
                running("display rate", www.display_rate)
            }
            Workload::Animation(animation) => {
                filled("frame", animation.frame)?;
                bounded("frame", u128::from(animation.frame.0))?;
                if !(LEAST_FRAME_RATE..=MOST_FRAME_RATE).contains(&animation.rate) {
                    return Err(WorkloadError::FrameRate { rate: animation.rate });
                }
                if animation.duration == Some(Span::ZERO) { Err(WorkloadError::NoTime) } else { Ok(()) }
            }
            Workload::Flows(flows) => validate_flows(flows),
            Workload::RequestResponse(requests) => {
                for (what, size) in [("request", requests.request), ("response", requests.response)] {
                    filled(what, size)?;
                    bounded(what, u128::from(size.0))?;
                }
                if requests.duration == Some(Span::ZERO) { Err(WorkloadError::NoTime) } else { Ok(()) }
            }
            Workload::Page(page) => {
                for (what, size) in [("html", page.html), ("request", page.request)] {
                    filled(what, size)?;
                    bounded(what, u128::from(size.0))?;
                }
                for (what, given) in [("objects", page.objects), ("connections", page.connections)] {
                    if given == 0 {
                        return Err(WorkloadError::None { what });
                    }
                }
                validate_sizes(&page.sizes)
            }
            Workload::Measured(measured) => validate_measured(measured),
        }
    }
}

/// Checks the settings of measured conversations.
fn validate_measured(measured: &MeasuredWorkload) -> Result<(), WorkloadError> {
    let MeasuredArrivals::Open { scale, count, duration, limit } = measured.arrivals else { return Ok(()) };
    if scale.is_nan() || scale <= 0.0 {
        return Err(WorkloadError::Parameter { what: "scale", given: scale });
    }
    if count == Some(0) {
        return Err(WorkloadError::None { what: "conversations" });
    }
    if limit == 0 {
        return Err(WorkloadError::None { what: "limit" });
    }
    if duration == Some(Span::ZERO) {
        return Err(WorkloadError::NoTime);
    }
    let gap = measured.model.arrival_gap.as_ref().ok_or(WorkloadError::NoArrivals)?.mean(measured.fits);
    arrives_slowly(gap, scale)
}

/// Checks the mean time between conversations (s), if it is finite.
fn arrives_slowly(gap: Option<f64>, scale: f64) -> Result<(), WorkloadError> {
    match gap.map(|gap| gap / scale) {
        Some(gap) if gap < LEAST_GAP => Err(WorkloadError::ArrivalGap { gap }),
        _ => Ok(()),
    }
}

impl MeasuredDatagrams {
    /// Checks that sources can be made of it.
    ///
    /// # Errors
    /// Conversations do not arrive, or too fast.
    pub fn validate(&self) -> Result<(), WorkloadError> {
        if self.scale.is_nan() || self.scale <= 0.0 {
            return Err(WorkloadError::Parameter { what: "scale", given: self.scale });
        }
        let gap = self.model.arrival_gap.as_ref().ok_or(WorkloadError::NoArrivals)?;
        arrives_slowly(gap.mean(self.fits), self.scale)
    }
}

/// Checks the settings of flows.
fn validate_flows(flows: &FlowsWorkload) -> Result<(), WorkloadError> {
    if flows.count == Some(0) {
        return Err(WorkloadError::None { what: "count" });
    }
    if flows.limit == 0 {
        return Err(WorkloadError::None { what: "limit" });
    }
    if flows.duration == Some(Span::ZERO) {
        return Err(WorkloadError::NoTime);
    }
    match &flows.process {
        FlowProcess::Poisson { interval, sizes } | FlowProcess::Periodic { interval, sizes } => {
            if interval.is_zero() {
                return Err(WorkloadError::NoTimeBetween);
            }
            validate_sizes(sizes)
        }
        FlowProcess::Trace(flows) if flows.is_empty() => Err(WorkloadError::None { what: "trace" }),
        FlowProcess::Trace(_) => Ok(()),
    }
}

/// Checks the parameters of a distribution of sizes.
fn validate_sizes(sizes: &SizeLaw) -> Result<(), WorkloadError> {
    match sizes {
        SizeLaw::Table(_) => Ok(()),
        SizeLaw::Fixed(size) => filled("size", *size).and_then(|()| bounded("size", u128::from(size.0))),
        SizeLaw::LogNormal { median, sigma } => {
            filled("median", *median)?;
            positive("sigma", *sigma, *sigma >= 0.0)
        }
        SizeLaw::Pareto { shape, minimum, maximum } => {
            filled("minimum", *minimum)?;
            positive("shape", *shape, *shape > 0.0)?;
            match maximum {
                Some(maximum) if maximum <= minimum => Err(WorkloadError::Bounds),
                _ => Ok(()),
            }
        }
    }
}

fn positive(what: &'static str, given: f64, fits: bool) -> Result<(), WorkloadError> {
    if fits && given.is_finite() { Ok(()) } else { Err(WorkloadError::Parameter { what, given }) }
}

impl Handshakes {
    fn validate(self) -> Result<(), WorkloadError> {
        count("opening handshakes", self.opening)?;
        count("handshakes per item", self.per_item)
    }
}

fn count(what: &'static str, given: u32) -> Result<(), WorkloadError> {
    let limit = MOST_HANDSHAKES;
    if given > limit { Err(WorkloadError::Handshakes { what, given, limit }) } else { Ok(()) }
}

fn bounded(what: &'static str, given: u128) -> Result<(), WorkloadError> {
    let limit = MOST_BYTES;
    if given > u128::from(limit) { Err(WorkloadError::TooLarge { what, given, limit }) } else { Ok(()) }
}

fn running(what: &'static str, rate: Option<Rate>) -> Result<(), WorkloadError> {
    if rate.is_some_and(|rate| rate.as_bps() == 0) { Err(WorkloadError::Stopped { what }) } else { Ok(()) }
}

fn filled(what: &'static str, size: Bytes) -> Result<(), WorkloadError> {
    if size.0 == 0 { Err(WorkloadError::Empty { what }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use cellway_spec::AppKind;

    use super::*;
    use crate::workload::{
        AnimationWorkload, BulkWorkload, FtpGetWorkload, FtpWorkload, PageWorkload, TtcpWorkload, WwwWorkload,
    };

    #[test]
    fn defaults_are_valid() {
        for kind in AppKind::ALL {
            let workload = Workload::new(kind);
            assert_eq!(workload.kind(), kind);
            assert_eq!(workload.validate(), Ok(()));
        }
    }

    #[test]
    fn settings_that_make_no_sense_are_refused() {
        let ftp = |change: &dyn Fn(&mut FtpWorkload)| {
            let Workload::Ftp(mut ftp) = Workload::new(AppKind::Ftp) else { unreachable!() };
            change(&mut ftp);
            Workload::Ftp(ftp).validate().map_err(|e| e.to_string())
        };
        let spike = |bytes, weight| ftp(&|ftp| ftp.spike = Some(Spike { size: Bytes(bytes), weight }));
        assert_eq!(spike(74, 0.0), Ok(()));
        assert_eq!(spike(74, 1.0), Ok(()));
        assert_eq!(spike(74, 1.5), Err("spike weight is 1.5; it must be 0 to 1".into()));
        assert!(spike(74, f64::NAN).is_err());
        assert_eq!(spike(0, 0.5), Err("spike size is 0 B; it must be 1 B or more".into()));
        assert_eq!(
            ftp(&|ftp| ftp.handshakes.opening = 1001),
            Err("opening handshakes is 1001 round trips; the limit is 1000".into())
        );
        let unannounced = |ftp: &mut FtpWorkload| {
            ftp.data_connection = DataConnection::PerItem;
            ftp.handshakes.per_item = 0;
        };
        assert!(ftp(&unannounced).is_err());
        let bulk = |size, write| Workload::Bulk(BulkWorkload { size, write: Bytes(write), blocking: None }).validate();
        assert_eq!(bulk(Some(Bytes(0)), 1), Err(WorkloadError::Empty { what: "size" }));
        assert_eq!(bulk(None, 0), Err(WorkloadError::Empty { what: "write" }));
    }

    #[test]
    fn transfers_that_make_no_sense_are_refused() {
        let refused = |workload: Workload| workload.validate().expect_err("makes no sense").to_string();
        let ttcp = |write, buffers| {
            Workload::Ttcp(TtcpWorkload { write: Bytes(write), buffers, write_cost: Span::from_us(50) })
        };
        assert_eq!(refused(ttcp(0, 1)), "write is 0 B; it must be 1 B or more");
        assert_eq!(refused(ttcp(1, 0)), "buffers is empty; it needs at least one");
        assert_eq!(ttcp(1 << 30, 1 << 20).validate(), Ok(()));
        assert_eq!(
            refused(ttcp(1 << 30, (1 << 20) + 1)),
            "write x buffers is 1125900980584448 B; the limit is 1125899906842624 B"
        );
        assert!(ttcp(u64::MAX, u64::MAX).validate().is_err());

        let get = |size, bps, handshake| {
            let disk_rate = Some(Rate::from_bps(bps));
            Workload::FtpGet(FtpGetWorkload { size: Bytes(size), disk_rate, handshake })
        };
        assert_eq!(get(1, 1, 0).validate(), Ok(()));
        assert_eq!(refused(get(0, 1, 0)), "size is 0 B; it must be 1 B or more");
        assert_eq!(refused(get(1, 0, 0)), "disk rate is 0 bit/s; it must be above that");
        assert_eq!(refused(get(1, 1, 1001)), "handshake is 1001 round trips; the limit is 1000");
        assert!(get(u64::MAX, 1, 0).validate().is_err());
    }

    #[test]
    fn sessions_that_make_no_sense_are_refused() {
        let refused = |workload: Workload| workload.validate().expect_err("makes no sense").to_string();
        let www = |sizes: &[u64], request, bps: Option<u64>| {
            let sizes = sizes.iter().map(|&size| Bytes(size)).collect();
            Workload::Www(WwwWorkload { sizes, request: Bytes(request), display_rate: bps.map(Rate::from_bps) })
        };
        assert_eq!(www(&[1, 2], 1, Some(1)).validate(), Ok(()));
        assert_eq!(refused(www(&[], 1, None)), "sizes is empty; it needs at least one");
        assert_eq!(refused(www(&[1, 0], 1, None)), "a file of sizes is 0 B; it must be 1 B or more");
        assert_eq!(refused(www(&[1], 0, None)), "request is 0 B; it must be 1 B or more");
        assert_eq!(refused(www(&[1], 1, Some(0))), "display rate is 0 bit/s; it must be above that");

        let animation =
            |frame, rate, duration| Workload::Animation(AnimationWorkload { frame: Bytes(frame), rate, duration });
        assert_eq!(animation(1, 1e6, Some(Span::from_ps(1))).validate(), Ok(()));
        assert_eq!(refused(animation(0, 1.0, None)), "frame is 0 B; it must be 1 B or more");
        assert_eq!(refused(animation(1, 0.0, None)), "rate is 0 frames/s; it must be 0.000001 to 1000000");
        assert!(animation(1, f64::NAN, None).validate().is_err());
        assert!(animation(1, f64::INFINITY, None).validate().is_err());
        assert_eq!(refused(animation(1, 1.0, Some(Span::ZERO))), "duration is 0 s; it must be above that");
    }

    #[test]
    fn pages_that_make_no_sense_are_refused() {
        let refused = |change: &dyn Fn(&mut PageWorkload)| {
            let Workload::Page(mut page) = Workload::new(AppKind::Page) else { unreachable!() };
            change(&mut page);
            Workload::Page(page).validate().expect_err("makes no sense").to_string()
        };
        assert_eq!(refused(&|page| page.objects = 0), "objects is empty; it needs at least one");
        assert_eq!(refused(&|page| page.connections = 0), "connections is empty; it needs at least one");
        assert_eq!(refused(&|page| page.html = Bytes(0)), "html is 0 B; it must be 1 B or more");
        assert_eq!(refused(&|page| page.request = Bytes(0)), "request is 0 B; it must be 1 B or more");
        let pareto = SizeLaw::Pareto { shape: 1.0, minimum: Bytes(9), maximum: Some(Bytes(9)) };
        assert!(refused(&|page| page.sizes = pareto.clone()).contains("maximum is not above minimum"));
    }
}
