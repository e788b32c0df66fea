//! Checks one target, creates it if it does not exist, opens and describes it: then it is ready for load.

use std::fs;
use std::path::Path;

use iostall_engine::files::UnfinishedFile;
use iostall_engine::guard::{
    GrantReason, HeaderKind, Refusal, WriteConsent, WriteGrant, check_free_space, check_write,
    hold_for_reading, made_by_iostall, mark_made_by_iostall,
};
use iostall_engine::open::{OpenOptions, open_target};
use iostall_engine::target_facts;
use iostall_host as host;
use iostall_load::prepare::{PrepareError, SIZE_ALIGN, write_range};
use iostall_load::window::StopToken;
use iostall_load::{EngineKind, LoadTarget};
use iostall_measure::platform::Target;
use iostall_measure::{ByteCount, Caching};

use super::hold::{Hold, is_ours};
use super::named::{Named, SCRATCH_NAME};
use crate::error::SessionError;
use crate::event::{Event, Observer};
use crate::names::is_named;

/// Largest scratch file, so that the first run does not take long to start.
const SCRATCH_BYTES_MAX: u64 = 4 << 30;

pub(crate) struct Maker<'a> {
    pub(crate) kind: &'a EngineKind,
    pub(crate) observer: &'a dyn Observer,
    pub(crate) stop: &'a StopToken,
}

/// The ideal size (twice the memory), limited by free space and by the time to write it.
pub(super) fn scratch_size() -> Result<ByteCount, SessionError> {
    let here = Path::new(".");
    let space = host::file_system_of(here).ok_or(SessionError::NoFileSystem)?;
    let wanted = (host::host().memory_bytes * 2).min(space.free_bytes / 10).min(SCRATCH_BYTES_MAX);
    Ok(ByteCount(wanted.next_multiple_of(SIZE_ALIGN).max(64 << 20)))
}

pub(super) struct Making<'a> {
    pub(super) maker: &'a Maker<'a>,
    pub(super) seed: u64,
    pub(super) consent: &'a WriteConsent,
    pub(super) size: Option<ByteCount>,
}

impl Making<'_> {
    pub(super) fn prepare(&self, target: Named) -> Result<Ready, SessionError> {
        let size = match &target.own {
            Some(own) => own.made,
            None => self.size,
        };
        let found_bytes =
            fs::metadata(&target.path).ok().filter(fs::Metadata::is_file).map(|file| file.len());
        let too_small = self.is_too_small(&target, found_bytes, size);
        let mut written = None;
        if target.roles_write || too_small || target.is_scratch {
            let grant = check_write(&target.path, self.consent).map_err(|refusal| match refusal {
                Refusal::FileNotNamed { .. } if target.is_scratch => {
                    SessionError::ScratchInTheWay { name: SCRATCH_NAME }
                }
                refusal => SessionError::Refused(refusal),
            })?;
            // From here on a scratch file is removed, whatever fails.
            let hold = Hold::written(grant, target.is_scratch, &target.path);
            if let Some(grant) = hold.grant() {
                let empty = matches!(grant.reason(), GrantReason::Created | GrantReason::Empty);
                if too_small || empty {
                    self.make_file(&target.path, grant, size)?;
                }
            }
            written = Some(hold);
        }
        describe(target, written, size, found_bytes)
    }

    /// Whether a file must be created or extended: one of ours, or one with a size of its own that the user
    /// allowed to be overwritten.
    fn is_too_small(&self, target: &Named, found_bytes: Option<u64>, size: Option<ByteCount>) -> bool {
        let Some(found_bytes) = found_bytes else { return fs::metadata(&target.path).is_err() };
        let may_grow = || {
            made_by_iostall(&target.path).unwrap_or(false)
                || target.own.is_some() && is_named(&target.path, &self.consent.overwrite)
        };
        found_bytes < size.map_or(0, ByteCount::bytes) && may_grow()
    }

    /// Writes the file to its size; if that fails, a new file is removed again.
    fn make_file(
        &self,
        shown: &Path,
        grant: &WriteGrant,
        size: Option<ByteCount>,
    ) -> Result<(), SessionError> {
        let is_new = *grant.reason() == GrantReason::Created;
        let _listed = is_new.then(|| UnfinishedFile::at(grant.path()));
        let made = self.write_file(shown, grant, size);
        if made.is_err() && is_new {
            // If it cannot be removed, it stays marked as ours, or empty.
            drop(grant.remove());
        }
        made
    }

    fn write_file(
        &self,
        shown: &Path,
        grant: &WriteGrant,
        size: Option<ByteCount>,
    ) -> Result<(), SessionError> {
        let wanted = size.unwrap_or(DEFAULT_SIZE).bytes();
        // What no file can have does not fit below, either.
        let wanted = wanted.checked_next_multiple_of(SIZE_ALIGN).unwrap_or(u64::MAX - (SIZE_ALIGN - 1));
        let found = grant.file().metadata()?.len();
        // What is there stays until the load itself comes to it: a job may use only what lies behind it.
        let from = found.next_multiple_of(SIZE_ALIGN);
        check_free_space(grant.path().parent().unwrap_or(Path::new(".")), wanted.saturating_sub(found))?;
        let mut first_header = HeaderKind::Block;
        if is_ours(grant) {
            mark_made_by_iostall(grant.file())
                .map_err(|source| SessionError::Mark { path: shown.to_owned(), source })?;
            first_header = HeaderKind::MadeFile;
        }
        let Maker { kind, observer, stop } = self.maker;
        let (path, size) = (shown, ByteCount(wanted));
        observer.on(&Event::FileBegun { path, size });
        let mut go_on = |done: u64| {
            observer.on(&Event::FileProgress { path, done: ByteCount(from + done), size });
            !stop.is_raised()
        };
        let written =
            write_range(&grant.open_path(), from, wanted, self.seed, first_header, kind, &mut go_on);
        observer.on(&Event::ProgressEnded);
        written.map_err(|error| match error {
            PrepareError::Interrupted => SessionError::Interrupted,
            source => SessionError::Make { path: shown.to_owned(), source },
        })
    }
}

