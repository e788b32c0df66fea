//! The options of BACKUP that a search varies.

use iostall_model::sqlserver_backup::{
    BackupDevice, BackupStatement, CompressionAlgorithm, CompressionLevel, ServerFacts, ServerVersion,
    StatementCompression, TransferOptions, refusals_of_server,
};

use crate::backup::tune::grid::Grid;

const FILES: [usize; 9] = [1, 2, 4, 8, 12, 16, 24, 32, 48];
/// To NUL there may be any number; a server reads with one thread for each.
const NUL_FILES: [usize; 4] = [1, 2, 4, 8];
const BUFFERS: [u32; 4] = [16, 32, 64, 128];
const TRANSFER_BYTES: [u64; 3] = [512 << 10, 2 << 20, 4 << 20];
const BLOCK_BYTES: u64 = 65_536;
/// What the server takes for MAXTRANSFERSIZE where nothing is said.
const USUAL_TRANSFER_BYTES: u64 = 1 << 20;
/// Buffers for compression beside those for reading and writing.
const SETS_WITH_COMPRESSION: u64 = 3;
/// A grid of this many settings is never made smaller.
const SETTINGS_MIN: usize = 8;
/// The share of the backups that fit into the budget which a first look at each setting may take.
const FIRST_LOOKS: f64 = 0.3;

/// One setting. What is `None` is left to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ServerSetting {
    /// How many of the files that were named, or NUL so many times.
    pub(super) files: usize,
    pub(super) transfer: TransferOptions,
    pub(super) compression: StatementCompression,
}

#[derive(Clone, Debug)]
pub(super) struct Axes {
    files: Vec<usize>,
    buffers: Vec<Option<u32>>,
    transfer_bytes: Vec<Option<u64>>,
    block_bytes: Vec<Option<u64>>,
    compressions: Vec<StatementCompression>,
    pub(super) default: ServerSetting,
}

impl Axes {
    /// What `statement` leaves open, around what a backup has of which nothing is said. `compresses` is the server's default.
    pub(super) fn new(statement: &BackupStatement, facts: &ServerFacts, compresses: bool) -> Self {
        let named = statement.devices.len();
        let files = match (statement.is_to_nul(), named) {
            (true, 1) => NUL_FILES.to_vec(),
            (true, many) => vec![many],
            (false, all) => FILES.into_iter().filter(|count| *count < all).chain([all]).collect(),
        };
        let given = statement.transfer;
        let default_on = ServerSetting {
            files: named,
            transfer: given,
            compression: statement.compression.unwrap_or(StatementCompression::On),
        };
        let takes_it = refusals_of_server(&default_on.statement(statement), facts).is_empty();
        let unsaid =
            if compresses && takes_it { StatementCompression::On } else { StatementCompression::Off };
        let compression = statement.compression.unwrap_or(unsaid);
        let zstd = StatementCompression::Algorithm(CompressionAlgorithm::Zstd, Some(CompressionLevel::Low));
        let compressions = match statement.compression {
            Some(given) => vec![given],
            None if facts.version >= ServerVersion::V2025 => {
                vec![StatementCompression::Off, StatementCompression::On, zstd]
            }
            None => vec![StatementCompression::Off, StatementCompression::On],
        };
        Self {
            files,
            buffers: open(given.buffer_count, &BUFFERS),
            transfer_bytes: open(given.transfer_bytes, &TRANSFER_BYTES),
            block_bytes: open(given.block_bytes, &[BLOCK_BYTES]),
            compressions,
            default: ServerSetting { compression, ..default_on },
        }
    }

    fn lengths(&self) -> [usize; 5] {
        let Self { files, buffers, transfer_bytes, block_bytes, compressions, .. } = self;
        [files.len(), buffers.len(), transfer_bytes.len(), block_bytes.len(), compressions.len()]
    }

