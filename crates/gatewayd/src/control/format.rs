//! The two text formats of metrics, and the choice of the one that a request asks for: the classic one of Prometheus,
//! version 0.0.4 (<https://prometheus.io/docs/instrumenting/exposition_formats/>), and OpenMetrics 1.0.0
//! (<https://prometheus.io/docs/specs/om/open_metrics_spec/>).

use std::fmt::Write as _;

/// A text format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// Served unless the other is requested: every scraper supports it, also `promtool check metrics`.
    Classic,
    OpenMetrics,
}

impl Format {
    /// Returns the format that the values of `Accept` request (RFC 9110, section 12.5.1).
    pub(super) fn asked<'a>(accept: impl Iterator<Item = &'a str>) -> Format {
        let (mut open, mut classic) = (0.0, 0.0);
        for range in accept.flat_map(|value| value.split(',')) {
            let mut words = range.split(';').map(str::trim);
            let media = words.next().unwrap_or_default().to_ascii_lowercase();
            let (mut quality, mut version) = (1.0, "");
            for (name, value) in words.filter_map(|word| word.split_once('=')) {
                match name.trim().to_ascii_lowercase().as_str() {
                    "q" => quality = value.trim().parse::<f64>().unwrap_or(0.0),
                    "version" => version = value.trim().trim_matches('"'),
                    _ => {}
                }
            }
            match (&*media, version) {
                ("application/openmetrics-text", "" | "1.0.0") => open = f64::max(open, quality),
                ("text/plain", "" | "0.0.4") => classic = f64::max(classic, quality),
                _ => {}
            }
        }
        if open > 0.0 && open >= classic { Format::OpenMetrics } else { Format::Classic }
    }

    pub(super) fn content_type(self) -> &'static str {
        match self {
            Format::Classic => "text/plain; version=0.0.4; charset=utf-8",
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// Converts a text in OpenMetrics to the classic format, which names a family like its samples, has no units and no end
/// mark, and has gauges in place of infos.
pub(super) fn classic(open_metrics: &str) -> String {
    let mut out = String::with_capacity(open_metrics.len());
    let mut help = "";
    for line in open_metrics.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            // The name depends on the type, which follows.
            help = rest.split_once(' ').map_or("", |(_, help)| help);
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            let (suffix, kind) = match kind {
                "counter" => ("_total", "counter"),
                "info" => ("_info", "gauge"),
                "unknown" => ("", "untyped"),
                kind => ("", kind),
            };
            // The library ends each help with a full stop. Writing to a String cannot fail.
            let help = help.strip_suffix('.').unwrap_or(help);
            let _ = writeln!(out, "# HELP {name}{suffix} {help}\n# TYPE {name}{suffix} {kind}");
        } else if !line.starts_with('#') {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_classic_format_is_served_unless_the_other_is_asked_for() {
        let asked = |accept: &[&str]| Format::asked(accept.iter().copied());
        // The header as Prometheus 2.42, 2.54 and 3 send it, and in capitals.
        for accept in [
            "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
            "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
            "application/openmetrics-text; version=1.0.0; escaping=allow-utf-8; q=0.5, text/plain; q=0.2",
            "Application/OpenMetrics-Text",
        ] {
            assert_eq!(asked(&[accept]), Format::OpenMetrics, "{accept}");
        }
        for accept in [
            &[][..],
            &["*/*"],
            &["text/plain;version=0.0.4"],
            &["text/plain;version=0.0.4;q=0.9,application/openmetrics-text;q=0.5"],
            &["application/openmetrics-text;q=0"],
            &["application/openmetrics-text;version=2.0.0"],
            &["application/openmetrics-text;q=many"],
            &["application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;q=0.6,*/*"],
            &["\u{0},;;q,=;"],
        ] {
            assert_eq!(asked(accept), Format::Classic, "{accept:?}");
        }
        assert_eq!(asked(&["text/html", "application/openmetrics-text"]), Format::OpenMetrics, "two fields");
    }
}
