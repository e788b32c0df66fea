//! Runs on their way to a repository. `docs/formats.md` explains the form.

use std::io::Read as _;

use iostall_model::run::SCHEMA;
use iostall_model::{Entry, RunId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::entry::RunNumber;
use crate::error::StoreError;
use crate::history::BODY_BYTES_MAX;

const DOCUMENT_BYTES_MAX: usize = 32 << 20;
/// Of one text in an entry, bytes.
const TEXT_BYTES_MAX: usize = 8 << 10;
/// An entry: a run has few targets.
const ENTRY_BYTES_MAX: usize = 1 << 20;
/// A fast level: documents are mostly digits.
const LEVEL: i32 = 3;
/// 8 MiB: what wants more memory to be read was not made here.
const WINDOW_LOG_MAX: u32 = 23;

/// By what it is known whether a run is as it was: a long one is stored while it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunMark {
    pub id: RunId,
    pub ended_utc: Timestamp,
    /// Stopped early, or not yet complete.
    pub interrupted: bool,
}

impl RunMark {
    /// Whether the run has changed since it was as in `there`: a complete one does not.
    pub fn is_newer_than(&self, there: &Self) -> bool {
        there.interrupted && (!self.interrupted || self.ended_utc > there.ended_utc)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct SentRun {
    pub entry: Entry,
    /// Its JSON document; `None` if it is not sent with it.
    pub document: Option<String>,
}

#[derive(Debug, Error)]
pub enum SentRunError {
    #[error("the run is longer than {most} bytes")]
    TooLong { most: usize },
    #[error("the run is damaged: {reason}")]
    Damaged { reason: String },
    /// It may be that of a newer iostall.
    #[error("the run is not understood: {reason}")]
    NotUnderstood { reason: String },
}

pub trait RunsToSend {
    /// Up to `most` runs with a higher number than `after`, in their order.
    fn run_marks(&self, after: RunNumber, most: u32) -> Result<Vec<(RunNumber, RunMark)>, StoreError>;

    /// The run with this id as it is now; `None` if it was deleted.
    fn run_to_send(&self, id: RunId) -> Result<Option<SentRun>, StoreError>;

    /// A text that changes when a run is added or changed.
    fn runs_state(&self) -> Result<String, StoreError>;
}

/// The fields that every document has.
#[derive(Deserialize)]
struct Head {
    schema: String,
    id: RunId,
}

impl SentRun {
    /// The entry as a line of JSON, then the document. Fails if that is longer than others take: then the run is sent
    /// without its document.
    pub fn to_wire(&self) -> Result<Vec<u8>, SentRunError> {
        let damaged = |reason: String| SentRunError::Damaged { reason };
        let mut text = serde_json::to_vec(&self.entry).map_err(|error| damaged(error.to_string()))?;
        text.push(b'\n');
        text.extend_from_slice(self.document.as_deref().unwrap_or_default().as_bytes());
        if text.len() > DOCUMENT_BYTES_MAX {
            return Err(SentRunError::TooLong { most: DOCUMENT_BYTES_MAX });
        }
        let body = zstd::encode_all(&text[..], LEVEL).map_err(|error| damaged(error.to_string()))?;
        if body.len() > BODY_BYTES_MAX {
            return Err(SentRunError::TooLong { most: BODY_BYTES_MAX });
        }
        Ok(body)
    }

    pub fn from_wire(body: &[u8]) -> Result<Self, SentRunError> {
        let damaged = |error: std::io::Error| SentRunError::Damaged { reason: error.to_string() };
        let mut decoder = zstd::Decoder::new(body).map_err(damaged)?;
        decoder.window_log_max(WINDOW_LOG_MAX).map_err(damaged)?;
        let mut text = String::new();
        decoder.take(DOCUMENT_BYTES_MAX as u64 + 1).read_to_string(&mut text).map_err(damaged)?;
        if text.len() > DOCUMENT_BYTES_MAX {
            return Err(SentRunError::TooLong { most: DOCUMENT_BYTES_MAX });
        }
        let not_understood = |reason: String| SentRunError::NotUnderstood { reason };
        let (entry, document) =
            text.split_once('\n').ok_or_else(|| not_understood("it has no document".to_owned()))?;
        if entry.len() > ENTRY_BYTES_MAX {
            return Err(SentRunError::TooLong { most: ENTRY_BYTES_MAX });
        }
        let entry: Entry = serde_json::from_str(entry).map_err(|error| not_understood(error.to_string()))?;
        check(&entry, document).map_err(not_understood)?;
        let document = (!document.is_empty()).then(|| document.to_owned());
        Ok(Self { entry, document })
    }
}

/// Texts go into tables and on screens, and a document is that of its entry.
fn check(entry: &Entry, document: &str) -> Result<(), String> {
    let mut texts = [&entry.kind, &entry.name, &entry.host, &entry.tool_version].into_iter();
    let of_summary = entry.summary.block_size.iter();
    if texts.by_ref().chain(of_summary).chain(&entry.targets).any(|text| text.len() > TEXT_BYTES_MAX) {
        return Err(format!("a text in it has more than {TEXT_BYTES_MAX} bytes"));
    }
    if document.is_empty() {
        return Ok(());
    }
    let head: Head = serde_json::from_str(document).map_err(|error| error.to_string())?;
    if head.schema != SCHEMA || head.id != entry.id {
        return Err("its document is that of another run".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use iostall_model::Run;

    use super::*;
    use crate::sample::sample_run;

    fn entry_of(run: &Run) -> Entry {
        Entry {
            number: RunNumber(7),
            id: run.id,
            kind: run.body.kind().to_owned(),
            name: "a\nb\u{0}".to_owned(),
            started_utc: run.started_utc,
            ended_utc: run.ended_utc,
            host: run.host.hostname.clone(),
            tool_version: run.tool_version.clone(),
            interrupted: false,
            warning_count: 1,
            targets: vec!["/data/x".into()],
            summary: run.body.outcome().summary(),
        }
    }

    fn sent() -> SentRun {
        let run = sample_run(1);
        SentRun { entry: entry_of(&run), document: Some(serde_json::to_string(&run).unwrap()) }
    }

    #[test]
    fn a_run_arrives_as_it_left_with_its_document_or_without() {
        for run in [sent(), SentRun { document: None, ..sent() }] {
            assert_eq!(SentRun::from_wire(&run.to_wire().unwrap()).unwrap(), run);
        }
    }

    #[test]
    fn what_is_cut_or_is_none_or_has_the_document_of_another_run_is_refused() {
        let whole = sent().to_wire().unwrap();
        for end in (0..whole.len()).step_by(97) {
            assert!(SentRun::from_wire(&whole[..end]).is_err(), "{end}");
        }
        let body = |text: &str| zstd::encode_all(text.as_bytes(), 1).unwrap();
        let entry = serde_json::to_string(&sent().entry).unwrap();
        for text in ["", "{}", "{}\n{}", &entry, &format!("{entry}\n{{}}"), &format!("{entry}\nx")] {
            let read = SentRun::from_wire(&body(text));
            assert!(matches!(read, Err(SentRunError::NotUnderstood { .. })), "{text}");
        }
        let other = SentRun { document: Some(serde_json::to_string(&sample_run(2)).unwrap()), ..sent() };
        assert!(SentRun::from_wire(&other.to_wire().unwrap()).is_err());
        let long = Entry { name: "x".repeat(TEXT_BYTES_MAX + 1), ..sent().entry };
        assert!(SentRun::from_wire(&SentRun { entry: long, document: None }.to_wire().unwrap()).is_err());
    }

    /// A few bytes may say that they are gigabytes.
    #[test]
    fn what_becomes_too_long_is_neither_sent_nor_read_to_its_end() {
        let spaces = " ".repeat(DOCUMENT_BYTES_MAX + 1);
        let body = zstd::encode_all(spaces.as_bytes(), 1).unwrap();
        assert!(matches!(SentRun::from_wire(&body), Err(SentRunError::TooLong { .. })));
        let run = SentRun { document: Some(spaces), ..sent() };
        assert!(matches!(run.to_wire(), Err(SentRunError::TooLong { .. })));
    }
}
