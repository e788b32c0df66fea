//! What DiskSpd can and iostall on Linux cannot, or does otherwise: refused or told by name, never dropped silently.

use thiserror::Error;

use super::profile::{CacheMode, DiskspdProfile, DiskspdTarget, IoPriority};
use super::validate::each_once;

/// An option or element of DiskSpd that has no equal here.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unsupported {
    /// `-e…`, `<ETW>`.
    #[error("{option}: event tracing (ETW) exists only on Windows; use perf or bpftrace beside the run")]
    EventTracing {
        /// As typed.
        option: String,
    },
    /// `-y…`.
    #[error(
        "{option}: named Windows events do not exist on Linux; start and stop runs from a script, SIGINT ends one early with its results"
    )]
    Events {
        /// As typed.
        option: String,
    },
    /// `-Sr`.
    #[error(
        "-Sr: switching off only the local cache of a network file system is a Windows feature; use -Su (O_DIRECT)"
    )]
    RemoteCacheOnly,
    /// `-Sm`, with `-N`.
    #[error("-Sm: memory-mapped I/O is not offered; use -Sb for the page cache or -Su to pass it")]
    MemoryMapped,
    /// A processor group above 0.
    #[error("-ag{group}: Linux has one processor group; number processors from 0 without a group")]
    ProcessorGroup {
        /// As asked.
        group: u16,
    },
    /// `#0`, `X:`.
    #[error(
        "'{path}' is a Windows {kind}; on Linux name the block device, such as /dev/nvme0n1 or /dev/sdb1"
    )]
    WindowsDevice {
        /// As typed.
        path: String,
        /// `physical drive` or `volume`.
        kind: &'static str,
    },
    /// `-x`.
    #[error(
        "-x: completion routines do not exist on Linux; requests complete through the I/O engine as without -x"
    )]
    CompletionRoutines,
    /// `-I1`, `-I2`.
    #[error("-I{number}: I/O priority is not set; start the run under ionice instead")]
    Priority {
        /// 1 or 2.
        number: u32,
    },
    /// `-l`.
    #[error("-l: large pages are used for the buffers wherever the kernel grants them, with or without -l")]
    LargePages,
    /// `-f` with r, s or t.
    #[error("-f{letters}: open hints are not passed on; with -Su or -Sh they mean nothing on Linux")]
    OpenHints {
        /// As typed.
        letters: String,
    },
    /// `-:`.
    #[error("-:{flags}: DiskSpd's experiments have no meaning here")]
    Experiments {
        /// The mask.
        flags: u32,
    },
    /// `-P`.
    #[error(
        "-P: progress is a line on standard error, where that is a terminal, and not a dot every so many requests"
    )]
    Dots,
    /// `-vs`.
    #[error("-vs: the engine keeps no wait statistics; the table is left out")]
    WaitStatistics,
}

impl Unsupported {
    /// Whether the run is refused; else it goes on with a warning, because what is measured stays what was asked for.
    pub fn is_refused(&self) -> bool {
        matches!(
            self,
            Self::EventTracing { .. }
                | Self::Events { .. }
                | Self::RemoteCacheOnly
                | Self::MemoryMapped
                | Self::ProcessorGroup { .. }
                | Self::WindowsDevice { .. }
        )
    }

    /// Everything in `profile` that is refused or done otherwise, each once.
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

    /// Whether `path` names a Windows device: `#0`, or a letter and a colon.
    pub fn windows_device(path: &str) -> Option<Self> {
        let kind = match path.as_bytes() {
            [b'#', digits @ ..] if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) => {
                "physical drive"
            }
            [letter, b':'] if letter.is_ascii_alphabetic() => "volume",
            _ => return None,
        };
        Some(Self::WindowsDevice { path: path.to_owned(), kind })
    }
}
