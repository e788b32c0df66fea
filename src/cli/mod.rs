//! The command line. No system calls here.

mod alerts;
mod backup;
mod branches;
mod candidates;
mod collect;
mod compare;
mod copy;
mod diskspd;
mod drive;
#[cfg(test)]
mod examples;
mod fleet;
mod fsync;
pub(crate) mod habits;
mod help;
mod load;
pub(crate) mod man;
mod manual;
mod matrix;
mod notes;
mod output;
mod profile;
mod rate;
pub(crate) mod reference;
mod report;
mod runs;
mod settings;
mod store;
mod sweep;
mod target;
pub(crate) mod timestamp;
mod verify;
mod write;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};

pub(crate) use alerts::{AlertsArgs, AlertsCommand, AlertsTestArgs};
pub(crate) use backup::{
    BackupArgs, BackupCommand, BackupListArgs, BackupRunArgs, BackupVerifyArgs, CreateArgs, DrillArgs,
    FormChoice, PlanArgs, PruneArgs, RebuildArgs, RestoreArgs, RestoreCommand, RestoreTuneArgs, TuneArgs,
    WalArchiveArgs, WalArgs, WalCommand, WalFetchArgs, WalListArgs, WalReceiveArgs, named_stripes,
};
pub(crate) use collect::{CollectArgs, CollectCommand, ImportArgs, JobsArgs, OnceArgs, RunArgs};
pub(crate) use compare::CompareArgs;
pub(crate) use copy::{CopyArgs, GiveWayArgs, NiceChoice};
pub(crate) use diskspd::{DiskspdArgs, DiskspdExtras};
pub(crate) use drive::{
    AtomicArgs, DriveArgs, DriveCommand, DrivePlanArgs, EnduranceArgs, FlashArgs, GuardArgs, LimitsArgs,
    PowerfailArgs, PowerfailCheckArgs, PowerfailCommand, PowerfailWitnessArgs, PowerfailWriteArgs,
    QualifyArgs,
};
pub(crate) use fleet::{
    FleetAdviseArgs, FleetAgentArgs, FleetArgs, FleetCodeArgs, FleetCommand, FleetInitArgs, FleetJoinArgs,
    FleetNotesArgs, FleetPullArgs, FleetPushArgs, FleetPushCommand, FleetReleaseArgs, FleetReleaseCommand,
    FleetReportArgs, FleetRevokeArgs, FleetRunArgs, FleetRunsArgs, FleetRunsCommand, FleetSendArgs,
    FleetServeArgs, FleetServerChoice, FleetServersArgs, FleetSettingsArgs, FleetTagArgs, PushApplyArgs,
    PushEndArgs, PushPlanArgs, PushReadArgs, PushRollbackArgs, PushStatusArgs, ReleaseApplyArgs,
    ReleaseKeygenArgs, ReleaseMakeArgs, ReleaseShowArgs, ReleaseUndoArgs, ReleaseVerifyArgs,
};
pub(crate) use fsync::FsyncArgs;
pub(crate) use load::{EngineChoice, LoadArgs};
pub(crate) use manual::{CompletionsArgs, ManArgs};
pub(crate) use matrix::MatrixArgs;
pub(crate) use notes::{NoteArgs, NotesArgs, NotesChoice};
pub(crate) use output::RunOutput;
pub(crate) use profile::{PresetsArgs, ProfileArgs, ProfileCommand, TranslateArgs};
pub(crate) use report::{ReportArgs, TopArgs};
pub(crate) use runs::{CapacityArgs, RunListChoice, RunsArgs, RunsCommand};
pub(crate) use settings::{AdviseArgs, AdviseChoice, SettingsArgs, SettingsChoice};
pub(crate) use store::{StoreArgs, StoreCommand};
pub(crate) use sweep::{PatternArgs, SweepArgs};
pub(crate) use verify::VerifyArgs;
pub(crate) use write::WriteArgs;

