//! `iostall copy`.

mod options;
mod select;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use iostall_measure::{ByteCount, Caching, Nanos};
use iostall_model::transfer::{HashKind, Reflink, VerifyMode};
use iostall_session::transfer::Niceness;
use iostall_transfer::shape::TRANSFER_BYTES_MAX;

use self::select::SelectArgs;
use super::output::RatedOutputArgs;
use super::rate::bytes_per_second;

const COPY_EXAMPLES: &str = "Examples:
  iostall copy big.mdf /mnt/new/                    past the page cache, whole under its name or not there at all
  iostall copy --verify big.mdf /mnt/new/           then read back from the media and compared
  iostall copy --verify --manifest m.json data/ /mnt/new/
  iostall copy big.mdf /mnt/new/                    again, after a crash: goes on from what is provably there
  iostall copy --limit 200MB/s --nice idle big.mdf /backup/
  iostall copy --yield-to postgres://mon@db1/shop --require 'commit.p95<5ms' big.mdf /backup/
  iostall copy --verify --to-device /dev/sdx disk.img /dev/sdx     an image onto a device
  iostall copy --exclude '*.tmp' --exclude cache/ data/ /mnt/new/  without what matches
  iostall copy --update data/ /backup/                             what is missing or older there
  iostall copy --mirror --delete /backup/data data /backup/data    /backup/data becomes like data
  iostall copy --move data/ /archive/                              verified, then the sources are removed

Kept by default: mode, owner, access and modification times, extended attributes, access control lists, holes,
hard links, and symbolic links as links. Devices, pipes and sockets in directories are left out. A link named on the
command line is followed. Files below --small-file go through the page cache, several at a time; larger ones past it.

What cannot be copied is listed and the rest is copied: exit status 1, or 2 where nothing was copied.

Every file is written as `.NAME.iostall-XXXXXXXX.part` beside its final name, made durable, and then renamed.";

/// What to copy, how, and how to check it.
#[derive(Debug, Args)]
#[command(after_help = COPY_EXAMPLES)]
pub(crate) struct CopyArgs {
    /// Files and directories, then where to copy them: an existing directory, or the new name of a single
    /// source. A single source may be a block device or `-` (standard input), and for a single file DST may be
    /// `-` (standard output)
    #[arg(value_name = "SRC… DST", required = true, num_args = 2..)]
    pub(crate) paths: Vec<PathBuf>,

