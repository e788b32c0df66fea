//! Locks of objects: what requests ask for, and what answers say.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use iostall_model::backup::{LockMode, ObjectLock, Protection};
use jiff::Timestamp;
use md5::{Digest as _, Md5};
use object_store::{HeaderMap, HeaderValue};

const MODE: &str = "x-amz-object-lock-mode";
const UNTIL: &str = "x-amz-object-lock-retain-until-date";
pub(crate) const CONTENT_MD5: &str = "content-md5";
const HOLD: &str = "x-amz-object-lock-legal-hold";

/// What the headers of an answer say of an object. Accounts without a right to see locks see none.
pub(crate) fn protection_of(headers: &HeaderMap) -> Protection {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let mode: Option<LockMode> = text(MODE).and_then(|text| text.parse().ok());
    let until: Option<Timestamp> = text(UNTIL).and_then(|text| text.parse().ok());
    let lock = until.map(|until_utc| ObjectLock { until_utc, mode: mode.unwrap_or_default() });
    Protection { lock, legal_hold: text(HOLD) == Some("ON") }
}

/// The headers that make an object locked from its beginning.
pub(crate) fn headers_of(lock: &ObjectLock) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(MODE, HeaderValue::from_static(lock.mode.of_store()));
    // A time has no characters that a header cannot have.
    if let Ok(until) = HeaderValue::from_str(&until_of(lock)) {
        headers.insert(UNTIL, until);
    }
    headers
}

/// When it ends, as a request says it. Not all stores take fractions of a second.
pub(crate) fn until_of(lock: &ObjectLock) -> String {
    format!("{:.0}", lock.until_utc)
}

/// The checksum that all stores demand where locks are concerned.
pub(crate) fn md5_of(bytes: &[u8]) -> HeaderValue {
    let text = BASE64_STANDARD.encode(Md5::digest(bytes));
    // Base 64 has no characters that a header cannot have.
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_what_an_answer_says() {
        let lock =
            ObjectLock { until_utc: "2026-12-23T04:05:06Z".parse().unwrap(), mode: LockMode::Compliance };
        let headers = headers_of(&lock);
        assert_eq!(headers.get(UNTIL).unwrap(), "2026-12-23T04:05:06Z");
        assert_eq!(protection_of(&headers), Protection { lock: Some(lock), legal_hold: false });
        let mut held = HeaderMap::new();
        held.insert(HOLD, HeaderValue::from_static("ON"));
        assert_eq!(protection_of(&held), Protection { lock: None, legal_hold: true });
        // As Amazon writes it.
        held.insert(UNTIL, HeaderValue::from_static("2026-12-23T04:05:06.000Z"));
        assert_eq!(protection_of(&held).lock.unwrap().until_utc, lock.until_utc);
    }
}
