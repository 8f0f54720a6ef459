//! Tables as text: a header with the names of columns, then rows of values, separated by commas.

/// A table whose header has been read. Blank lines are skipped.
#[derive(Clone, Debug)]
pub struct Columns<'a> {
    names: Vec<&'a str>,
    /// The number of the line of the header, from 1.
    line: usize,
    text: &'a str,
}

/// A fault of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnsError {
    /// The line, from 1, if the fault is in one.
    pub line: Option<usize>,
    /// The fault.
    pub message: String,
}

impl ColumnsError {
    fn at(line: usize, message: String) -> ColumnsError {
        ColumnsError { line: Some(line), message }
    }
}

/// Returns the lines that are not empty, with their numbers from 1.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().map(str::trim).zip(1..).filter(|(line, _)| !line.is_empty()).map(|(line, number)| (number, line))
}

fn split(line: &str) -> impl Iterator<Item = &str> {
    line.split(',').map(str::trim)
}

impl<'a> Columns<'a> {
    /// Reads the header of `text`, whose columns have names of `known`, each at most once, in any order.
    ///
    /// # Errors
    /// There is no header, or it has other columns.
    pub fn read(text: &'a str, known: &[&str]) -> Result<Columns<'a>, ColumnsError> {
        let empty = || ColumnsError { line: None, message: "the file is empty".to_owned() };
        let (line, header) = lines(text).next().ok_or_else(empty)?;
        if let Some(mark) = [";", "\t", "\""].into_iter().find(|mark| header.contains(mark)) {
            return Err(ColumnsError::at(
                line,
                format!("the header has {mark:?}; commas separate values, without quotes"),
            ));
        }
        let mut names = Vec::new();
        for name in split(header) {
            if !known.contains(&name) {
                return Err(ColumnsError::at(line, format!("the column {name:?} is unknown")));
            }
            if names.contains(&name) {
                return Err(ColumnsError::at(line, format!("the column {name:?} is given twice")));
            }
            names.push(name);
        }
        Ok(Columns { names, line, text })
    }

    /// Returns the names of the columns in their order.
    pub fn names(&self) -> &[&'a str] {
        &self.names
    }

    /// Returns the place of a column.
    ///
    /// # Errors
    /// The table does not have it.
    pub fn place(&self, name: &str) -> Result<usize, ColumnsError> {
        let missing = || ColumnsError::at(self.line, format!("the column {name:?} is missing"));
        self.names.iter().position(|known| *known == name).ok_or_else(missing)
    }

    /// Returns the rows with the numbers of their lines, or the fault of one that has not a value for each column.
    pub fn rows(&self) -> impl Iterator<Item = Result<(usize, Vec<&'a str>), ColumnsError>> {
        let columns = self.names.len();
        lines(self.text).skip(1).map(move |(line, row)| {
            let values: Vec<&str> = split(row).collect();
            match values.len() == columns {
                true => Ok((line, values)),
                false => {
                    Err(ColumnsError::at(line, format!("{row:?} has {} values for {columns} columns", values.len())))
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_the_numbers_of_their_lines() {
        let columns = Columns::read("\nb, a\r\n\n1,2\r\n3 , 4", &["a", "b"]).unwrap();
        assert_eq!((columns.names(), columns.place("a")), (&["b", "a"][..], Ok(1)));
        let rows: Result<Vec<_>, _> = columns.rows().collect();
        assert_eq!(rows, Ok(vec![(4, vec!["1", "2"]), (5, vec!["3", "4"])]));
    }

    #[test]
    fn faults_have_the_numbers_of_their_lines() {
        let fault = |text| {
            let columns = Columns::read(text, &["a", "b"])?;
            columns.place("a")?;
            columns.rows().collect::<Result<Vec<_>, _>>()
        };
        for (text, line, message) in [
            ("", None, "the file is empty"),
            ("a,c\n", Some(1), "the column \"c\" is unknown"),
            ("a,b,a\n", Some(1), "the column \"a\" is given twice"),
            ("\nb\n", Some(2), "the column \"a\" is missing"),
            ("a;b\n", Some(1), "the header has \";\"; commas separate values, without quotes"),
            ("a,b\n1,2,\n", Some(2), "\"1,2,\" has 3 values for 2 columns"),
        ] {
            assert_eq!(fault(text), Err(ColumnsError { line, message: message.to_owned() }));
        }
    }
}
