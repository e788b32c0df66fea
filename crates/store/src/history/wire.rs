//! Batches on their way between stores: a document in JSON, compressed with zstd. `docs/formats.md` explains it.

use std::io::Read as _;

use iostall_model::{Epoch, Gap, Kind, Scope, Subject};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::batch::{Batch, RowColumns, SampleColumns, SeenWarning};
use super::watched::{ImportMark, Source};

pub const BODY_BYTES_MAX: usize = 4 << 20;
/// The longest document in it, bytes: 60 samples of some thousand files.
const DOCUMENT_BYTES_MAX: u64 = 32 << 20;
/// Of a name, an identity or the like, bytes. A path has 4096.
const TEXT_BYTES_MAX: usize = 8 << 10;
/// The name of a source is in an index, which takes less.
const SOURCE_NAME_BYTES_MAX: usize = 1 << 10;
/// A fast level: the names, which repeat, are what it is for.
const LEVEL: i32 = 3;
/// 8 MiB: a document that wants more memory to be read was not made here.
const WINDOW_LOG_MAX: u32 = 23;

#[derive(Debug, Error)]
pub enum WireError {
    #[error("the batch is longer than {most} bytes")]
    TooLong { most: u64 },
    #[error("the batch is damaged: {reason}")]
    Damaged { reason: String },
    /// It may be that of a newer iostall.
    #[error("the batch is not understood: {reason}")]
    NotUnderstood { reason: String },
}

#[derive(Serialize, Deserialize)]
struct Document {
    source: Source,
    sequence: u64,
    series: Vec<WireSubject>,
    epochs: Vec<WireEpoch>,
    samples: SampleColumns,
    rows: RowColumns,
    warnings: Vec<SeenWarning>,
    gaps: Vec<Gap>,
    import: Option<ImportMark>,
}

#[derive(Serialize, Deserialize)]
struct WireSubject {
    kind: Kind,
    scope: u8,
    scope_name: String,
    name: String,
    identity: String,
    volume: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct WireEpoch {
    epoch: Epoch,
    clock: String,
}

impl Batch {
    /// Fails if the body is longer than others take: then fewer samples belong in it.
    pub fn to_wire(&self) -> Result<Vec<u8>, WireError> {
        let Self { source, sequence, series, epochs, samples, rows, warnings, gaps, import } = self;
        let subject = |subject: &Subject| WireSubject {
            kind: subject.kind,
            scope: subject.scope.number(),
            scope_name: subject.scope.name().to_owned(),
            name: subject.name.clone(),
            identity: subject.identity.clone(),
            volume: subject.volume.clone(),
        };
        let epoch =
            |(epoch, clock): &(Epoch, String)| WireEpoch { epoch: epoch.clone(), clock: clock.clone() };
        let document = Document {
            source: source.clone(),
            sequence: *sequence,
            series: series.iter().map(subject).collect(),
            epochs: epochs.iter().map(epoch).collect(),
            samples: samples.clone(),
            rows: rows.clone(),
            warnings: warnings.clone(),
            gaps: gaps.clone(),
            import: *import,
        };
        let damaged = |reason: String| WireError::Damaged { reason };
        let text = serde_json::to_vec(&document).map_err(|error| damaged(error.to_string()))?;
        if text.len() as u64 > DOCUMENT_BYTES_MAX {
            return Err(WireError::TooLong { most: DOCUMENT_BYTES_MAX });
        }
        let body = zstd::encode_all(&text[..], LEVEL).map_err(|error| damaged(error.to_string()))?;
        if body.len() > BODY_BYTES_MAX {
            return Err(WireError::TooLong { most: BODY_BYTES_MAX as u64 });
        }
        Ok(body)
    }

    /// The batch in `body`, which may come from anybody. Whether its columns fit together shows when it is appended.
    pub fn from_wire(body: &[u8]) -> Result<Self, WireError> {
        let damaged = |error: std::io::Error| WireError::Damaged { reason: error.to_string() };
        let mut decoder = zstd::Decoder::new(body).map_err(damaged)?;
        decoder.window_log_max(WINDOW_LOG_MAX).map_err(damaged)?;
        let mut text = Vec::new();
        decoder.take(DOCUMENT_BYTES_MAX + 1).read_to_end(&mut text).map_err(damaged)?;
        if text.len() as u64 > DOCUMENT_BYTES_MAX {
            return Err(WireError::TooLong { most: DOCUMENT_BYTES_MAX });
        }
        let not_understood = |reason: String| WireError::NotUnderstood { reason };
        let document: Document =
            serde_json::from_slice(&text).map_err(|error| not_understood(error.to_string()))?;
        document.batch().map_err(not_understood)
    }
}

impl Document {
    fn batch(self) -> Result<Batch, String> {
        self.check_texts()?;
        let subject = |wire: WireSubject| {
            let scope = Scope::from_stored(wire.scope, wire.scope_name);
            Ok(Subject {
                kind: wire.kind,
                scope: scope.ok_or_else(|| format!("there is no scope {}", wire.scope))?,
                name: wire.name,
                identity: wire.identity,
                volume: wire.volume,
            })
        };
        Ok(Batch {
            source: self.source,
            sequence: self.sequence,
            series: self.series.into_iter().map(subject).collect::<Result<_, String>>()?,
            epochs: self.epochs.into_iter().map(|wire| (wire.epoch, wire.clock)).collect(),
            samples: self.samples,
            rows: self.rows,
            warnings: self.warnings,
            gaps: self.gaps,
            import: self.import,
        })
    }

