//! A full empirical table, read from its text.

use crate::error::TableError;
use crate::model::{Knot, QuantileModel};

/// A table as tcplib keeps it: values and the probability of at most each, both strictly
/// increasing, the last probability 1.
#[derive(Clone, Debug, PartialEq)]
pub struct FullTable {
    name: String,
    model: QuantileModel,
}

impl FullTable {
    /// Reads `value,cum_prob` lines below that header. `file` is the name of the text in errors; the table is named
    /// after it, without folder and extension. Blank lines are skipped.
    pub fn parse_csv(text: &str, file: &str) -> Result<FullTable, TableError> {
        let mut lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
        let header = lines.next().unwrap_or_default();
        if header != "value,cum_prob" {
            return Err(TableError::Header { file: file.into(), found: header.into() });
        }
        let mut rows = Vec::new();
        for (index, line) in lines.enumerate().filter(|(_, line)| !line.is_empty()) {
            let line_number = index + 2;
            let wrong = || TableError::Row { file: file.into(), line: line_number, found: line.into() };
            let (value, probability) = line.split_once(',').ok_or_else(wrong)?;
            rows.push((line_number, knot(value, probability).ok_or_else(wrong)?));
        }
        let model = QuantileModel::from_rows(&rows, file)?;
        let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
        let name = name.strip_suffix(".csv").unwrap_or(name).into();
        Ok(FullTable { name, model })
    }

    /// Returns the table's name, that of its file: `ftp_nitems`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the table as a model with a knot for every row.
    pub fn model(&self) -> &QuantileModel {
        &self.model
    }

    /// Returns the table as a model with a knot for every row.
    pub fn into_model(self) -> QuantileModel {
        self.model
    }
}

fn knot(value: &str, probability: &str) -> Option<Knot> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|x| x.is_finite());
    Some(Knot { probability: number(probability)?, value: number(value)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        FullTable::parse_csv(text, "tables/t.csv").unwrap_err().to_string()
    }

    #[test]
    fn a_table_is_named_after_its_file() {
        let table = FullTable::parse_csv("value,cum_prob\r\n1,0.25\r\n\r\n3.5,1\r\n", "dir/ftp_nitems.csv").unwrap();
        assert_eq!(table.name(), "ftp_nitems");
        let expected = [Knot { probability: 0.25, value: 1.0 }, Knot { probability: 1.0, value: 3.5 }];
        assert_eq!(table.model().knots(), expected);
    }

    #[test]
    fn errors_name_file_line_and_limit() {
        assert_eq!(error("1,1\n"), "tables/t.csv:1: the header is \"1,1\"; it must be \"value,cum_prob\"");
        assert_eq!(
            error("value,cum_prob\n1,0.5\n2;1\n"),
            "tables/t.csv:3: \"2;1\" is not two numbers \"value,cum_prob\", like \"512,0.513\""
        );
        assert_eq!(
            error("value,cum_prob\n1,0.5\n1,1\n"),
            "tables/t.csv:3: value 1 is not above 1 of the row before it"
        );
        assert_eq!(
            error("value,cum_prob\n1,0.5\n\n2,0.5\n3,1\n"),
            "tables/t.csv:4: cum_prob 0.5 is not above 0.5 of the row before it"
        );
        assert_eq!(error("value,cum_prob\n1,0.5\n2,1.5\n"), "tables/t.csv:3: cum_prob 1.5 is outside 0 to 1");
        assert_eq!(error("value,cum_prob\n1,0.5\n2,0.9\n"), "tables/t.csv:3: the last cum_prob is 0.9; it must be 1");
        assert_eq!(
            error("value,cum_prob\n-1,0.5\n2,1\n"),
            "tables/t.csv:2: value -1 is negative; sizes, counts and times are 0 or more"
        );
        assert_eq!(
            error("value,cum_prob\n1,0.5\n1e300,1\n"),
            "tables/t.csv:3: value 1e300 is too large; the limit is 1e15, in bytes, items or ms"
        );
        assert!(error("value,cum_prob\n1,0.5\n1000000000000001,1\n").contains("t.csv:3: value 1000000000000001"));
        assert!(FullTable::parse_csv("value,cum_prob\n1,0.5\n1e15,1\n", "t.csv").is_ok());
        assert_eq!(error("value,cum_prob\n1,1\n"), "tables/t.csv: 1 rows; a distribution needs at least 2");
        assert!(error("value,cum_prob\n1,NaN\n").contains("t.csv:2"));
        assert!(error("").contains("t.csv:1"));
    }
}
