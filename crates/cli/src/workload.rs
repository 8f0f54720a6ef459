//! `cellway workload show` and `cellway workload compare`.

use cellway_lab::workload_file::{Class, Comparison, Distribution, Only, law_name};
use cellway_lab::{Error, reproduce::short};
use serde_json::{Value, json};

use crate::args::{CompareWorkloads, ShowWorkload};
use crate::draw::no_report;
use crate::table::{Kind, LeftOut, Table};
use crate::{DrawnWorkload, FAILED, Face, Failure, NotDrawn, WRONG_INPUT, output};

/// The shown quantiles.
const QUANTILES: [(f64, &str); 5] = [(0.1, "p10"), (0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (1.0, "max")];

pub(crate) fn show(options: &ShowWorkload, face: &mut Face<'_>) -> Result<(), Failure> {
    let file = cellway_lab::read_workload(&options.file)?;
    if let Some(unknown) = options.class.iter().find(|name| file.class(name).is_none()) {
        let names: Vec<&str> = file.classes.iter().map(|class| &*class.name).collect();
        let message = format!("the file has no class {unknown:?}; accepted: {}", names.join(", "));
        return Err(Error::Option(message).into());
    }
    let is_shown = |class: &&Class| options.class.is_empty() || options.class.contains(&class.name);
    let classes: Vec<&Class> = file.classes.iter().filter(is_shown).collect();
    let document = json!(classes.iter().copied().map(document).collect::<Vec<_>>());
    if let Some(out) = &options.plot {
        let Some(draw) = &mut face.workload else { return Err(no_report()) };
        cellway_lab::check_free(out, options.force)?;
        let drawn = DrawnWorkload { classes: &document.to_string(), out };
        let path = draw(&drawn).map_err(|not_drawn| match not_drawn {
            NotDrawn::WrongInput(message) => Failure { message, code: WRONG_INPUT },
            NotDrawn::Failed(message) => Failure { message, code: FAILED },
        })?;
        output::say(&format!("figure in {}", path.display()));
    }
    if options.json {
        output::json(&document);
        return Ok(());
    }
    table(&classes);
    Ok(())
}

/// Prints the classes.
fn table(classes: &[&Class]) {
    let titles = ["class", "distribution", "samples", "mean"].into_iter().chain(QUANTILES.map(|(_, title)| title));
    let titles: Vec<String> = titles.chain(["law", "KS"]).map(str::to_owned).collect();
    let law = titles.len() - 2;
    let mut table = Table::new(&titles, |column| match column {
        0 => Kind::Name(12),
        column if column == 1 || column == law => Kind::Text,
        _ => Kind::Number,
    });
    // The law and its distance, the sample size and the outer quantiles are the least needed.
    table.may_leave_out(LeftOut::First, vec![2, 3, 4, 7, law, law + 1]);
    for class in classes {
        for (place, (name, distribution)) in class.distributions().into_iter().enumerate() {
            let of_class = if place == 0 { class.name.clone() } else { String::new() };
            let named = match Class::unit(name) {
                "" => name.to_owned(),
                unit => format!("{name} [{unit}]"),
            };
            let numbers = [distribution.mean(false)]
                .into_iter()
                .chain(QUANTILES.map(|(p, _)| Some(distribution.model.quantile(p))));
            let mut cells = vec![of_class, named, distribution.samples.to_string()];
            cells.extend(numbers.map(|value| value.map_or_else(String::new, short)));
            cells.extend(match &distribution.fit {
                Some(fit) => [law_name(fit.law).to_owned(), short(fit.ks)],
                None => [String::new(), String::new()],
            });
            table.add_row(cells);
        }
    }
    table.print();
    for class in classes {
        let left_out: u64 = class.left_out.values().sum();
        let conversations = output::count(class.conversations, "conversation");
        let mut line = format!("{}: {conversations} over {}", class.name, class.transport());
        if left_out > 0 {
            let reasons = class.left_out.iter().map(|(reason, count)| format!("{count} {reason}"));
            line.push_str(&format!("; {left_out} left out ({})", reasons.collect::<Vec<_>>().join(", ")));
        }
        output::say(&line);
    }
}

pub(crate) fn compare(options: &CompareWorkloads) -> Result<(), Failure> {
    let paths = [&*options.first, &*options.second];
    let comparison = cellway_lab::compare_workloads(paths)?;
    if options.json {
        output::json(&differences(&comparison));
        return Ok(());
    }
    let titles = ["class", "distribution", "mean of\nthe first", "mean of\nthe second", "distance", "bound", ""];
    let titles: Vec<String> = titles.map(str::to_owned).to_vec();
    let mut table = Table::new(&titles, |column| match column {
        0 => Kind::Name(12),
        1 | 6 => Kind::Text,
        _ => Kind::Number,
    });
    for one in &comparison.differences {
        let mark = if one.is_significant() { "differs" } else { "" };
        let [first, second] = one.means.map(short);
        let (distance, bound) = (format!("{:.4}", one.distance), format!("{:.4}", one.bound));
        let cells = [one.class.clone(), one.distribution.to_owned(), first, second, distance, bound, mark.to_owned()];
        table.add_row(cells);
    }
    table.print();
    for Only { file, class, distribution } in &comparison.only {
        let what = distribution.map_or_else(|| format!("class {class}"), |name| format!("{name} of class {class}"));
        output::say(&format!("only {} has {what}", paths[*file].display()));
    }
    let significant = comparison.differences.iter().filter(|one| one.is_significant()).count() as u64;
    output::say(&format!(
        "{} of {} differ by more than samples of one distribution do in 95 % of the cases",
        significant,
        output::count(comparison.differences.len() as u64, "distribution")
    ));
    Ok(())
}

fn document(class: &Class) -> Value {
    let one = |(name, distribution): (&str, &Distribution)| {
        let quantiles: serde_json::Map<String, Value> =
            QUANTILES.iter().map(|(p, title)| ((*title).to_owned(), json!(distribution.model.quantile(*p)))).collect();
        let knots: Vec<[f64; 2]> = distribution.model.knots().iter().map(|k| [k.probability, k.value]).collect();
        json!({ "name": name, "unit": Class::unit(name), "samples": distribution.samples, "knots": knots,
                "mean": distribution.mean(false), "quantiles": quantiles,
                "law": distribution.fit.map(|fit| law_name(fit.law)), "ks": distribution.fit.map(|fit| fit.ks) })
    };
    json!({ "name": class.name, "transport": class.transport(), "conversations": class.conversations,
            "left_out": class.left_out,
            "distributions": class.distributions().into_iter().map(one).collect::<Vec<_>>() })
}

fn differences(comparison: &Comparison) -> Value {
    let rows = comparison.differences.iter().map(|one| {
        json!({ "class": one.class, "distribution": one.distribution, "distance": one.distance, "bound": one.bound,
                "samples": one.samples, "means": one.means, "differs": one.is_significant() })
    });
    let only = comparison
        .only
        .iter()
        .map(|only| json!({ "file": only.file + 1, "class": only.class, "distribution": only.distribution }));
    json!({ "alike": comparison.is_alike(), "differences": rows.collect::<Vec<_>>(),
            "only": only.collect::<Vec<_>>() })
}
