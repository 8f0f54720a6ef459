//! The distribution of the random part of a delay, as values that are equally likely.

use std::sync::Arc;

use cellway_units::{Columns, ColumnsError};

use super::TraceError;

/// The unit of a value, in standard deviations.
pub(super) const UNIT: f64 = 1.0 / 1_048_576.0;

/// The largest value, in standard deviations.
const MOST: f64 = 1000.0;

const ACCEPTED: &str = "a header with the column x and a number of standard deviations in each row, from -1000 to 1000, or \
                        the integers of a table of netem, from -32768 to 32767, each in 1/8192 of the deviation";

/// Reads equally likely values, in any order: a table with the column `x`, which begins with a letter, or one of netem, whose
/// lines may begin with `#`. Returns them in ascending order, in units of [`UNIT`].
pub(super) fn read(text: &str) -> Result<Arc<[i32]>, TraceError> {
    let is_table = text.trim_start().starts_with(char::is_alphabetic);
    let mut values = if is_table { table(text)? } else { netem(text)? };
    if values.is_empty() {
        return Err(TraceError::whole("the file has no values", ACCEPTED));
    }
    values.sort_unstable();
    Ok(values.into())
}

fn table(text: &str) -> Result<Vec<i32>, TraceError> {
    let fault = |ColumnsError { line, message }| TraceError { line, message, accepted: ACCEPTED.to_owned() };
    let columns = Columns::read(text, &["x"]).map_err(fault)?;
    let value = |row: Result<(usize, Vec<&str>), ColumnsError>| {
        let (line, values) = row.map_err(fault)?;
        let shown = values[0];
        let number = shown.parse::<f64>().ok().filter(|x| x.abs() <= MOST);
        let number = number.ok_or_else(|| TraceError::at(line, format!("{shown:?} is not accepted"), ACCEPTED))?;
        Ok((number / UNIT).round() as i32)
    };
    columns.rows().map(value).collect()
}

fn netem(text: &str) -> Result<Vec<i32>, TraceError> {
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim_start().starts_with('#'));
    let words = lines.flat_map(|(line, number)| line.split_whitespace().map(move |word| (word, number)));
    let value = |(word, line): (&str, usize)| {
        let integer = word.parse::<i16>();
        let integer = integer.map_err(|_| TraceError::at(line, format!("{word:?} is not accepted"), ACCEPTED))?;
        // 1/8192 of a deviation has 128 units.
        Ok(i32::from(integer) * 128)
    };
    words.map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read_in_ascending_order() {
        let deviations = |text| read(text).unwrap().iter().map(|x| f64::from(*x) * UNIT).collect::<Vec<_>>();
        assert_eq!(deviations("# made by maketable\n 8192 -16384 0\n4096\n"), [-2.0, 0.0, 0.5, 1.0]);
        assert_eq!(deviations("x\n1.5\n-0.25\n\n1e0\n"), [-0.25, 1.0, 1.5]);
    }

    #[test]
    fn faults_have_their_line() {
        for (text, message) in [
            ("", "the file has no values"),
            ("# only a comment\n", "the file has no values"),
            ("x\n", "the file has no values"),
            ("1 2\n3 40000\n", "line 2: \"40000\" is not accepted"),
            ("1.5\n", "line 1: \"1.5\" is not accepted"),
            ("y\n1\n", "line 1: the column \"y\" is unknown"),
            ("x\n1\nfast\n", "line 3: \"fast\" is not accepted"),
            ("x\n1001\n", "line 2: \"1001\" is not accepted"),
            ("x\nNaN\n", "line 2: \"NaN\" is not accepted"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
