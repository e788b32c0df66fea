//! Entry points for fuzzing the readers of stored data: a store may come from elsewhere or be damaged.

use crate::document;
pub use crate::sqlite::fuzzing::{rollup_body, sample_body};

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
