//! Carries out a backup whose sources are known.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use iostall_engine::{OpenTarget, files, random_bytes};
use iostall_measure::clock::utc_now;
use iostall_measure::platform::TargetKind;
use iostall_measure::{Clock as _, MonotonicClock};
use iostall_model::backup::{
    BackupSettings, Compression, FileKind, Manifest, SetId, SourceRecord, StoredName, Totals,
};

use super::base::{Base, Before};
use super::encode::{Content, Part, Tagged};
use super::error::CreateError;
use super::item::{Item, PagesSeen, PreparedSource, What, join};
use super::ledger::{Ledger, Said};
use super::made::{self, Counts, Made};
use super::open::{Batch, batches};
use super::options::{CreateOptions, Shape};
use super::room::shortages;
use super::small::{self, Change, SmallFile, SmallSource};
use super::source::{FileBatch, Fills, stream};
use super::streamed::{self, FileStream};
use super::targets::{self, Targets, reason};
use super::writer::SetWriter;
use crate::backup::codec::{FileKey, Sealer, SetKeys, wrap};
use crate::backup::format::{CodecKind, FrameKind, StripeHeader, WrappedKeys};
use crate::backup::manifest_file;
use crate::progress::Progress;

const REASONS_MAX: usize = 8;

struct Keys {
    set: SetKeys,
    wrapped: WrappedKeys,
}

impl Keys {
    fn of(options: &CreateOptions, set: SetId) -> Result<Option<Self>, CreateError> {
        let Some(lock) = &options.lock else { return Ok(None) };
        let key = FileKey::random()?;
        Ok(Some(Self { set: key.keys_of(set), wrapped: wrap(&key, set, lock)? }))
    }
}

pub(super) fn new_set() -> Result<SetId, CreateError> {
    random_bytes().map(SetId).map_err(|source| CreateError::System {
        verb: "make an id from",
        path: "the system's random numbers".into(),
        source,
    })
}

/// Checks everything that can be known before the sources are looked at, which may take long.
pub fn check(options: &CreateOptions) -> Result<(), CreateError> {
    Shape::of(options)?;
    targets::check(&options.targets)?;
    targets::check_lockable(&options.targets, options.object_lock.as_ref())
}

/// Makes a backup of `sources`. On any error nothing is left that looks like one.
pub fn create(
    options: &CreateOptions,
    sources: Vec<PreparedSource>,
    progress: &Progress,
) -> Result<Made, CreateError> {
    let shape = Shape::of(options)?;
    check(options)?;
    files::raise_open_file_limit();
    let set = new_set()?;
    let started_utc = utc_now();
    let keys = Keys::of(options, set)?;
    let sealer = keys.as_ref().map(|keys| Sealer::new(&keys.set)).transpose()?;
    let settings = shape.settings(options);
    let created_unix_ns = u64::try_from(started_utc.as_nanosecond()).unwrap_or(0);
    let wrapped = keys.as_ref().map(|keys| &keys.wrapped);
    let bases = options.base.as_ref().map(|base| base.records.clone()).unwrap_or_default();
    let base = bases.first().map(|base| base.set);
    let header =
        |stripe| StripeHeader { base, ..stripe_header(set, stripe, &settings, created_unix_ns, wrapped) };
    let (made, removed_bytes) = Targets::create(set, &options.targets, options.object_lock, header)?;
    if options.compression == Compression::None
        && let Some(shortage) = shortages(&options.targets, &sources).into_iter().next()
    {
        return Err(CreateError::NoRoom(shortage));
    }
    let made = (!options.targets.is_empty()).then_some(made);
    for source in &sources {
        add_total(progress, source.items.iter().chain(&source.last));
    }
    let mut backup = Backup {
        shape,
        base: options.base.clone(),
        writer: SetWriter::new(set, shape, options, sealer, made, progress)?,
        progress,
        ledger: Ledger::default(),
        counts: Counts::default(),
        reasons: Vec::new(),
        reads_directly: true,
        pages: None,
    };
    let page_bytes = sources.iter().find_map(|source| source.page_bytes);
    let mut said = Said::default();
    let mut records = Vec::with_capacity(sources.len());
    for (index, source) in (0..).zip(sources) {
        records.push(backup.source(index, source, &mut said)?);
    }
    let manifest = Manifest {
        set,
        tool_version: options.tool_version.clone(),
        host: options.host.clone(),
        started_utc,
        ended_utc: started_utc,
        settings,
        object_lock: options.object_lock,
        sources: records,
        stripes: Vec::new(),
        totals: Totals::default(),
        bases,
        warnings: Vec::new(),
        content_warnings: None,
        files: Vec::new(),
    };
    let made = backup.finish(manifest, said, keys.as_ref())?;
    Ok(Made { page_bytes, removed_bytes, ..made })
}

