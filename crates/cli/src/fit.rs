//! `cellway workload fit`.

use serde_json::json;

use crate::args::Fit;
use crate::{Failure, output};

pub(crate) fn run(options: &Fit) -> Result<(), Failure> {
    // All tables are fitted before anything is printed: a wrong one leaves no half of a models file.
    let mut reports = Vec::new();
    for path in &options.tables {
        output::detail(&format!("reads {}", path.display()));
        reports.push(cellway_lab::fit_file(path)?);
    }
    if options.json {
        let rows: Vec<_> = reports
            .iter()
            .map(|r| {
                json!({ "table": r.name, "rows": r.rows, "knots": r.knots, "ks": r.ks,
                        "mean_table": r.mean_table, "mean_model": r.mean_model, "model": r.toml })
            })
            .collect();
        output::json(&json!(rows));
        return Ok(());
    }
    for report in &reports {
        output::line(report.toml.trim_end());
        output::line("");
        output::say(&format!(
            "{}: {} knots for {} rows, KS distance {:.4}, mean {:.5} for {:.5} ({:+.2} %)",
            report.name,
            report.knots,
            report.rows,
            report.ks,
            report.mean_model,
            report.mean_table,
            100.0 * (report.mean_model / report.mean_table - 1.0),
        ));
    }
    Ok(())
}
