//! The writes of a file, as pages of a device.

use std::path::{Path, PathBuf};

use iostall_measure::ByteCount;
use iostall_model::flash::FlashSettings;
use thiserror::Error;

use crate::error::{SessionError, UseCaseError};
use crate::names::{input_path, read_whole};

const FILE_BYTES_MAX: u64 = 256 << 20;
/// The most page writes: a quarter of a GiB of memory.
const PAGES_MAX: usize = 1 << 26;

#[derive(Debug, Error)]
enum WritesError {
    #[error("line {line} of {path} is no write: {why}", path = path.display())]
    Line { path: PathBuf, line: usize, why: &'static str },
    #[error("line {line} of {path} writes up to byte {end}, and the device has {device_bytes}", path = path.display())]
    Beyond { path: PathBuf, line: usize, end: u64, device_bytes: u64 },
    #[error("{path} has more than {PAGES_MAX} page writes, in line {line}", path = path.display())]
    TooMany { path: PathBuf, line: usize },
    #[error("{path} has no writes", path = path.display())]
    Empty { path: PathBuf },
}

/// Every page that the lines of the file at `path` write, in order: `offset,length`, in bytes or with K, M or G. Empty lines, lines
/// that begin with `#` and a first line with the names of the columns are left out.
pub(super) fn pages(path: &Path, settings: &FlashSettings) -> Result<Vec<u32>, SessionError> {
    let bytes = read_whole("file of writes", FILE_BYTES_MAX, input_path(path))?;
    parse(path, &String::from_utf8_lossy(&bytes), settings).map_err(|error| {
        let hint = match &error {
            WritesError::Line { .. } | WritesError::Empty { .. } => {
                "one write a line: OFFSET,LENGTH in bytes, such as 8192,4096 or 8K,4K"
            }
            WritesError::Beyond { .. } => "give the device's --size",
            WritesError::TooMany { .. } => {
                "a part of the writes is enough if it is like the rest; or give a larger --page"
            }
        };
        SessionError::OfUseCase(UseCaseError::new(error, Some(hint.to_owned())))
    })
}

fn parse(path: &Path, text: &str, settings: &FlashSettings) -> Result<Vec<u32>, WritesError> {
    let path_of = || path.to_path_buf();
    let (page_bytes, device_bytes) = (u64::from(settings.page_bytes.max(1)), settings.user_bytes());
    let mut pages = Vec::new();
    for (number, text) in text.lines().enumerate() {
        let (line, text) = (number + 1, text.trim());
        let is_heading = line == 1 && text.replace(' ', "").eq_ignore_ascii_case("offset,length");
        if text.is_empty() || text.starts_with('#') || is_heading {
            continue;
        }
        let wrong = |why| WritesError::Line { path: path_of(), line, why };
        let (offset, length) = text.split_once(',').ok_or_else(|| wrong("it has no comma"))?;
        let size = |text: &str| text.trim().parse::<ByteCount>().map(ByteCount::bytes);
        let offset = size(offset).map_err(|_| wrong("the offset is not a number of bytes"))?;
        let length = size(length).map_err(|_| wrong("the length is not a number of bytes"))?;
        if length == 0 {
            return Err(wrong("the length is 0"));
        }
        let end = offset.saturating_add(length);
        if end > device_bytes {
            return Err(WritesError::Beyond { path: path_of(), line, end, device_bytes });
        }
        let range = offset / page_bytes..end.div_ceil(page_bytes);
        if range.end - range.start > (PAGES_MAX - pages.len()) as u64 {
            return Err(WritesError::TooMany { path: path_of(), line });
        }
        // All are below the number of pages of the device.
        pages.extend(range.filter_map(|page| u32::try_from(page).ok()));
    }
    if pages.is_empty() { Err(WritesError::Empty { path: path_of() }) } else { Ok(pages) }
}

#[cfg(test)]
mod tests {
    use iostall_model::flash::{Collect, FlashCare, Separation, WritePattern};

    use super::*;

    fn found(text: &str) -> Result<Vec<u32>, String> {
        let settings = FlashSettings {
            page_bytes: 4096,
            pages_per_block: 64,
            user_pages: 1000,
            alpha: 1.07,
            collect: Collect::Greedy,
            separation: Separation::None,
            pattern: WritePattern::Uniform,
            trim_share: 0.0,
            care: FlashCare::default(),
            seed: 1,
        };
        parse(Path::new("w.csv"), text, &settings).map_err(|error| error.to_string())
    }

    #[test]
    fn every_page_that_a_line_touches_is_written() {
        let text = "offset,length\n0,4096\r\n# a comment\n\n 8K , 8K \n4095,2\n4095999,1\n";
        assert_eq!(found(text).unwrap(), [0, 2, 3, 0, 1, 999]);
    }

    #[test]
    fn what_is_no_write_is_named_with_its_line() {
        for (text, said) in [
            ("", "w.csv has no writes"),
            ("# nothing\n", "no writes"),
            ("0,4096\n17", "line 2 of w.csv is no write: it has no comma"),
            ("x,4096", "line 1 of w.csv is no write: the offset"),
            ("0,-1", "the length is not a number"),
            ("0,1,2", "the length is not a number"),
            ("0,0", "the length is 0"),
            ("4096000,1", "up to byte 4096001, and the device has 4096000"),
            ("18446744073709551615,18446744073709551615", "up to byte 18446744073709551615"),
            ("0,4096\noffset,length", "line 2"),
        ] {
            let error = found(text).unwrap_err();
            assert!(error.contains(said), "{text:?}: {error}");
        }
    }
}
