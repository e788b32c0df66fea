//! The readers of untrusted input, and their promises: no panic, bounded memory, and whatever is accepted
//! survives writing and reading.

#[cfg(test)]
mod mutations;
mod readers;

use std::path::{Path, PathBuf};

/// Selects the reader in the instrumented program.
pub const READER_VARIABLE: &str = "IOSTALL_FUZZ_READER";

/// A reader of untrusted input.
#[derive(Clone, Copy)]
pub struct Reader {
    /// Its name, also of its folder in `corpus` and its file in `dictionaries`.
    pub name: &'static str,
    /// Reads an input; panics if a promise is broken.
    pub check: fn(&[u8]),
    /// Folders and files with known inputs, from the root of the repository.
    seeds: &'static [&'static str],
}

impl Reader {
    pub const ALL: [Self; 25] = [
        Self { name: "alerts", check: readers::toml::alerts, seeds: &["docs/alerts.toml"] },
        Self {
            name: "backup-content",
            check: iostall_transfer::backup::fuzzing::content,
            seeds: &["fuzz/corpus/backup-content"],
        },
        Self {
            name: "backup-frame",
            check: iostall_transfer::backup::fuzzing::frame,
            seeds: &["fuzz/corpus/backup-frame"],
        },
        Self {
            name: "backup-manifest",
            check: iostall_transfer::backup::fuzzing::manifest,
            seeds: &["fuzz/corpus/backup-manifest"],
        },
        Self {
            name: "backup-stripe",
            check: iostall_transfer::backup::fuzzing::stripe_header,
            seeds: &["fuzz/corpus/backup-stripe"],
        },
        Self { name: "diskspd-line", check: readers::diskspd::line, seeds: &["fuzz/corpus/diskspd-line"] },
        Self { name: "diskspd-xml", check: readers::diskspd::xml, seeds: &["fuzz/corpus/diskspd-xml"] },
        Self { name: "fio", check: readers::fio::jobs, seeds: &["fuzz/corpus/fio"] },
        Self {
            name: "fleet-batch",
            check: iostall_store::fuzzing::batch,
            seeds: &["fuzz/corpus/fleet-batch"],
        },
        Self {
            name: "fleet-run",
            check: iostall_store::fuzzing::sent_run,
            seeds: &["fuzz/corpus/fleet-run"],
        },
        Self {
            name: "fleet-sheet",
            check: iostall_store::fuzzing::sheet,
            seeds: &["fuzz/corpus/fleet-sheet"],
        },
        Self {
            name: "http-request",
            check: iostall_web::fuzzing::request,
            seeds: &["fuzz/corpus/http-request"],
        },
        Self {
            name: "incremental-file",
            check: iostall_transfer::backup::fuzzing::incremental_file,
            seeds: &["fuzz/corpus/incremental-file"],
        },
        Self { name: "journal", check: readers::transfer::journal, seeds: &["fuzz/corpus/journal"] },
        Self { name: "manifest", check: readers::transfer::manifest, seeds: &["fuzz/corpus/manifest"] },
        Self { name: "postgres", check: readers::postgres::config, seeds: &["fuzz/corpus/postgres"] },
        Self { name: "profile", check: readers::toml::profile, seeds: &["examples"] },
        Self { name: "rollup-body", check: iostall_store::fuzzing::rollup_body, seeds: &[] },
        Self { name: "run", check: iostall_store::fuzzing::run, seeds: &["fuzz/corpus/run"] },
        Self { name: "sample-body", check: iostall_store::fuzzing::sample_body, seeds: &[] },
        Self { name: "source", check: readers::source::source, seeds: &["fuzz/corpus/source"] },
        Self { name: "tar", check: iostall_transfer::backup::fuzzing::tar, seeds: &["fuzz/corpus/tar"] },
        Self { name: "wal-header", check: iostall_transfer::backup::fuzzing::wal_header, seeds: &[] },
        Self { name: "wal-records", check: iostall_session::backup::wal::fuzzing::records, seeds: &[] },
        Self {
            name: "xbstream",
            check: iostall_transfer::backup::fuzzing::xbstream,
            seeds: &["fuzz/corpus/xbstream"],
        },
    ];

    /// The reader with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reader| reader.name == name)
    }

    /// The files with known inputs.
    pub fn seeds(&self) -> std::io::Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for seed in self.seeds {
            let path = root().join(seed);
            if path.is_dir() {
                for entry in std::fs::read_dir(path)? {
                    files.push(entry?.path());
                }
            } else {
                files.push(path);
            }
        }
        files.sort();
        Ok(files)
    }

    /// The words of its grammar in libFuzzer's format.
    pub fn dictionary(&self) -> Option<PathBuf> {
        Some(root().join(format!("fuzz/dictionaries/{}.dict", self.name))).filter(|path| path.exists())
    }
}

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_inputs_break_no_promise() {
        for reader in Reader::ALL {
            for seed in reader.seeds().unwrap() {
                (reader.check)(&std::fs::read(seed).unwrap());
            }
        }
    }

    #[test]
    fn every_folder_and_dictionary_is_that_of_a_reader() {
        for folder in ["fuzz/corpus", "fuzz/dictionaries"] {
            for entry in std::fs::read_dir(root().join(folder)).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_stem().unwrap().to_str().unwrap();
                assert!(Reader::named(name).is_some(), "{}", path.display());
            }
        }
    }
}
