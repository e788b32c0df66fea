//! What a search has found: the outcome of the run, with the command line.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use iostall_engine::files;
use iostall_model::backup::BackupSettings;
use iostall_model::{BackupTuneOutcome, TuneAnswer, TuneLimit, TunePart, TunedSetting};

use super::axes::Setting;
use super::grid::Grid;
use super::parts::Parts;
use super::search::{Searched, answer, tried};
use super::tuner::{TuneRequest, is_to_store, targets_of};
use crate::transfer::Transfer;

pub(super) struct Found<'a> {
    pub(super) request: &'a TuneRequest,
    pub(super) source_bytes: u64,
    pub(super) trial_bytes: u64,
    pub(super) memory_max: u64,
    pub(super) default: BackupSettings,
    /// The targets by their place, the fastest first.
    pub(super) order: &'a [usize],
    pub(super) grid: &'a Grid<Setting>,
    pub(super) parts: &'a Parts,
    pub(super) left_out: Vec<String>,
    /// `None` if it ended before the search began.
    pub(super) searched: Option<&'a Searched>,
}

impl Found<'_> {
    pub(super) fn outcome(&self, transfer: &Transfer) -> BackupTuneOutcome {
        let named = |path: &PathBuf| path.display().to_string();
        let (answer, best) = answer(self.searched, self.grid);
        let cpu = transfer.cpu();
        let has_targets = !self.request.targets.is_empty();
        BackupTuneOutcome {
            sources: self.request.sources.iter().map(named).collect(),
            targets: self.request.targets.iter().map(named).collect(),
            source_bytes: self.source_bytes,
            budget_ns: self.request.budget.nanos(),
            elapsed_ns: transfer.elapsed_ns(),
            trial_bytes_max: if has_targets { self.trial_bytes } else { 0 },
            memory_bytes_max: self.memory_max,
            worker_count: self.default.workers,
            settings: self.grid.settings.len() as u64,
            over_memory: self.grid.over_memory(),
            left_out: self.left_out.clone(),
            alone: self.parts.alone.clone(),
            tried: tried(self.searched, self.grid, best, &|setting| self.described(setting)),
            answer,
            limit: self.limit(best),
            command: self.command(best, matches!(answer, TuneAnswer::Better { .. })),
            cpu_user_ns: cpu.user_ns,
            cpu_system_ns: cpu.system_ns,
            server: None,
            restore: None,
        }
    }

    fn described(&self, setting: &Setting) -> TunedSetting {
        TunedSetting {
            targets: targets_of(setting, self.order),
            buffer_count: setting.buffers,
            transfer_bytes: setting.transfer_bytes,
            frame_bytes: setting.frame_bytes,
            compression: setting.compression.to_string(),
            ..TunedSetting::default()
        }
    }

    fn limit(&self, best: usize) -> Option<TuneLimit> {
        let searched = self.searched?;
        let whole = searched.halving.tried().get(best)?.rate()?;
        let looks = searched.looks[best];
        let share = (looks.source_bytes > 0).then(|| looks.stored_bytes as f64 / looks.source_bytes as f64);
        let setting = &self.grid.settings[best];
        let places = targets_of(setting, self.order);
        match self.parts.limit(whole, &setting.compression.to_string(), &places, share) {
            Some(TunePart::Source) => Some(TuneLimit::Source),
            Some(TunePart::Cpu) => Some(TuneLimit::Cpu),
            Some(TunePart::Target | TunePart::Targets) if is_to_store(&self.request.targets) => {
                Some(TuneLimit::Network)
            }
            Some(TunePart::Target | TunePart::Targets) => Some(TuneLimit::Target),
            None if self.grid.is_at_memory_limit(best) => Some(TuneLimit::Memory),
            None if self.shares_a_device(&places) => Some(TuneLimit::SharedDevice),
            None => None,
        }
    }

    /// Whether a stripe goes to the file system that the source is on.
    fn shares_a_device(&self, places: &[usize]) -> bool {
        let device = |path: &Path| files::stamp_of_path(path).ok().map(|stamp| stamp.device);
        let sources: Vec<u64> = self.request.sources.iter().filter_map(|path| device(path)).collect();
        let stripes = places.iter().filter_map(|at| self.request.targets.get(*at));
        let beside = stripes.filter_map(|path| {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            device(parent.unwrap_or(Path::new(".")))
        });
        beside.into_iter().any(|device| sources.contains(&device))
    }

    /// The words of `iostall backup create`. Where the defaults are kept, it has only what the user gave.
    fn command(&self, best: usize, is_better: bool) -> Vec<String> {
        let request = self.request;
        let setting = &self.grid.settings[best];
        let mut words: Vec<String> = ["iostall", "backup", "create"].map(str::to_owned).to_vec();
        let mut add = |option: &str, value: String| words.extend([option.to_owned(), value]);
        if request.targets.is_empty() {
            add("--to", "null:".to_owned());
        }
        for at in targets_of(setting, self.order) {
            add("--to", word(request.targets[at].as_os_str()));
        }
        let Setting { buffers, transfer_bytes, frame_bytes, compression, .. } = *setting;
        if is_better || request.compression.is_some() {
            add("--compress", compression.to_string());
        }
        if is_better || request.frame_bytes.is_some() {
            add("--frame", size(frame_bytes));
        }
        if is_better || request.transfer_bytes.is_some() {
            add("--transfer", size(transfer_bytes));
        }
        if is_better || request.buffers.is_some() {
            add("--buffers", buffers.to_string());
        }
        if let Some(workers) = request.workers {
            add("--workers", workers.to_string());
        }
        words.extend(request.kept.iter().cloned());
        words.extend(request.sources.iter().map(|path| word(path.as_os_str())));
        words
    }
}

