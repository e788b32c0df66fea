//! The search over the settings of a server's backups, within a budget.

use iostall_measure::Nanos;
use iostall_model::sqlserver_backup::{StatementCompression, refusals_of_server};
use iostall_model::{PartAlone, TunePart};
use iostall_stats::halving::Halving;

use super::axes::{Axes, ServerSetting};
use super::trials::{Figures, ServerTuneRequest, Trials};
use crate::backup::sqlserver::error::SqlServerBackupError;
use crate::backup::tune::grid::Grid;
use crate::backup::tune::search::{Searched, search};
use crate::event::{Event, Observer, TunePlan, WholeBackup};
use crate::transfer::Transfer;

/// A search with fewer backups compares nothing.
const TRIALS_MIN: u32 = 24;
/// What no storage reads, in bytes a second: a backup that has never been made takes at least as long as with this.
const FASTEST: u64 = 4 << 30;
/// The part of the server's free memory that buffers may take, and the most, unless the user says how much.
const MEMORY_PART: u64 = 4;
const MEMORY_MAX: u64 = 2 << 30;
/// What buffers may take where the server's free memory may not be seen.
const MEMORY_UNSEEN: u64 = 512 << 20;

pub(super) struct Tuned {
    axes: Axes,
    pub(super) grid: Grid<ServerSetting>,
    pub(super) memory_max: u64,
    pub(super) left_out: Vec<String>,
    pub(super) alone: Vec<PartAlone>,
    pub(super) searched: Option<Searched>,
}

impl Tuned {
    pub(super) fn new(
        request: &ServerTuneRequest,
        trials: &Trials<'_>,
    ) -> Result<Self, SqlServerBackupError> {
        let statement = &request.statement;
        let axes = Axes::new(statement, &trials.facts, trials.figures.compresses);
        let refusals = refusals_of_server(&axes.default.statement(statement), &trials.facts);
        if !refusals.is_empty() {
            return Err(SqlServerBackupError::Refused { refusals });
        }
        let available = trials.figures.available_bytes;
        let usual = available.map_or(MEMORY_UNSEEN, |free| (free / MEMORY_PART).min(MEMORY_MAX));
        let memory_max = request.memory_bytes.unwrap_or(usual);
        let grid = axes.grid(statement, &trials.facts, memory_max).ok_or_else(|| {
            let wanted_bytes = axes.default.memory_bytes();
            SqlServerBackupError::TuneMemory { memory_bytes: memory_max, wanted_bytes }
        })?;
        Ok(Self { axes, grid, memory_max, left_out: Vec::new(), alone: Vec::new(), searched: None })
    }

    pub(super) fn plan(&self, request: &ServerTuneRequest, figures: &Figures) -> TunePlan {
        let bytes = figures.past_bytes.or(figures.database_bytes).unwrap_or_default();
        let trial_bytes_max = if request.statement.is_to_nul() { 0 } else { bytes };
        let whole = Some(WholeBackup { bytes, seconds: figures.past_s });
        TunePlan { whole, ..self.grid.plan(request.budget, self.memory_max, trial_bytes_max) }
    }

    pub(super) fn search(
        &mut self,
        request: &ServerTuneRequest,
        trials: &mut Trials<'_>,
        transfer: &Transfer,
        observer: &dyn Observer,
    ) -> Result<(), SqlServerBackupError> {
        let default = self.axes.default;
        let first = trials.backup(&default)?;
        let is_read_alone = request.statement.is_to_nul() && default.compression == StatementCompression::Off;
        let read = if is_read_alone { first } else { trials.read_alone(&default)? };
        let alone = PartAlone {
            part: TunePart::Source,
            name: String::new(),
            bytes_per_s: read.bytes_per_s(),
            stored_share: None,
        };
        observer.on(&Event::PartMeasured(&alone));
        self.alone.push(alone);
        let left_s = request.budget.seconds() - first.seconds;
        holds(request, left_s, first.seconds, "the first one did")?;
        self.left_out = self.axes.thin(left_s / first.seconds);
        let thinned = self.axes.grid(&request.statement, &trials.facts, self.memory_max);
        self.grid = thinned.unwrap_or_else(|| self.grid.clone());
        let grid = &self.grid;
        let halving = Halving::of_whole(grid.neighbours.clone(), grid.default, left_s, first.seconds);
        // A clock that the server keeps counts where it is ahead of ours.
        let begun_s = Nanos(transfer.elapsed_ns()).seconds().max(trials.spent_s);
        let spent_s = std::cell::Cell::new(begun_s);
        let now_s = || spent_s.get().max(Nanos(transfer.elapsed_ns()).seconds());
        let mut measure = |number: usize, seconds: f64| {
            let seen = trials.look(&grid.settings[number], seconds);
            spent_s.set(trials.spent_s);
            seen
        };
        let mut on = |searched: &Searched| {
            searched.show(Nanos::from_seconds(now_s()).nanos(), request.budget, observer);
        };
        let (searched, ended) = search(halving, left_s, &now_s, &mut measure, &mut on);
        self.searched = Some(searched);
        ended
    }
}

/// Refuses a budget that is too short by what is known before the first trial.
pub(super) fn holds_by_estimate(
    request: &ServerTuneRequest,
    figures: &Figures,
) -> Result<(), SqlServerBackupError> {
    let past = figures.past_s.filter(|seconds| *seconds > 0);
    let (seconds, why) = match (past, figures.database_bytes) {
        (Some(seconds), _) => (seconds as f64, "its newest full backup did"),
        (None, Some(bytes)) => (bytes as f64 / FASTEST as f64, "at 4 GiB/s"),
        (None, None) => return Ok(()),
    };
    holds(request, request.budget.seconds(), seconds, why)
}

/// Refuses a budget that holds too few backups of so many seconds.
fn holds(
    request: &ServerTuneRequest,
    budget_s: f64,
    one_s: f64,
    why: &'static str,
) -> Result<(), SqlServerBackupError> {
    if budget_s >= one_s * f64::from(TRIALS_MIN) {
        return Ok(());
    }
    Err(SqlServerBackupError::TuneBudget {
        database: request.statement.database.clone(),
        one: Nanos::from_seconds(one_s),
        why,
        trials: TRIALS_MIN,
        // The first one and the reading alone come on top.
        wanted: Nanos::from_seconds(one_s * f64::from(TRIALS_MIN + 2)),
        budget: request.budget,
    })
}
