//! `iostall copy` and `iostall verify`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use iostall_engine::files::Niceness;
use iostall_measure::{ByteCount, Caching};
use iostall_model::transfer::{HashKind, Reflink, VerifyMode};

use iostall_transfer::shape::TRANSFER_BYTES_MAX;

use super::load::OutputArgs;

const COPY_EXAMPLES: &str = "Examples:
  iostall copy big.mdf /mnt/new/                    past the page cache, whole under its name or not there at all
  iostall copy --verify big.mdf /mnt/new/           then read back from the media and compared
  iostall copy --verify --manifest m.json data/ /mnt/new/
  iostall copy big.mdf /mnt/new/                    again, after a crash: goes on from what is provably there
  iostall copy --limit 200MB/s --nice idle big.mdf /backup/
  iostall copy --verify --to-device /dev/sdx disk.img /dev/sdx     an image onto a device

Kept by default: mode, owner, access and modification times, extended attributes, access control lists, holes,
hard links, and symbolic links as links. Devices, pipes and sockets in directories are left out. A link named on the
command line is followed. Files below --small-file go through the page cache, several at a time; larger ones past it.

What cannot be copied is listed and the rest is copied: exit status 1, or 2 where nothing was copied.

Every file is written as `.NAME.iostall-XXXXXXXX.part` beside its final name, made durable, and then renamed.";

/// What to copy, how, and how it is checked.
#[derive(Debug, Args)]
#[command(after_help = COPY_EXAMPLES)]
pub(crate) struct CopyArgs {
    /// Files and directories, then where they go: a directory that exists, or the new name of the only source
    #[arg(value_name = "SRC… DST", required = true, num_args = 2..)]
    pub(crate) paths: Vec<PathBuf>,

    /// Replaces files that exist, each when its new content is whole. Links, devices, pipes and sockets stay
    #[arg(long, help_heading = "What")]
    pub(crate) overwrite: bool,
    /// Lets --overwrite replace files of a database: this file, or those in this directory. May be repeated
    #[arg(long, value_name = "PATH", help_heading = "What")]
    pub(crate) destroy_database: Vec<PathBuf>,
    /// Writes the only source onto this block device, which is also the destination, from its first byte on
    #[arg(long, value_name = "DEVICE", help_heading = "What")]
    pub(crate) to_device: Option<PathBuf>,
    /// The same for a device with a file system, partition table or the like on it, which is then lost
    #[arg(long, value_name = "DEVICE", help_heading = "What")]
    pub(crate) destroy: Option<PathBuf>,
    /// Ends at the first thing that cannot be copied, instead of listing it and copying the rest
    #[arg(long, help_heading = "What")]
    pub(crate) fail_fast: bool,
    /// Leaves files as they are that have the size and time of their source, and keeps of an unfinished one what its media and
    /// the source confirm. Without it an interrupted copy is continued where the source is unchanged
    #[arg(long, help_heading = "What")]
    pub(crate) resume: bool,
    /// Begins anew where an earlier try of the same copy left something unfinished
    #[arg(long, conflicts_with = "resume", help_heading = "What")]
    pub(crate) no_resume: bool,
    /// Symbolic links inside directories
    #[arg(long, value_name = "HOW", default_value = "keep", help_heading = "What")]
    pub(crate) symlinks: SymlinkChoice,
    /// Devices, pipes and sockets
    #[arg(long, value_name = "HOW", default_value = "skip", help_heading = "What")]
    pub(crate) specials: SpecialChoice,
    /// Leaves out what is mounted inside the sources
    #[arg(long, help_heading = "What")]
    pub(crate) one_file_system: bool,

