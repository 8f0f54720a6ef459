//! The three tables of a study, built run by run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::types::{Float64Type, Int32Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, cast::AsArray};
use arrow_array::{DictionaryArray, Float64Array, Int32Array, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field, Schema};

use cellway_record::{AxisValue, Counts, Row, RunKey, RunRecord, Source};

use crate::{Error, Observation, Table};

/// Rows of a batch in memory.
const CHUNK_ROWS: usize = 1 << 16;
/// The columns of the runs table that every study has.
const FIXED: [&str; 3] = ["run", "point", "seed"];

/// The tables of a study.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// One row for each run: `run`, `point`, `seed`, and a column for each sweep axis.
    pub runs: Table,
    /// One row for each run, subject and metric.
    pub summary: Table,
    /// One row for each run, subject, metric and bin.
    pub series: Table,
    /// The work of all runs together; not part of the tables.
    pub counts: Counts,
}

impl Results {
    /// Builds the tables of `runs`, which must be in the order of their run numbers.
    pub fn from_runs(source: Source, runs: impl IntoIterator<Item = (RunKey, RunRecord)>) -> Result<Results, Error> {
        let mut builder = ResultsBuilder::new(source);
        for (key, record) in runs {
            builder.push(key, &record)?;
        }
        builder.finish()
    }

    /// Returns the tables in the order in which they are stored.
    pub fn tables(&self) -> [&Table; 3] {
        [&self.runs, &self.summary, &self.series]
    }

    /// Returns the keys of the runs, as the runs table holds them.
    pub fn run_keys(&self) -> Result<Vec<RunKey>, Error> {
        let mut keys = Vec::new();
        for batch in &self.runs.batches {
            let missing = |column: &str, expected| Error::Column {
                table: self.runs.name.clone(),
                column: column.to_owned(),
                expected,
            };
            let array = |column: &str| batch.column_by_name(column).map(|a| a.as_ref());
            let run = array("run").and_then(|a| a.as_primitive_opt::<UInt32Type>());
            let run = run.ok_or_else(|| missing("run", "uint32"))?;
            let point = array("point").and_then(|a| a.as_primitive_opt::<UInt32Type>());
            let point = point.ok_or_else(|| missing("point", "uint32"))?;
            let seed = array("seed").and_then(|a| a.as_primitive_opt::<UInt64Type>());
            let seed = seed.ok_or_else(|| missing("seed", "uint64"))?;
            for i in 0..batch.num_rows() {
                let mut axes = Vec::new();
                for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()).skip(FIXED.len()) {
                    if column.is_null(i) {
                        continue;
                    }
                    let value = match (column.as_string_opt::<i32>(), column.as_primitive_opt::<Float64Type>()) {
                        (Some(texts), _) => AxisValue::Text(texts.value(i).to_owned()),
                        (_, Some(numbers)) => AxisValue::Number(numbers.value(i)),
                        _ => return Err(missing(field.name(), "text or float64")),
                    };
                    axes.push((field.name().clone(), value));
                }
                keys.push(RunKey { run: run.value(i), point: point.value(i), seed: seed.value(i), axes });
            }
        }
        Ok(keys)
    }
}

/// Takes runs one by one, in the order of their numbers, and keeps them as columns: about 36 bytes a row.
#[derive(Debug)]
pub struct ResultsBuilder {
    source: Source,
    runs: Vec<RunKey>,
    words: [Words; 4],
    summary: Rows,
    series: Rows,
    /// The figures of the last run, each by its source, subject and metric as keys of `words`.
    figures: BTreeSet<[i32; 3]>,
    counts: Counts,
}

impl ResultsBuilder {
    /// Creates a builder whose rows are from `source`.
    pub fn new(source: Source) -> ResultsBuilder {
        ResultsBuilder {
            source,
            runs: Vec::new(),
            words: Default::default(),
            summary: Rows::default(),
            series: Rows::default(),
            figures: BTreeSet::new(),
            counts: Counts::default(),
        }
    }

    /// Adds a run; its number must be above that of the last one, and each figure must have one value.
    pub fn push(&mut self, key: RunKey, record: &RunRecord) -> Result<(), Error> {
        self.start(key)?;
        self.rows(self.source, record)?;
        self.counts.add(record.counts);
        Ok(())
    }

