//! Draws against their distribution: the values of samplers, and the shipped models against the full tables if those
//! exist.
#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::path::PathBuf;

use cellway_apps::random::Streams;
use cellway_apps::{Draw, FitOptions, FullTable, Knot, QuantileModel, Tables, Variable, fit, models_file};

/// Returns the full tables, or prints the reason and returns `None`.
fn full_tables(test: &str) -> Option<Vec<FullTable>> {
    let shared = std::env::var_os("CELLWAY_SHARED")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")), PathBuf::from);
    let folder = shared.join("data/tcplib");
    if !folder.is_dir() {
        // Not by the print macros, whose text the test harness captures.
        let why = format!("skipped: {test}: no tcplib tables in {}; set CELLWAY_SHARED\n", folder.display());
        std::io::stderr().write_all(why.as_bytes()).unwrap();
        return None;
    }
    let read = |variable: Variable| {
        let path = folder.join(format!("{}.csv", variable.name()));
        let text = std::fs::read_to_string(&path).unwrap();
        FullTable::parse_csv(&text, &path.to_string_lossy()).unwrap()
    };
    Some(Variable::ALL.map(read).into())
}

#[test]
fn samples_have_the_exact_mean_and_distribution() {
    let tables = Tables::shipped();
    let n = 100_000;
    for variable in Variable::ALL {
        for draw in [Draw::Tcplib, Draw::Continuous] {
            let sampler = tables.sampler(variable, draw);
            let mut stream = Streams::new(11).stream(variable.name());
            let draws: Vec<f64> = (0..n).map(|_| sampler.value(&mut stream)).collect();
            let mean = draws.iter().sum::<f64>() / f64::from(n);
            let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / f64::from(n);
            let error = (variance / f64::from(n)).sqrt();
            let exact = sampler.mean();
            assert!((mean - exact).abs() < 4.0 * error, "{variable:?} {draw:?}: {mean} for {exact}, error {error}");
            if variable.is_whole() {
                assert!(draws.iter().all(|x| x.fract() == 0.0));
            }
            // The distribution before rounding, at every knot; 4 standard deviations.
            let mut stream = Streams::new(11).stream(variable.name());
            let raw: Vec<f64> = (0..n).map(|_| sampler.model.draw(draw, &mut stream)).collect();
            for knot in sampler.model.knots() {
                let share = raw.iter().filter(|x| **x <= knot.value).count() as f64 / f64::from(n);
                let exact = sampler.model.cdf(draw, knot.value);
                let slack = 4.0 * (exact * (1.0 - exact) / f64::from(n)).sqrt() + 1e-9;
                assert!((share - exact).abs() <= slack, "{variable:?} {draw:?} at {}: {share}, {exact}", knot.value);
            }
        }
    }
}

/// First draws from the shipped models, computed by another program, so that no change of model, generator or rule
/// remains unnoticed.
#[test]
fn first_draws_from_the_shipped_models_are_unchanged() {
    let expected = [
        ([34.0, 3.0, 2.0], [36.0, 4.0, 2.0]),
        ([444.0, 535.0, 16724.0], [433.0, 958.0, 15402.0]),
        ([62.0, 59.0, 21.0], [82.0, 59.0, 21.0]),
        ([5.0, 2128.0, 252.0], [7.0, 2645.0, 286.0]),
        ([2207.0, 4149.0, 4124.0], [2298.0, 4167.0, 4135.0]),
        ([322.0, 536.0, 1359.0], [323.0, 870.0, 1528.0]),
        ([1.0, 1.0, 1.0], [1.0, 1.0, 1.0]),
        (
            [159.14785545153634, 269.2204690734097, 1607.376815114243],
            [169.28506092631062, 230.10360077610574, 1270.622200343506],
        ),
        (
            [59554.97016475941, 40219.06152501768, 103243.87139458391],
            [58302.19880659038, 29427.56153825784, 142139.85203114297],
        ),
    ];
    for (variable, (tcplib, continuous)) in Variable::ALL.into_iter().zip(expected) {
        for (draw, expected) in [(Draw::Tcplib, tcplib), (Draw::Continuous, continuous)] {
            let sampler = Tables::shipped().sampler(variable, draw);
            let mut stream = Streams::new(1).stream(&format!("golden/{}", variable.name()));
            assert_eq!([(); 3].map(|()| sampler.value(&mut stream)), expected, "{variable:?} {draw:?}");
        }
    }
}

