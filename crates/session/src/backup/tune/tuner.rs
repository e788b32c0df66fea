//! Makes trials with settings, and says what there is to try.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use iostall_engine::files;
use iostall_host::memory_available_bytes;
use iostall_measure::Nanos;
use iostall_measure::foreign::without_passwords;
use iostall_model::backup::{BackupSettings, Compression};
use iostall_remote::is_object;
use iostall_transfer::backup::codec::Lock;
use iostall_transfer::backup::create::{
    CreateError, CreateOptions, Feed, Sample, SourceRequest, Trial, TrialLimit, check_targets, prepare, trial,
};

use super::axes::{Axes, Given, Setting};
use super::grid::Grid;
use super::search::{Searched, Seen, search_within};
use crate::backup::database::DatabaseSource;
use crate::error::SessionError;
use crate::event::{Observer, TrialPlace, TunePlan};
use crate::transfer::Transfer;

/// The most that one trial writes beside the stripes.
const TRIAL_BYTES_MAX: u64 = 1 << 30;
/// A trial of less says nothing about a device.
const TRIAL_BYTES_MIN: u64 = 16 << 20;
/// What a trial sends to a store for each stripe at least: two parts of an upload.
const STORE_STRIPE_BYTES_MIN: u64 = 16 << 20;
/// A small source is moved at most this often, or up to so many bytes, in one trial.
const TIMES_MAX: u64 = 4;
const SMALL_SOURCE_BYTES: u64 = 64 << 20;
/// A trial takes at most this part of the space that is free.
const FREE_PART: u64 = 4;
/// Buffers take at most this much, and this part of the memory that is free, unless the user says how much.
const MEMORY_MAX: u64 = 2 << 30;
const MEMORY_PART: u64 = 4;
/// The golden ratio spreads any number of places evenly.
const GOLDEN: f64 = 0.618_033_988_749_895;

pub(super) struct Tuner<'r> {
    pub(super) request: &'r TuneRequest,
    pub(super) sample: Sample,
    pub(super) default: BackupSettings,
    pub(super) trial_bytes: u64,
    cancel: Arc<AtomicBool>,
    /// The targets by their place in the request, the fastest first.
    pub(super) order: Vec<usize>,
    trials: u32,
    /// The fastest trial to a store so far, bytes of the source a second.
    to_store_bytes_per_s: f64,
}

impl<'r> Tuner<'r> {
    pub(super) fn new(request: &'r TuneRequest, transfer: &Transfer) -> Result<Self, SessionError> {
        refuse_what_is_read_once(&request.sources)?;
        check_targets(&request.targets)?;
        let paths = request.sources.iter().cloned().map(SourceRequest::Path).collect();
        let sample = Sample::of(&prepare(paths, &request.targets, transfer.progress())?);
        if sample.bytes() == 0 {
            return Err(SessionError::TuneEmpty {
                named: request.sources.first().cloned().unwrap_or_default(),
            });
        }
        let files = request.targets.iter().filter(|target| !is_object(target));
        let trial_bytes = trial_bytes(sample.bytes(), files.map(|target| directory_of(target)))?;
        let mut tuner = Self {
            request,
            sample,
            default: BackupSettings::default(),
            trial_bytes,
            cancel: transfer.progress().cancel_flag(),
            order: (0..request.targets.len()).collect(),
            trials: 0,
            to_store_bytes_per_s: 0.0,
        };
        tuner.default = tuner.as_given().settings()?;
        Ok(tuner)
    }

    pub(super) fn given(&self) -> Given {
        let TuneRequest { compression, frame_bytes, transfer_bytes, buffers, .. } = *self.request;
        Given { compression, frame_bytes, transfer_bytes, buffers }
    }

