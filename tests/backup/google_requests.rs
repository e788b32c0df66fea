//! What the store that speaks as Google's does has, and what it does with it: the requests of the XML interface.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;

use super::google_answers::{Answer, between, decoded, header, not_found, refused};

/// Names in one answer to a list.
const PAGE: usize = 3;
const PART_BYTES_MIN: usize = 5 << 20;

/// What it is like.
#[derive(Clone, Copy)]
pub(super) struct Kind {
    /// Single objects can be locked.
    pub(super) locks: bool,
    /// It knows the JSON interface.
    pub(super) moves: bool,
}

#[derive(Clone, Default)]
pub(super) struct Stored {
    pub(super) bytes: Vec<u8>,
    pub(super) generation: u64,
    pub(super) changed_utc: Timestamp,
    /// Headers that begin with `x-goog-meta-`.
    pub(super) metadata: Vec<(String, String)>,
    /// Mode and end.
    pub(super) retention: Option<(String, Timestamp)>,
}

pub(super) struct Pending {
    key: String,
    metadata: Vec<(String, String)>,
    parts: BTreeMap<usize, Vec<u8>>,
    begun_utc: Timestamp,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) objects: BTreeMap<String, Stored>,
    pub(super) uploads: BTreeMap<String, Pending>,
    count: u64,
    /// The public key of the service account.
    pub(super) account: Vec<u8>,
}

impl State {
    pub(super) fn place(&mut self, name: &str, stored: Stored) -> u64 {
        self.count += 1;
        self.objects.insert(
            name.to_owned(),
            Stored { generation: self.count, changed_utc: Timestamp::now(), ..stored },
        );
        self.count
    }

    pub(super) fn is_locked(&self, name: &str) -> bool {
        let retention = self.objects.get(name).and_then(|stored| stored.retention.as_ref());
        retention.is_some_and(|(_, until)| *until > Timestamp::now())
    }
}

pub(super) struct Request<'r> {
    pub(super) method: &'r str,
    /// As it came.
    pub(super) path: &'r str,
    pub(super) query: Vec<(String, String)>,
    pub(super) head: &'r str,
    pub(super) body: &'r [u8],
    pub(super) kind: Kind,
}

