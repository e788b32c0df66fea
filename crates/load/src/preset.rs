//! Presets: loads that a DBA knows by name. Each is a profile in `examples/` with an explanation of its
//! numbers, compiled into the program.

use iostall_model::Profile;
use thiserror::Error;

use crate::profile::{ProfileError, parse_profile};
use crate::spelling::did_you_mean;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    pub name: &'static str,
    /// One line, the same as the profile's description.
    pub summary: &'static str,
    pub text: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PresetError {
    #[error("there is no preset {name:?}{suggestion}; the presets are {names}")]
    Unknown { name: String, suggestion: String, names: String },
    /// A built-in profile is broken, which is a bug.
    #[error(transparent)]
    Broken(#[from] ProfileError),
}

macro_rules! preset {
    ($name:literal, $summary:literal) => {
        Preset { name: $name, summary: $summary, text: include_str!(concat!("../examples/", $name, ".toml")) }
    };
}

const PRESETS: [Preset; 10] = [
    preset!("random-read", "Random 8K reads: index seeks and key lookups"),
    preset!("random-write", "Random 8K writes, each on stable media: lazy writer and page cleaner"),
    preset!("scan", "Sequential 64K to 512K reads: table scan with read-ahead"),
    preset!("log-write", "Serial 60K writes, each on stable media: transaction log"),
    preset!("backup-read", "Sequential 512K reads by four workers in turn: backup"),
    preset!("oltp", "SQL Server order entry: random 8K data with 30 % writes, serial 60K log"),
    preset!("tempdb", "SQL Server tempdb: 64K spills, 8K row versions, serial 60K log, nothing durable"),
    preset!("checkpoint", "Steady 8K reads and log writes with bursts of 8K to 256K page writes"),
    preset!("postgres", "PostgreSQL: random 8K data, serial 8K WAL with fdatasync, paced checkpoint writes"),
    preset!(
        "mariadb",
        "MariaDB and MySQL InnoDB: random 16K data, 1M doublewrite batches, serial 4K redo with fdatasync"
    ),
];

pub fn presets() -> &'static [Preset] {
    &PRESETS
}

pub fn preset(name: &str) -> Result<Profile, PresetError> {
    Ok(parse_profile(preset_text(name)?, &format!("preset {name}"))?)
}

/// The preset `name` as TOML, with the comment that explains its numbers.
pub fn preset_text(name: &str) -> Result<&'static str, PresetError> {
    let names = || PRESETS.iter().map(|preset| preset.name);
    let found = PRESETS.iter().find(|preset| preset.name == name).ok_or_else(|| PresetError::Unknown {
        name: name.to_owned(),
        suggestion: did_you_mean(name, names()),
        names: names().collect::<Vec<_>>().join(", "),
    })?;
    Ok(found.text)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use iostall_measure::Nanos;

    use super::*;
    use crate::plan::{SharedSequence, StreamPlace, StreamPlan, region_in};
    use crate::profile::check;

    #[test]
    fn every_preset_reads_and_passes_the_check() {
        for listed in presets() {
            let profile = preset(listed.name).unwrap();
            assert_eq!((profile.name.as_str(), profile.description.as_str()), (listed.name, listed.summary));
            check(&profile).unwrap();
            let times = (profile.spans[0].warmup, profile.spans[0].duration);
            assert_eq!(times, (Nanos(5_000_000_000), Nanos(30_000_000_000)), "{}", listed.name);
        }
    }

    #[test]
    fn every_preset_opens_with_why_its_numbers_are_what_they_are() {
        for listed in presets() {
            let comment: String = listed.text.lines().take_while(|line| line.starts_with('#')).collect();
            assert!(comment.contains("Why these numbers") && comment.len() > 500, "{}", listed.name);
        }
    }

    #[test]
    fn every_file_in_examples_is_a_preset() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter_map(|file| file.strip_suffix(".toml").map(str::to_owned))
            .collect();
        files.sort();
        let mut names: Vec<&str> = presets().iter().map(|preset| preset.name).collect();
        names.sort_unstable();
        assert_eq!(files, names);
    }

    #[test]
    fn every_preset_runs_on_small_and_large_targets_and_4k_sectors() {
        for listed in presets() {
            let profile = preset(listed.name).unwrap();
            for target_size_bytes in [64 << 20, 1 << 30, 1 << 40] {
                for role in &profile.spans[0].roles {
                    let (start, end) = region_in(role, target_size_bytes, 4096);
                    for worker_index in 0..role.workers {
                        let place = StreamPlace {
                            target_size_bytes,
                            worker_index,
                            workers: role.workers,
                            stream_number: u64::from(worker_index),
                            seed: 1,
                            sector_align: 4096,
                        };
                        let shared = role.shared_sequence.then(|| Arc::new(SharedSequence::new()));
                        let mut plan = StreamPlan::new(role, place, shared).unwrap();
                        for _ in 0..10_000 {
                            let request = plan.next();
                            assert!(request.offset >= start);
                            assert!(request.offset + u64::from(request.length) <= end);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn an_unknown_preset_is_answered_with_what_was_probably_meant_and_the_list() {
        let message = preset("radnom-read").unwrap_err().to_string();
        assert!(message.contains("(did you mean \"random-read\"?)"), "{message}");
        assert!(message.contains("random-read, random-write, scan"), "{message}");
        assert!(!preset("xyz").unwrap_err().to_string().contains("did you mean"));
    }
}