    pub(super) fn as_given(&self) -> CreateOptions {
        let request = self.request;
        CreateOptions {
            targets: request.targets.clone(),
            compression: request.compression.unwrap_or_default(),
            frame_bytes: request.frame_bytes,
            transfer_bytes: request.transfer_bytes,
            buffers: request.buffers,
            workers: request.workers,
            lock: request.lock.clone(),
            ..CreateOptions::default()
        }
    }

    fn options(&self, setting: &Setting) -> CreateOptions {
        CreateOptions {
            targets: self.targets(setting).iter().map(|at| self.request.targets[*at].clone()).collect(),
            compression: setting.compression,
            frame_bytes: Some(setting.frame_bytes),
            transfer_bytes: Some(setting.transfer_bytes),
            buffers: Some(setting.buffers),
            ..self.as_given()
        }
    }

    fn targets(&self, setting: &Setting) -> Vec<usize> {
        targets_of(setting, &self.order)
    }

    pub(super) fn grid(&self, axes: &Axes) -> Result<(Grid<Setting>, u64), SessionError> {
        let memory_max = memory_max(self.request.memory_bytes);
        let default = Setting {
            stripes: self.request.targets.len(),
            buffers: self.default.buffer_count,
            transfer_bytes: self.default.transfer_bytes,
            frame_bytes: self.default.frame_bytes,
            compression: self.default.compression,
        };
        let memory_of = |setting: &Setting| self.options(setting).memory_bytes().ok();
        let grid = axes.grid(&default, memory_max, &memory_of).ok_or_else(|| SessionError::TuneMemory {
            wanted_bytes: memory_of(&default).unwrap_or_default(),
            memory_bytes: memory_max,
        })?;
        Ok((grid, memory_max))
    }

    pub(super) fn plan(&self, grid: &Grid<Setting>, memory_bytes_max: u64) -> TunePlan {
        let trial_bytes_max = if self.request.targets.is_empty() { 0 } else { self.trial_bytes };
        let plan = grid.plan(self.request.budget, memory_bytes_max, trial_bytes_max);
        if is_to_store(&self.request.targets) {
            TunePlan { place: TrialPlace::Uploads, ..plan }
        } else {
            plan
        }
    }

    pub(super) fn search(
        &mut self,
        grid: &Grid<Setting>,
        transfer: &Transfer,
        observer: &dyn Observer,
    ) -> (Searched, Result<(), CreateError>) {
        let budget = self.request.budget;
        let mut measure = |setting: &Setting, seconds: f64| self.trial(&self.options(setting), None, seconds);
        search_within(grid, budget, transfer, observer, &mut measure)
    }

    /// Moves data for so many seconds: from memory, or from the next place of the source.
    pub(super) fn trial(
        &mut self,
        options: &CreateOptions,
        memory: Option<&[Vec<u8>]>,
        seconds: f64,
    ) -> Result<Seen, CreateError> {
        self.trials += 1;
        let feed = memory.map_or(Feed::Source(&self.sample, place_of(self.trials)), Feed::Memory);
        let limit = TrialLimit { seconds, bytes: self.bytes_max(&options.targets, seconds) };
        match trial(options, feed, limit, Arc::clone(&self.cancel)) {
            Ok(Trial { bytes_per_s, source_bytes, stored_bytes }) => {
                let bytes_per_s = (bytes_per_s > 0.0).then_some(bytes_per_s);
                let rate = bytes_per_s.filter(|_| is_to_store(&options.targets));
                self.to_store_bytes_per_s = self.to_store_bytes_per_s.max(rate.unwrap_or_default());
                // A store had all of it at the end, however long that took.
                let moved_s = rate.map(|rate| source_bytes as f64 / rate);
                Ok(Seen { bytes_per_s, source_bytes, stored_bytes, moved_s })
            }
            // A setting that this machine cannot have is a bad one, and no reason to stop.
            Err(CreateError::Buffers { .. } | CreateError::Engine(_)) => Ok(Seen::default()),
            Err(error) => Err(error),
        }
    }
}