impl Request<'_> {
    pub(super) fn query(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn header(&self, name: &str) -> Option<String> {
        header(self.head, name)
    }

    pub(super) fn list(&self, state: &State) -> Answer {
        let prefix = self.query("prefix").unwrap_or_default();
        let after = self.query("continuation-token").unwrap_or_default();
        let mut names: Vec<&String> = state
            .objects
            .keys()
            .filter(|name| {
                name.as_str() > after && name.strip_prefix(prefix).is_some_and(|rest| !rest.contains('/'))
            })
            .collect();
        let is_more = names.len() > PAGE;
        names.truncate(PAGE);
        let mut text = format!("<ListBucketResult><IsTruncated>{is_more}</IsTruncated>");
        for name in &names {
            let stored = &state.objects[*name];
            let escaped = quick_xml::escape::escape(name.as_str());
            text.push_str(&format!(
                "<Contents><Key>{escaped}</Key><Generation>{0}</Generation><LastModified>{1}</LastModified>\
                 <ETag>\"{0}\"</ETag><Size>{2}</Size></Contents>",
                stored.generation,
                stored.changed_utc,
                stored.bytes.len()
            ));
        }
        if let Some(last) = names.last().filter(|_| is_more) {
            let token = quick_xml::escape::escape(last.as_str());
            text.push_str(&format!("<NextContinuationToken>{token}</NextContinuationToken>"));
        }
        Answer::text(200, format!("{text}</ListBucketResult>"))
    }

    pub(super) fn list_uploads(&self, state: &State) -> Answer {
        let prefix = self.query("prefix").unwrap_or_default();
        let found = state.uploads.iter().filter(|(_, upload)| upload.key.starts_with(prefix));
        let mut text = String::new();
        for (id, upload) in found {
            let key = quick_xml::escape::escape(upload.key.as_str());
            let begun = upload.begun_utc;
            text.push_str(&format!(
                "<Upload><Key>{key}</Key><UploadId>{id}</UploadId><Initiated>{begun}</Initiated></Upload>"
            ));
        }
        Answer::text(200, format!("<ListMultipartUploadsResult>{text}</ListMultipartUploadsResult>"))
    }

    pub(super) fn list_parts(state: &State, id: &str) -> Answer {
        let Some(upload) = state.uploads.get(id) else { return not_found("NoSuchUpload") };
        let part = |(number, bytes): (&usize, &Vec<u8>)| {
            let (begun, size) = (upload.begun_utc, bytes.len());
            format!(
                "<Part><PartNumber>{number}</PartNumber><LastModified>{begun}</LastModified><Size>{size}</Size></Part>"
            )
        };
        let parts: String = upload.parts.iter().map(part).collect();
        Answer::text(200, format!("<ListPartsResult>{parts}</ListPartsResult>"))
    }

    pub(super) fn get(&self, state: &State, key: &str) -> Answer {
        let Some(stored) = state.objects.get(key) else { return not_found("NoSuchKey") };
        let modified = DateTimePrinter::new().timestamp_to_rfc9110_string(&stored.changed_utc).unwrap();
        let mut answer = Answer::empty(200)
            .header("ETag", &format!("\"{}\"", stored.generation))
            .header("Last-Modified", &modified)
            .header("x-goog-generation", &stored.generation.to_string());
        for (name, value) in &stored.metadata {
            answer = answer.header(name, value);
        }
        if let Some((mode, until)) = &stored.retention {
            answer = answer
                .header("x-goog-object-lock-mode", mode)
                .header("x-goog-object-lock-retain-until-date", &until.to_string());
        }
        answer.body.clone_from(&stored.bytes);
        if let Some(range) = self.header("range") {
            let (first, last) = range.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
            let (first, last): (usize, usize) = (first.parse().unwrap(), last.parse().unwrap());
            let last = last.min(stored.bytes.len() - 1);
            answer.status = 206;
            answer.body = stored.bytes[first..=last].to_vec();
            let range = format!("bytes {first}-{last}/{}", stored.bytes.len());
            answer = answer.header("Content-Range", &range);
        }
        answer
    }

    fn metadata(&self) -> Vec<(String, String)> {
        let lines = self.head.lines().filter_map(|line| line.split_once(':'));
        lines
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .filter(|(name, _)| name.starts_with("x-goog-meta-"))
            .collect()
    }

    /// What must not be, by the condition of the request or by a lock.
    fn prevented(&self, state: &State, key: &str) -> Option<Answer> {
        let is_there = state.objects.contains_key(key);
        if self.header("x-goog-if-generation-match").as_deref() == Some("0") && is_there {
            return Some(refused(
                412,
                "PreconditionFailed",
                "At least one of the pre-conditions you specified did not hold.",
            ));
        }
        state.is_locked(key).then(locked)
    }

    pub(super) fn put(&self, state: &mut State, key: &str) -> Answer {
        let text = String::from_utf8_lossy(self.body).into_owned();
        if self.query("retention").is_some() {
            let until = between(&text, "<RetainUntilDate>", "<").parse().unwrap();
            let mode = between(&text, "<Mode>", "<").to_owned();
            let Some(stored) = state.objects.get_mut(key) else { return not_found("NoSuchKey") };
            if !self.kind.locks {
                return refused(400, "InvalidRequest", "Object retention is not enabled for this bucket.");
            }
            stored.retention = Some((mode, until));
            return Answer::empty(200);
        }
        if let Some(prevented) = self.prevented(state, key) {
            return prevented;
        }
        let stored = if let Some(source) = self.header("x-goog-copy-source") {
            let source = decoded(source.split_once('/').unwrap().1);
            let Some(stored) = state.objects.get(&source) else { return not_found("NoSuchKey") };
            stored.clone()
        } else {
            let mode = self.header("x-goog-object-lock-mode").filter(|_| self.kind.locks);
            let until = self.header("x-goog-object-lock-retain-until-date");
            let retention = mode.map(|mode| (mode, until.unwrap().parse().unwrap()));
            Stored { bytes: self.body.to_vec(), metadata: self.metadata(), retention, ..Stored::default() }
        };
        let generation = state.place(key, stored);
        Answer::empty(200).header("ETag", &format!("\"{generation}\""))
    }

    pub(super) fn delete(&self, state: &mut State, key: &str) -> Answer {
        let Some(stored) = state.objects.get(key) else { return not_found("NoSuchKey") };
        let other = self.query("generation").is_some_and(|named| named != stored.generation.to_string());
        if other {
            return not_found("NoSuchKey");
        }
        if state.is_locked(key) {
            return locked();
        }
        state.objects.remove(key);
        Answer::empty(204)
    }

    pub(super) fn begin(&self, state: &mut State, key: &str) -> Answer {
        state.count += 1;
        let id = format!("upload/{}+=", state.count);
        let upload = Pending {
            key: key.to_owned(),
            metadata: self.metadata(),
            parts: BTreeMap::new(),
            begun_utc: Timestamp::now(),
        };
        let text = format!(
            "<InitiateMultipartUploadResult><UploadId>{id}</UploadId></InitiateMultipartUploadResult>"
        );
        state.uploads.insert(id, upload);
        Answer::text(200, text)
    }

    pub(super) fn put_part(&self, state: &mut State, id: &str) -> Answer {
        let Some(upload) = state.uploads.get_mut(id) else { return not_found("NoSuchUpload") };
        let number = self.query("partNumber").unwrap().parse().unwrap();
        upload.parts.insert(number, self.body.to_vec());
        Answer::empty(200).header("ETag", &format!("\"part{number}-{}\"", self.body.len()))
    }

    pub(super) fn complete(&self, state: &mut State, key: &str, id: &str) -> Answer {
        if ["x-goog-if-generation-match", "if-none-match"].iter().any(|name| self.header(name).is_some()) {
            return refused(400, "NotImplemented", "Preconditions cannot be used in multipart uploads.");
        }
        if state.is_locked(key) {
            return locked();
        }
        let Some(upload) = state.uploads.get(id).filter(|upload| upload.key == key) else {
            return not_found("NoSuchUpload");
        };
        let text = String::from_utf8_lossy(self.body).into_owned();
        let wrong = || refused(400, "InvalidPart", "A part was not found.");
        let mut bytes = Vec::new();
        let named: Vec<&str> = text.split("<Part>").skip(1).collect();
        for (at, part) in named.iter().enumerate() {
            let number: usize = between(part, "<PartNumber>", "<").parse().unwrap();
            let Some(content) = upload.parts.get(&number) else { return wrong() };
            if between(part, "<ETag>", "<") != format!("\"part{number}-{}\"", content.len()) {
                return wrong();
            }
            if at + 1 < named.len() && content.len() < PART_BYTES_MIN {
                return refused(400, "EntityTooSmall", "A part is too small.");
            }
            bytes.extend_from_slice(content);
        }
        let metadata = upload.metadata.clone();
        state.uploads.remove(id);
        let generation = state.place(key, Stored { bytes, metadata, ..Stored::default() });
        Answer::text(
            200,
            format!(
                "<CompleteMultipartUploadResult><ETag>\"{generation}\"</ETag></CompleteMultipartUploadResult>"
            ),
        )
    }
}

fn locked() -> Answer {
    refused(403, "RetentionPolicyNotMet", "The object is under active retention.")
}
