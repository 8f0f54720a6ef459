//! The state of a sweep as a page that needs nothing else.

use cellway_lab::sweep::{FailureKind, PointStatus};

/// Messages of failed runs that are listed.
const MOST: usize = 200;

/// Returns the page; `damage` is the number of places of the store that do not read back, `note` a line about the plan.
pub(super) fn of(
    name: &str,
    rows: &[PointStatus],
    failures: &[FailureKind],
    damage: u64,
    note: Option<String>,
) -> String {
    let sum = |of: fn(&PointStatus) -> u64| rows.iter().map(of).sum::<u64>();
    let (planned, finished, failed) = (sum(|row| row.planned), sum(|row| row.finished), sum(|row| row.failed));
    let share = if planned == 0 { 100.0 } else { 100.0 * (finished + failed) as f64 / planned as f64 };
    // A plain sweep has no reasons.
    let has_reasons = rows.iter().any(|row| row.reason.is_some());
    let mut body = String::new();
    for row in rows {
        let axes = if row.axes.is_empty() { "all".to_owned() } else { row.axes.join(", ") };
        let missing = row.planned - row.finished - row.failed;
        let reason = row.reason.map_or("", super::reason);
        let cells =
            [row.finished, row.failed, missing, row.planned].map(|number| format!("<td>{number}</td>")).concat();
        let reason = if has_reasons { format!("<td class=\"text\">{reason}</td>") } else { String::new() };
        body += &format!("<tr><th scope=\"row\">{}</th>{cells}{reason}</tr>\n", escaped(&axes));
    }
    let mut list = String::new();
    if !failures.is_empty() {
        list += "<h2>Failed runs</h2>\n<ul>\n";
        for FailureKind { message, runs, run, seed } in failures.iter().take(MOST) {
            let which = if *runs == 1 { String::new() } else { format!("{runs} runs, the first is ") };
            list += &format!("<li>{which}run {run}, seed {seed}: {}</li>\n", escaped(message));
        }
        list += "</ul>\n";
        if failures.len() > MOST {
            list += &format!("<p>And {} more messages.</p>\n", failures.len() - MOST);
        }
    }
    if damage > 0 {
        list +=
            &format!("<p>Places of the store that do not read back: {damage}. The runs there count as missing.</p>\n");
    }
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
         </head>\n<body>\n<main>\n<h1>{title}</h1>\n\
         <p>{finished} of {planned} runs have finished, {failed} have failed, {missing} are missing.</p>\n{note}\
         <progress max=\"100\" value=\"{share:.1}\" aria-label=\"runs that have ended\">{share:.1} %</progress>\n\
         <div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"points\">\n<table>\n\
         <thead><tr><th scope=\"col\">point</th><th scope=\"col\">finished</th><th scope=\"col\">failed</th>\
         <th scope=\"col\">missing</th><th scope=\"col\">planned</th>{ended}</tr></thead>\n\
         <tbody>\n{body}</tbody>\n</table>\n</div>\n{list}</main>\n</body>\n</html>\n",
        title = escaped(&format!("Sweep: {name}")),
        missing = planned - finished - failed,
        note = note.map_or_else(String::new, |note| format!("<p>{}</p>\n", escaped(&note))),
        ended = if has_reasons { "<th scope=\"col\" class=\"text\">ended by</th>" } else { "" },
    )
}

const STYLE: &str = include_str!("page.css");

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_name_or_a_message_is_markup() {
        let row = PointStatus { axes: vec!["a = <b>".to_owned()], planned: 4, finished: 1, failed: 1, reason: None };
        let failure = FailureKind { message: "1 < 2 & \"so\"".to_owned(), runs: 1, run: 3, seed: 7 };
        let note = Some("until a < b".to_owned());
        let page = of("x<script>", std::slice::from_ref(&row), &[failure], 2, note);
        assert!(page.contains("<p>until a &lt; b</p>") && !page.contains("ended by"), "{page}");
        let ended = PointStatus { reason: Some(cellway_lab::sweep::StopReason::Met), ..row };
        let chosen = of("x", &[ended], &[], 0, None);
        assert!(chosen.contains("ended by") && chosen.contains("<td class=\"text\">narrow enough</td>"), "{chosen}");
        assert!(page.contains("Sweep: x&lt;script&gt;") && page.contains("a = &lt;b&gt;"), "{page}");
        assert!(page.contains("<li>run 3, seed 7: 1 &lt; 2 &amp; &quot;so&quot;</li>"), "{page}");
        assert!(page.contains("do not read back: 2."), "{page}");
        assert!(page.contains("<td>1</td><td>1</td><td>2</td><td>4</td>") && page.contains("value=\"50.0\""), "{page}");
    }
}
