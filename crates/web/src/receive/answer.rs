//! Answers, in the words of S3.

use std::fmt::Write as _;
use std::io;

use iostall_measure::ByteCount;
use iostall_measure::foreign::said;
use iostall_remote::receiver::REFUSAL;
use quick_xml::escape::escape;

use crate::tls_server::{Answer, Body, Refusal};

impl Answer {
    pub(super) fn xml(status: u16, text: &str) -> Self {
        let body = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{text}");
        let headers = vec![("Content-Type", "application/xml".to_owned())];
        Self { status, headers, body: Body::Bytes(body.into_bytes()) }
    }
}

impl Refusal {
    pub(super) fn unknown_key() -> Self {
        Self::new(401, "UnknownKey", "the receiver does not know this key")
    }

    pub(super) fn other_prefix(prefix: &str) -> Self {
        Self::new(403, "OtherPrefix", format!("this key is for names below {prefix}"))
    }

    pub(super) fn append_only() -> Self {
        Self::new(403, "AppendOnly", "the receiver deletes and replaces nothing for its clients")
    }

    pub(super) fn bad_name() -> Self {
        Self::new(400, "BadName", "the receiver does not take this name")
    }

    pub(super) fn exists() -> Self {
        Self::new(412, "PreconditionFailed", "it exists")
    }

    pub(super) fn no_object() -> Self {
        Self::new(404, "NoSuchKey", "there is no such object")
    }

    pub(super) fn lost_upload() -> Self {
        Self::new(400, "LostUpload", "the receiver does not have this upload")
    }

    pub(super) fn over_quota(quota: ByteCount) -> Self {
        Self::new(
            400,
            "OverQuota",
            format!("there would be more than {quota} below the prefix of this key, which is its quota"),
        )
    }

    pub(super) fn busy() -> Self {
        Self::new(503, "SlowDown", "this key has too many uploads on their way")
    }

    pub(super) fn answer(&self) -> Answer {
        let (code, message) = (self.code, escape(self.message.as_str()));
        let xml = format!("<Error><Code>{code}</Code><Message>{message}</Message></Error>");
        // The answer to a HEAD has no body.
        Answer::xml(self.status, &xml).header(REFUSAL, self.header_text())
    }
}

/// What the system says of a file. A client cannot mend a full disk by trying again.
impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::AlreadyExists => Self::exists(),
            io::ErrorKind::NotFound => Self::no_object(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::new(400, "NoRoom", "the receiver's disk is full")
            }
            io::ErrorKind::CrossesDevices => {
                Self::new(400, "OtherFileSystem", "a directory below the prefix is another file system")
            }
            _ => Self::new(400, "CannotStore", format!("on the receiver: {}", said(&error.to_string()))),
        }
    }
}

/// An object in a list.
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) bytes: u64,
    pub(super) modified_ns: i128,
}

/// All objects of a directory.
pub(super) fn list(prefix: &str, entries: &[Entry]) -> Answer {
    let mut text = format!(
        "<ListBucketResult><Name>v1</Name><Prefix>{}</Prefix><Delimiter>/</Delimiter><KeyCount>{}</KeyCount>\
         <MaxKeys>{}</MaxKeys><IsTruncated>false</IsTruncated>",
        escape(prefix),
        entries.len(),
        entries.len()
    );
    for entry in entries {
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "<Contents><Key>{}</Key><LastModified>{}</LastModified><ETag>\"{}\"</ETag><Size>{}</Size></Contents>",
            escape(entry.key.as_str()),
            time(entry.modified_ns),
            etag(entry.bytes, entry.modified_ns),
            entry.bytes
        );
    }
    text.push_str("</ListBucketResult>");
    Answer::xml(200, &text)
}

/// Another one if the file is another.
pub(super) fn etag(bytes: u64, modified_ns: i128) -> String {
    format!("{bytes:x}-{modified_ns:x}")
}

/// A time of a file system; 1970 for one that no calendar has.
fn time(ns: i128) -> jiff::Timestamp {
    jiff::Timestamp::from_nanosecond(ns).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
}

/// As a header says it.
pub(super) fn http_date(ns: i128) -> String {
    time(ns).strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}