pub(super) fn stripe_header(
    set: SetId,
    stripe: u16,
    settings: &BackupSettings,
    created_unix_ns: u64,
    keys: Option<&WrappedKeys>,
) -> StripeHeader {
    let (codec, level) = match settings.compression {
        Compression::None => (CodecKind::None, 0),
        Compression::Zstd(level) => (CodecKind::Zstd, level),
        Compression::Lz4 => (CodecKind::Lz4, 0),
    };
    StripeHeader {
        set,
        stripe,
        stripes: settings.stripes,
        block_bytes: settings.block_bytes,
        frame_bytes: settings.frame_bytes,
        transfer_bytes: settings.transfer_bytes,
        created_unix_ns,
        codec,
        level,
        keys: keys.cloned(),
        base: None,
    }
}

struct Backup<'a> {
    shape: Shape,
    base: Option<Arc<Base>>,
    writer: SetWriter<'a>,
    progress: &'a Progress,
    ledger: Ledger,
    counts: Counts,
    reasons: Vec<String>,
    reads_directly: bool,
    pages: Option<PagesSeen>,
}

#[derive(Default)]
struct Sorted {
    small: Vec<SmallFile>,
    large: Vec<(Tagged, PathBuf)>,
    large_bytes: u64,
    parts: Vec<Part>,
    streams: Vec<(Tagged, Box<dyn io::Read + Send>)>,
    file_streams: Vec<FileStream>,
}

