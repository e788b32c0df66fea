//! Backups of real files and of simulated ones, read back frame by frame with the decoder of the format.

mod files;
mod killed;
mod objects;
mod read_back;
mod refusals;
mod simulated;

use std::path::{Path, PathBuf};

use iostall_model::backup::Compression;

use super::*;
use crate::progress::Progress;

/// Bytes that differ from place to place, half of which compress.
pub(super) fn content(seed: u64, size: usize) -> Vec<u8> {
    let mut state = seed | 1;
    let mut data = Vec::with_capacity(size + 8);
    while data.len() < size {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        data.extend_from_slice(&(state >> 11).to_le_bytes());
        data.extend_from_slice(&(data.len() as u64 / 512).to_le_bytes());
    }
    data.truncate(size);
    data
}

/// Small frames and transfers, so that small files have many of them.
pub(super) fn options(targets: &[PathBuf]) -> CreateOptions {
    CreateOptions {
        targets: targets.to_vec(),
        compression: Compression::Zstd(1),
        frame_bytes: Some(64 << 10),
        transfer_bytes: Some(256 << 10),
        workers: Some(2),
        tool_version: "test".to_owned(),
        ..CreateOptions::default()
    }
}

fn back_up(paths: &[&Path], options: &CreateOptions) -> Result<Made, CreateError> {
    let requests = paths.iter().map(|path| SourceRequest::Path((*path).to_owned())).collect();
    create(options, prepare(requests, &options.targets, &Progress::default())?, &Progress::default())
}

/// Names in a directory that are not those of sources, sorted.
pub(super) fn names_in(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
