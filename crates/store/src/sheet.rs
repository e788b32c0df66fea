//! Notes and settings on their way to a repository, in sheets: the notes of a month, or all settings of a source over time.
//! `docs/formats.md` explains the form.

use std::io::Read as _;

use iostall_measure::named;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::error::StoreError;
use crate::history::{BODY_BYTES_MAX, Source};

const DOCUMENT_BYTES_MAX: usize = 32 << 20;
/// Of one text, bytes: subject, name and a time are together in an index, which takes no more than 2,700.
const TEXT_BYTES_MAX: usize = 1 << 10;
/// Of a value, bytes.
const VALUE_BYTES_MAX: usize = 8 << 10;
/// Of the name and the state in a mark, bytes.
const MARK_BYTES_MAX: usize = 100;
/// A fast level: names repeat.
const LEVEL: i32 = 3;
/// 8 MiB: what wants more memory to be read was not made here.
const WINDOW_LOG_MAX: u32 = 23;

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum SheetKind {
        Notes = "notes",
        Settings = "settings",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SheetMark {
    pub kind: SheetKind,
    /// Which one of this kind: a month such as `2026-03`, or the id of a source.
    pub name: String,
    pub state: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SheetNote {
    /// What it is about; `None`: all sources of the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    pub at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Timestamp>,
    /// The name of its kind, which a newer iostall may have added.
    pub kind: String,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SheetSetting {
    pub subject: String,
    pub name: String,
    pub value: String,
    /// The name of its class, which a newer iostall may have added.
    pub class: String,
    pub from: Timestamp,
    /// `None`: it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Timestamp>,
    pub is_change: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SheetContent {
    Settings {
        source: Source,
        first: Timestamp,
        last: Timestamp,
        tool_version: String,
        settings: Vec<SheetSetting>,
    },
    Notes {
        notes: Vec<SheetNote>,
        /// Those that were removed by hand.
        #[serde(default)]
        removed: Vec<SheetNote>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentSheet {
    pub mark: SheetMark,
    pub content: SheetContent,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SheetPut {
    /// It is there, with all that was there before.
    Added,
    AlreadyThere,
    /// It cannot be stored, and need not be sent again as it is.
    Unfit {
        reason: String,
    },
}

#[derive(Debug, Error)]
pub enum SheetError {
    #[error("the sheet is longer than {most} bytes")]
    TooLong { most: usize },
    #[error("the sheet is damaged: {reason}")]
    Damaged { reason: String },
    /// It may be that of a newer iostall.
    #[error("the sheet is not understood: {reason}")]
    NotUnderstood { reason: String },
}

pub trait SheetsToSend {
    fn sheet_marks(&self) -> Result<Vec<SheetMark>, StoreError>;

    /// The sheet with the kind and the name in `mark`, as it is now; `None` if there is none any more.
    fn sheet_to_send(&self, mark: &SheetMark) -> Result<Option<SentSheet>, StoreError>;

    /// A text that changes when a sheet does.
    fn sheets_state(&self) -> Result<String, StoreError>;
}

impl SentSheet {
    pub fn to_wire(&self) -> Result<Vec<u8>, SheetError> {
        let damaged = |reason: String| SheetError::Damaged { reason };
        let text = serde_json::to_vec(self).map_err(|error| damaged(error.to_string()))?;
        if text.len() > DOCUMENT_BYTES_MAX {
            return Err(SheetError::TooLong { most: DOCUMENT_BYTES_MAX });
        }
        let body = zstd::encode_all(&text[..], LEVEL).map_err(|error| damaged(error.to_string()))?;
        if body.len() > BODY_BYTES_MAX {
            return Err(SheetError::TooLong { most: BODY_BYTES_MAX });
        }
        Ok(body)
    }

    /// The sheet in `body`, which may come from anybody.
    pub fn from_wire(body: &[u8]) -> Result<Self, SheetError> {
        let damaged = |error: std::io::Error| SheetError::Damaged { reason: error.to_string() };
        let mut decoder = zstd::Decoder::new(body).map_err(damaged)?;
        decoder.window_log_max(WINDOW_LOG_MAX).map_err(damaged)?;
        let mut text = Vec::new();
        decoder.take(DOCUMENT_BYTES_MAX as u64 + 1).read_to_end(&mut text).map_err(damaged)?;
        if text.len() > DOCUMENT_BYTES_MAX {
            return Err(SheetError::TooLong { most: DOCUMENT_BYTES_MAX });
        }
        let not_understood = |reason: String| SheetError::NotUnderstood { reason };
        let sheet: Self = serde_json::from_slice(&text).map_err(|error| not_understood(error.to_string()))?;
        sheet.check().map_err(not_understood)?;
        Ok(sheet)
    }

    /// Texts go into tables and indexes, and the content is that of its mark.
    fn check(&self) -> Result<(), String> {
        let SheetMark { kind, name, state } = &self.mark;
        if [name, state].into_iter().any(|text| text.len() > MARK_BYTES_MAX) {
            return Err(format!("its mark has more than {MARK_BYTES_MAX} bytes"));
        }
        let (texts, values) = self.texts();
        if texts.into_iter().any(|text| text.len() > TEXT_BYTES_MAX)
            || values.into_iter().any(|text| text.len() > VALUE_BYTES_MAX)
        {
            return Err(format!("a text in it has more than {TEXT_BYTES_MAX} bytes"));
        }
        let fits = match &self.content {
            SheetContent::Settings { source, .. } => {
                *kind == SheetKind::Settings && source.id.to_string() == *name
            }
            SheetContent::Notes { .. } => *kind == SheetKind::Notes && is_month(name),
        };
        if fits { Ok(()) } else { Err("its mark is that of another sheet".to_owned()) }
    }

    fn texts(&self) -> (Vec<&String>, Vec<&String>) {
        let (mut texts, mut values) = (Vec::new(), Vec::new());
        match &self.content {
            SheetContent::Settings { source, tool_version, settings, .. } => {
                texts.extend([&source.name, tool_version]);
                for SheetSetting { subject, name, value, class, .. } in settings {
                    texts.extend([subject, name, class]);
                    values.push(value);
                }
            }
            SheetContent::Notes { notes, removed } => {
                for SheetNote { source, kind, text, .. } in notes.iter().chain(removed) {
                    texts.extend([kind, text]);
                    texts.extend(source.iter().map(|source| &source.name));
                }
            }
        }
        (texts, values)
    }
}

/// Whether `name` is a month such as `2026-03`: a server has so many sheets at most.
fn is_month(name: &str) -> bool {
    let (year, month) = name.split_at_checked(4).unwrap_or_default();
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let month = month.strip_prefix('-').filter(|month| month.len() == 2 && digits(month));
    digits(year)
        && month.and_then(|month| month.parse().ok()).is_some_and(|month: u8| (1..=12).contains(&month))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet() -> SentSheet {
        let at: Timestamp = "2026-03-01T09:58:00.123456789Z".parse().unwrap();
        let note =
            SheetNote { source: None, at, end: Some(at), kind: "eclipse".into(), text: "a\u{0}".into() };
        let content = SheetContent::Notes { notes: vec![note.clone()], removed: vec![note] };
        let (kind, name) = (SheetKind::Notes, "2026-03".to_owned());
        SentSheet { mark: SheetMark { kind, name, state: "1".into() }, content }
    }

    fn settings() -> SentSheet {
        let source = Source {
            id: "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap(),
            store: "7f0f5a6e-6a3b-4d7e-8e36-0a4a1c6d1f11".parse().unwrap(),
            name: "linux:".into(),
        };
        let at: Timestamp = "2026-03-01T09:58:00Z".parse().unwrap();
        let setting = SheetSetting {
            subject: "disk sda".into(),
            name: "scheduler".into(),
            value: "none".into(),
            class: "setting".into(),
            from: at,
            to: None,
            is_change: false,
        };
        let (kind, name) = (SheetKind::Settings, source.id.to_string());
        let mark = SheetMark { kind, name, state: "1".into() };
        let (tool_version, settings) = ("0".to_owned(), vec![setting]);
        SentSheet {
            mark,
            content: SheetContent::Settings { source, first: at, last: at, tool_version, settings },
        }
    }

    #[test]
    fn a_sheet_arrives_as_it_left_also_with_kinds_of_a_newer_iostall() {
        for sheet in [sheet(), settings()] {
            assert_eq!(SentSheet::from_wire(&sheet.to_wire().unwrap()).unwrap(), sheet);
        }
    }

    #[test]
    fn what_is_cut_or_is_none_or_has_another_mark_is_refused() {
        let whole = sheet().to_wire().unwrap();
        for end in 0..whole.len() {
            assert!(SentSheet::from_wire(&whole[..end]).is_err(), "{end}");
        }
        let body = |text: &str| zstd::encode_all(text.as_bytes(), 1).unwrap();
        for text in ["", "{}", "[]", "{\"mark\":{}}"] {
            assert!(
                matches!(SentSheet::from_wire(&body(text)), Err(SheetError::NotUnderstood { .. })),
                "{text}"
            );
        }
        for name in ["", "2026", "2026-13", "2026-3", "12026-03", "2026-03-01", "\u{e9}026-03", "2026-+3"] {
            let mut other = sheet();
            other.mark.name = name.to_owned();
            assert!(SentSheet::from_wire(&other.to_wire().unwrap()).is_err(), "{name}");
        }
        let mixed = SentSheet { mark: sheet().mark, ..settings() };
        assert!(SentSheet::from_wire(&mixed.to_wire().unwrap()).is_err());
        let mut long = sheet();
        long.mark.state = "x".repeat(MARK_BYTES_MAX + 1);
        assert!(SentSheet::from_wire(&long.to_wire().unwrap()).is_err());
        let spaces = body(&" ".repeat(DOCUMENT_BYTES_MAX + 1));
        assert!(matches!(SentSheet::from_wire(&spaces), Err(SheetError::TooLong { .. })));
    }
}