/// Load-test, watch, move and judge the storage under database servers.
#[derive(Debug, Parser)]
#[command(name = "iostall", version, about, propagate_version = true, disable_help_subcommand = true)]
#[command(
    after_help = "Exit status: 0 done · 1 done, and the answer is no (requests failed, a threshold was missed) · \
                        2 could not · 130 interrupted, partial results kept.\n\n\
                  `iostall COMMAND --help` has examples. `iostall completions SHELL` and `iostall man` print completion rules \
                  and manual pages."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Debug, Args)]
pub(crate) struct GlobalArgs {
    /// Store for runs and history [default: iostall/iostall.db in the XDG data directory]
    #[arg(long, global = true, value_name = "FILE", env = "IOSTALL_STORE", help_heading = "Global options")]
    pub(crate) store: Option<PathBuf>,
    /// Print only results and errors: no progress, no notes
    #[arg(long, short, global = true, help_heading = "Global options")]
    pub(crate) quiet: bool,
    /// Colour in reports
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = "Global options")]
    pub(crate) color: ColorChoice,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Sample the I/O counters of databases and hosts, and store their history
    Collect(CollectArgs),
    /// Watch files, databases, volumes and servers live on a full screen
    Top(TopArgs),
    /// Check a file of alerts, and test its channels
    Alerts(AlertsArgs),
    /// Put a database-shaped load on files or devices and measure it
    Load(Box<LoadArgs>),
    /// Increase the load until the storage saturates, and recommend a setting
    Sweep(Box<SweepArgs>),
    /// Measure sizes, patterns and depths in one table, on one device or several side by side
    Matrix(Box<MatrixArgs>),
    /// Measure commits with each sync method: which wal_sync_method, and can its flushes be believed?
    Fsync(Box<FsyncArgs>),
    /// Compare runs and report which differences are significant
    Compare(Box<CompareArgs>),
    /// Copy large files and trees past the page cache, durably, and verify them
    Copy(Box<CopyArgs>),
    /// Check files on the media against a manifest
    Verify(Box<VerifyArgs>),
    /// Write a file at a fixed pace and time every write: when does buffering fail?
    Write(Box<WriteArgs>),
    /// Back up files and trees onto several stripes at once, verify, restore and keep them
    Backup(BackupArgs),
    /// Judge drives and volumes: their wear, limits and steady state, power failure, and what to build of them
    Drive(DriveArgs),
    /// List the built-in load profiles, print one, or translate fio's and DiskSpd's
    Profile(ProfileArgs),
    /// The older name of `iostall profile list` and `show`
    #[command(hide = true)]
    Presets(PresetsArgs),
    /// Report the I/O of watched files, databases, volumes and servers
    Report(ReportArgs),
    /// List, show, export and delete stored runs
    Runs(RunsArgs),
    /// Keep the history of many servers in one central repository
    Fleet(FleetArgs),
    /// Maintain the history of watched sources
    Store(StoreArgs),
    /// Run DiskSpd command lines on Linux, with DiskSpd's reports
    #[command(disable_help_flag = true)]
    Diskspd(DiskspdArgs),
    /// Print completion rules for a shell
    #[command(hide = true)]
    Completions(CompletionsArgs),
    /// Print the manual page, or write a page for every command into a directory
    #[command(hide = true)]
    Man(ManArgs),
    /// Print all commands and options as Markdown: docs/reference.md
    #[command(hide = true)]
    Reference,
}

/// The verbs whose branches read different options.
const BRANCHED: &[&branches::Verb] = &[&drive::ENDURANCE, &drive::LIMITS, &drive::QUALIFY];

/// Parses a command line, its first word the program's name.
pub(crate) fn parsed(words: &[OsString]) -> Result<Cli, clap::Error> {
    let mut command = help::grouped(Cli::command());
    let mut matches = command.try_get_matches_from_mut(words)?;
    branches::refuse(BRANCHED, &mut command, &matches)?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// If the program is called as `diskspd`, it behaves like `iostall diskspd`.
pub(crate) fn as_diskspd(mut words: Vec<OsString>) -> Vec<OsString> {
    let called =
        words.first().and_then(|word| Path::new(word).file_stem()).is_some_and(|name| name == "diskspd");
    if called {
        words.insert(1, "diskspd".into());
    }
    words
}
