//! The formats of a result, and how to distinguish an earlier result of the same format from an unrelated
//! file.

use iostall_transfer::manifest::begins_manifest;

/// What every Markdown report of ours begins with: a former one is known by it.
pub const MARKDOWN_HEADING: &str = "# iostall ";

pub const LOG_HEADING: &str = "iostall log of a copy:";

/// What every JUnit document of ours begins with. It has no XML declaration, so that it cannot be taken for a picture.
pub const JUNIT_ROOT: &str = "<testsuites name=\"iostall ";

/// Bytes read to recognise a file: a name in a manifest may be 4 KiB long.
pub(super) const HEAD_BYTES: u64 = 16 << 10;

/// Columns of which every table of ours has one.
const CSV_COLUMNS: [&str; 5] = ["start_s", "elapsed_s", "in_flight", "stall_is", "p_value_corrected"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A document of a run, a comparison or a window.
    Json,
    Csv,
    Html,
    Markdown,
    Junit,
    /// The log of a copy, which is appended to.
    Log,
    /// Checksums of copied files; with `may_replace` it replaces any file except a database or disk image.
    Manifest {
        /// `--overwrite` was given.
        may_replace: bool,
    },
}

impl Form {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON document",
            Self::Csv => "CSV table written by iostall",
            Self::Html => "HTML page",
            Self::Markdown => "Markdown report written by iostall",
            Self::Junit => "JUnit document written by iostall",
            Self::Log => "log of a copy",
            Self::Manifest { .. } => "manifest",
        }
    }

    /// Whether a new result of this format may replace a file that begins with `head`: an empty file, or an
    /// earlier result.
    pub(super) fn may_replace(self, head: &[u8]) -> bool {
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        let text = head.trim_ascii_start();
        let begins = |words: &str| {
            text.get(..words.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(words.as_bytes()))
        };
        if head.is_empty() {
            return true;
        }
        match self {
            Self::Json => begins("{"),
            Self::Csv => is_table(head),
            Self::Html => begins("<!doctype html") || begins("<html"),
            Self::Markdown => begins(MARKDOWN_HEADING),
            Self::Junit => begins(JUNIT_ROOT),
            Self::Log => begins(LOG_HEADING),
            Self::Manifest { may_replace } => may_replace || begins_manifest(head),
        }
    }
}

/// Whether the first line is the heading of a table of ours.
fn is_table(head: &[u8]) -> bool {
    let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let Ok(line) = std::str::from_utf8(first) else { return false };
    line.trim_end().split(',').any(|column| CSV_COLUMNS.contains(&column))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The typo `--json a.mdf` replaced a database by a JSON document.
    #[test]
    fn only_a_former_result_of_the_same_form_makes_room() {
        let manifest = Form::Manifest { may_replace: false };
        let json: &[u8] = b"{\n  \"schema\": \"iostall-run\"";
        let csv: &[u8] = b"span,start_s,length_s,role\r\n1,0,1,data\r\n";
        let html: &[u8] = b"<!DOCTYPE html><html>";
        let markdown: &[u8] = b"# iostall load: oltp\n";
        let junit: &[u8] = b"<testsuites name=\"iostall load\"";
        let sums: &[u8] = b"d41d8cd98f00b204e9800998ecf8427e  a\n";
        let all = [
            (Form::Json, json),
            (Form::Csv, csv),
            (Form::Html, html),
            (Form::Markdown, markdown),
            (Form::Junit, junit),
            (Form::Log, LOG_HEADING.as_bytes()),
            (manifest, sums),
        ];
        for (form, _) in all {
            for (other, head) in all {
                assert_eq!(form.may_replace(head), form == other, "{form:?} over {other:?}");
            }
            for head in
                [&b"precious"[..], &[0; 4096], b"\x01\x0f\0\0", b"id,name\n1,x\n", b"# Notes\n", b"\xff\xfe"]
            {
                assert!(!form.may_replace(head), "{form:?} over {head:?}");
            }
            assert!(form.may_replace(b""), "an empty file has nothing to lose");
        }
        assert!(Form::Manifest { may_replace: true }.may_replace(b"precious"));
    }
}
