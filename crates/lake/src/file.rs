//! Writes one Parquet file under a temporary name until it is complete and durable. Never replaces an
//! existing file.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use tempfile::{Builder, NamedTempFile};

use crate::error::ExportError;

#[derive(Debug)]
pub(crate) enum Column {
    Text(Vec<ByteArray>),
    SomeText(Vec<Option<ByteArray>>),
    Number(Vec<i64>),
    SomeNumber(Vec<Option<u64>>),
}

pub(crate) struct ParquetFile {
    path: PathBuf,
    unnamed: NamedTempFile,
    writer: SerializedFileWriter<File>,
}

impl ParquetFile {
    /// Starts the file `name` in `directory`, with columns as in `schema` (in Parquet's notation).
    pub(crate) fn create(directory: &Path, name: &str, schema: &str) -> Result<Self, ExportError> {
        let path = directory.join(name);
        if path.symlink_metadata().is_ok() {
            return Err(ExportError::Exists { path });
        }
        let make = || {
            let unnamed = Builder::new().prefix(".iostall-lake-").tempfile_in(directory)?;
            let file = unnamed.as_file().try_clone()?;
            Ok((unnamed, file))
        };
        let (unnamed, file) = make().map_err(|source| ExportError::Create { path: path.clone(), source })?;
        let begin = || {
            let schema = Arc::new(parse_message_type(schema)?);
            let level = ZstdLevel::try_new(3)?;
            let properties = WriterProperties::builder().set_compression(Compression::ZSTD(level)).build();
            SerializedFileWriter::new(file, schema, Arc::new(properties))
        };
        let writer = begin().map_err(|source| ExportError::Write { path: path.clone(), source })?;
        Ok(Self { path, unnamed, writer })
    }

    pub(crate) fn write(&mut self, columns: &[Column]) -> Result<(), ExportError> {
        let mut all = || {
            let mut group = self.writer.next_row_group()?;
            for column in columns {
                let Some(mut writer) = group.next_column()? else {
                    return Err(ParquetError::General("more columns than the schema has".into()));
                };
                match column {
                    Column::Text(values) => {
                        writer.typed::<ByteArrayType>().write_batch(values, None, None)?;
                    }
                    Column::SomeText(values) => {
                        let (there, levels) = present(values);
                        writer.typed::<ByteArrayType>().write_batch(&there, Some(&levels), None)?;
                    }
                    Column::Number(values) => {
                        writer.typed::<Int64Type>().write_batch(values, None, None)?;
                    }
                    Column::SomeNumber(values) => {
                        let (there, levels) = present(values);
                        let there: Vec<i64> = there.into_iter().map(u64::cast_signed).collect();
                        writer.typed::<Int64Type>().write_batch(&there, Some(&levels), None)?;
                    }
                }
                writer.close()?;
            }
            group.close().map(drop)
        };
        all().map_err(|source| ExportError::Write { path: self.path.clone(), source })
    }

    pub(crate) fn finish(self) -> Result<PathBuf, ExportError> {
        let Self { path, unnamed, writer } = self;
        writer.close().map_err(|source| ExportError::Write { path: path.clone(), source })?;
        let create = |source| ExportError::Create { path: path.clone(), source };
        unnamed.as_file().sync_all().map_err(create)?;
        match unnamed.persist_noclobber(&path) {
            Ok(_) => Ok(path),
            Err(failed) if failed.error.kind() == std::io::ErrorKind::AlreadyExists => {
                Err(ExportError::Exists { path })
            }
            Err(failed) => Err(create(failed.error)),
        }
    }
}

/// The values that are present, and for every row whether it has one.
fn present<T: Clone>(values: &[Option<T>]) -> (Vec<T>, Vec<i16>) {
    let there = values.iter().flatten().cloned().collect();
    (there, values.iter().map(|value| i16::from(value.is_some())).collect())
}
