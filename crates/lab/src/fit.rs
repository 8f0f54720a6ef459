//! Compact quantile models from full traffic tables.

use std::fs;
use std::path::Path;

use cellway_apps::{FitOptions, FullTable, fit};

use crate::error::Error;

/// A fitted model and its deviation from its table.
pub struct FitReport {
    /// The name of the table, which is its file's without the ending.
    pub name: String,
    /// Rows of the table.
    pub rows: usize,
    /// Knots of the model.
    pub knots: usize,
    /// Largest distance between the two cumulative distributions (Kolmogorov-Smirnov).
    pub ks: f64,
    /// Mean of the table, drawn as tcplib draws.
    pub mean_table: f64,
    /// Mean of the model, drawn in the same way.
    pub mean_model: f64,
    /// The model, in the form of a models file.
    pub toml: String,
}

/// Fits a model to the table in `path`, a CSV file `value,cum_prob`.
pub fn fit_file(path: &Path) -> Result<FitReport, Error> {
    let text = fs::read_to_string(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    let table = FullTable::parse_csv(&text, &path.to_string_lossy())?;
    let fitted =
        fit(&table, FitOptions::default()).map_err(|e| Error::Fit { path: path.to_owned(), message: e.to_string() })?;
    Ok(FitReport {
        name: fitted.name.clone(),
        rows: fitted.rows,
        knots: fitted.model.knots().len(),
        ks: fitted.ks,
        mean_table: fitted.mean_table,
        mean_model: fitted.mean_model,
        toml: fitted.to_toml(),
    })
}
