//! The metrics of the tables: the known names, and suggestions for misspelled ones.

use cellway_record::metric;
pub use cellway_record::metric::{Definition, Recorded, Subject};
use cellway_settings::problem::nearest;
use serde_json::{Value, json};

use crate::error::Error;

/// Returns the metrics of a name, one for each kind of subjects with a definition of its own; all metrics without a
/// name.
///
/// # Errors A name that no metric has; the error has the nearest one, if there is one.
pub fn metrics(name: Option<&str>) -> Result<Vec<&'static Definition>, Error> {
    let Some(name) = name else { return Ok(metric::all().collect()) };
    let found: Vec<_> = metric::named(name).collect();
    if found.is_empty() {
        let meant = did_you_mean(name, metric::all().map(Definition::name));
        return Err(Error::Option(format!("no metric is called {name:?}{meant}; `cellway metrics` lists all")));
    }
    Ok(found)
}

/// Returns `; did you mean "goodput"?` with the nearest of the known names, or nothing if none is near.
pub(crate) fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, known).map_or_else(String::new, |meant| format!("; did you mean {meant:?}?"))
}

/// Returns metrics as a list of objects.
pub fn metrics_json(metrics: &[&Definition]) -> Value {
    metrics.iter().map(|metric| to_json(metric)).collect()
}

fn to_json(metric: &Definition) -> Value {
    let recorded = metric.recorded().iter().map(|recorded| match recorded {
        Recorded::Summary => "summary",
        Recorded::Bins => "bins",
        Recorded::Changes => "changes",
    });
    json!({
        "metric": metric.name(),
        "label": metric.label(),
        "unit": metric.unit().symbol(),
        "subjects": metric.subjects().iter().map(|subject| subject.word()).collect::<Vec<_>>(),
        "recorded": recorded.collect::<Vec<_>>(),
        "sources": metric.sources().iter().map(|source| source.word()).collect::<Vec<_>>(),
        "meaning": metric.meaning(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelled_name_is_refused_with_the_nearest() {
        for (name, meant) in
            [("goodput_totl", "goodput_total"), ("queue-mean", "queue_mean"), ("utilization", "utilisation")]
        {
            let refused = metrics(Some(name)).unwrap_err().to_string();
            assert!(refused.contains(&format!("did you mean {meant:?}?")), "{refused}");
        }
        let refused = metrics(Some("temperature")).unwrap_err().to_string();
        assert_eq!(refused, "no metric is called \"temperature\"; `cellway metrics` lists all");
    }

    #[test]
    fn a_name_with_several_subjects_has_all() {
        let subjects: Vec<_> = metrics(Some("goodput")).unwrap().iter().flat_map(|metric| metric.subjects()).collect();
        assert_eq!(subjects, [&Subject::Slot, &Subject::Stream, &Subject::Transfer]);
    }
}