    /// Checks the copy: read-back reads the destination again from the media, on-the-fly only makes checksums
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "read-back", value_parser = super::load::kebab::<VerifyMode>, help_heading = "Verification")]
    pub(crate) verify: Option<VerifyMode>,
    /// Checksum: xxh3, blake3, sha256, md5 or crc32c [default: what the name of the manifest says, as x.md5 does; else xxh3]
    #[arg(long, value_name = "NAME", help_heading = "Verification")]
    pub(crate) hash: Option<HashKind>,
    /// Writes the checksums to FILE: JSON where it ends in .json, else as md5sum and its kin do. Implies --verify=on-the-fly.
    /// The list of a copy that did not finish goes to FILE.partial. A file that is there and no manifest is replaced only with
    /// --overwrite
    #[arg(long, value_name = "FILE", help_heading = "Verification")]
    pub(crate) manifest: Option<PathBuf>,

    /// At most so many bytes a second, such as 200MB/s
    #[arg(long, value_name = "RATE", value_parser = bytes_per_second, help_heading = "How")]
    pub(crate) limit: Option<u64>,
    /// Stands back for others: low or idle, for processor and disk
    #[arg(long, value_name = "LEVEL", help_heading = "How")]
    pub(crate) nice: Option<NiceChoice>,
    /// Sharing blocks with the source: auto (where the file system can), never, always
    #[arg(long, value_name = "WHEN", default_value = "auto", value_parser = super::load::kebab::<Reflink>, help_heading = "How")]
    pub(crate) reflink: Reflink,
    /// Bytes a request, 4 KiB to 64 MiB [default: 4 MiB on one device, 1 MiB between two]
    #[arg(long, value_name = "SIZE", value_parser = transfer_size, help_heading = "How")]
    pub(crate) transfer_size: Option<ByteCount>,
    /// Requests in flight on each side [default: 2 on one device, 8 between two]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "How")]
    pub(crate) depth: Option<u32>,
    /// Measures sizes and depths on the beginning of the first file of 256 MiB or more, and uses the fastest
    #[arg(long, conflicts_with_all = ["transfer_size", "depth", "limit"], help_heading = "How")]
    pub(crate) tune: bool,
    /// How the source is read: direct or buffered
    #[arg(long, value_name = "HOW", default_value = "direct", value_parser = super::load::kebab::<Caching>, help_heading = "How")]
    pub(crate) source_caching: Caching,
    /// How the destination is written: direct or buffered
    #[arg(long, value_name = "HOW", default_value = "direct", value_parser = super::load::kebab::<Caching>, help_heading = "How")]
    pub(crate) target_caching: Caching,
    /// Files below this, at most 64 MiB, go by the path for small files
    #[arg(long, value_name = "SIZE", default_value = "1M", value_parser = small_file, help_heading = "How")]
    pub(crate) small_file: ByteCount,
    /// How much is written between two entries of the journal that an interrupted copy goes on from; 0: no journal
    #[arg(long, value_name = "SIZE", default_value = "512M", help_heading = "How")]
    pub(crate) checkpoint: ByteCount,
    /// Workers for small files [default: twice the processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256), help_heading = "How")]
    pub(crate) workers: Option<u32>,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Do not keep the run in the store
    #[arg(long, help_heading = "Output")]
    pub(crate) no_store: bool,
}

/// Which files to check.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  iostall verify m.json\n  iostall verify --hash md5 OLD.TXT\n\n\
    Reads every file past the page cache. Exit status 1 where a file differs or is not there. Relative names are \
    looked for from the current directory, as md5sum does.")]
pub(crate) struct VerifyArgs {
    /// A manifest of iostall, or a list as md5sum and its kin write it
    #[arg(value_name = "MANIFEST")]
    pub(crate) manifest: PathBuf,
    /// Which checksum a list has, where its name and its digests leave it open
    #[arg(long, value_name = "NAME")]
    pub(crate) hash: Option<HashKind>,
    /// At most so many bytes a second, such as 200MB/s
    #[arg(long, value_name = "RATE", value_parser = bytes_per_second)]
    pub(crate) limit: Option<u64>,
    /// Stands back for others: low or idle, for processor and disk
    #[arg(long, value_name = "LEVEL")]
    pub(crate) nice: Option<NiceChoice>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Do not keep the run in the store
    #[arg(long, help_heading = "Output")]
    pub(crate) no_store: bool,
}

/// What becomes of symbolic links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SymlinkChoice {
    /// A link stays a link
    Keep,
    /// What it leads to is copied
    Follow,
    /// Left out
    Skip,
}

/// What becomes of devices, pipes and sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SpecialChoice {
    /// Left out, and counted
    Skip,
    /// Made anew
    Keep,
    /// An error
    Refuse,
}

/// How much a command stands back for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NiceChoice {
    /// Behind others
    Low,
    /// Only where nobody else asks
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

/// Each worker reads such a file whole into memory.
fn small_file(text: &str) -> Result<ByteCount, String> {
    let size: ByteCount = text.parse().map_err(|error| format!("{error}"))?;
    if size.bytes() <= u64::from(TRANSFER_BYTES_MAX) {
        Ok(size)
    } else {
        Err("a file of more than 64 MiB is not small".to_owned())
    }
}

/// `200MB/s` or `200MB`.
fn bytes_per_second(text: &str) -> Result<u64, String> {
    let size: ByteCount = text.trim_end_matches("/s").parse().map_err(|_| {
        format!("{text:?} is not a rate: write bytes a second with a unit, such as 200MB/s or 1GiB/s")
    })?;
    if size.bytes() == 0 { Err("a rate of nothing would never end".to_owned()) } else { Ok(size.bytes()) }
}
