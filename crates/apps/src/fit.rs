//! Compact models of full tables: the fewest knots that keep distribution and mean.
//!
//! Knots are a subset of the table's points, so probabilities stay on tcplib's grid of 1/1000 and one drawing rule
//! serves table and model. Of all subsets with the fewest knots within the limits, dynamic programming selects the one
//! with the least error of the mean. The last interval is that of the table: tcplib may never draw it, and it can
//! contribute half of the mean.
//!
//! The compared number is the one before rounding, which makes the distance exact: table and model are straight lines
//! between the table's points, so the largest distance is at one of them. Rounding both to whole numbers can only
//! reduce it.

use std::fmt::Write as _;

use cellway_spec::Draw;

use crate::model::{Knot, QuantileModel};
use crate::table::FullTable;
use crate::tables::{MAX_KNOTS, Variable};

/// The limits of a fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FitOptions {
    /// The most knots, 2 or more.
    pub knots: usize,
    /// The largest distance between the cumulative distributions (Kolmogorov-Smirnov), 0 to 1, both of the table itself
    /// and of the draws of [`Draw::Tcplib`] from it.
    pub ks: f64,
    /// The largest relative error of the mean of the draws of [`Draw::Tcplib`].
    pub mean: f64,
}

impl Default for FitOptions {
    fn default() -> FitOptions {
        FitOptions { knots: MAX_KNOTS, ks: 0.008, mean: 0.01 }
    }
}

/// The reasons for which a table has no model within the limits.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// The limits contradict one another for this table.
    #[error(
        "{name}: no model of at most {knots} knots keeps KS within {ks} and the mean within {mean} of it; allow more knots or larger errors"
    )]
    OutOfReach {
        /// The table.
        name: String,
        /// The limits.
        knots: usize,
        /// The limit of the distance.
        ks: f64,
        /// The limit of the relative error.
        mean: f64,
    },
}

/// A model and its deviation from the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The table's name.
    pub name: String,
    /// The rows of the table.
    pub rows: usize,
    /// The model.
    pub model: QuantileModel,
    /// The largest distance between the distributions of table and model without a rule ([`Draw::Continuous`]).
    pub ks: f64,
    /// The same between the draws of tcplib's rule from either ([`Draw::Tcplib`]).
    pub ks_drawn: f64,
    /// The mean that tcplib's rule gives with the table.
    pub mean_table: f64,
    /// The mean that tcplib's rule gives with the model.
    pub mean_model: f64,
}

/// Fits a model to `table`. The same table and options always give the same model.
pub fn fit(table: &FullTable, options: FitOptions) -> Result<Fit, FitError> {
    let points = table.model().knots();
    let whole = Variable::from_name(table.name()).is_some_and(Variable::is_whole);
    let mean_table = table.model().mean(Draw::Tcplib, whole);
    // tcplib's rule moves 1/1000 from the last interval to the first, which differ between table
    // and model: try with room for it too.
    let limits = [options.ks, options.ks - 0.001];
    let mut subsets: Vec<Vec<usize>> = limits.map(|limit| best_subsets(points, limit, options.knots)).concat();
    subsets.sort_by_key(Vec::len);
    for chosen in subsets {
        let knots = chosen.into_iter().map(|i| points[i]).collect();
        let model = QuantileModel::new(knots, table.name()).expect("a subset of increasing points increases");
        let fit = Fit {
            name: table.name().into(),
            rows: points.len(),
            ks: table.model().distance(&model, Draw::Continuous),
            ks_drawn: table.model().distance(&model, Draw::Tcplib),
            mean_table,
            mean_model: model.mean(Draw::Tcplib, whole),
            model,
        };
        let kept = (fit.mean_model - mean_table).abs() <= options.mean * mean_table;
        if kept && fit.ks <= options.ks && fit.ks_drawn <= options.ks {
            return Ok(fit);
        }
    }
    let FitOptions { knots, ks, mean } = options;
    Err(FitError::OutOfReach { name: table.name().into(), knots, ks, mean })
}

