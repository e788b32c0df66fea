//! What a search has found: the outcome of the run, as a command line, as T-SQL and as parameters of the maintenance script.

use iostall_model::sqlserver_backup::{BackupDevice, BackupStatement};
use iostall_model::{BackupTuneOutcome, TuneAnswer, TuneLimit, TunedServer, TunedSetting};
use iostall_stats::halving::{Alone, limiting};

use super::axes::ServerSetting;
use super::trials::{ServerTuneRequest, Trials};
use super::tuned::Tuned;
use crate::backup::sqlserver::forms::maintenance_script;
use crate::backup::sqlserver::server::Server;
use crate::backup::sqlserver::tsql;
use crate::backup::tune::search::{answer, tried};
use crate::transfer::Transfer;

pub(super) struct Found<'a> {
    pub(super) request: &'a ServerTuneRequest,
    pub(super) server: &'a Server,
    pub(super) trials: &'a Trials<'a>,
    pub(super) tuned: &'a Tuned,
}

impl Found<'_> {
    pub(super) fn outcome(&self, transfer: &Transfer) -> BackupTuneOutcome {
        let (request, tuned, figures) = (self.request, self.tuned, self.trials.figures);
        let statement = &request.statement;
        let (answer, best) = answer(tuned.searched.as_ref(), &tuned.grid);
        let is_better = matches!(answer, TuneAnswer::Better { .. });
        let named = |device: &BackupDevice| device.name().to_owned();
        let targets: Vec<String> =
            if statement.is_to_nul() { Vec::new() } else { statement.devices.iter().map(named).collect() };
        let source_bytes = figures.database_bytes.or(figures.past_bytes).unwrap_or_default();
        let cpu = transfer.cpu();
        let found = self.best(best, is_better);
        BackupTuneOutcome {
            sources: vec![statement.database.clone()],
            source_bytes,
            budget_ns: request.budget.nanos(),
            elapsed_ns: transfer.elapsed_ns(),
            trial_bytes_max: if targets.is_empty() { 0 } else { source_bytes },
            memory_bytes_max: tuned.memory_max,
            settings: tuned.grid.settings.len() as u64,
            over_memory: tuned.grid.over_memory(),
            left_out: tuned.left_out.clone(),
            alone: tuned.alone.clone(),
            tried: tried(tuned.searched.as_ref(), &tuned.grid, best, &described),
            answer,
            limit: self.limit(best),
            command: self.command(&found, is_better),
            cpu_user_ns: cpu.user_ns,
            cpu_system_ns: cpu.system_ns,
            server: Some(Box::new(TunedServer {
                server: self.server.name(),
                version: self.trials.facts.version,
                edition: self.trials.facts.edition.clone(),
                backups: self.trials.backups,
                past_s: figures.past_s,
                statement: tsql::backup(&found),
                script: maintenance_script(&found, false).ok(),
                files_left: if self.trials.has_files { targets.clone() } else { Vec::new() },
                trace: self.trials.traced.as_ref().and_then(|traced| traced.as_ref().ok()).cloned(),
            })),
            targets,
            worker_count: 0,
            restore: None,
        }
    }

    /// The statement of a backup with the setting of the answer. Where the defaults are kept, it has only what the user gave.
    fn best(&self, best: usize, is_better: bool) -> BackupStatement {
        let statement = &self.request.statement;
        let setting = &self.tuned.grid.settings[best];
        let mut found = setting.statement(statement);
        found.copy_only = statement.is_to_nul();
        if !is_better {
            found.transfer = statement.transfer;
            found.compression = statement.compression;
        }
        found
    }

    /// Reading alone, or what is between reading and writing: with one backup after another there is no way to measure more.
    fn limit(&self, best: usize) -> Option<TuneLimit> {
        let tuned = self.tuned;
        let whole = tuned.searched.as_ref()?.halving.tried().get(best)?.rate()?;
        let is_compressed = tuned.grid.settings[best].compression.is_on();
        if is_limited_by_source(whole, self.read_alone()) {
            return Some(TuneLimit::Source);
        }
        if self.request.statement.is_to_nul() && is_compressed {
            return Some(TuneLimit::Cpu);
        }
        tuned.grid.is_at_memory_limit(best).then_some(TuneLimit::Memory)
    }

    /// The fastest that the source was read: alone with the defaults, or by a trial that only read.
    fn read_alone(&self) -> Option<f64> {
        let tuned = self.tuned;
        let alone = tuned.alone.first().map(|alone| alone.bytes_per_s);
        let tried = tuned.searched.iter().flat_map(|searched| searched.halving.tried());
        let reads = tried
            .zip(&tuned.grid.settings)
            .filter(|(_, setting)| self.request.statement.is_to_nul() && !setting.compression.is_on())
            .filter_map(|(tried, _)| tried.rate());
        alone.into_iter().chain(reads).reduce(f64::max)
    }

    /// The words of `iostall backup run`.
    fn command(&self, found: &BackupStatement, is_better: bool) -> Vec<String> {
        let mut words: Vec<String> = ["iostall", "backup", "run"].map(str::to_owned).to_vec();
        let mut add = |option: &str, value: String| words.extend([option.to_owned(), value]);
        add("--sqlserver", self.server.name());
        add("--database", found.database.clone());
        for device in &found.devices {
            add("--to", device.name().to_owned());
        }
        let given = &self.request.statement;
        let transfer = found.transfer;
        if let Some(bytes) = transfer.block_bytes {
            add("--block-size", size(bytes));
        }
        if let Some(buffers) = transfer.buffer_count {
            add("--buffer-count", buffers.to_string());
        }
        if let Some(bytes) = transfer.transfer_bytes {
            add("--max-transfer-size", size(bytes));
        }
        if let Some(compression) = found.compression.filter(|_| is_better || given.compression.is_some()) {
            add("--compression", compression.to_string());
        }
        let checksum = given.errors.checksum.map(|is_on| if is_on { "--checksum" } else { "--no-checksum" });
        words.extend(checksum.map(str::to_owned));
        words.extend(found.copy_only.then(|| "--copy-only".to_owned()));
        words
    }
}

