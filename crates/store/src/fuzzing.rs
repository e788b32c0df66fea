//! Entry points for fuzzing the readers of stored data: a store may come from elsewhere or be damaged.

use crate::document;
use crate::history::Batch;
use crate::sent_run::SentRun;
use crate::sheet::SentSheet;
pub use crate::sqlite::fuzzing::{rollup_body, sample_body};

/// A batch of another server, as JSON text. Whatever is accepted arrives as it left.
pub fn batch(input: &[u8]) {
    let body = zstd::encode_all(input, 1).unwrap_or_default();
    let Ok(batch) = Batch::from_wire(&body) else { return };
    let samples = batch.to_samples();
    match batch.to_wire().map(|body| Batch::from_wire(&body)) {
        Ok(Ok(again)) => {
            assert!(again == batch, "it changed on its way: {batch:?}");
            assert!(again.to_samples() == samples);
        }
        Ok(Err(error)) => panic!("what was sent is refused: {error}"),
        Err(_) => {}
    }
}

/// A run of another server: a line of JSON and its document. Whatever is accepted arrives as it left.
pub fn sent_run(input: &[u8]) {
    let body = zstd::encode_all(input, 1).unwrap_or_default();
    let Ok(run) = SentRun::from_wire(&body) else { return };
    match run.to_wire().map(|body| SentRun::from_wire(&body)) {
        Ok(Ok(again)) => assert!(again == run, "it changed on its way: {run:?}"),
        Ok(Err(error)) => panic!("what was sent is refused: {error}"),
        Err(_) => {}
    }
}

/// Notes or settings of another server, as JSON text. Whatever is accepted arrives as it left.
pub fn sheet(input: &[u8]) {
    let body = zstd::encode_all(input, 1).unwrap_or_default();
    let Ok(sheet) = SentSheet::from_wire(&body) else { return };
    match sheet.to_wire().map(|body| SentSheet::from_wire(&body)) {
        Ok(Ok(again)) => assert!(again == sheet, "it changed on its way: {sheet:?}"),
        Ok(Err(error)) => panic!("what was sent is refused: {error}"),
        Err(_) => {}
    }
}

/// A run's document as JSON text. Whatever is accepted must survive storing and reading.
pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Ok(run) = document::read(text) else { return };
    let stored = document::encode(&run).unwrap_or_else(|error| panic!("{error}"));
    let again = document::text(document::ENCODING, &stored).and_then(|text| document::read(&text));
    match again {
        Ok(again) => assert!(again == run, "it changed when it was stored: {run:?}"),
        Err(error) => panic!("what was stored is refused: {error}"),
    }
}