    /// Replace existing files, each one only when its new content is complete. Links, devices, pipes and
    /// sockets are never replaced by files
    #[arg(long, help_heading = "What")]
    pub(crate) overwrite: bool,
    /// Let --overwrite replace files of a database: this file, or those in this directory. May be repeated
    #[arg(long, value_name = "PATH", help_heading = "What")]
    pub(crate) destroy_database: Vec<PathBuf>,
    /// Write the single source onto this block device, which is also the destination, from its first byte on
    #[arg(long, value_name = "DEVICE", help_heading = "What")]
    pub(crate) to_device: Option<PathBuf>,
    /// The same for a device with a file system, partition table or similar on it, which will be lost
    #[arg(long, value_name = "DEVICE", help_heading = "What")]
    pub(crate) destroy: Option<PathBuf>,
    /// Keep files that are equal at the destination (size and time) or newer there, and replace the others
    #[arg(long, help_heading = "What")]
    pub(crate) update: bool,
    /// Keep files that have the same content at the destination, whatever their time: both are read
    #[arg(long, help_heading = "What")]
    pub(crate) checksum: bool,
    /// Copy one directory to DST itself, not into it: replace files that differ, keep equal ones
    #[arg(long, conflicts_with = "update", help_heading = "What")]
    pub(crate) mirror: bool,
    /// With --mirror: when everything was copied without an error, delete what DST has and the source has not,
    /// except what the filters leave out, and replace what is of another kind there. Names DST once more
    #[arg(
        long,
        value_name = "DST",
        requires = "mirror",
        conflicts_with = "files_from",
        help_heading = "What"
    )]
    pub(crate) delete: Option<PathBuf>,
    /// Remove the sources when everything was copied and read back without an error. Implies --verify
    #[arg(long = "move", conflicts_with_all = ["to_device", "destroy", "delete"], help_heading = "What")]
    pub(crate) move_sources: bool,
    /// Show what would be copied, replaced, kept and deleted, and do nothing
    #[arg(long, conflicts_with = "manifest", help_heading = "What")]
    pub(crate) dry_run: bool,
    /// Stop at the first file that cannot be copied, instead of listing it and copying the rest
    #[arg(long, help_heading = "What")]
    pub(crate) fail_fast: bool,
    /// Keep files that have the size and time of their source, and keep the parts of unfinished files that
    /// match the source. Without this option an interrupted copy is resumed only if its source is unchanged
    #[arg(long, help_heading = "What")]
    pub(crate) resume: bool,
    /// Start over if an earlier attempt at the same copy was interrupted
    #[arg(long, conflicts_with = "resume", help_heading = "What")]
    pub(crate) no_resume: bool,
    /// Symbolic links inside directories
    #[arg(long, value_name = "HOW", default_value = "keep", help_heading = "What")]
    pub(crate) symlinks: SymlinkChoice,
    /// Devices, pipes and sockets
    #[arg(long, value_name = "HOW", default_value = "skip", help_heading = "What")]
    pub(crate) specials: SpecialChoice,
    /// Skip file systems mounted inside the sources
    #[arg(long, help_heading = "What")]
    pub(crate) one_file_system: bool,
    /// Try files that failed this many times more, once all others are copied
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "fail_fast", help_heading = "What")]
    pub(crate) retries: u32,
    /// Pause before each of --retries
    #[arg(long, value_name = "TIME", default_value = "5s", help_heading = "What")]
    pub(crate) retry_wait: Nanos,

    #[command(flatten)]
    pub(crate) select: SelectArgs,

    /// Verify the copy: read-back reads the destination again from the media, on-the-fly only computes
    /// checksums
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "read-back", value_parser = super::load::kebab::<VerifyMode>, help_heading = "Verification")]
    pub(crate) verify: Option<VerifyMode>,
    /// Checksum: xxh3, blake3, sha256, md5 or crc32c [default: the one in the manifest's name, such as x.md5;
    /// else xxh3]
    #[arg(long, value_name = "NAME", help_heading = "Verification")]
    pub(crate) hash: Option<HashKind>,
    /// Write the checksums to FILE: as JSON if it ends in .json, else in the format of md5sum. Implies
    /// --verify=on-the-fly. The list of an incomplete copy goes to FILE.partial. An existing file that is not
    /// a manifest is replaced only with --overwrite
    #[arg(long, value_name = "FILE", help_heading = "Verification")]
    pub(crate) manifest: Option<PathBuf>,

    /// Maximum rate in bytes a second, such as 200MB/s. Reading back for --verify has the same limit separately
    #[arg(long, value_name = "RATE", value_parser = bytes_per_second, help_heading = "How")]
    pub(crate) limit: Option<u64>,
    /// Run at lower CPU and disk priority: low or idle
    #[arg(long, value_name = "LEVEL", help_heading = "How")]
    pub(crate) nice: Option<NiceChoice>,
    /// Share blocks with the source: auto (if the file system can), never, always
    #[arg(long, value_name = "WHEN", default_value = "auto", value_parser = super::load::kebab::<Reflink>, help_heading = "How")]
    pub(crate) reflink: Reflink,
    /// Bytes per request, 4 KiB to 64 MiB [default: 4 MiB on one device, 1 MiB between two]
    #[arg(long, value_name = "SIZE", value_parser = transfer_size, help_heading = "How")]
    pub(crate) transfer_size: Option<ByteCount>,
    /// Requests in flight on each side [default: 2 on one device, 8 between two]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "How")]
    pub(crate) depth: Option<u32>,
    /// Measure request sizes and depths on the beginning of the first file of 256 MiB or more, and use the
    /// fastest
    #[arg(long, conflicts_with_all = ["transfer_size", "depth", "limit", "yield_to"], help_heading = "How")]
    pub(crate) tune: bool,
    /// How the source is read: direct or buffered
    #[arg(long, value_name = "HOW", default_value = "direct", value_parser = super::load::kebab::<Caching>, help_heading = "How")]
    pub(crate) source_caching: Caching,
    /// How the destination is written: direct or buffered
    #[arg(long, value_name = "HOW", default_value = "direct", value_parser = super::load::kebab::<Caching>, help_heading = "How")]
    pub(crate) target_caching: Caching,
    /// Files below this size (at most 64 MiB) are copied in parallel as small files
    #[arg(long, value_name = "SIZE", default_value = "1M", value_parser = small_file, help_heading = "How")]
    pub(crate) small_file: ByteCount,
    /// Bytes between two entries of the journal from which an interrupted copy is resumed; 0: no journal
    #[arg(long, value_name = "SIZE", default_value = "512M", help_heading = "How")]
    pub(crate) checkpoint: ByteCount,
    /// Large files copied at once, each with its own buffers and requests: for devices or networks that one file
    /// cannot fill
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "tune", value_parser = clap::value_parser!(u32).range(1..=64), help_heading = "How")]
    pub(crate) parallel: u32,
    /// Threads for small files [default: twice the number of CPUs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256), help_heading = "How")]
    pub(crate) workers: Option<u32>,

    #[command(flatten)]
    pub(crate) give_way: GiveWayArgs,

    /// Append a line to FILE for each file as soon as it is done
    #[arg(long, value_name = "FILE", value_parser = log_file, help_heading = "Output")]
    pub(crate) log: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: RatedOutputArgs,
    /// Do not store the run
    #[arg(long, help_heading = "Output")]
    pub(crate) no_store: bool,
}

