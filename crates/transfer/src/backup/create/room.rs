//! Whether a backup fits on the file systems of its stripes, as far as that can be known before it begins.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use iostall_engine::files;

use super::error::Shortage;
use super::item::{Item, PreparedSource, What};
use super::targets::directory_of;

/// Where the stripes at `targets` would not fit if nothing of the sources shrank. Stripes share the bytes evenly; what streams
/// hold is not known, and quotas are not seen.
pub fn shortages(targets: &[PathBuf], sources: &[PreparedSource]) -> Vec<Shortage> {
    let sum = |bytes: fn(&Item) -> u64| -> u64 {
        sources.iter().flat_map(|source| source.items.iter().chain(&source.last)).map(bytes).sum()
    };
    let found = short(targets, sum(Item::size_bytes));
    // A sparse file takes less than its size. Looking at all of them again is only worth it if it decides.
    if found.is_empty() { found } else { short(targets, sum(allocated_bytes)) }
}

fn allocated_bytes(item: &Item) -> u64 {
    let size_bytes = item.size_bytes();
    match &item.what {
        What::File { path, .. } => {
            files::stamp_of_link(path).map_or(size_bytes, |stamp| size_bytes.min(stamp.allocated_bytes))
        }
        _ => size_bytes,
    }
}

fn short(targets: &[PathBuf], bytes: u64) -> Vec<Shortage> {
    let mut stripes: BTreeMap<u64, (&Path, u64)> = BTreeMap::new();
    for directory in targets.iter().map(|target| directory_of(target)) {
        if let Ok(stamp) = files::stamp_of_path(directory) {
            stripes.entry(stamp.device).or_insert((directory, 0)).1 += 1;
        }
    }
    let each = bytes.div_ceil((targets.len() as u64).max(1));
    let shortage = |(directory, count): (&Path, u64)| {
        let (needed_bytes, free_bytes) = (each.saturating_mul(count), files::usable_bytes(directory).ok()?);
        let directory = directory.to_owned();
        (free_bytes < needed_bytes).then_some(Shortage { directory, needed_bytes, free_bytes })
    };
    stripes.into_values().filter_map(shortage).collect()
}