/// How much faster than the source alone a whole may seem, by chance.
const NOISE: f64 = 1.05;

/// What the whole outruns is no limit of it, but a figure of other settings.
fn is_limited_by_source(whole: f64, read_alone: Option<f64>) -> bool {
    let read = read_alone.filter(|rate| whole <= rate * NOISE).map(|rate| Alone { name: "source", rate });
    limiting(whole, read.as_slice()).is_some()
}

/// What is left to the server is 0.
fn described(setting: &ServerSetting) -> TunedSetting {
    let small = |bytes: Option<u64>| bytes.and_then(|bytes| u32::try_from(bytes).ok()).unwrap_or_default();
    TunedSetting {
        targets: (0..setting.files).collect(),
        buffer_count: setting.transfer.buffer_count.unwrap_or_default(),
        transfer_bytes: small(setting.transfer.transfer_bytes),
        frame_bytes: small(setting.transfer.block_bytes),
        compression: setting.compression.to_string(),
        ..TunedSetting::default()
    }
}

/// As it is typed.
fn size(bytes: u64) -> String {
    match bytes {
        bytes if bytes.is_multiple_of(1 << 20) => format!("{}M", bytes >> 20),
        bytes if bytes.is_multiple_of(1 << 10) => format!("{}K", bytes >> 10),
        bytes => bytes.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The story: eight files with larger buffers read at 11 GiB/s; alone, with the defaults, the source had been read at 3, and the report said
    /// that the source was the limit.
    #[test]
    fn a_source_that_the_whole_outruns_is_not_its_limit() {
        assert!(
            !is_limited_by_source(11_424.0, Some(3_069.0)) && !is_limited_by_source(4_593.0, Some(4_242.0))
        );
        assert!(is_limited_by_source(4_250.0, Some(4_242.0)) && is_limited_by_source(900.0, Some(1_000.0)));
        assert!(!is_limited_by_source(500.0, Some(1_000.0)) && !is_limited_by_source(1.0, None));
    }
}
