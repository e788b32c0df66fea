//! Makes trials of a restore, and says what there is to try.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use iostall_measure::Nanos;
use iostall_transfer::backup::codec::Unlock;
use iostall_transfer::backup::create::{Trial, TrialLimit};
use iostall_transfer::backup::read::{OpenSet, ReadChoice};
use iostall_transfer::backup::restore::{RestoreError, RestoreSample};

use super::axes::{Axes, Setting};
use crate::backup::tune::grid::Grid;
use crate::backup::tune::search::{Searched, Seen, search_within};
use crate::backup::tune::tuner::{memory_max, place_of, trial_bytes};
use crate::error::{SessionError, UseCaseError};
use crate::event::{Observer, TrialPlace, TunePlan};
use crate::transfer::Transfer;

pub(super) struct Tuner<'r> {
    pub(super) request: &'r RestoreTuneRequest,
    pub(super) set: &'r OpenSet,
    pub(super) sample: RestoreSample<'r>,
    pub(super) default: Setting,
    pub(super) trial_bytes: u64,
    pub(super) cancel: Arc<AtomicBool>,
    trials: u32,
}

impl<'r> Tuner<'r> {
    pub(super) fn new(
        request: &'r RestoreTuneRequest,
        set: &'r OpenSet,
        transfer: &Transfer,
    ) -> Result<Self, SessionError> {
        let place = &request.place;
        let look = |source| SessionError::Look { path: place.clone(), source };
        if !std::fs::metadata(place).map_err(look)?.is_dir() {
            return Err(look(io::ErrorKind::NotADirectory.into()));
        }
        let sample = RestoreSample::of(set).map_err(failed)?;
        if sample.bytes() == 0 {
            return Err(SessionError::TuneEmpty { named: request.from.first().cloned().unwrap_or_default() });
        }
        Ok(Self {
            request,
            set,
            default: Setting::of(&sample.shape(request.choice)),
            trial_bytes: trial_bytes(sample.bytes(), [place.as_path()])?,
            sample,
            cancel: transfer.progress().cancel_flag(),
            trials: 0,
        })
    }

    pub(super) fn grid(&self) -> Result<(Grid<Setting>, u64), SessionError> {
        let memory_max = memory_max(self.request.memory_bytes);
        let axes = Axes::new(&self.request.choice, &self.default, self.sample.frame_bytes());
        let shape_of = |setting: &Setting| self.sample.shape(setting.choice());
        let grid = axes.grid(&self.default, memory_max, &shape_of);
        let grid = grid.ok_or_else(|| SessionError::TuneMemory {
            wanted_bytes: shape_of(&self.default).memory_bytes,
            memory_bytes: memory_max,
        })?;
        Ok((grid, memory_max))
    }

    pub(super) fn plan(&self, grid: &Grid<Setting>, memory_bytes_max: u64) -> TunePlan {
        let plan = grid.plan(self.request.budget, memory_bytes_max, self.trial_bytes);
        TunePlan { place: TrialPlace::Restored, ..plan }
    }

    pub(super) fn search(
        &mut self,
        grid: &Grid<Setting>,
        transfer: &Transfer,
        observer: &dyn Observer,
    ) -> (Searched, Result<(), RestoreError>) {
        let budget = self.request.budget;
        let mut measure = |setting: &Setting, seconds: f64| self.trial(setting.choice(), seconds);
        search_within(grid, budget, transfer, observer, &mut measure)
    }

    /// The share of the set at which the next trial begins.
    pub(super) fn next_place(&mut self) -> f64 {
        self.trials += 1;
        place_of(self.trials)
    }

    pub(super) fn limit(&self, seconds: f64) -> TrialLimit {
        TrialLimit { seconds, bytes: self.trial_bytes }
    }

    fn trial(&mut self, choice: ReadChoice, seconds: f64) -> Result<Seen, RestoreError> {
        let (from, limit) = (self.next_place(), self.limit(seconds));
        match self.sample.trial(&self.request.place, choice, from, limit, &self.cancel) {
            Ok(Trial { bytes_per_s, source_bytes, stored_bytes }) => Ok(Seen {
                bytes_per_s: (bytes_per_s > 0.0).then_some(bytes_per_s),
                source_bytes,
                stored_bytes,
                moved_s: None,
            }),
            // A setting that this machine cannot have is a bad one, and no reason to stop.
            Err(RestoreError::System { verb: "map buffers for", .. } | RestoreError::Engine(_)) => {
                Ok(Seen::default())
            }
            Err(error) => Err(error),
        }
    }
}

pub(super) fn failed(error: RestoreError) -> SessionError {
    let hint = error.hint();
    SessionError::OfUseCase(UseCaseError::new(error, hint))
}

pub struct RestoreTuneRequest {
    pub from: Vec<PathBuf>,
    /// An existing directory. Trials write into a directory of their own below it.
    pub place: PathBuf,
    pub unlock: Option<Unlock>,
    /// What is given is kept; the rest is open.
    pub choice: ReadChoice,
    pub budget: Nanos,
    pub memory_bytes: Option<u64>,
    /// Further words of the command line for a restore, such as its keys.
    pub kept: Vec<String>,
}