/// A path that no option can be mistaken for.
pub(in crate::backup) fn word(path: &OsStr) -> String {
    let text = path.to_string_lossy();
    if text.starts_with('-') { format!("./{text}") } else { text.into_owned() }
}

pub(in crate::backup) fn size(bytes: u32) -> String {
    if bytes.is_multiple_of(1 << 20) { format!("{}M", bytes >> 20) } else { format!("{}K", bytes >> 10) }
}

#[cfg(test)]
mod tests {
    use iostall_measure::Nanos;
    use iostall_model::backup::Compression;

    use super::super::axes::{Axes, Given};
    use super::*;

    fn request(targets: &[&str], sources: &[&str]) -> TuneRequest {
        TuneRequest {
            sources: sources.iter().map(PathBuf::from).collect(),
            targets: targets.iter().map(PathBuf::from).collect(),
            compression: None,
            frame_bytes: None,
            transfer_bytes: None,
            buffers: None,
            workers: None,
            lock: None,
            budget: Nanos(1),
            memory_bytes: None,
            kept: Vec::new(),
        }
    }

    /// The command for a request whose targets have this order, with one of the settings.
    fn command(request: &TuneRequest, order: &[usize], setting: Option<Setting>) -> String {
        let default = BackupSettings {
            stripes: u16::try_from(request.targets.len()).unwrap(),
            buffer_count: 20,
            transfer_bytes: 4 << 20,
            frame_bytes: 1 << 20,
            ..BackupSettings::default()
        };
        let usual = Setting {
            stripes: request.targets.len(),
            buffers: 20,
            transfer_bytes: 4 << 20,
            frame_bytes: 1 << 20,
            compression: Compression::Zstd(1),
        };
        let axes = Axes::new(&Given::default(), &default);
        let grid = axes.grid(&usual, u64::MAX, &|_| Some(1)).unwrap();
        let found = Found {
            request,
            source_bytes: 1,
            trial_bytes: 1,
            memory_max: 1,
            default,
            order,
            grid: &grid,
            parts: &Parts::default(),
            left_out: Vec::new(),
            searched: None,
        };
        let wanted = setting.unwrap_or(usual);
        let place = grid.settings.iter().position(|setting| *setting == wanted).unwrap();
        found.command(place, setting.is_some()).join(" ")
    }

    #[test]
    fn the_command_has_the_fastest_targets_in_the_order_in_which_they_were_named() {
        let best = Setting {
            stripes: 2,
            buffers: 40,
            transfer_bytes: 8 << 20,
            frame_bytes: 256 << 10,
            compression: Compression::Lz4,
        };
        let kept = ["--encrypt-to", "age1x"].map(str::to_owned).to_vec();
        let request =
            TuneRequest { kept, workers: Some(3), ..request(&["a", "b", "c"], &["-data", "/more"]) };
        assert_eq!(
            command(&request, &[2, 0, 1], Some(best)),
            "iostall backup create --to a --to c --compress lz4 --frame 256K --transfer 8M --buffers 40 --workers 3 \
             --encrypt-to age1x ./-data /more"
        );
    }

    #[test]
    fn a_command_with_the_defaults_has_only_what_was_given() {
        assert_eq!(command(&request(&["a"], &["data"]), &[0], None), "iostall backup create --to a data");
        let given = TuneRequest { buffers: Some(20), ..request(&[], &["data"]) };
        assert_eq!(command(&given, &[], None), "iostall backup create --to null: --buffers 20 data");
    }
}