#[test]
fn full_tables_have_the_means_that_tcplib_gives() {
    let Some(tables) = full_tables("means of the full tables") else { return };
    // From the tables by exact enumeration, done apart from this program: (continuous
    // interpolation, as tcplib draws).
    let expected = [
        (7.13, 6.47),
        (39_860.0, 26_986.0),
        (28.2, 27.4),
        (383.0, 378.0),
        (2_023.0, 1_981.0),
        (1_674.0, 1_409.0),
        (25.2, 24.2),
        (1_835.0, 1_145.0),
        (674_600.0, 667_550.0),
    ];
    for ((table, variable), (continuous, tcplib)) in tables.iter().zip(Variable::ALL).zip(expected) {
        assert_eq!(table.name(), variable.name());
        let near = |x: f64, expected: f64| (x / expected - 1.0).abs() < 0.003;
        let means =
            (table.model().mean(Draw::Continuous, false), table.model().mean(Draw::Tcplib, variable.is_whole()));
        assert!(near(means.0, continuous) && near(means.1, tcplib), "{}: {means:?}", table.name());
    }
}

/// Returns the distribution of the table or model at `x` as a straight line between its points, computed without the
/// crate's own function.
fn line(knots: &[Knot], x: f64) -> f64 {
    match knots.iter().position(|knot| knot.value >= x) {
        None => 1.0,
        Some(0) => {
            if x < knots[0].value {
                0.0
            } else {
                knots[0].probability
            }
        }
        Some(i) => {
            let (a, b) = (knots[i - 1], knots[i]);
            a.probability + (b.probability - a.probability) * (x - a.value) / (b.value - a.value)
        }
    }
}

#[test]
fn shipped_models_keep_distribution_and_mean_of_the_tables() {
    let Some(tables) = full_tables("shipped models against the tables") else { return };
    let shipped = Tables::shipped();
    for (table, variable) in tables.iter().zip(Variable::ALL) {
        let (model, name) = (shipped.model(variable), variable.name());
        assert!(model.knots().len() <= 40 && model.knots().len() < table.model().knots().len() * 2 / 3, "{name}");
        let points = table.model().knots();
        let ks = points.iter().map(|p| (line(model.knots(), p.value) - p.probability).abs()).fold(0.0, f64::max);
        assert!(ks <= 0.01, "{name}: {ks}");
        assert!(table.model().distance(model, Draw::Tcplib) <= 0.01, "{name}");
        let (mean, exact) =
            (model.mean(Draw::Tcplib, variable.is_whole()), table.model().mean(Draw::Tcplib, variable.is_whole()));
        assert!((mean / exact - 1.0).abs() < 0.03, "{name}: {mean} for {exact}");
    }
}

#[test]
fn the_shipped_file_is_the_output_of_the_fit() {
    let Some(tables) = full_tables("the shipped models file") else { return };
    let fits: Vec<_> = tables.iter().map(|table| fit(table, FitOptions::default()).unwrap()).collect();
    let shipped = include_str!("../data/tcplib.toml");
    assert!(models_file(&fits) == shipped, "make it anew: cargo run -p cellway-apps --example fit_tables");
    for fit in &fits {
        assert!(fit.ks <= 0.01 && fit.ks_drawn <= 0.01, "{}", fit.name);
    }
}

