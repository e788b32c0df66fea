//! Compares saved runs.

use iostall_session::comparison::MeasuredSide;
use iostall_store::{SqliteStore, Store};

use crate::cli::GlobalArgs;
use crate::store;

/// Reads every side; the runs of one side are joined with commas.
pub(super) fn read(sides: &[String], global: &GlobalArgs) -> anyhow::Result<Vec<MeasuredSide>> {
    let store = store::open(global)?;
    sides.iter().map(|side| read_side(side, &store)).collect()
}

fn read_side(text: &str, store: &SqliteStore) -> anyhow::Result<MeasuredSide> {
    let mut numbers: Vec<String> = Vec::new();
    let mut runs = Vec::new();
    for word in text.split(',') {
        let stored = store.get(&store::selector(word)?)?;
        numbers.push(stored.number.to_string());
        runs.push(stored.run);
    }
    Ok(MeasuredSide { label: numbers.join(","), runs })
}