    /// All settings that the server takes and whose buffers fit into `memory_max` bytes.
    pub(super) fn grid(
        &self,
        statement: &BackupStatement,
        facts: &ServerFacts,
        memory_max: u64,
    ) -> Option<Grid<ServerSetting>> {
        let setting_of = |places: &[usize]| ServerSetting {
            files: self.files[places[0]],
            transfer: TransferOptions {
                buffer_count: self.buffers[places[1]],
                transfer_bytes: self.transfer_bytes[places[2]],
                block_bytes: self.block_bytes[places[3]],
            },
            compression: self.compressions[places[4]],
        };
        let memory_of = |setting: &ServerSetting| {
            let is_legal = refusals_of_server(&setting.statement(statement), facts).is_empty();
            is_legal.then(|| setting.memory_bytes())
        };
        Grid::new(&self.lengths(), &setting_of, &self.default, memory_max, &memory_of)
    }

    /// Leaves out what matters least until each setting can be tried once, where `backups` fit into the budget. One sentence for
    /// each option that has fewer values now.
    pub(super) fn thin(&mut self, backups: f64) -> Vec<String> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
        let most = ((backups * FIRST_LOOKS) as usize).max(SETTINGS_MIN);
        let mut left_out = Vec::new();
        for step in 0..5 {
            if self.lengths().iter().product::<usize>() <= most {
                break;
            }
            let before = self.lengths();
            let (transfer, files) = (self.default.transfer, self.default.files);
            let option = match step {
                0 => {
                    self.block_bytes.retain(|value| *value == transfer.block_bytes);
                    "BLOCKSIZE"
                }
                1 => {
                    let most = self.transfer_bytes.last().copied().flatten();
                    self.transfer_bytes.retain(|value| *value == transfer.transfer_bytes || *value == most);
                    "some of MAXTRANSFERSIZE"
                }
                2 => {
                    let most = self.files.last().copied();
                    self.files.retain(|count| [Some(1), Some(files), most].contains(&Some(*count)));
                    "some numbers of files"
                }
                3 => {
                    self.buffers.retain(|value| [transfer.buffer_count, Some(64)].contains(value));
                    "most of BUFFERCOUNT"
                }
                _ => {
                    self.transfer_bytes.retain(|value| *value == transfer.transfer_bytes);
                    "MAXTRANSFERSIZE"
                }
            };
            if self.lengths() != before {
                left_out.push(format!("{option}: the time allows only about {backups:.0} backups"));
            }
        }
        left_out
    }
}

/// What was given, or else what the server chooses and some values.
fn open<T: Copy>(given: Option<T>, values: &[T]) -> Vec<Option<T>> {
    match given {
        Some(given) => vec![Some(given)],
        None => std::iter::once(None).chain(values.iter().copied().map(Some)).collect(),
    }
}

impl ServerSetting {
    /// `statement` with these options, as a trial: COPY_ONLY, so that no differential backup builds on it.
    pub(super) fn statement(&self, statement: &BackupStatement) -> BackupStatement {
        BackupStatement {
            devices: self.devices(statement),
            copy_only: true,
            transfer: self.transfer,
            compression: Some(self.compression),
            ..statement.clone()
        }
    }

    /// The first of the files that were named, or NUL.
    pub(super) fn devices(&self, statement: &BackupStatement) -> Vec<BackupDevice> {
        if statement.is_to_nul() {
            return vec![BackupDevice::Nul; self.files];
        }
        statement.devices.iter().take(self.files).cloned().collect()
    }

    /// What its buffers take: the server's own number of buffers is four for each file and two for the volume, in the trace of a
    /// backup of one volume.
    pub(super) fn memory_bytes(&self) -> u64 {
        let usual = 4 * self.files as u64 + 2;
        let buffers = self.transfer.buffer_count.map_or(usual, u64::from);
        let sets = if self.compression.is_on() { SETS_WITH_COMPRESSION } else { 1 };
        let bytes = self.transfer.transfer_bytes.unwrap_or(USUAL_TRANSFER_BYTES);
        buffers.saturating_mul(bytes).saturating_mul(sets)
    }
}

#[cfg(test)]
mod tests {
    use iostall_model::sqlserver_backup::RecoveryModel;

    use super::*;

