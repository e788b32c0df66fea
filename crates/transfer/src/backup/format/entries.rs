//! Entries: a line of JSON for each file whose data is complete, so that a lost manifest can be rebuilt.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::FormatError;

const PART: &str = "the entries";

pub fn put_entry_line<T: Serialize>(entry: &T, plain: &mut Vec<u8>) -> Result<(), FormatError> {
    serde_json::to_writer(&mut *plain, entry).map_err(text)?;
    plain.push(b'\n');
    Ok(())
}

pub fn entry_lines<T: DeserializeOwned>(plain: &[u8]) -> impl Iterator<Item = Result<T, FormatError>> {
    let lines = plain.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).map_err(text))
}

fn text(error: impl std::fmt::Display) -> FormatError {
    FormatError::Text { part: PART, cause: error.to_string() }
}