/// Returns for 2, 3, ... `most` knots the subset of `points` that keeps every point within `limit` of the line between
/// its neighbours and has the least sum of the errors of the lines in the mean; counts without such a subset are left
/// out. First, last and last but one are always in.
fn best_subsets(points: &[Knot], limit: f64, most: usize) -> Vec<Vec<usize>> {
    let n = points.len();
    let kept = n - 2; // index of the last but one
    let steps: Vec<Vec<(usize, f64)>> = (0..n)
        .map(|from| if from == kept { vec![(n - 1, 0.0)] } else { lines_from(points, from, kept, limit) })
        .collect();
    // best[j]: least error of a path to j with the current count of knots, and its last step.
    let mut best = vec![None; n];
    best[0] = Some(0.0_f64);
    let mut came_from: Vec<Vec<usize>> = Vec::new();
    let mut found = Vec::new();
    for _ in 1..most.min(n) {
        let mut next: Vec<Option<f64>> = vec![None; n];
        let mut from = vec![usize::MAX; n];
        for (i, error) in best.iter().enumerate().filter_map(|(i, error)| error.map(|error| (i, error))) {
            for &(j, step) in &steps[i] {
                if next[j].is_none_or(|known| error + step < known) {
                    next[j] = Some(error + step);
                    from[j] = i;
                }
            }
        }
        came_from.push(from);
        best = next;
        if best[n - 1].is_some() {
            let mut path = vec![n - 1];
            for from in came_from.iter().rev() {
                path.push(from[path[path.len() - 1]]);
            }
            path.reverse();
            found.push(path);
        }
    }
    found
}

/// Returns the lines from point `from` to each later point up to `last` that pass all points between within `limit`,
/// with the error of each in the mean.
fn lines_from(points: &[Knot], from: usize, last: usize, limit: f64) -> Vec<(usize, f64)> {
    let a = points[from];
    let mut lines = Vec::new();
    let (mut lowest, mut highest) = (f64::NEG_INFINITY, f64::INFINITY); // slopes that pass the points so far
    let mut area = 0.0; // their part of the mean
    for to in from + 1..=last {
        let (b, before) = (points[to], points[to - 1]);
        let (rise, run) = (b.probability - a.probability, b.value - a.value);
        area += (b.probability - before.probability) * (b.value + before.value) / 2.0;
        if (lowest..=highest).contains(&(rise / run)) {
            lines.push((to, (rise * (a.value + b.value) / 2.0 - area).abs()));
        }
        lowest = lowest.max((rise - limit) / run);
        highest = highest.min((rise + limit) / run);
    }
    lines
}

impl Fit {
    /// Returns the model as a section of a models file, which [`crate::Tables::from_toml`] reads.
    pub fn to_toml(&self) -> String {
        let unit = Variable::from_name(&self.name).map_or("unit of the table", Variable::unit);
        let mut text = format!(
            "# {} knots for {} rows, in {unit}; KS {:.4} (as drawn {:.4}); mean as drawn {:.2} for {:.2} ({:+.2} %)\n[{}]\nknots = [\n",
            self.model.knots().len(),
            self.rows,
            self.ks,
            self.ks_drawn,
            self.mean_model,
            self.mean_table,
            (self.mean_model / self.mean_table - 1.0) * 100.0,
            self.name,
        );
        for row in self.model.knots().chunks(6) {
            let row: Vec<String> = row.iter().map(|knot| format!("[{}, {}]", knot.probability, knot.value)).collect();
            writeln!(text, "    {},", row.join(", ")).expect("writing to a string never fails");
        }
        text + "]\n"
    }
}

/// Returns the text of a whole models file, as shipped: header with the acknowledgement, then the fits.
pub fn models_file(fits: &[Fit]) -> String {
    let sections: Vec<String> = fits.iter().map(Fit::to_toml).collect();
    format!("{HEADER}\n{}", sections.join("\n"))
}

const HEADER: &str = "\
# Compact quantile models of the tcplib traffic tables.
#
# The tables were developed by the University of Southern California: P. Danzig and S. Jamin,
# \"tcplib: A Library of TCP Internetwork Traffic Characteristics\", USC-CS-91-495, 1991. The FTP
# tables seem to be those of October 1992: the anomaly of 74-byte transfers is not in them.
#
# Copyright (c) 1991 University of Southern California.
# All rights reserved.
#
# Redistribution and use in source and binary forms are permitted provided that the above copyright
# notice and this paragraph are duplicated in all such forms and that any documentation, advertising
# materials, and other materials related to such distribution and use acknowledge that the software
# was developed by the University of Southern California. The name of the University may not be used
# to endorse or promote products derived from this software without specific prior written
# permission. THIS SOFTWARE IS PROVIDED ``AS IS'' AND WITHOUT ANY EXPRESS OR IMPLIED WARRANTIES,
# INCLUDING, WITHOUT LIMITATION, THE IMPLIED WARRANTIES OF MERCHANTIBILITY AND FITNESS FOR A
# PARTICULAR PURPOSE.
#
# Made from the tables by the fit in crates/apps/src/fit.rs, never by hand. knots = [probability
# of at most value, value]; the distribution is a straight line between knots and has an atom at
# the first. KS: the largest distance of the cumulative distribution from the table's, before
# rounding to whole numbers; \"as drawn\": under tcplib's drawing rule.

version = 1
";
