//! Locations of errors in the file.

use std::time::Duration;

use iostall_measure::Nanos;

/// A place in the file, and the error there.
pub(super) type Wrong = (String, String);

/// A positive duration.
pub(super) fn length(key: &str, written: Option<Nanos>, default: Duration) -> Result<Duration, Wrong> {
    match written.map(Nanos::nanos) {
        None => Ok(default),
        Some(0) => Err((key.to_owned(), "must be longer than nothing".into())),
        Some(nanos) => Ok(Duration::from_nanos(nanos)),
    }
}
