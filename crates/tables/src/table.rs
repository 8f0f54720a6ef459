//! One tidy table: Arrow batches in memory, Parquet outside.

use std::io::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int32Type, UInt32Type};
use arrow_array::{Array, Float64Array, PrimitiveArray, RecordBatch, RecordBatchIterator, StringArray, UInt32Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::ChunkReader;

use crate::Error;

/// Rows of a Parquet row group: enough to compress well, few enough to keep the writer's buffers small.
const ROW_GROUP_ROWS: usize = 1 << 17;

/// A named table: a schema and the batches that follow one another.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// `runs`, `summary` or `series`; the file is this name with `.parquet`.
    pub name: String,
    /// The columns.
    pub schema: SchemaRef,
    /// The rows, in order.
    pub batches: Vec<RecordBatch>,
}

/// A row of the summary or the series as it is read back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation<'a> {
    /// The number of the run.
    pub run: u32,
    /// The source of the value: `simulate`.
    pub source: &'a str,
    /// The subject; see [`cellway_record::Row::subject`].
    pub subject: &'a str,
    /// The name of the quantity.
    pub metric: &'a str,
    /// Its unit.
    pub unit: &'a str,
    /// The end of the bin in seconds; `None` in a summary.
    pub t: Option<f64>,
    /// The value, in `unit`.
    pub value: f64,
}

impl Table {
    /// Returns the columns of a summary or a series.
    pub(crate) fn observation_schema() -> SchemaRef {
        let text = || DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        Arc::new(Schema::new(vec![
            Field::new("run", DataType::UInt32, false),
            Field::new("source", text(), false),
            Field::new("subject", text(), false),
            Field::new("metric", text(), false),
            Field::new("unit", text(), false),
            Field::new("t", DataType::Float64, true),
            Field::new("value", DataType::Float64, false),
        ]))
    }

    /// Returns the number of rows.
    pub fn num_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// Returns the name of the file of the table.
    pub fn file_name(&self) -> String {
        format!("{}.parquet", self.name)
    }

    /// Returns the table as a stream of the Arrow C stream interface, which shares the columns.
    pub fn arrow_stream(&self) -> FFI_ArrowArrayStream {
        let batches = self.batches.clone().into_iter().map(Ok);
        FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new(batches, self.schema.clone())))
    }

    /// Returns the rows of a summary or a series, in order; an error if this is another kind of table.
    pub fn observations(&self) -> Result<impl Iterator<Item = Observation<'_>>, Error> {
        let columns = self.batches.iter().map(|b| Columns::of(&self.name, b)).collect::<Result<Vec<_>, Error>>()?;
        Ok(columns.into_iter().flat_map(|c| (0..c.run.len()).map(move |i| c.row(i))))
    }

    /// Writes the table as Parquet (zstd). The same rows give the same bytes: the file has no time, host or path.
    pub fn write_parquet<W: Write + Send>(&self, to: W) -> Result<W, Error> {
        let failed = Error::parquet(&self.name);
        let properties = WriterProperties::builder()
            .set_created_by(concat!("cellway ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(3).map_err(&failed)?))
            .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
            .build();
        let mut writer = ArrowWriter::try_new(to, self.schema.clone(), Some(properties)).map_err(&failed)?;
        for batch in &self.batches {
            writer.write(batch).map_err(&failed)?;
        }
        writer.into_inner().map_err(&failed)
    }

    /// Reads a table back from Parquet, out of a file or [`bytes`](parquet::file::reader::ChunkReader) in memory.
    pub fn read_parquet<R: ChunkReader + 'static>(name: &str, from: R) -> Result<Table, Error> {
        let reader = ParquetRecordBatchReaderBuilder::try_new(from).map_err(Error::parquet(name))?;
        let schema = reader.schema().clone();
        let reader = reader.with_batch_size(1 << 16).build().map_err(Error::parquet(name))?;
        let batches = reader.collect::<Result<Vec<_>, _>>().map_err(Error::arrow(name))?;
        Ok(Table { name: name.to_owned(), schema, batches })
    }
}

/// A dictionary-encoded column taken apart.
struct Words<'a> {
    keys: &'a PrimitiveArray<Int32Type>,
    values: &'a StringArray,
}

impl<'a> Words<'a> {
    fn get(&self, i: usize) -> &'a str {
        self.values.value(self.keys.value(i) as usize)
    }
}

/// The columns of one batch of observations.
struct Columns<'a> {
    run: &'a UInt32Array,
    words: [Words<'a>; 4],
    t: &'a Float64Array,
    value: &'a Float64Array,
}

impl<'a> Columns<'a> {
    fn of(table: &str, batch: &'a RecordBatch) -> Result<Columns<'a>, Error> {
        let missing =
            |column: &str, expected| Error::Column { table: table.to_owned(), column: column.into(), expected };
        let array = |column: &str| batch.column_by_name(column).map(|a| a.as_ref());
        let word = |column: &str| {
            let dictionary = array(column).and_then(|a| a.as_dictionary_opt::<Int32Type>());
            let words = dictionary
                .and_then(|d| d.values().as_string_opt::<i32>().map(|values| Words { keys: d.keys(), values }))
                .filter(|w| w.keys.null_count() == 0);
            words.ok_or_else(|| missing(column, "dictionary of text"))
        };
        let number = |column: &str| {
            array(column).and_then(|a| a.as_primitive_opt::<Float64Type>()).ok_or_else(|| missing(column, "float64"))
        };
        Ok(Columns {
            run: array("run")
                .and_then(|a| a.as_primitive_opt::<UInt32Type>())
                .ok_or_else(|| missing("run", "uint32"))?,
            words: [word("source")?, word("subject")?, word("metric")?, word("unit")?],
            t: number("t")?,
            value: number("value")?,
        })
    }

    fn row(&self, i: usize) -> Observation<'a> {
        let [source, subject, metric, unit] = [0, 1, 2, 3].map(|w: usize| self.words[w].get(i));
        let t = self.t.is_valid(i).then(|| self.t.value(i));
        Observation { run: self.run.value(i), source, subject, metric, unit, t, value: self.value.value(i) }
    }
}