    /// Texts go into tables and on screens: none is longer than a text of its sort can be.
    fn check_texts(&self) -> Result<(), String> {
        if self.source.name.len() > SOURCE_NAME_BYTES_MAX {
            return Err(format!("the name of a source has at most {SOURCE_NAME_BYTES_MAX} bytes"));
        }
        let of_series = self.series.iter().flat_map(|subject| {
            [
                subject.scope_name.as_str(),
                &subject.name,
                &subject.identity,
                subject.volume.as_deref().unwrap_or_default(),
            ]
        });
        let of_epochs = self.epochs.iter().flat_map(|WireEpoch { epoch, clock }| {
            let marks = epoch.counters_since.iter().map(String::as_str);
            marks.chain([epoch.instance.as_str(), &epoch.process_start, clock])
        });
        let of_warnings = self.warnings.iter().map(|seen| seen.warning.message.as_str());
        let of_gaps = self.gaps.iter().map(|gap| gap.reason.as_str());
        let mut all = of_series.chain(of_epochs).chain(of_warnings).chain(of_gaps);
        if all.any(|text| text.len() > TEXT_BYTES_MAX) {
            return Err(format!("a text in it has more than {TEXT_BYTES_MAX} bytes"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use iostall_model::{Counter, Counters, Row, Sample, SampleTime, Warning, WarningCode};
    use jiff::Timestamp;

    use super::*;

    fn batch() -> Batch {
        let source = Source {
            id: "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap(),
            store: "7f0f5a6e-6a3b-4d7e-8e36-0a4a1c6d1f11".parse().unwrap(),
            name: "linux:".into(),
        };
        let subject = |scope| Subject {
            kind: Kind::SqlServerFile,
            scope,
            name: "a\u{0}'; DROP TABLE iostall.sample; --".into(),
            identity: "\u{1b}[2J".into(),
            volume: None,
        };
        let at: Timestamp = "2026-03-01T09:58:00.123456789Z".parse().unwrap();
        let row = |scope, value| Row {
            subject: subject(scope),
            counters: Counters::new().with(Counter::Reads, value).with(Counter::Handle, u64::MAX),
            age_ms: Some(7),
        };
        let sample = Sample {
            taken: SampleTime { utc: at, clock: "boot".into(), clock_ns: u64::MAX },
            epoch: Epoch { instance: "i".into(), uptime_s: Some(3), ..Epoch::default() },
            rows: vec![row(Scope::Source, 1), row(Scope::Cgroup("/db".into()), u64::MAX - 1)],
            warnings: vec![Warning::new(WarningCode::SettingOff, "off")],
        };
        let mut batch = Batch::of(source, 9, &[sample.clone(), Sample { warnings: Vec::new(), ..sample }]);
        batch.gaps = vec![Gap { at, missed: 3, reason: "slow".into() }];
        batch.import = Some(ImportMark { sample: -4, taken: at });
        batch
    }

    fn body_of(text: &str) -> Vec<u8> {
        zstd::encode_all(text.as_bytes(), 1).unwrap()
    }

    #[test]
    fn a_batch_arrives_as_it_left() {
        let batch = batch();
        assert_eq!(Batch::from_wire(&batch.to_wire().unwrap()).unwrap(), batch);
    }

    #[test]
    fn what_is_cut_or_changed_or_is_none_is_refused() {
        let whole = batch().to_wire().unwrap();
        for end in 0..whole.len() {
            assert!(Batch::from_wire(&whole[..end]).is_err(), "{end}");
        }
        for text in ["", "{}", "[]", "null", "{\"source\":1}"] {
            assert!(
                matches!(Batch::from_wire(&body_of(text)), Err(WireError::NotUnderstood { .. })),
                "{text}"
            );
        }
        let text = String::from_utf8(zstd::decode_all(&whole[..]).unwrap()).unwrap();
        for (old, new) in [
            ("\"reads\":", "\"reads_of_2099\":"),
            ("sql-server-file", "of-2099"),
            ("\"scope\":3", "\"scope\":200"),
            ("2026-03", "2026-33"),
            ("\"name\":\"linux:\"", &format!("\"name\":\"{}\"", "x".repeat(SOURCE_NAME_BYTES_MAX + 1))),
            ("\"clock\":\"boot\"", &format!("\"clock\":\"{}\"", "x".repeat(TEXT_BYTES_MAX + 1))),
        ] {
            assert!(text.contains(old), "{old}: {text}");
            let read = Batch::from_wire(&body_of(&text.replace(old, new)));
            assert!(matches!(read, Err(WireError::NotUnderstood { .. })), "{old}");
        }
    }

    /// A few bytes may say that they are gigabytes.
    #[test]
    fn what_becomes_too_long_is_not_read_to_its_end() {
        let spaces = vec![b' '; usize::try_from(DOCUMENT_BYTES_MAX).unwrap() + 1];
        let body = zstd::encode_all(&spaces[..], 1).unwrap();
        assert!(body.len() < 10_000);
        assert!(matches!(Batch::from_wire(&body), Err(WireError::TooLong { .. })));
    }
}
