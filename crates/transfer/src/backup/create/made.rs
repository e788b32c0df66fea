//! What a backup has made.

use std::path::PathBuf;

use iostall_engine::EngineReport;
use iostall_model::backup::{FileKind, Manifest, Totals};

use super::item::PagesSeen;
use super::stripe::Stripe;
use super::writer::SetWriter;

#[derive(Debug)]
pub struct Made {
    /// Also of a backup to `null:`, which has no stripes.
    pub manifest: Manifest,
    /// Where it is; `None` for `null:`.
    pub manifest_path: Option<PathBuf>,
    /// A manifest in a store that does not refuse to replace it: two backups to one name can harm each other there.
    pub replacing_store: Option<PathBuf>,
    pub stripes: Vec<MadeStripe>,
    pub counts: Counts,
    pub sync_ns: u64,
    pub caching_reasons: Vec<String>,
    pub reads_directly: bool,
    pub writes_directly: bool,
    pub engine: Option<EngineReport>,
    pub page_bytes: Option<u32>,
    /// What the checksums of the databases' pages said; `None` if no source has any.
    pub pages: Option<PagesSeen>,
    /// Bytes that killed backups to the same names had left, and that were removed.
    pub removed_bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeStripe {
    /// `None` for `null:`.
    pub path: Option<PathBuf>,
    pub bytes: u64,
    pub frames: u64,
    /// Time with at least one write in flight, nanoseconds.
    pub busy_ns: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Regular files, devices and streams.
    pub files: u64,
    /// Of these, stored together with others.
    pub small_files: u64,
    pub directories: u64,
    /// Symbolic links and further names of files.
    pub links: u64,
    /// Pipes, sockets and device nodes, which were left out.
    pub skipped_specials: u64,
    pub changed: u64,
}

pub(super) fn stripes(writer: &SetWriter<'_>) -> Vec<MadeStripe> {
    let stripes = (0..).zip(writer.stripes());
    let made = |(number, stripe): (usize, &Stripe)| MadeStripe {
        path: writer.path(number),
        bytes: stripe.end,
        frames: stripe.frames,
        busy_ns: stripe.busy_ns,
    };
    stripes.map(made).collect()
}

pub(super) fn totals(manifest: &Manifest, writer: &SetWriter<'_>) -> Totals {
    let contents = || {
        let has_content =
            |kind: &FileKind| matches!(kind, FileKind::File | FileKind::BlockDevice | FileKind::Stream);
        manifest.files.iter().filter(move |entry| has_content(&entry.kind))
    };
    let bytes: u64 = contents().map(|entry| entry.size_bytes).sum();
    let data_bytes: u64 = contents().map(|entry| entry.data_bytes).sum();
    let stripes = writer.stripes();
    Totals {
        files: contents().count() as u64,
        bytes,
        hole_bytes: bytes.saturating_sub(data_bytes),
        source_bytes: stripes.iter().map(|stripe| stripe.source_bytes).sum::<u64>() + writer.base_bytes,
        base_bytes: writer.base_bytes,
        compressed_bytes: stripes.iter().map(|stripe| stripe.compressed_bytes).sum(),
        stored_bytes: stripes.iter().map(|stripe| stripe.end).sum(),
    }
}