    /// Adds rows to the last run under another `source`.
    ///
    /// # Panics
    /// Without a run.
    pub fn add(&mut self, source: Source, record: &RunRecord) -> Result<(), Error> {
        assert!(!self.runs.is_empty(), "rows belong to a run");
        self.rows(source, record)
    }

    fn rows(&mut self, source: Source, record: &RunRecord) -> Result<(), Error> {
        let run = self.runs.last().map_or(0, |k| k.run);
        let observed = |row| {
            let &Row { ref subject, metric, t, value } = row;
            debug_assert!(metric.seen_by(source), "{metric} has no value from {}", source.word());
            Observation { run, source: source.word(), subject, metric: metric.name(), unit: metric.unit(), t, value }
        };
        record.summary.iter().try_for_each(|row| self.figure(observed(row)))?;
        record.series.iter().for_each(|row| self.series.push(&mut self.words, observed(row)));
        Ok(())
    }

    /// Adds a row to the summary of the last run.
    fn figure(&mut self, row: Observation<'_>) -> Result<(), Error> {
        let [sources, subjects, metrics, _] = &mut self.words;
        if !self.figures.insert([sources.key(row.source), subjects.key(row.subject), metrics.key(row.metric)]) {
            let [origin, subject, metric] = [row.source, row.subject, row.metric].map(str::to_owned);
            return Err(Error::Twice { run: row.run, origin, subject, metric });
        }
        self.summary.push(&mut self.words, row);
        Ok(())
    }

    /// Adds all runs of `other` after the present ones; `relabel` returns the new key of each. This combines several
    /// studies into one set of tables. The rows keep their source.
    pub fn append(&mut self, other: &Results, relabel: impl Fn(RunKey) -> RunKey) -> Result<(), Error> {
        let mut numbers = BTreeMap::new();
        for key in other.run_keys()? {
            let old = key.run;
            let key = relabel(key);
            numbers.insert(old, key.run);
            self.start(key)?;
        }
        let moved = |row: Observation<'_>| *numbers.get(&row.run).unwrap_or(&row.run);
        let mut last = None;
        for row in other.summary.observations()? {
            let run = moved(row);
            // The rows of a run follow each other.
            if last.replace(run) != Some(run) {
                self.figures.clear();
            }
            self.figure(Observation { run, ..row })?;
        }
        for row in other.series.observations()? {
            self.series.push(&mut self.words, Observation { run: moved(row), ..row });
        }
        self.counts.add(other.counts);
        Ok(())
    }

    fn start(&mut self, key: RunKey) -> Result<(), Error> {
        if let Some(last) = self.runs.last().filter(|last| last.run >= key.run) {
            return Err(Error::RunOrder { run: key.run, last: last.run });
        }
        if let Some((axis, _)) = key.axes.iter().find(|(axis, _)| FIXED.contains(&axis.as_str())) {
            return Err(Error::AxisName { axis: axis.clone() });
        }
        self.runs.push(key);
        self.figures.clear();
        Ok(())
    }

    /// Returns the tables.
    pub fn finish(self) -> Result<Results, Error> {
        let ResultsBuilder { runs, words, summary, series, counts, .. } = self;
        let values = words.map(|w| Arc::new(w.list.iter().map(|w| Some(&**w)).collect::<StringArray>()) as ArrayRef);
        Ok(Results {
            runs: runs_table(&runs)?,
            summary: summary.finish("summary", &values)?,
            series: series.finish("series", &values)?,
            counts,
        })
    }
}

