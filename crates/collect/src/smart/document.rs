//! Which program wrote a document.

use iostall_measure::foreign::shown;
use iostall_model::drive::DriveReading;
use serde_json::Value;

use super::error::SmartError;
use super::field::Field;
use super::{nvme, smartctl};

/// Reads a document; `name` is its file or device, for messages. What has neither a serial number nor a time of its own gets
/// none here.
pub fn parse(name: &str, text: &[u8]) -> Result<DriveReading, SmartError> {
    let value: Value = serde_json::from_slice(text)
        .map_err(|error| SmartError::NoJson { name: name.to_owned(), reason: shown(&error.to_string()) })?;
    let field = Field { document: name, value: &value };
    if field.part("smartctl").is_some() {
        return smartctl::reading(field);
    }
    nvme::log(field)?.ok_or_else(|| SmartError::Unknown { name: name.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        parse("x.json", text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn what_is_no_such_document_is_said_to_be_none() {
        assert!(said("").starts_with("x.json is no JSON: EOF"), "{}", said(""));
        assert!(said("smartctl 7.3").contains("is no JSON"));
        for other in ["{}", "[]", "null", "7", "[{\"smartctl\": {}}]"] {
            assert_eq!(said(other), "x.json is JSON, but of neither smartctl nor nvme");
        }
        assert!(said("{\"smartctl\": 7}").contains("could not read the drive"));
        assert!(said("\u{1b}]0;x").chars().all(|c| !c.is_control()));
    }

    /// A deep document overflows the stack of a parser that follows it.
    #[test]
    fn a_document_of_any_depth_and_any_cut_is_an_error_and_no_crash() {
        assert!(said(&"[".repeat(1_000_000)).contains("recursion limit"));
        let whole = include_bytes!("../../testdata/smart/intel_sata.json");
        for end in (0..whole.len()).step_by(37) {
            assert!(parse("cut", &whole[..end]).is_err(), "{end}");
        }
    }
}
