//! A file of a table: written once, and read back before anybody relies on it.

use std::fs::File;
use std::io::Read as _;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use tempfile::NamedTempFile;
use xxhash_rust::xxh3::xxh3_128;

use crate::error::MoveError;
use crate::place::{self, Place};
use crate::rows::{Cell, ColumnSum, Rows, Values};
use crate::table::{Course, Field};

const ROWS_AT_ONCE: usize = 1 << 17;
/// Large enough that a row group has one page for most columns: a compressor finds again what it has seen.
const PAGE_BYTES: usize = 8 << 20;
/// Smaller by a tenth than with 3, and a day is written once.
const LEVEL: i32 = 9;
const READ_AT_ONCE: usize = 8192;

pub(crate) struct DataFile {
    address: String,
    spool: NamedTempFile,
    writer: SerializedFileWriter<File>,
    rows: Rows,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DataFileWritten {
    pub(crate) address: String,
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
    pub(crate) bucket: i32,
    hash: u128,
}

impl DataFileWritten {
    /// Whether it is still there, and as it was written.
    pub(crate) fn check(&self) -> Result<(), MoveError> {
        check_bytes(&self.address, self.hash)
    }
}

/// Whether the bytes at `address` are those with this hash.
pub(crate) fn check_bytes(address: &str, hash: u128) -> Result<(), MoveError> {
    if xxh3_128(&place::read(address)?) == hash {
        return Ok(());
    }
    let what = "its bytes are not those that were written".to_owned();
    Err(MoveError::Differs { address: address.to_owned(), what })
}

impl DataFile {
    /// A file for `address` with `fields`, each with its number in the table.
    pub(crate) fn create(
        place: &Place,
        address: String,
        table: &str,
        fields: &[(i32, Field)],
    ) -> Result<Self, MoveError> {
        let spool = place.spool()?;
        let file = spool.reopen().map_err(|source| MoveError::Place { place: address.clone(), source })?;
        let begin = || {
            let columns: String = fields.iter().map(|(id, field)| field.parquet(*id)).collect();
            let schema = Arc::new(parse_message_type(&format!("message {table} {{\n{columns}}}"))?);
            SerializedFileWriter::new(file, schema, Arc::new(properties(fields)?))
        };
        let writer = begin().map_err(|source| MoveError::Parquet { address: address.clone(), source })?;
        let fields: Vec<Field> = fields.iter().map(|(_, field)| field.clone()).collect();
        Ok(Self { address, spool, writer, rows: Rows::new(&fields) })
    }

    pub(crate) fn push(&mut self, cells: impl Iterator<Item = Cell>) -> Result<(), MoveError> {
        self.rows.push(cells);
        if self.rows.count >= ROWS_AT_ONCE { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), MoveError> {
        let mut all = || {
            let mut group = self.writer.next_row_group()?;
            for column in &self.rows.columns {
                let Some(mut writer) = group.next_column()? else {
                    return Err(ParquetError::General("more columns than the schema has".into()));
                };
                let levels = Some(column.levels.as_slice());
                match &column.values {
                    Values::Text(values) => {
                        writer.typed::<ByteArrayType>().write_batch(values, levels, None)?;
                    }
                    Values::Long(values) => {
                        writer.typed::<Int64Type>().write_batch(values, levels, None)?;
                    }
                    Values::Double(values) => {
                        writer.typed::<DoubleType>().write_batch(values, levels, None)?;
                    }
                }
                writer.close()?;
            }
            group.close().map(drop)
        };
        all().map_err(|source| MoveError::Parquet { address: self.address.clone(), source })?;
        self.rows.clear();
        Ok(())
    }

    /// Completes the file, puts it where it belongs, and reads it back: its bytes must be those that were written, and what its columns
    /// add up to what was put in.
    pub(crate) fn finish(mut self, place: &Place, bucket: i32) -> Result<DataFileWritten, MoveError> {
        if self.rows.count > 0 {
            self.flush()?;
        }
        let Self { address, spool, writer, rows } = self;
        let parquet = |source| MoveError::Parquet { address: address.clone(), source };
        writer.close().map_err(parquet)?;
        let mut written = Vec::new();
        spool
            .reopen()
            .and_then(|mut file| file.read_to_end(&mut written))
            .map_err(|source| MoveError::Place { place: address.clone(), source })?;
        let hash = xxh3_128(&written);
        drop(written);
        place.keep(spool, &address)?;
        let back = place::read(&address)?;
        let bytes = back.len() as u64;
        if xxh3_128(&back) != hash {
            return Err(MoveError::Differs {
                address,
                what: "its bytes are not those that were written".into(),
            });
        }
        let (count, sums) = sums_of(Bytes::from(back)).map_err(parquet)?;
        if count != rows.total || sums != rows.sums {
            let what = format!("it has {count} rows of {} or other sums of columns", rows.total);
            return Err(MoveError::Differs { address, what });
        }
        Ok(DataFileWritten { address, rows: count, bytes, bucket, hash })
    }
}

fn properties(fields: &[(i32, Field)]) -> Result<WriterProperties, ParquetError> {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(LEVEL)?))
        .set_data_page_size_limit(PAGE_BYTES)
        .set_data_page_row_count_limit(ROWS_AT_ONCE)
        .set_max_row_group_row_count(Some(ROWS_AT_ONCE));
    for (_, field) in fields {
        let path = ColumnPath::from(field.name.as_str());
        let encoding = match field.course {
            Course::Few => continue,
            Course::Again | Course::Any => Encoding::PLAIN,
            Course::Growing => Encoding::DELTA_BINARY_PACKED,
        };
        properties =
            properties.set_column_dictionary_enabled(path.clone(), false).set_column_encoding(path, encoding);
    }
    Ok(properties.build())
}

/// The number of rows of a file, and what its columns add up to.
fn sums_of(bytes: Bytes) -> Result<(u64, Vec<ColumnSum>), ParquetError> {
    let reader = SerializedFileReader::new(bytes)?;
    let mut sums = vec![ColumnSum::default(); reader.metadata().file_metadata().schema_descr().num_columns()];
    let mut rows = 0;
    for place in 0..reader.num_row_groups() {
        let group = reader.get_row_group(place)?;
        rows += group.metadata().num_rows().cast_unsigned();
        for (column, sum) in sums.iter_mut().enumerate() {
            match group.get_column_reader(column)? {
                ColumnReader::ByteArrayColumnReader(column) => add(column, sum, Values::Text)?,
                ColumnReader::Int64ColumnReader(column) => add::<Int64Type>(column, sum, Values::Long)?,
                ColumnReader::DoubleColumnReader(column) => add::<DoubleType>(column, sum, Values::Double)?,
                _ => return Err(ParquetError::General("a column of another type".into())),
            }
        }
    }
    Ok((rows, sums))
}

fn add<T: DataType>(
    mut column: ColumnReaderImpl<T>,
    sum: &mut ColumnSum,
    kind: impl Fn(Vec<T::T>) -> Values,
) -> Result<(), ParquetError> {
    loop {
        let (mut values, mut levels) = (Vec::new(), Vec::new());
        let (records, ..) = column.read_records(READ_AT_ONCE, Some(&mut levels), None, &mut values)?;
        if records == 0 {
            return Ok(());
        }
        sum.add_all(&kind(values));
    }
}
