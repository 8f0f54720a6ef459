//! Tables that fit the width of the terminal: columns are left out or wrapped by a fixed rule, and numbers never cut.

use crate::output;

/// Blanks between two columns.
const GAP: usize = 2;

/// The content of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Text, which wraps between words.
    Text,
    /// Names whose beginning is enough to find them; cut with an ellipsis, to this number of characters at least.
    Name(usize),
    /// Numbers, with a unit or an interval, which wrap before the interval alone. Aligned to the right.
    Number,
}

/// The moment at which columns are left out of a table that is too wide.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeftOut {
    /// Before any cell wraps: rows stay on one line.
    First,
    /// Only if wrapping is not enough.
    Last,
}

/// A table; cells and titles may have several lines.
pub(crate) struct Table {
    titles: Vec<String>,
    kinds: Vec<Kind>,
    rows: Vec<Vec<String>>,
    /// The columns that may be left out, the first to go at the end.
    spare: (LeftOut, Vec<usize>),
    /// The leading columns that identify a row. A row with nothing else has no line.
    keys: usize,
}

/// The columns that are shown, each with its width.
struct Fitted {
    shown: Vec<(usize, usize)>,
    left_out: Vec<usize>,
}

impl Table {
    pub(crate) fn new(titles: &[String], kind: impl Fn(usize) -> Kind) -> Table {
        let kinds = (0..titles.len()).map(kind).collect();
        Table { titles: titles.to_vec(), kinds, rows: Vec::new(), spare: (LeftOut::Last, Vec::new()), keys: 0 }
    }

    /// Creates a table of texts and, in the columns named in `right`, numbers.
    pub(crate) fn with_numbers(titles: &[String], right: impl Fn(usize) -> bool) -> Table {
        Table::new(titles, |column| if right(column) { Kind::Number } else { Kind::Text })
    }

    pub(crate) fn add_row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Lets columns be left out, the last of `columns` first.
    pub(crate) fn may_leave_out(&mut self, when: LeftOut, columns: Vec<usize>) {
        self.spare = (when, columns);
    }

    /// Hides rows that have only empty cells behind the first `keys`.
    pub(crate) fn hide_empty_rows(&mut self, keys: usize) {
        self.keys = keys;
    }

    /// Prints the table at the width of standard output, and a note if columns were left out.
    pub(crate) fn print(&self) {
        let left_out = self.print_within(output::width());
        if !left_out.is_empty() {
            output::say(&format!("not shown: {}; a wider terminal or --json shows them", left_out.join(", ")));
        }
    }

    /// Prints it within a width, if there is one. Returns the titles of the columns that were left out, in the order of the
    /// table.
    pub(crate) fn print_within(&self, width: Option<usize>) -> Vec<String> {
        let fitted = self.fit(width.unwrap_or(usize::MAX));
        self.drawn(&fitted).iter().for_each(|line| output::line(line));
        fitted.left_out.iter().map(|&c| self.titles[c].split('\n').next().unwrap_or_default().to_owned()).collect()
    }

    /// Returns the lines of the table within a width, if there is one, without trailing blanks.
    pub(crate) fn lines(&self, width: impl Into<Option<usize>>) -> Vec<String> {
        self.drawn(&self.fit(width.into().unwrap_or(usize::MAX)))
    }