impl Tuner<'_> {
    /// The most that a trial moves to these targets in so many seconds. What waits for the network is in memory, and a trial ends when
    /// the store has all of it: so it begins with little, and goes by what earlier ones have shown.
    fn bytes_max(&self, targets: &[PathBuf], seconds: f64) -> u64 {
        if targets.is_empty() {
            return u64::MAX;
        }
        if !is_to_store(targets) {
            return self.trial_bytes;
        }
        let at_rate = Nanos::from_seconds(self.to_store_bytes_per_s * seconds / 1e9).nanos();
        at_rate.max(STORE_STRIPE_BYTES_MIN * targets.len() as u64).min(self.trial_bytes)
    }
}

/// Whether they are objects of a store; all of them are, or none.
pub(super) fn is_to_store(targets: &[PathBuf]) -> bool {
    targets.first().is_some_and(|target| is_object(target))
}

/// The places of a setting's targets, in the order in which they were named.
pub(super) fn targets_of(setting: &Setting, order: &[usize]) -> Vec<usize> {
    let mut chosen: Vec<usize> = order.iter().copied().take(setting.stripes).collect();
    chosen.sort_unstable();
    chosen
}

fn directory_of(file: &Path) -> &Path {
    file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

pub(in crate::backup) fn memory_max(asked: Option<u64>) -> u64 {
    asked.unwrap_or_else(|| {
        memory_available_bytes().map_or(MEMORY_MAX, |free| (free / MEMORY_PART).min(MEMORY_MAX))
    })
}

/// Where a trial begins, as a share of the whole: each at another place, so that none finds in a cache what the one before read.
pub(in crate::backup) fn place_of(trial: u32) -> f64 {
    (f64::from(trial) * GOLDEN).fract()
}

/// The most that a trial moves: not too much for a small source, and only a part of the free space.
pub(in crate::backup) fn trial_bytes<'p>(
    source_bytes: u64,
    directories: impl IntoIterator<Item = &'p Path>,
) -> Result<u64, SessionError> {
    let wanted = source_bytes.saturating_mul(TIMES_MAX).clamp(SMALL_SOURCE_BYTES, TRIAL_BYTES_MAX);
    let mut bytes = wanted;
    for directory in directories {
        let look = |source| SessionError::Look { path: directory.to_owned(), source };
        let free_bytes = files::free_bytes(directory).map_err(look)?;
        bytes = bytes.min(free_bytes / FREE_PART);
        if bytes < TRIAL_BYTES_MIN {
            let wanted_bytes = TRIAL_BYTES_MIN * FREE_PART;
            return Err(SessionError::TuneSpace {
                directory: directory.to_owned(),
                free_bytes,
                wanted_bytes,
            });
        }
    }
    Ok(bytes)
}

/// Refuses what cannot be read again and again.
fn refuse_what_is_read_once(sources: &[PathBuf]) -> Result<(), SessionError> {
    for source in sources.iter().filter(|source| !source.exists()) {
        let named = source.to_string_lossy();
        if named == "-" {
            return Err(SessionError::TuneStream);
        }
        // What is wrong with an address is of no interest here.
        if !matches!(DatabaseSource::parse(&named), Ok(None)) || named.contains("://") {
            return Err(SessionError::TuneDatabase { named: without_passwords(&named).into_owned() });
        }
    }
    Ok(())
}

/// What to tune. What is `None` is open.
pub struct TuneRequest {
    pub sources: Vec<PathBuf>,
    /// Where stripes may go; none for `null:`.
    pub targets: Vec<PathBuf>,
    pub compression: Option<Compression>,
    pub frame_bytes: Option<u32>,
    pub transfer_bytes: Option<u32>,
    pub buffers: Option<u32>,
    pub workers: Option<u32>,
    pub lock: Option<Lock>,
    pub budget: Nanos,
    pub memory_bytes: Option<u64>,
    /// Further words of the command line for a backup, such as its encryption.
    pub kept: Vec<String>,
}
