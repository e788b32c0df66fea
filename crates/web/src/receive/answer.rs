//! Answers, in the words of S3.

use std::fmt::Write as _;
use std::fs::File;
use std::io;

use iostall_measure::ByteCount;
use iostall_measure::foreign::said;
use iostall_remote::receiver::REFUSAL;
use quick_xml::escape::escape;

/// What is sent back.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Body,
}

/// What follows the headers.
#[derive(Debug)]
pub(super) enum Body {
    Bytes(Vec<u8>),
    /// A range of a file.
    Part {
        file: File,
        offset: u64,
        bytes: u64,
    },
}

impl Answer {
    pub(super) fn empty(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Body::Bytes(Vec::new()) }
    }

    pub(super) fn xml(status: u16, text: &str) -> Self {
        let body = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{text}");
        let headers = vec![("Content-Type", "application/xml".to_owned())];
        Self { status, headers, body: Body::Bytes(body.into_bytes()) }
    }

    pub(super) fn header(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }
}

/// Why a request is not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    code: &'static str,
    pub(super) message: String,
}

impl Refusal {
    pub(super) fn new(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into() }
    }

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

    pub(super) fn not_understood() -> Self {
        Self::new(400, "NotUnderstood", "the receiver does not understand this request")
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
        // The answer to a HEAD has no body, and a header has few characters.
        let plain: String = self.message.chars().filter(|c| *c == ' ' || c.is_ascii_graphic()).collect();
        Answer::xml(self.status, &xml).header(REFUSAL, format!("{code} {plain}"))
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

/// What a status is called.
pub(super) fn phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        206 => "Partial Content",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        411 => "Length Required",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        416 => "Range Not Satisfiable",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Other",
    }
}