fn describe(
    target: Named,
    written: Option<Hold>,
    size: Option<ByteCount>,
    found_bytes: Option<u64>,
) -> Result<Ready, SessionError> {
    let granted = written.as_ref().and_then(Hold::grant);
    let path = granted.map_or_else(|| target.path.clone(), WriteGrant::open_path);
    let caching = if target.buffered { Caching::Buffered } else { Caching::Direct };
    let opened =
        open_target(&path, &OpenOptions { caching, ..OpenOptions::default() }).map_err(SessionError::Open)?;
    let mut facts = target_facts(&target.path, opened.direct.clone())
        .map_err(|source| SessionError::Look { path: target.path.clone(), source })?;
    facts.size_bytes = opened.size_bytes;
    let size_bytes = size.map_or(opened.size_bytes, |size| size.bytes().min(opened.size_bytes));
    if size_bytes == 0 {
        return Err(SessionError::Empty { path: target.path });
    }
    let of_span = |bytes: &Option<ByteCount>| {
        let bytes = bytes.map(ByteCount::bytes).or(found_bytes);
        bytes.unwrap_or(opened.size_bytes).min(opened.size_bytes)
    };
    let span_bytes = target.own.iter().flat_map(|own| &own.in_spans).map(of_span).collect();
    let (open_path, hold) = if let Some(hold) = written {
        (path, hold)
    } else {
        let lock = hold_for_reading(&target.path, opened.file())?;
        (opened.open_path(), Hold::read(opened, lock, &target.path))
    };
    let first_header = hold.first_header();
    let load = LoadTarget { name: target.name, path: target.path, open_path, size_bytes, first_header };
    Ok(Ready { load, span_bytes, facts, hold, size_chosen: false })
}

pub(super) const DEFAULT_SIZE: ByteCount = ByteCount(1 << 30);

pub(super) struct Ready {
    pub(super) load: LoadTarget,
    /// How much of it each span uses; later spans use what `load` says.
    pub(super) span_bytes: Vec<u64>,
    pub(super) facts: Target,
    pub(super) hold: Hold,
    /// Made for this run, with a size that nobody asked for.
    pub(super) size_chosen: bool,
}
