//! The file or device that is measured, written or judged.

use std::path::{Path, PathBuf};

use clap::builder::{PathBufValueParser, TypedValueParser};

/// A path that is no standard input: a file called `-` would be made and loaded, and what comes in would be read by nobody.
pub(super) fn target() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(named)
}

pub(super) fn named(path: PathBuf) -> Result<PathBuf, String> {
    if path == Path::new("-") {
        return Err("nothing is read from standard input here: `iostall copy - FILE` takes a stream, and ./- is a file \
                    of that name"
            .to_owned());
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use crate::cli::parsed;

    /// The story: `write -` and `load -` made a file called `-`, loaded it, and left what came in unread.
    #[test]
    fn standard_input_is_no_target_and_the_verb_that_takes_it_is_named() {
        let verbs = [
            "load",
            "load --target log=-",
            "sweep",
            "matrix",
            "fsync",
            "write",
            "drive limits",
            "drive guard",
            "drive qualify",
            "drive atomic",
            "drive powerfail write --witness h:1",
        ];
        for verb in verbs {
            let words = |last: &str| -> Vec<OsString> {
                format!("iostall {verb} {last}").split(' ').map(OsString::from).collect()
            };
            let refused = parsed(&words("-")).expect_err(verb).to_string();
            assert!(refused.contains("iostall copy - FILE"), "{verb}: {refused}");
            assert!(verb.ends_with("=-") || parsed(&words("./-")).is_ok(), "{verb}");
        }
    }
}
