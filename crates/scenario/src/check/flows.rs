//! Flows that arrive by themselves.

use crate::check::Check;
use crate::file::{FlowsFile, SizeKeys};
use crate::model::{AppKind, FlowArrivals, FlowPace, FlowSizes, FlowSource, FlowSpec, SizeDistribution};
use crate::quantity::AppName;
use crate::tree::{Step, at};

/// The subject of refusals.
const FLOWS: &str = "these flows need";

/// The keys of flows whose times and sizes are drawn.
const DRAWN: [&str; 9] = ["interval", "load", "sizes", "size", "median", "sigma", "shape", "minimum", "maximum"];

impl Check<'_> {
    /// Returns the flows of group `i`, whose `app` may be given.
    pub(super) fn flows(&mut self, i: usize, app: Option<&AppName>, file: &FlowsFile) -> Option<FlowSpec> {
        let before = self.found.len();
        if let Some(app) = app.map(AppName::kind).filter(|app| *app != AppKind::Flows) {
            let message = format!("are an application of their own; this group has app = \"{}\"", app.name());
            self.refuse(&at!["traffic", i, "flows"], message, "flows without app, or app without flows");
        }
        for (key, message) in [
            ("workload", "has no use: the options of flows are in the table flows"),
            ("repeat", "has no use: flows arrive for their duration"),
        ] {
            if self.is_accepted(&at!["traffic", i, key]) {
                self.refuse(&at!["traffic", i, key], message, "flows with its keys; flows.duration ends them");
            }
        }
        let source = self.flow_source(i, file);
        let (count, duration, limit) = (file.count?, file.duration?, file.limit?);
        let spec = FlowSpec { source: source?, count, duration, limit };
        (self.found.len() == before).then_some(spec)
    }

    fn flow_source(&mut self, i: usize, file: &FlowsFile) -> Option<FlowSource> {
        let arrivals = file.arrivals?;
        if arrivals == FlowArrivals::Trace {
            for key in DRAWN {
                let path = at!["traffic", i, "flows", key];
                if self.is_accepted(&path) {
                    let message = "is not a key of arrivals = \"trace\"";
                    self.refuse(&path, message, "file, whose lines have the time and the size of each flow");
                }
            }
            let path = &at!["traffic", i, "flows"];
            let accepted = "a file with the columns time and size, like file = \"flows.csv\"";
            return Some(FlowSource::Trace {
                file: self.needed(path, "file", file.sizes.file.clone(), FLOWS, accepted)?,
            });
        }
        let pace = self.flow_pace(i, file);
        let sizes = self.sizes(&at!["traffic", i, "flows"], FLOWS, &file.sizes);
        let (pace, sizes) = (pace?, sizes?);
        Some(match arrivals {
            FlowArrivals::Periodic => FlowSource::Periodic { pace, sizes },
            _ => FlowSource::Poisson { pace, sizes },
        })
    }

    fn flow_pace(&mut self, i: usize, file: &FlowsFile) -> Option<FlowPace> {
        let (interval, load) = (file.interval?, file.load?);
        match (interval, load) {
            (Some(interval), None) => Some(FlowPace::Interval(interval)),
            (None, Some(load)) => {
                let sizes = &file.sizes;
                let infinite = |shape: f64| shape <= 1.0 && matches!(sizes.maximum, Some(None));
                if sizes.sizes == Some(Some(SizeDistribution::Pareto)) && sizes.shape.flatten().is_some_and(infinite) {
                    let message = "needs a mean size; that of pareto with a shape up to 1 is infinite";
                    let accepted = "interval in place of load, a shape above 1, or a maximum";
                    self.refuse(&at!["traffic", i, "flows", "load"], message, accepted);
                    return None;
                }
                Some(FlowPace::Load(load))
            }
            (Some(_), Some(_)) => {
                let message = "and interval both give the time between flows";
                self.refuse(&at!["traffic", i, "flows", "load"], message, "load or interval");
                None
            }
            (None, None) => {
                let accepted = "the mean time between flows, like interval = \"100 ms\", or load = 0.5";
                self.refuse(&at!["traffic", i, "flows", "interval"], "is missing", accepted);
                None
            }
        }
    }

    /// Returns the distribution of sizes in the table at `path`; `owner` is the subject of its refusals.
    pub(super) fn sizes(&mut self, path: &[Step], owner: &str, file: &SizeKeys) -> Option<FlowSizes> {
        use SizeDistribution::{DataMining, Fixed, LogNormal, Pareto, Table, WebSearch};
        let accepted = "a distribution, like sizes = \"web-search\"";
        let distribution = self.needed(path, "sizes", file.sizes, owner, accepted)?;
        let keys: [(&str, &[SizeDistribution]); 7] = [
            ("size", &[Fixed]),
            ("median", &[LogNormal]),
            ("sigma", &[LogNormal]),
            ("shape", &[Pareto]),
            ("minimum", &[Pareto]),
            ("maximum", &[Pareto]),
            ("file", &[Table]),
        ];
        let message = format!("is not a key of sizes = \"{}\"", distribution.name());
        self.only_keys_of(path, &message, distribution, &keys);
        let size = "a size, like \"64 kB\"";
        Some(match distribution {
            WebSearch => FlowSizes::WebSearch,
            DataMining => FlowSizes::DataMining,
            Fixed => FlowSizes::Fixed(self.needed(path, "size", file.size, owner, size)?),
            LogNormal => {
                let median = self.needed(path, "median", file.median, owner, size);
                let sigma = self.needed(path, "sigma", file.sigma, owner, "a number from 0 on, like 1.5");
                FlowSizes::LogNormal { median: median?, sigma: sigma? }
            }
            Pareto => {
                let shape = self.needed(path, "shape", file.shape, owner, "a number above 0, like 1.2");
                let minimum = self.needed(path, "minimum", file.minimum, owner, size);
                let (shape, minimum, maximum) = (shape?, minimum?, file.maximum?);
                if let Some(most) = maximum.filter(|most| *most <= minimum) {
                    let message = format!("{} B is not above minimum, {} B", most.0, minimum.0);
                    self.refuse(&[path, &at!["maximum"]].concat(), message, "a larger size");
                }
                FlowSizes::Pareto { shape, minimum, maximum }
            }
            Table => {
                let accepted = "a file with the columns size and probability, like file = \"sizes.csv\"";
                FlowSizes::Table { file: self.needed(path, "file", file.file.clone(), owner, accepted)? }
            }
        })
    }
}