    /// Chooses columns and widths: the natural ones if they fit; else columns are left out, texts wrap, names are cut and
    /// numbers wrap before their interval, until it fits. What has no blank left keeps its width.
    fn fit(&self, width: usize) -> Fitted {
        let [natural, least] =
            [Self::natural, Self::least].map(|of| (0..self.titles.len()).map(|c| of(self, c)).collect());
        let (natural, least): (Vec<usize>, Vec<usize>) = (natural, least);
        let mut shown: Vec<usize> = (0..self.titles.len()).collect();
        let (when, mut spare) = self.spare.clone();
        let mut left_out = Vec::new();
        loop {
            let mut widths: Vec<usize> = shown.iter().map(|&c| natural[c]).collect();
            let gaps = GAP * shown.len().saturating_sub(1);
            let fits = |widths: &[usize]| widths.iter().sum::<usize>() + gaps <= width;
            if when == LeftOut::Last || spare.is_empty() {
                let steps: [fn(Kind) -> bool; 3] =
                    [|k| k == Kind::Text, |k| matches!(k, Kind::Name(_)), |k| k == Kind::Number];
                for step in steps {
                    // The widest column gives a character at a time.
                    while !fits(&widths) {
                        let wider =
                            (0..shown.len()).filter(|&i| step(self.kinds[shown[i]]) && widths[i] > least[shown[i]]);
                        let Some(widest) = wider.max_by_key(|&i| widths[i]) else { break };
                        widths[widest] -= 1;
                    }
                }
            }
            match spare.pop().filter(|_| !fits(&widths)) {
                Some(column) => {
                    shown.retain(|&c| c != column);
                    left_out.push(column);
                }
                None => {
                    left_out.sort_unstable();
                    return Fitted { shown: shown.into_iter().zip(widths).collect(), left_out };
                }
            }
        }
    }

    /// Returns the title and the cells of a column.
    fn column(&self, column: usize) -> impl Iterator<Item = &str> {
        self.rows.iter().map(move |row| &row[column]).chain([&self.titles[column]]).map(String::as_str)
    }

    /// Returns the width of a column in which no line wraps.
    fn natural(&self, column: usize) -> usize {
        self.column(column).flat_map(str::lines).map(length).max().unwrap_or_default()
    }

    /// Returns the least width of a column, in which nothing is cut that must not be.
    fn least(&self, column: usize) -> usize {
        let whole = |kind| self.column(column).flat_map(move |text| parts(text, kind)).map(length).max();
        match self.kinds[column] {
            Kind::Name(least) => least.max(self.titles[column].lines().map(length).max().unwrap_or_default()),
            kind => whole(kind).unwrap_or_default(),
        }
    }

    fn drawn(&self, fitted: &Fitted) -> Vec<String> {
        let has_content = |row: &&Vec<String>| {
            self.keys == 0 || fitted.shown.iter().any(|&(c, _)| c >= self.keys && !row[c].is_empty())
        };
        [&self.titles]
            .into_iter()
            .chain(self.rows.iter().filter(has_content))
            .flat_map(|row| self.row(row, fitted))
            .collect()
    }

    /// Returns the lines of a row.
    fn row(&self, cells: &[String], fitted: &Fitted) -> Vec<String> {
        let wrapped: Vec<Vec<String>> =
            fitted.shown.iter().map(|&(c, width)| wrap(&cells[c], width, self.kinds[c])).collect();
        let height = wrapped.iter().map(Vec::len).max().unwrap_or_default();
        let line = |n: usize| {
            let mut line = String::new();
            for (&(column, width), lines) in fitted.shown.iter().zip(&wrapped) {
                let text = lines.get(n).map_or("", String::as_str);
                match self.kinds[column] {
                    Kind::Number => line += &format!("{text:>width$}"),
                    _ => line += &format!("{text:<width$}"),
                }
                line += &" ".repeat(GAP);
            }
            line.truncate(line.trim_end().len());
            line
        };
        (0..height).map(line).collect()
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// Returns the parts of a text between which it may wrap.
fn parts(text: &str, kind: Kind) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let may_break = |(at, _): &(usize, char)| {
            kind != Kind::Number || rest[at + 1..].starts_with(['±', '[']) || rest[*at..].starts_with('\n')
        };
        let end = rest
            .char_indices()
            .filter(|(_, c)| matches!(c, ' ' | '\n'))
            .find(may_break)
            .map_or(rest.len(), |(at, _)| at);
        let (part, after) = rest.split_at(end);
        rest = after;
        (!part.is_empty()).then_some(part)
    })
}

