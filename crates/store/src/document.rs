//! The stored form of a run: JSON in one zstd frame.
//!
//! JSON, because it is what users export and it outlives our types. Compressed, because most of it is
//! histogram buckets in decimal; `docs/design.md` has the sizes.

use std::io::Read as _;

use iostall_measure::ByteCount;
use iostall_model::Run;
use iostall_model::run::{SCHEMA, SCHEMA_VERSION};
use serde::Deserialize;
use thiserror::Error;

pub(crate) const ENCODING: &str = "json+zstd";

/// zstd's default: higher levels take several times longer for a few percent of these documents.
const LEVEL: i32 = 3;

const DOCUMENT_BYTES_MAX: u64 = 1 << 30;

#[derive(Debug, Error)]
pub enum DocumentError {
    #[error("it cannot be written as JSON: {0}")]
    Write(serde_json::Error),
    #[error("its document does not read as a run: {0}")]
    Read(serde_json::Error),
    #[error("its document does not decompress: {0}")]
    Compression(std::io::Error),
    #[error("its document has more than {} decompressed, which no run has", ByteCount(DOCUMENT_BYTES_MAX))]
    TooLong,
    #[error("its document is not UTF-8 text")]
    NotText,
    #[error("its document is stored as {0:?}, which this iostall does not know")]
    Encoding(String),
    #[error(
        "its document is {schema:?} version {version}; this iostall reads {SCHEMA:?} up to version {SCHEMA_VERSION}"
    )]
    Schema { schema: String, version: u32 },
}

pub(crate) fn encode(run: &Run) -> Result<Vec<u8>, DocumentError> {
    let json = serde_json::to_vec(run).map_err(DocumentError::Write)?;
    let mut compressor = zstd::bulk::Compressor::new(LEVEL).map_err(DocumentError::Compression)?;
    compressor.include_checksum(true).map_err(DocumentError::Compression)?;
    compressor.compress(&json).map_err(DocumentError::Compression)
}

/// Decodes stored bytes to JSON text without parsing it.
pub(crate) fn text(encoding: &str, bytes: &[u8]) -> Result<String, DocumentError> {
    if encoding != ENCODING {
        return Err(DocumentError::Encoding(encoding.to_owned()));
    }
    String::from_utf8(decompress(bytes, DOCUMENT_BYTES_MAX)?).map_err(|_| DocumentError::NotText)
}

/// A few bytes may decompress to an endless document.
fn decompress(bytes: &[u8], bytes_max: u64) -> Result<Vec<u8>, DocumentError> {
    let mut json = Vec::new();
    let decoder = zstd::stream::Decoder::new(bytes).map_err(DocumentError::Compression)?;
    decoder.take(bytes_max + 1).read_to_end(&mut json).map_err(DocumentError::Compression)?;
    if json.len() as u64 > bytes_max { Err(DocumentError::TooLong) } else { Ok(json) }
}

#[derive(Deserialize)]
struct Head {
    schema: String,
    schema_version: u32,
}

pub(crate) fn read(text: &str) -> Result<Run, DocumentError> {
    let head: Head = serde_json::from_str(text).map_err(DocumentError::Read)?;
    if head.schema != SCHEMA || head.schema_version > SCHEMA_VERSION {
        return Err(DocumentError::Schema { schema: head.schema, version: head.schema_version });
    }
    serde_json::from_str(text).map_err(DocumentError::Read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{sample_run, thirty_second_run};

    #[test]
    fn a_run_reads_back_as_it_was() {
        let run = sample_run(7);
        assert_eq!(read(&text(ENCODING, &encode(&run).unwrap()).unwrap()).unwrap(), run);
    }

    #[test]
    fn compression_earns_its_keep_on_a_run_of_ordinary_size() {
        let run = thirty_second_run();
        let plain = serde_json::to_vec(&run).unwrap().len();
        let stored = encode(&run).unwrap().len();
        assert!(stored * 3 < plain, "{plain} bytes of JSON became {stored}");
    }

    #[test]
    fn a_document_of_a_newer_iostall_is_told_from_a_broken_one() {
        let mut run = sample_run(1);
        run.schema_version = SCHEMA_VERSION + 1;
        let text = serde_json::to_string(&run).unwrap();
        assert!(matches!(read(&text), Err(DocumentError::Schema { .. })));
        assert!(matches!(read("{}"), Err(DocumentError::Read(_))));
        assert!(matches!(text_of_damaged(), Err(DocumentError::Compression(_))));
    }

    /// A crafted store: showing runs used all memory because of a hundred kilobytes in it.
    #[test]
    fn a_document_that_decompresses_without_end_is_refused() {
        let bomb = zstd::stream::encode_all(std::io::repeat(b' ').take(1_000_001), 1).unwrap();
        assert!(bomb.len() < 1_000, "{}", bomb.len());
        assert!(matches!(decompress(&bomb, 1_000_000), Err(DocumentError::TooLong)));
        assert_eq!(decompress(&bomb, 1_000_001).unwrap().len(), 1_000_001);
    }

    fn text_of_damaged() -> Result<String, DocumentError> {
        let mut bytes = encode(&sample_run(1)).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x40;
        text(ENCODING, &bytes)
    }
}
