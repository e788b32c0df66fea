//! `iostall backup tune`.

use serde::{Deserialize, Serialize};

use super::outcome::Outcome;
use crate::capacity::Capacity;
use crate::entry::Summary;
use crate::measured::Measured;
use crate::outcome::EngineUse;
use crate::point::Point;
use crate::profile::Profile;
use crate::sqlserver_backup::{BackupTrace, ServerVersion};
use crate::transfer::is_zero;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BackupTuneOutcome {
    /// What was read, as named. Invalid UTF-8 is replaced.
    pub sources: Vec<String>,
    /// Where stripes may go, as named; empty for `null:`.
    pub targets: Vec<String>,
    pub source_bytes: u64,
    /// How long it was to take, and how long it took.
    pub budget_ns: u64,
    pub elapsed_ns: u64,
    /// The most that a trial wrote beside the stripes, before it removed it.
    pub trial_bytes_max: u64,
    /// Settings with larger buffers were not tried.
    pub memory_bytes_max: u64,
    pub worker_count: u32,
    /// Settings among which it searched. In a short time not all of them are tried.
    pub settings: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub over_memory: u64,
    /// Compressions that were not tried with each setting because they cannot be fastest, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    pub alone: Vec<PartAlone>,
    /// The settings that were measured, the longest measured first.
    pub tried: Vec<TunedSetting>,
    pub answer: TuneAnswer,
    /// What the answer is limited by; `None` if that was not measured, or is no single part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<TuneLimit>,
    /// The command line of a backup with the best settings, word by word.
    pub command: Vec<String>,
    pub cpu_user_ns: u64,
    pub cpu_system_ns: u64,
    /// The server that made the trials; `None` for our own backups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Box<TunedServer>>,
    /// The set whose restore was tuned; `None` for backups. Its sources are the stripes, its target is the place of the trials,
    /// and rates are those of the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restore: Option<Box<TunedRestore>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunedRestore {
    /// Its id, in hexadecimal digits.
    pub set: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunedServer {
    /// Its address, without the password.
    pub server: String,
    pub version: ServerVersion,
    pub edition: String,
    pub backups: u64,
    /// How long the newest full backup before them took; `None` if there is none, or it may not be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub past_s: Option<u64>,
    /// The answer as T-SQL.
    pub statement: String,
    /// The answer as parameters of the maintenance script; `None` if that cannot express it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// Files that the trials wrote and that no server deletes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files_left: Vec<String>,
    /// What the server said of its own work on the first trial, which has the defaults, if it was asked to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<BackupTrace>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartAlone {
    pub part: TunePart,
    /// The compression, or the path of the target.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Of the source for the source and the CPU; of what is stored for a target.
    pub bytes_per_s: f64,
    /// What a compression stores of each byte of the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored_share: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TunePart {
    /// Read, and not stored.
    Source,
    /// Checksums and one compression, from memory.
    Cpu,
    /// Written from memory.
    Target,
    Targets,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TunedSetting {
    /// The targets that it wrote to, by their place in the list from 0; empty for `null:`.
    pub targets: Vec<usize>,
    /// Of a server's own backup BUFFERCOUNT, MAXTRANSFERSIZE and BLOCKSIZE; 0 where the server chose.
    pub buffer_count: u32,
    pub transfer_bytes: u32,
    pub frame_bytes: u32,
    /// Of a restore: reads in flight on all stripes together, and as many writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// Of a restore: threads that decode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// As typed: `zstd:1`, `lz4`, `none`; of a server `on`, `off`, `zstd:low`.
    pub compression: String,
    pub memory_bytes: u64,
    /// Of the source, the mean of all trials; `None` if it did not work.
    pub bytes_per_s: Option<f64>,
    /// What it stored of each byte of the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored_share: Option<f64>,
    pub trials: u32,
    pub seconds: f64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_default: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_best: bool,
}

/// Whether another setting is better than the defaults. A ratio is the rate as a multiple of the defaults': lowest, most
/// likely, highest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TuneAnswer {
    /// It ended before settings were compared with the defaults.
    #[default]
    Undecided,
    /// Nothing was open, because every setting was given.
    NothingOpen,
    /// Nothing was better beyond chance: the best of the others.
    NoDifference {
        ratio: [f64; 3],
    },
    Better {
        ratio: [f64; 3],
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TuneLimit {
    Source,
    Cpu,
    Target,
    /// The way to a store or from it, and the store at its end.
    Network,
    /// Settings with more memory were left out.
    Memory,
    /// Source and target are on one file system, and each gets only a part of what the device can do.
    SharedDevice,
}

impl BackupTuneOutcome {
    pub fn best(&self) -> Option<&TunedSetting> {
        self.tried.iter().find(|setting| setting.is_best)
    }

    pub fn default_setting(&self) -> Option<&TunedSetting> {
        self.tried.iter().find(|setting| setting.is_default)
    }
}

impl Outcome for BackupTuneOutcome {
    fn kind(&self) -> &'static str {
        "backup-tune"
    }

    fn used_bytes(&self, _index: usize, _whole_bytes: u64) -> Option<u64> {
        None
    }

    fn profile(&self) -> Option<&Profile> {
        None
    }

    // It opens files in several ways, as a backup does.
    fn engines(&self) -> Vec<&EngineUse> {
        Vec::new()
    }

    fn points(&self) -> &[Point] {
        &[]
    }

    fn measured(&self) -> Vec<Measured> {
        Vec::new()
    }

    fn capacities(&self, _targets: usize) -> Vec<Capacity> {
        Vec::new()
    }

    fn summary(&self) -> Summary {
        let rate = self.best().and_then(|best| best.bytes_per_s);
        Summary {
            measured_ns: (self.elapsed_ns > 0).then_some(self.elapsed_ns),
            mib_per_s: rate.map(|rate| rate / 1_048_576.0),
            ..Summary::default()
        }
    }
}