/// Wraps a cell into lines of at most `width` characters, if its parts are no longer.
fn wrap(text: &str, width: usize, kind: Kind) -> Vec<String> {
    let mut wrapped = Vec::new();
    for given in text.lines() {
        if length(given) <= width {
            wrapped.push(given.to_owned());
            continue;
        }
        if let Kind::Name(_) = kind {
            wrapped.push(output::cut(given, width));
            continue;
        }
        let mut line = String::new();
        for part in parts(given, kind) {
            if !line.is_empty() && length(&line) + 1 + length(part) > width {
                wrapped.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line += part;
        }
        wrapped.push(line);
    }
    wrapped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let titles = ["paper", "claim", "published", "simulated\n[95 % CI]", "verdict"].map(str::to_owned);
        let kinds = [Kind::Text, Kind::Name(5), Kind::Text, Kind::Number, Kind::Text];
        let mut table = Table::new(&titles, |column| kinds[column]);
        table.add_row(["kdd", "a-long-name", "at least 0.98 to 1 of the rate", "0.76 [0.05, 0.99]", "not reproduced"]);
        table.add_row(["kdd", "short", "310 kbit/s", "308.8 ± 0.5", "reproduced"]);
        table
    }

    #[test]
    fn a_table_that_fits_is_left_as_it_is() {
        let lines = table().lines(120);
        assert_eq!(lines[2], "kdd    a-long-name  at least 0.98 to 1 of the rate  0.76 [0.05, 0.99]  not reproduced");
        assert_eq!(lines[3], "kdd    short        310 kbit/s                            308.8 ± 0.5  reproduced");
        assert_eq!((lines.len(), &lines[0][..30]), (4, "paper  claim        published "));
    }

    /// At every width all words and numbers are there, and the table is as narrow as they allow.
    #[test]
    fn words_and_numbers_are_never_cut() {
        let mut narrowest = usize::MAX;
        for width in 1..=100 {
            let lines = table().lines(width);
            let text = lines.join("\n");
            let widest = lines.iter().map(|line| length(line)).max().unwrap_or_default();
            narrowest = narrowest.min(widest);
            assert!(widest <= width || widest == narrowest, "{widest} at {width}:\n{text}");
            for whole in ["0.76", "[0.05, 0.99]", "308.8", "± 0.5", "0.98", "kbit/s", "reproduced", "least"] {
                assert!(text.contains(whole), "{whole} at {width}:\n{text}");
            }
        }
        // paper, 5 of a name, published, [0.05, 0.99], reproduced.
        assert_eq!(narrowest, 5 + 5 + 9 + 12 + 10 + 4 * GAP);
    }

    #[test]
    fn columns_are_left_out_before_or_after_wrapping() {
        let mut first = table();
        first.may_leave_out(LeftOut::First, vec![2, 3, 4]);
        let fitted = first.fit(80);
        assert_eq!(fitted.left_out, [4]);
        assert_eq!(first.drawn(&fitted).len(), 4, "no row wraps");
        let mut last = table();
        last.may_leave_out(LeftOut::Last, vec![4, 2]);
        assert!(last.fit(80).left_out.is_empty() && last.lines(80).len() > 4);
        assert_eq!(last.fit(45).left_out, [2]);
        assert_eq!(last.fit(20).left_out, [2, 4]);
    }

    #[test]
    fn a_row_without_content_in_shown_columns_has_no_line() {
        let titles = ["subject", "rate", "drops"].map(str::to_owned);
        let mut table = Table::with_numbers(&titles, |column| column > 0);
        table.add_row(["line", "1.5", ""]);
        table.add_row(["network", "", "3"]);
        table.may_leave_out(LeftOut::First, vec![2]);
        table.hide_empty_rows(1);
        assert_eq!(table.lines(80).len(), 3);
        assert_eq!(table.lines(15), ["subject  rate", "line      1.5"]);
    }
}
