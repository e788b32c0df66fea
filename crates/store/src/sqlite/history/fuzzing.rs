//! Entry points for fuzzing the readers of bodies.

use std::collections::BTreeMap;

use iostall_model::Counters;

use super::body::{self, Rows};
use super::rollup_body;

/// The body of a sample, compressed and uncompressed. Whatever is accepted must survive writing and reading.
pub fn sample_body(input: &[u8]) {
    let _ = body::decode(&mut Rows::new(), input);
    let Ok(compressed) = zstd::bulk::compress(input, 1) else { return };
    let mut rows = Rows::new();
    if body::decode(&mut rows, &compressed).is_none() {
        return;
    }
    let mut again = Rows::new();
    let written = body::encode(&Rows::new(), &rows).unwrap_or_else(|error| panic!("{error}"));
    assert!(body::decode(&mut again, &written).is_some(), "its own body is refused");
    let counters = |rows: &Rows| -> BTreeMap<u32, Counters> {
        rows.iter().map(|(series, (counters, _))| (*series, *counters)).collect()
    };
    assert_eq!(counters(&again), counters(&rows));
}

/// The body of a roll-up. Whatever is accepted must survive writing and reading.
pub fn rollup_body(input: &[u8]) {
    if let Some(rollup) = rollup_body::decode(input) {
        assert_eq!(rollup_body::decode(&rollup_body::encode(&rollup)), Some(rollup));
    }
}
