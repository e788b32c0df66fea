//! Locks of objects: what requests ask for, and what answers say.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use iostall_model::backup::{LockMode, ObjectLock, Protection};
use jiff::Timestamp;
use jiff::fmt::rfc2822::{DateTimeParser, DateTimePrinter};
use md5::{Digest as _, Md5};
use object_store::{HeaderMap, HeaderValue};
use ureq::http::HeaderName;

const MODE: &str = "x-amz-object-lock-mode";
const UNTIL: &str = "x-amz-object-lock-retain-until-date";
pub(crate) const CONTENT_MD5: &str = "content-md5";
const HOLD: &str = "x-amz-object-lock-legal-hold";
/// Azure's: its policies end at a second, and its modes have other names.
const AZURE_MODE: &str = "x-ms-immutability-policy-mode";
const AZURE_UNTIL: &str = "x-ms-immutability-policy-until-date";
const AZURE_HOLD: &str = "x-ms-legal-hold";
/// Of a container: whether its blobs can be locked one by one.
const AZURE_LOCKS: &str = "x-ms-immutable-storage-with-versioning-enabled";

/// Google's, which writes both as S3 does.
const GCS_MODE: &str = "x-goog-object-lock-mode";
const GCS_UNTIL: &str = "x-goog-object-lock-retain-until-date";

/// What the headers of an answer say of an object. Accounts without a right to see locks see none.
pub(crate) fn protection_of(headers: &HeaderMap) -> Protection {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let mode: Option<LockMode> = text(MODE).or(text(GCS_MODE)).and_then(|text| text.parse().ok());
    let until: Option<Timestamp> = text(UNTIL).or(text(GCS_UNTIL)).and_then(|text| text.parse().ok());
    let lock = until.map(|until_utc| ObjectLock { until_utc, mode: mode.unwrap_or_default() });
    if let Some(until) = text(AZURE_UNTIL) {
        let mode = text(AZURE_MODE).unwrap_or_default();
        let is_final = mode.eq_ignore_ascii_case(of_azure(LockMode::Compliance));
        let mode = if is_final { LockMode::Compliance } else { LockMode::Governance };
        let until_utc = DateTimeParser::new().parse_timestamp(until).ok();
        let lock = until_utc.map(|until_utc| ObjectLock { until_utc, mode });
        return Protection { lock, legal_hold: text(AZURE_HOLD) == Some("true") };
    }
    Protection { lock, legal_hold: text(HOLD) == Some("ON") || text(AZURE_HOLD) == Some("true") }
}

/// Whether what Azure says of a container has it that blobs can be locked one by one.
pub(crate) fn azure_locks(headers: &HeaderMap) -> bool {
    headers.get(AZURE_LOCKS).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"true"))
}

/// The headers that make a blob locked from its beginning, or that lock one.
pub(crate) fn azure_headers_of(lock: &ObjectLock) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(AZURE_MODE, HeaderValue::from_static(of_azure(lock.mode)));
    let until = DateTimePrinter::new().timestamp_to_rfc9110_string(&lock.until_utc).ok();
    // A time has no characters that a header cannot have.
    headers.extend(
        until
            .and_then(|text| HeaderValue::from_str(&text).ok())
            .map(|until| (HeaderName::from_static(AZURE_UNTIL), until)),
    );
    headers
}

/// As Azure writes it. The first can be ended by an account with a right of its own for it.
fn of_azure(mode: LockMode) -> &'static str {
    match mode {
        LockMode::Governance => "Unlocked",
        LockMode::Compliance => "Locked",
    }
}

pub(crate) fn headers_of(lock: &ObjectLock) -> HeaderMap {
    headers_named(MODE, UNTIL, lock)
}

/// The same in Google's store.
pub(crate) fn gcs_headers_of(lock: &ObjectLock) -> HeaderMap {
    headers_named(GCS_MODE, GCS_UNTIL, lock)
}

fn headers_named(mode: &'static str, until: &'static str, lock: &ObjectLock) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(mode, HeaderValue::from_static(lock.mode.of_store()));
    // A time has no characters that a header cannot have.
    if let Ok(text) = HeaderValue::from_str(&until_of(lock)) {
        headers.insert(until, text);
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
        let headers = gcs_headers_of(&lock);
        assert_eq!(headers.get("x-goog-object-lock-mode").unwrap(), "COMPLIANCE");
        assert_eq!(protection_of(&headers), Protection { lock: Some(lock), legal_hold: false });
        let mut held = HeaderMap::new();
        held.insert(HOLD, HeaderValue::from_static("ON"));
        assert_eq!(protection_of(&held), Protection { lock: None, legal_hold: true });
        // As Amazon writes it.
        held.insert(UNTIL, HeaderValue::from_static("2026-12-23T04:05:06.000Z"));
        assert_eq!(protection_of(&held).lock.unwrap().until_utc, lock.until_utc);
    }

    #[test]
    fn what_azure_is_asked_for_is_what_its_answer_says() {
        for mode in [LockMode::Governance, LockMode::Compliance] {
            let lock = ObjectLock { until_utc: "2026-12-23T04:05:06Z".parse().unwrap(), mode };
            let headers = azure_headers_of(&lock);
            assert_eq!(headers.get(AZURE_UNTIL).unwrap(), "Wed, 23 Dec 2026 04:05:06 GMT");
            assert_eq!(protection_of(&headers), Protection { lock: Some(lock), legal_hold: false });
        }
        // As Microsoft's examples write it.
        let mut headers = HeaderMap::new();
        headers.insert(AZURE_UNTIL, HeaderValue::from_static("Wed, 23 Dec 2026 04:05:06 GMT"));
        headers.insert(AZURE_MODE, HeaderValue::from_static("locked"));
        assert_eq!(protection_of(&headers).lock.unwrap().mode, LockMode::Compliance);
        assert!(!azure_locks(&headers));
    }
}
