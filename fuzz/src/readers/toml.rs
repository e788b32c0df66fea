//! TOML files written by users.

use std::path::Path;

use iostall_load::parse_profile;
use iostall_notify::AlertFile;

/// A profile: whatever is accepted can be written, and is the same when read again.
pub(crate) fn profile(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    match parse_profile(text, "input") {
        Ok(profile) => {
            let written =
                ::toml::to_string(&profile).unwrap_or_else(|error| panic!("cannot be written: {error}"));
            match parse_profile(&written, "written") {
                Ok(again) => assert_eq!(again, profile, "changed when it was written:\n{written}"),
                Err(error) => panic!("its own text is refused: {error}\n{written}"),
            }
        }
        Err(error) => assert!(!error.to_string().is_empty(), "refused without a word"),
    }
}

/// A file of alerts: an error names the file.
pub(crate) fn alerts(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    if let Err(error) = AlertFile::parse(text, Path::new("input.toml")) {
        assert!(error.to_string().contains("input.toml"), "{error}");
    }
}
