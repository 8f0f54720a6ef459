//! The options of the commands that draw or show pages: report, plot and lab.

use std::path::PathBuf;

use clap::{Args as Group, ValueEnum};

/// `report`.
#[derive(Debug, Group)]
pub(crate) struct Report {
    /// A folder that `simulate`, `emulate`, `compare` or `reproduce` wrote.
    pub(crate) folder: PathBuf,
    /// Show the series of this seed [default: the lowest].
    #[arg(long, value_name = "SEED")]
    pub(crate) seed: Option<u64>,
    /// Open the page with the browser of the desktop.
    #[arg(long)]
    pub(crate) open: bool,
}

/// `lab`.
#[derive(Debug, Group)]
pub(crate) struct Lab {
    /// A scenario file to show; without it the lab shows one of its own.
    pub(crate) file: Option<PathBuf>,
    /// Copy the pages to this folder and print the address of the copy, in place of opening a browser.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Replace an earlier copy.
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
}

/// The form of a figure.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Form {
    /// Means with intervals, along the sweep.
    Sweep,
    /// A series, over time.
    Time,
    /// A cumulative distribution.
    Cdf,
}

impl Form {
    /// Returns the word for the form.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Form::Sweep => "sweep",
            Form::Time => "time",
            Form::Cdf => "cdf",
        }
    }
}

/// `plot`.
#[derive(Debug, Group)]
pub(crate) struct Plot {
    /// A folder that `simulate`, `emulate` or `compare` wrote.
    pub(crate) folder: PathBuf,
    /// The metric to draw.
    #[arg(required_unless_present = "list")]
    pub(crate) metric: Option<String>,
    /// List what can be drawn: metrics, forms, units and subjects.
    #[arg(long, conflicts_with = "metric")]
    pub(crate) list: bool,
    /// A subject: a line, a group or a conversation; may be repeated [default: all that have the
    /// metric, but for idle lines, and slots whose group has it].
    #[arg(long, value_name = "SUBJECT")]
    pub(crate) at: Vec<String>,
    /// The axis of the scale [default: the first with numbers].
    #[arg(long, value_name = "AXIS")]
    pub(crate) x: Option<String>,
    /// The axis with a line for each value [default: the next that varies].
    #[arg(long, value_name = "AXIS")]
    pub(crate) by: Option<String>,
    /// Draw only this value of an axis; may be repeated, also for the same axis.
    #[arg(long = "where", value_name = "AXIS=VALUE", value_parser = pair)]
    pub(crate) chosen: Vec<(String, String)>,
    /// The form, if the metric has several [default: the first of sweep, time, cdf].
    #[arg(long, value_enum)]
    pub(crate) form: Option<Form>,
    /// The seed of a series [default: the lowest].
    #[arg(long, value_name = "SEED")]
    pub(crate) seed: Option<u64>,
    /// Write this above the figure, in place of what was chosen.
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// The label of the horizontal axis.
    #[arg(long, value_name = "TEXT")]
    pub(crate) xlabel: Option<String>,
    /// The label of the vertical axis.
    #[arg(long, value_name = "TEXT")]
    pub(crate) ylabel: Option<String>,
    /// The width of the figure, from 2 to 20 inches; letters have 8 points [default: 3.5 or 7.16].
    #[arg(long, value_name = "INCHES")]
    pub(crate) width: Option<f64>,
    /// Write to this file: .svg, .pdf or .png [default: FOLDER/METRIC.svg].
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace FILE if it exists.
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
}

/// Reads an axis and a value.
fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((axis, value)) if !axis.is_empty() => Ok((axis.to_owned(), value.to_owned())),
        _ => Err("accepted: an axis and a value, like buffer.size='64 KiB'".to_owned()),
    }
}