/// Builds the runs table: an axis is a column of numbers if it is a number everywhere, of strings otherwise; a run
/// without the axis has no value there.
fn runs_table(runs: &[RunKey]) -> Result<Table, Error> {
    let mut fields = vec![
        Field::new("run", DataType::UInt32, false),
        Field::new("point", DataType::UInt32, false),
        Field::new("seed", DataType::UInt64, false),
    ];
    let mut columns: Vec<ArrayRef> = vec![
        Arc::new(runs.iter().map(|k| Some(k.run)).collect::<UInt32Array>()),
        Arc::new(runs.iter().map(|k| Some(k.point)).collect::<UInt32Array>()),
        Arc::new(runs.iter().map(|k| Some(k.seed)).collect::<UInt64Array>()),
    ];
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in runs.iter().flat_map(|k| &k.axes) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    for name in names {
        let values = || runs.iter().map(|k| k.axes.iter().find(|(axis, _)| axis == name).map(|(_, value)| value));
        if values().flatten().any(|v| matches!(v, AxisValue::Text(_))) {
            let text = |v: &AxisValue| match v {
                AxisValue::Text(text) => text.clone(),
                AxisValue::Number(number) => number.to_string(),
            };
            fields.push(Field::new(name, DataType::Utf8, true));
            columns.push(Arc::new(values().map(|v| v.map(text)).collect::<StringArray>()));
        } else {
            let number = |v: &AxisValue| match v {
                AxisValue::Number(number) => Some(*number),
                AxisValue::Text(_) => None,
            };
            fields.push(Field::new(name, DataType::Float64, true));
            columns.push(Arc::new(values().map(|v| v.and_then(number)).collect::<Float64Array>()));
        }
    }
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(schema.clone(), columns).map_err(Error::arrow("runs"))?;
    Ok(Table { name: "runs".to_owned(), schema, batches: vec![batch] })
}

/// The distinct strings of one column, in the order of their first use: a dictionary that the summary and the series
/// share.
#[derive(Debug, Default)]
struct Words {
    list: Vec<Arc<str>>,
    index: BTreeMap<Arc<str>, i32>,
}

impl Words {
    fn key(&mut self, word: &str) -> i32 {
        if let Some(&key) = self.index.get(word) {
            return key;
        }
        let key = i32::try_from(self.list.len()).expect("more distinct words than memory holds");
        let word: Arc<str> = word.into();
        self.list.push(word.clone());
        self.index.insert(word, key);
        key
    }
}

/// Finished columns of one batch, the strings as keys of the dictionary.
#[derive(Debug)]
struct Chunk {
    run: UInt32Array,
    words: [Int32Array; 4],
    t: Float64Array,
    value: Float64Array,
}

/// The rows of a summary or a series: full chunks and the one that fills.
#[derive(Debug, Default)]
struct Rows {
    chunks: Vec<Chunk>,
    run: Vec<u32>,
    words: [Vec<i32>; 4],
    t: Vec<Option<f64>>,
    value: Vec<f64>,
}

impl Rows {
    fn push(&mut self, words: &mut [Words; 4], row: Observation<'_>) {
        self.run.push(row.run);
        let text = [row.source, row.subject, row.metric, row.unit];
        for ((column, words), word) in self.words.iter_mut().zip(words).zip(text) {
            column.push(words.key(word));
        }
        self.t.push(row.t);
        // One bit pattern for every not-a-number, so that equal tables are equal bytes.
        self.value.push(if row.value.is_nan() { f64::NAN } else { row.value });
        if self.run.len() == CHUNK_ROWS {
            self.close();
        }
    }

    fn close(&mut self) {
        self.chunks.push(Chunk {
            run: std::mem::take(&mut self.run).into(),
            words: std::mem::take(&mut self.words).map(Int32Array::from),
            t: std::mem::take(&mut self.t).into(),
            value: std::mem::take(&mut self.value).into(),
        });
    }

    fn finish(mut self, name: &str, values: &[ArrayRef; 4]) -> Result<Table, Error> {
        if !self.run.is_empty() {
            self.close();
        }
        let schema = Table::observation_schema();
        let mut batches = Vec::with_capacity(self.chunks.len());
        for chunk in self.chunks {
            let mut columns: Vec<ArrayRef> = vec![Arc::new(chunk.run)];
            for (keys, values) in chunk.words.into_iter().zip(values) {
                let column = DictionaryArray::<Int32Type>::try_new(keys, values.clone());
                columns.push(Arc::new(column.map_err(Error::arrow(name))?));
            }
            columns.push(Arc::new(chunk.t));
            columns.push(Arc::new(chunk.value));
            batches.push(RecordBatch::try_new(schema.clone(), columns).map_err(Error::arrow(name))?);
        }
        Ok(Table { name: name.to_owned(), schema, batches })
    }
}
