//! Features of DiskSpd that iostall on Linux lacks or does differently: refused or reported by name, never
//! dropped silently.

use iostall_measure::WindowsPath;
use thiserror::Error;

use super::profile::{CacheMode, DiskspdProfile, DiskspdTarget, IoPriority};
use super::validate::each_once;

/// An option or element of DiskSpd without an equivalent here.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unsupported {
    #[error("{option}: event tracing (ETW) exists only on Windows; use perf or bpftrace beside the run")]
    EventTracing { option: String },
    #[error(
        "{option}: named Windows events do not exist on Linux; start and stop runs from a script, SIGINT ends one early with its results"
    )]
    Events { option: String },
    #[error(
        "-Sr: switching off only the local cache of a network file system is a Windows feature; use -Su (O_DIRECT)"
    )]
    RemoteCacheOnly,
    #[error("-Sm: memory-mapped I/O is not supported; use -Sb for the page cache or -Su to bypass it")]
    MemoryMapped,
    #[error("-ag{group}: Linux has one processor group; number processors from 0 without a group")]
    ProcessorGroup { group: u16 },
    /// `#0`, `X:`, `X:\t.dat`, `\\server\share\t.dat`.
    #[error("'{path}' is a Windows {}; here {}", kind.name(), kind.hint())]
    WindowsPath { path: String, kind: WindowsPath },
    #[error(
        "-x: completion routines do not exist on Linux; requests complete through the I/O engine as without -x"
    )]
    CompletionRoutines,
    #[error("-I{number}: I/O priority is not set; start the run under ionice instead")]
    Priority {
        /// 1 or 2.
        number: u32,
    },
    #[error("-l: buffers use large pages whenever the kernel provides them, with or without -l")]
    LargePages,
    #[error("-f{letters}: open hints are ignored; with -Su or -Sh they have no effect on Linux")]
    OpenHints { letters: String },
    #[error("-:{flags}: DiskSpd's experiments are not supported")]
    Experiments { flags: u32 },
    #[error("-P: progress is a line on standard error if that is a terminal, instead of dots")]
    Dots,
    #[error("-vs: the engine keeps no wait statistics; the table is left out")]
    WaitStatistics,
}

impl Unsupported {
    /// Whether the run is refused; otherwise it continues with a warning, because the measurement is still as
    /// requested.
    pub fn is_refused(&self) -> bool {
        matches!(
            self,
            Self::EventTracing { .. }
                | Self::Events { .. }
                | Self::RemoteCacheOnly
                | Self::MemoryMapped
                | Self::ProcessorGroup { .. }
                | Self::WindowsPath { .. }
        )
    }

    /// Everything unsupported in `profile`, each once.
    pub fn all_in(profile: &DiskspdProfile) -> Vec<Self> {
        let mut found = Vec::new();
        if profile.experiment_flags != 0 {
            found.push(Self::Experiments { flags: profile.experiment_flags });
        }
        if profile.progress > 0 {
            found.push(Self::Dots);
        }
        if profile.verbose_stats {
            found.push(Self::WaitStatistics);
        }
        for span in &profile.time_spans {
            if span.completion_routines {
                found.push(Self::CompletionRoutines);
            }
            let groups = span.affinity.iter().filter(|cpu| cpu.group > 0);
            found.extend(groups.map(|cpu| Self::ProcessorGroup { group: cpu.group }));
            span.targets.iter().for_each(|target| Self::find_in_target(target, &mut found));
        }
        each_once(found)
    }

    fn find_in_target(target: &DiskspdTarget, found: &mut Vec<Self>) {
        if target.memory_mapped {
            found.push(Self::MemoryMapped);
        }
        if target.cache_mode == CacheMode::NoLocalCache {
            found.push(Self::RemoteCacheOnly);
        }
        if target.large_pages {
            found.push(Self::LargePages);
        }
        if target.io_priority != IoPriority::Normal {
            found.push(Self::Priority { number: target.io_priority.number() });
        }
        let hints =
            [(target.random_access, 'r'), (target.sequential_scan, 's'), (target.temporary_file, 't')];
        let letters: String = hints.iter().filter(|(set, _)| *set).map(|(_, letter)| letter).collect();
        if !letters.is_empty() {
            found.push(Self::OpenHints { letters });
        }
    }

    /// Recognises Windows paths and `#0`, DiskSpd's notation for a physical drive.
    pub fn windows_path(path: &str) -> Option<Self> {
        let is_drive = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let kind = if path.strip_prefix('#').is_some_and(is_drive) {
            WindowsPath::PhysicalDrive
        } else {
            WindowsPath::of(path)?
        };
        Some(Self::WindowsPath { path: path.to_owned(), kind })
    }
}
