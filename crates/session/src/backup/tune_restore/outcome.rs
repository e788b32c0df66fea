//! What a search has found: the outcome of the run, with the command line.

use std::path::Path;

use iostall_engine::files;
use iostall_model::{BackupTuneOutcome, TuneAnswer, TuneLimit, TunePart, TunedRestore, TunedSetting};
use iostall_remote::is_object;

use super::axes::Setting;
use super::parts::Parts;
use super::tuner::{RestoreTuneRequest, Tuner};
use crate::backup::set::short;
use crate::backup::tune::grid::Grid;
use crate::backup::tune::outcome::{size, word};
use crate::backup::tune::search::{Searched, answer, tried};
use crate::transfer::Transfer;

pub(super) struct Found<'a> {
    pub(super) request: &'a RestoreTuneRequest,
    pub(super) tuner: &'a Tuner<'a>,
    pub(super) memory_max: u64,
    pub(super) grid: &'a Grid<Setting>,
    pub(super) parts: &'a Parts,
    /// `None` if it ended before the search began.
    pub(super) searched: Option<&'a Searched>,
}

impl Found<'_> {
    pub(super) fn outcome(&self, transfer: &Transfer) -> BackupTuneOutcome {
        let Self { request, tuner, grid, .. } = *self;
        let (answer, best) = answer(self.searched, grid);
        let is_better = matches!(answer, TuneAnswer::Better { .. });
        let cpu = transfer.cpu();
        let set = tuner.set.manifest.set.to_string();
        BackupTuneOutcome {
            sources: request.from.iter().map(|path| path.display().to_string()).collect(),
            targets: vec![request.place.display().to_string()],
            source_bytes: tuner.sample.bytes(),
            budget_ns: request.budget.nanos(),
            elapsed_ns: transfer.elapsed_ns(),
            trial_bytes_max: tuner.trial_bytes,
            memory_bytes_max: self.memory_max,
            worker_count: tuner.default.workers,
            settings: grid.settings.len() as u64,
            over_memory: grid.over_memory(),
            left_out: Vec::new(),
            alone: self.parts.alone.clone(),
            tried: tried(self.searched, grid, best, &|setting| self.described(setting)),
            answer,
            limit: self.limit(best),
            command: command(request, &short(&set), &grid.settings[best], is_better),
            cpu_user_ns: cpu.user_ns,
            cpu_system_ns: cpu.system_ns,
            server: None,
            restore: Some(Box::new(TunedRestore { set })),
        }
    }

    fn described(&self, setting: &Setting) -> TunedSetting {
        let manifest = &self.tuner.set.manifest.settings;
        TunedSetting {
            targets: vec![0],
            buffer_count: self.tuner.sample.shape(setting.choice()).buffer_count,
            transfer_bytes: setting.transfer_bytes,
            frame_bytes: manifest.frame_bytes,
            compression: manifest.compression.to_string(),
            depth: Some(setting.depth),
            workers: Some(setting.workers),
            ..TunedSetting::default()
        }
    }

    fn limit(&self, best: usize) -> Option<TuneLimit> {
        let whole = self.searched?.halving.tried().get(best)?.rate()?;
        match self.parts.limit(whole, self.tuner.sample.stored_share()) {
            Some(TunePart::Source) if self.is_from_store() => Some(TuneLimit::Network),
            Some(TunePart::Source) => Some(TuneLimit::Source),
            Some(TunePart::Cpu) => Some(TuneLimit::Cpu),
            Some(TunePart::Target | TunePart::Targets) => Some(TuneLimit::Target),
            None if self.grid.is_at_memory_limit(best) => Some(TuneLimit::Memory),
            None if self.shares_a_device() => Some(TuneLimit::SharedDevice),
            None => None,
        }
    }

    fn is_from_store(&self) -> bool {
        self.tuner.set.stripes.iter().any(|open| is_object(&open.stripe.path))
    }

    /// Whether a stripe is on the file system of the place.
    fn shares_a_device(&self) -> bool {
        let device = |path| files::stamp_of_path(path).ok().map(|stamp| stamp.device);
        let place = device(&self.request.place);
        let mut stripes = self.tuner.set.stripes.iter().map(|open| device(&open.stripe.path));
        place.is_some() && stripes.any(|stripe| stripe == place)
    }
}

/// The words of `iostall backup restore`, to a new name below the place of the trials. Where the defaults are kept, it has only
/// what the user gave.
fn command(request: &RestoreTuneRequest, set: &str, setting: &Setting, is_better: bool) -> Vec<String> {
    let mut words: Vec<String> = ["iostall", "backup", "restore"].map(str::to_owned).to_vec();
    words.extend(request.from.iter().map(|path| set_word(path)));
    let given = &request.choice;
    let mut add = |option: &str, value: String| words.extend([option.to_owned(), value]);
    let to = request.place.join(format!("restored-{set}"));
    add("--to", word(to.as_os_str()));
    if is_better || given.depth.is_some() {
        add("--depth", setting.depth.to_string());
    }
    if is_better || given.transfer_bytes.is_some() {
        add("--transfer", size(setting.transfer_bytes));
    }
    if is_better || given.workers.is_some() {
        add("--workers", setting.workers.to_string());
    }
    words.extend(request.kept.iter().cloned());
    words
}

/// A path that neither an option nor the verb `tune` can be mistaken for.
fn set_word(path: &Path) -> String {
    if path == Path::new("tune") { "./tune".to_owned() } else { word(path.as_os_str()) }
}

#[cfg(test)]
mod tests {
    use iostall_measure::Nanos;
    use iostall_transfer::backup::read::ReadChoice;

    use super::*;

    #[test]
    fn the_command_restores_to_a_new_name_and_has_only_what_differs_or_was_given() {
        let request = RestoreTuneRequest {
            from: vec!["tune".into(), "-b2".into()],
            place: "/scratch".into(),
            unlock: None,
            choice: ReadChoice { workers: Some(3), ..ReadChoice::default() },
            budget: Nanos(1),
            memory_bytes: None,
            kept: ["--key-file", "k"].map(str::to_owned).to_vec(),
        };
        let setting = Setting { depth: 16, transfer_bytes: 2 << 20, workers: 3 };
        let words = |is_better| command(&request, "0f1e2d3c", &setting, is_better).join(" ");
        assert_eq!(
            words(true),
            "iostall backup restore ./tune ./-b2 --to /scratch/restored-0f1e2d3c --depth 16 --transfer 2M --workers 3 \
             --key-file k"
        );
        assert_eq!(
            words(false),
            "iostall backup restore ./tune ./-b2 --to /scratch/restored-0f1e2d3c --workers 3 --key-file k"
        );
    }
}