/// How to copy symbolic links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SymlinkChoice {
    /// Copy the link itself
    Keep,
    /// Copy what it points to
    Follow,
    /// Leave it out
    Skip,
}

/// How to copy devices, pipes and sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SpecialChoice {
    /// Leave them out, and report how many
    Skip,
    /// Create the same at the destination
    Keep,
    /// Fail
    Refuse,
}

/// How much to lower the priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NiceChoice {
    /// Lower than other programs
    Low,
    /// Only when the CPU and disk are otherwise idle
    Idle,
}

impl From<NiceChoice> for Niceness {
    fn from(choice: NiceChoice) -> Self {
        match choice {
            NiceChoice::Low => Self::Low,
            NiceChoice::Idle => Self::Idle,
        }
    }
}

fn transfer_size(text: &str) -> Result<ByteCount, String> {
    let size: ByteCount = text.parse().map_err(|error| format!("{error}"))?;
    let allowed = 4096..=u64::from(TRANSFER_BYTES_MAX);
    if allowed.contains(&size.bytes()) { Ok(size) } else { Err("a request has 4 KiB to 64 MiB".to_owned()) }
}

/// Each worker reads a small file into memory as a whole.
fn small_file(text: &str) -> Result<ByteCount, String> {
    let size: ByteCount = text.parse().map_err(|error| format!("{error}"))?;
    if size.bytes() <= u64::from(TRANSFER_BYTES_MAX) {
        Ok(size)
    } else {
        Err("a file of more than 64 MiB is not small".to_owned())
    }
}

/// Standard output has the report.
fn log_file(text: &str) -> Result<PathBuf, String> {
    if text == "-" { Err("a log goes to a file: name one".to_owned()) } else { Ok(text.into()) }
}

/// To whom a transfer gives way, and how far.
#[derive(Debug, Args)]
#[command(next_help_heading = "Giving way")]
pub(crate) struct GiveWayArgs {
    /// Slow down before the users of this source wait longer than --require allows, such as --require
    /// 'commit.p95<5ms': commit, read, write or sync, of all of it or of one database, file or device. An
    /// address as for `collect run`: postgres://, sqlserver://, mysql:// or linux:
    #[arg(long, value_name = "SOURCE", requires = "require")]
    pub(crate) yield_to: Option<String>,
    /// The rate that is kept even if users wait or the source does not answer [default: 4 MiB/s]
    #[arg(long, value_name = "RATE", requires = "yield_to", value_parser = bytes_per_second)]
    pub(crate) yield_floor: Option<u64>,
}