    fn facts(version: ServerVersion) -> ServerFacts {
        ServerFacts {
            version,
            engine_edition: 3,
            edition: "Enterprise Edition (64-bit)".into(),
            recovery_model: Some(RecoveryModel::Full),
            state: "ONLINE".into(),
            ..ServerFacts::default()
        }
    }

    fn to(devices: &[&str]) -> BackupStatement {
        BackupStatement {
            database: "sales".into(),
            devices: devices.iter().map(|text| BackupDevice::of(text)).collect(),
            ..BackupStatement::default()
        }
    }

    fn grid(statement: &BackupStatement, facts: &ServerFacts, memory_max: u64) -> Grid<ServerSetting> {
        Axes::new(statement, facts, true).grid(statement, facts, memory_max).unwrap()
    }

    /// The story: the speed test of a database went to NUL without COPY_ONLY, and that night's differential backup was worthless.
    #[test]
    fn every_trial_is_copy_only_and_legal() {
        for version in ServerVersion::ALL {
            for devices in [&["NUL"][..], &[r"E:\t\1.bak", r"F:\t\2.bak"]] {
                let (statement, facts) = (to(devices), facts(version));
                let grid = grid(&statement, &facts, u64::MAX);
                assert!(grid.settings.len() >= 100, "{version}: {}", grid.settings.len());
                for setting in &grid.settings {
                    let trial = setting.statement(&statement);
                    assert!(trial.copy_only, "{trial:?}");
                    assert_eq!(refusals_of_server(&trial, &facts), [], "{trial:?}");
                }
            }
        }
    }

    #[test]
    fn what_was_given_is_kept_and_an_edition_without_compression_tries_none() {
        let mut statement = to(&[r"E:\t\1.bak", r"F:\t\2.bak"]);
        statement.transfer.buffer_count = Some(9);
        statement.compression = Some(StatementCompression::Off);
        let kept = grid(&statement, &facts(ServerVersion::V2019), u64::MAX);
        let is_kept = |one: &ServerSetting| {
            one.transfer.buffer_count == Some(9) && one.compression == StatementCompression::Off
        };
        assert!(kept.settings.iter().all(is_kept) && kept.settings.len() == 2 * 4 * 2);
        let express = ServerFacts {
            engine_edition: 4,
            edition: "Express Edition (64-bit)".into(),
            ..facts(ServerVersion::V2019)
        };
        let small = grid(&to(&["NUL"]), &express, u64::MAX);
        assert!(small.settings.iter().all(|one| one.compression == StatementCompression::Off));
    }

    /// The story: 128 buffers of 4 MiB with compression took 1.5 GiB, and the server threw its cache away.
    #[test]
    fn buffers_beyond_the_memory_are_not_tried() {
        let cap = 256 << 20;
        let grid = grid(&to(&["NUL"]), &facts(ServerVersion::V2022), cap);
        assert!(grid.over_memory() > 0 && grid.memory.iter().all(|bytes| *bytes <= cap));
        let large = ServerSetting {
            files: 1,
            transfer: TransferOptions {
                buffer_count: Some(128),
                transfer_bytes: Some(4 << 20),
                block_bytes: None,
            },
            compression: StatementCompression::On,
        };
        assert_eq!(large.memory_bytes(), 3 * (512 << 20));
    }

    /// The story: in an hour there was time for thirty backups, and the search looked at thirty settings of 320, once each.
    #[test]
    fn a_search_with_time_for_few_backups_leaves_out_what_matters_least_and_says_so() {
        let (statement, facts) = (to(&["NUL"]), facts(ServerVersion::V2022));
        let mut axes = Axes::new(&statement, &facts, true);
        let left_out = axes.thin(30.0);
        assert!(left_out[0].starts_with("BLOCKSIZE: the time allows only about 30 backups"), "{left_out:?}");
        let few = axes.grid(&statement, &facts, u64::MAX).unwrap();
        assert!(few.settings.len() <= 12, "{}", few.settings.len());
        assert!(few.settings.iter().any(|one| one.files == 8 && one.transfer.buffer_count == Some(64)));
        assert_eq!(Axes::new(&statement, &facts, true).thin(2_000.0), [""; 0]);
    }
}