#[test]
fn tables_of_the_user_replace_the_models() {
    let Some(tables) = full_tables("full tables as models") else { return };
    let text = |table: &FullTable| {
        let rows: Vec<String> =
            table.model().knots().iter().map(|k| format!("{},{}\n", k.value, k.probability)).collect();
        format!("value,cum_prob\n{}", rows.concat())
    };
    let texts: Vec<String> = tables.iter().map(text).collect();
    let files = || Variable::ALL.into_iter().zip(&texts).map(|(v, text)| (v, v.name(), text.as_str()));
    let full = Tables::from_full(files()).unwrap();
    for (table, variable) in tables.iter().zip(Variable::ALL) {
        assert_eq!(full.model(variable), table.model());
    }
    let error = Tables::from_full(files().skip(2)).unwrap_err().to_string();
    assert_eq!(error, "tables: no table for ftp_nitems, ftp_itemsize");
}

#[test]
fn a_fit_of_a_small_table_is_the_one_found_by_hand() {
    // Two straight lines with a bend at 10: three knots, and the last but one.
    let rows: String =
        (0..=20)
            .map(|i| {
                if i <= 10 {
                    (f64::from(i), f64::from(i) * 0.08)
                } else {
                    (f64::from(i), 0.8 + f64::from(i - 10) * 0.02)
                }
            })
            .map(|(value, p)| format!("{value},{}\n", (p * 1000.0).round() / 1000.0))
            .collect();
    let table = FullTable::parse_csv(&format!("value,cum_prob\n{rows}"), "bend.csv").unwrap();
    let exact = fit(&table, FitOptions { knots: 40, ks: 0.0015, mean: 0.001 }).unwrap();
    let values: Vec<f64> = exact.model.knots().iter().map(|knot| knot.value).collect();
    assert_eq!(values, [0.0, 10.0, 19.0, 20.0]);
    let error = fit(&table, FitOptions { knots: 3, ks: 0.0015, mean: 0.001 }).unwrap_err().to_string();
    assert!(error.starts_with("bend: no model of at most 3 knots"), "{error}");
    // Its text reads back as the model.
    assert!(exact.to_toml().contains("[bend]\nknots = [\n    [0, 0], [0.8, 10], [0.98, 19], [1, 20],\n]\n"));
}

#[test]
fn models_files_are_checked() {
    let error = |text: &str| Tables::from_toml(text, "my.toml").unwrap_err().to_string();
    assert!(error("version = 2").contains("my.toml: version is 2; it must be 1"));
    assert!(error("ftp = 1").contains("version is missing"));
    assert!(error("version = 1\n[ftp_size]\nknots = [[0, 0], [1, 1]]").contains("[ftp_size] is none of ftp_nitems, "));
    assert!(
        error("version = 1\n[ftp_nitems]\nknots = [[0.5, 3], [0.4, 4], [1, 5]]")
            .contains("my.toml: [ftp_nitems] knot:2: cum_prob 0.4 is not above 0.5")
    );
    assert_eq!(
        error("version = 1\n[ftp_nitems]\nknots = [[0.5, 3], [1, 1e300]]"),
        "my.toml: [ftp_nitems] knot:2: value 1e300 is too large; the limit is 1e15, in bytes, items or ms"
    );
    assert!(
        error("version = 1\n[ftp_nitems]\nknots = [[0.5, 3], [1, inf]]").contains("knot:2: value inf is too large")
    );
    assert!(error("version = 1\n[ftp_nitems]\nknots = [[0.5, 3], [1, 5]]").contains("no table for ftp_itemsize, "));
    let many: Vec<String> = (0..=40).map(|i| format!("[{}, {i}]", f64::from(i) / 40.0)).collect();
    let many = format!("version = 1\n[ftp_nitems]\nknots = [{}]", many.join(", "));
    assert_eq!(error(&many), "my.toml: ftp_nitems has 41 knots; the limit is 40");
    // The shipped file has the acknowledgement that its source requires.
    let shipped = include_str!("../data/tcplib.toml");
    assert!(shipped.contains("Copyright (c) 1991 University of Southern California."));
    let sum: QuantileModel = Tables::shipped().model(Variable::FtpItems).clone();
    assert_eq!(sum.knots()[0], Knot { probability: 0.164, value: 1.0 });
}