impl Backup<'_> {
    fn source(
        &mut self,
        index: u32,
        source: PreparedSource,
        said: &mut Said,
    ) -> Result<SourceRecord, CreateError> {
        let PreparedSource { mut record, items, last, mut live, skipped_specials, content_warnings, .. } =
            source;
        said.content_warnings.extend(content_warnings);
        self.counts.skipped_specials += skipped_specials;
        self.store(index, &record.prefix, items)?;
        self.store(index, &record.prefix, last)?;
        if let Some(live) = &mut live {
            let named = record.named.clone();
            let end = live.end().map_err(|cause| CreateError::Live { named, cause })?;
            add_total(self.progress, &end.items);
            self.store(index, &record.prefix, end.items)?;
            record.kind = end.kind;
            said.warnings.extend(end.warnings);
            said.content_warnings.extend(end.content_warnings);
            if let Some(pages) = live.pages() {
                said.content_warnings.extend(pages.warnings());
                self.pages.get_or_insert_default().add(pages);
            }
        }
        record.read_until_utc = utc_now();
        Ok(record)
    }

    fn store(&mut self, source: u32, prefix: &StoredName, items: Vec<Item>) -> Result<(), CreateError> {
        let mut sorted = Sorted::default();
        for item in items {
            self.sort(source, prefix, item, &mut sorted);
        }
        self.small(sorted.small)?;
        if !sorted.large.is_empty() {
            let read_bytes = self.shape.read_bytes_of(sorted.large_bytes);
            batches(sorted.large, read_bytes, self.progress, |batch| self.large(batch))?;
        }
        self.writer.parts(sorted.parts)?;
        sorted.streams.into_iter().try_for_each(|(file, from)| self.stream(file, from))?;
        sorted.file_streams.into_iter().try_for_each(|files| self.file_stream(files))
    }

    fn sort(&mut self, source: u32, prefix: &StoredName, item: Item, sorted: &mut Sorted) {
        let name = join(prefix, &item.name);
        if let What::Files(stream) = item.what {
            let Item { metadata, inspect, .. } = item;
            let base = self.base.clone();
            let files = FileStream { stream, prefix: name, source, metadata, inspect, base };
            sorted.file_streams.push(files);
            return;
        }
        let size_bytes = item.size_bytes();
        let is_small = size_bytes <= self.shape.small_bytes();
        let (kind, count) = match &item.what {
            What::Directory => (FileKind::Directory, &mut self.counts.directories),
            What::Symlink { to } => (FileKind::Symlink { to: to.clone() }, &mut self.counts.links),
            What::HardLink { to } => (FileKind::HardLink { to: join(prefix, to) }, &mut self.counts.links),
            What::File { .. } | What::Generated(_) => (FileKind::File, &mut self.counts.files),
            What::BlockDevice { .. } => (FileKind::BlockDevice, &mut self.counts.files),
            What::Stream(_) | What::Files(_) => (FileKind::Stream, &mut self.counts.files),
        };
        *count += 1;
        let number =
            self.ledger.add(name.clone(), kind, source, item.metadata, item.attributes, item.on_change);
        let inspect = item.inspect;
        let before = Before::of(self.base.as_ref(), &name);
        let small = |from, inspect, before| {
            let size_bytes = u32::try_from(size_bytes).unwrap_or(u32::MAX);
            SmallFile { number, name: name.clone(), from, size_bytes, inspect, before }
        };
        match item.what {
            What::Directory | What::Symlink { .. } | What::HardLink { .. } | What::Files(_) => {}
            // Nothing to store but the entry.
            What::File { .. } | What::Generated(_) if size_bytes == 0 => self.progress.end_file(),
            What::File { path, .. } if is_small => {
                sorted.small.push(small(SmallSource::Path(path), inspect, before));
            }
            What::Generated(bytes) if is_small => {
                sorted.small.push(small(SmallSource::Memory(bytes), inspect, before));
            }
            What::File { path, .. } | What::BlockDevice { path, .. } => {
                sorted.large_bytes += size_bytes;
                sorted.large.push((Tagged { number, name, inspect, before }, path));
            }
            What::Generated(bytes) => {
                self.ledger.stored(number, size_bytes, size_bytes, None);
                self.progress.end_file();
                let frame_bytes = self.shape.frame_bytes as usize;
                let part = |(index, bytes): (usize, &[u8])| {
                    let offset = (index * frame_bytes) as u64;
                    let bytes = bytes.to_vec();
                    let before = before.clone();
                    Part { kind: FrameKind::Data, file: number, offset, stripe: 0, bytes, before }
                };
                sorted.parts.extend(bytes.chunks(frame_bytes).enumerate().map(part));
            }
            What::Stream(stream) => sorted.streams.push((Tagged { number, name, inspect, before }, stream)),
        }
    }

    fn small(&mut self, files: Vec<SmallFile>) -> Result<(), CreateError> {
        if files.is_empty() {
            return Ok(());
        }
        self.counts.small_files += files.len() as u64;
        self.progress.begin_file(std::path::Path::new("small files"), 0, "backing up");
        let transfers = small::plan(files, &self.shape);
        let length =
            |bundles: &Vec<Vec<SmallFile>>| bundles.iter().flatten().map(|file| file.size_bytes).sum();
        let mut source = Fills::new(transfers.iter().map(length).collect());
        let content = Content::Small { transfers, results: Mutex::default() };
        let workers = self.shape.fillers;
        let Content::Small { results, .. } = self.writer.run(content, &mut source, None, &[], workers)?
        else {
            return Ok(());
        };
        for result in results.into_inner().unwrap_or_else(PoisonError::into_inner) {
            let bytes = u64::from(result.read_bytes);
            self.progress.end_file();
            self.ledger.stored(result.number, bytes, bytes, result.stamp.as_ref());
            match result.change {
                Some(Change::Vanished) => self.ledger.vanished(result.number),
                Some(Change::Changed(how)) => self.ledger.changed(result.number, how),
                None => {}
            }
        }
        Ok(())
    }

    /// Reads a batch of large files with requests that bypass the page cache.
    fn large(&mut self, batch: Batch) -> Result<(), CreateError> {
        let Batch { files, reads, opened, vanished } = batch;
        for number in vanished {
            self.progress.end_file();
            self.ledger.vanished(number);
        }
        for (open, _) in &opened {
            self.note_caching(open);
        }
        if files.is_empty() {
            return Ok(());
        }
        let first = self.writer.first_file();
        let mut source = FileBatch::new(first, reads, self.progress);
        let handles: Vec<&OpenTarget> = opened.iter().map(|(open, _)| open).collect();
        let content = Content::Files { first, files };
        let workers = self.shape.workers;
        let content = self.writer.run(content, &mut source, None, &handles, workers)?;
        let Content::Files { files, .. } = content else { return Ok(()) };
        for ((file, read), (open, before)) in files.iter().zip(&source.files).zip(&opened) {
            self.ledger.stored(file.number, read.stored_size(), read.data_bytes, Some(before));
            let after = files::stamp(open).map_err(CreateError::system("look at", &open.path))?;
            // The times of a device's node are not those of its content.
            let change =
                if open.kind == TargetKind::File { after.content_change_since(before) } else { None };
            match change {
                Some(how) => self.ledger.changed(file.number, how),
                None if read.has_shrunk() => self.ledger.changed(file.number, "its size changed"),
                None => {}
            }
        }
        Ok(())
    }

    fn note_caching(&mut self, open: &OpenTarget) {
        if !open.direct.as_ref().is_some_and(|direct| direct.granted) {
            self.reads_directly = false;
        }
        if self.reasons.len() < REASONS_MAX {
            self.reasons.extend(reason(&open.path, open));
        }
    }

    fn stream(&mut self, file: Tagged, from: Box<dyn io::Read + Send>) -> Result<(), CreateError> {
        let (number, name) = (file.number, file.name.to_string());
        self.progress.begin_file(std::path::Path::new(&name), 0, "backing up");
        let (mut fills, mut reader) = stream(from, name, self.shape.read_bytes);
        let workers = self.shape.workers;
        self.writer.run(Content::Stream(file), &mut fills, Some(&mut reader), &[], workers)?;
        self.ledger.stored(number, reader.bytes, reader.bytes, None);
        self.progress.end_file();
        Ok(())
    }

    fn file_stream(&mut self, files: FileStream) -> Result<(), CreateError> {
        let (writer, ledger) = (&mut self.writer, &mut self.ledger);
        let stored = streamed::store(files, writer, ledger, &self.shape, self.progress)?;
        self.counts.files += stored.files;
        self.counts.directories += stored.directories;
        self.counts.links += stored.links;
        Ok(())
    }

    /// Writes what comes after the files: entries, indexes, ends, names, the manifest.
    fn finish(
        mut self,
        mut manifest: Manifest,
        mut said: Said,
        keys: Option<&Keys>,
    ) -> Result<Made, CreateError> {
        self.counts.changed = self.ledger.changed;
        let entries = self.ledger.finish(&mut said);
        self.writer.entries(&entries)?;
        self.writer.bases(&manifest.bases)?;
        self.writer.digests()?;
        let clock = MonotonicClock::new();
        let begun_ns = clock.now_ns();
        self.writer.end()?;
        manifest.content_warnings = Some(said.content_warnings.len());
        manifest.warnings = said.content_warnings.into_iter().chain(said.warnings).collect();
        manifest.ended_utc = utc_now();
        manifest.stripes = self.writer.records();
        manifest.files = entries;
        manifest.totals = made::totals(&manifest, &self.writer);
        let keys = keys.map(|keys| (&keys.set, &keys.wrapped));
        let target_reasons = self.writer.reasons();
        let writes_directly = !manifest.stripes.is_empty() && target_reasons.is_empty();
        self.reasons.extend(target_reasons);
        let stripes = made::stripes(&self.writer);
        let engine = self.writer.engine.clone();
        let (manifest_path, replacing_store) = if manifest.stripes.is_empty() {
            (None, None)
        } else {
            let file = manifest_file::encode(&manifest, keys)
                .map_err(|error| CreateError::Stage(Box::new(error)))?;
            if self.progress.is_cancelled() {
                return Err(CreateError::Cancelled);
            }
            self.base.as_deref().map_or(Ok(()), Base::check_is_there)?;
            self.writer.publish(&file)?
        };
        Ok(Made {
            manifest,
            manifest_path,
            replacing_store,
            stripes,
            counts: self.counts,
            sync_ns: clock.now_ns() - begun_ns,
            caching_reasons: self.reasons,
            reads_directly: self.reads_directly,
            writes_directly,
            engine,
            page_bytes: None,
            pages: self.pages,
            removed_bytes: 0,
        })
    }
}

fn add_total<'i>(progress: &Progress, items: impl IntoIterator<Item = &'i Item>) {
    let contents = items.into_iter().filter(|item| item.has_content());
    let (files, bytes) = contents.fold((0, 0), |(files, bytes), item| (files + 1, bytes + item.size_bytes()));
    progress.add_total(files, bytes);
}
