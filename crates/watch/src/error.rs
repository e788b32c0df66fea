//! Errors in watching sources and querying histories.

use std::io;
use std::path::PathBuf;

use iostall_collect::smart::SmartError;
use iostall_collect::{AddressError, SourceError};
use iostall_engine::InputError;
use iostall_measure::foreign::shown;
use iostall_measure::hinted;
use iostall_model::drive::RatingError;
use iostall_notify::AlertFileError;
use iostall_store::{RepositoryError, StoreError};
use jiff::Timestamp;
use thiserror::Error;

use crate::centre_error::CentreError;
use crate::release_error::ReleaseError;
use crate::windows::SourceHistory;

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WatchError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error("{name} is named twice: its samples would mix")]
    NamedTwice { name: String },
    #[error("there is no terminal to ask for the password of {name}")]
    NoTerminal { name: String },
    #[error("cannot read from the terminal")]
    Terminal(#[source] io::Error),
    #[error("cannot write")]
    Output(#[source] io::Error),
    #[error("{named} is not a management database")]
    NoManagementDatabase { named: String },
    #[error("there is no rule {name:?}")]
    NoRule { name: String, known: Vec<String> },
    #[error(transparent)]
    Alerts(#[from] AlertFileError),
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// Overlapping windows would hide a change.
    #[error(
        "the windows overlap: {:.0} to {:.0}, and {:.0} to {:.0}",
        before.0, before.1, after.0, after.1
    )]
    Overlap { before: (Timestamp, Timestamp), after: (Timestamp, Timestamp) },
    #[error("there are no samples for this report between {from:.0} and {to:.0}")]
    NothingSampled {
        from: Timestamp,
        to: Timestamp,
        /// The sources that were queried without a result.
        sources: Vec<SourceHistory>,
    },
    #[error("nothing was sampled into {} within the hour", store.display())]
    NothingWatched { store: PathBuf },
    #[error(transparent)]
    Drive(#[from] SmartError),
    #[error("no sample in the store is one of a drive")]
    NoDrives,
    #[error(transparent)]
    Ratings(#[from] RatingsError),
    #[error("{} has a history of its own: what is pulled is deleted there soon after it was sent", path.display())]
    NotSpool { path: PathBuf },
    #[error("the repository has samples of {name} that this store never had")]
    Diverged { name: String },
    #[error(transparent)]
    Centre(#[from] CentreError),
    #[error(transparent)]
    Release(#[from] ReleaseError),
    #[error(transparent)]
    Rollout(#[from] RolloutError),
    #[error("another sender changes what is there of {name} all the time")]
    NotNext { name: String },
    #[error("one sample is too long for a batch")]
    BatchTooLong,
    #[error("cannot send samples to {receiver}: {reason}")]
    Push { receiver: String, reason: String },
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    #[error("the window ends at {to:.0}, before it begins at {from:.0}")]
    WindowEnds { from: Timestamp, to: Timestamp },
    #[error("the window begins at {from:.0}, which is in the future")]
    WindowToCome { from: Timestamp },
    #[error("no source that was sampled contains {part:?} in its name")]
    NoSourceContains { part: String, known: Vec<String> },
    #[error("there is no source {name:?} in the store")]
    NoSourceNamed { name: String, known: Vec<String> },
    #[error("no settings of such a source are in the store")]
    NoSettings { known: Vec<String> },
    #[error("a note is one line with something in it, of at most {max} characters")]
    NoteText { max: usize },
    #[error("the note ends at {end}, before it begins at {at}")]
    NoteEnds { at: Timestamp, end: Timestamp },
    #[error("sampling has ended")]
    SamplingEnded,
}

impl WatchError {
    /// Whether the same may succeed later, without anybody's help.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Store(error) => error.may_pass(),
            Self::Centre(error) => error.may_pass(),
            Self::NotNext { .. } | Self::Release(ReleaseError::Pending { .. }) => true,
            _ => false,
        }
    }

    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Store(error) => return error.hint(),
            Self::Source(error) => return Some(error.hint()),
            Self::Address(error) => return Some(error.hint()),
            Self::Drive(error) => return error.hint(),
            Self::Centre(error) => return error.hint(),
            Self::Release(error) => return error.hint(),
            Self::Rollout(error) => return error.hint(),
            Self::NoDrives => {
                "name files, a directory or a device, or let `iostall collect run smart:/dev/nvme0` sample some"
            }
            Self::Ratings(error) => return error.hint(),
            Self::NamedTwice { .. } => "name each source once; databases are chosen with --database",
            Self::NoTerminal { .. } => "put it in a file and write ?password-file=PATH",
            Self::NoManagementDatabase { .. } => {
                "write sqlserver://USER@HOST/DATABASE; tsql/README.md says how to make one"
            }
            Self::NoRule { known, .. } => {
                let known: Vec<String> = known.iter().map(|name| format!("{name:?}")).collect();
                return Some(format!("the rules are {}", known.join(", ")));
            }
            Self::WindowEnds { .. } => "write the earlier time with --since, and the later one with --until",
            Self::WindowToCome { .. } => "write a time that is over, or how long ago, such as 1h",
            Self::NoSourceContains { known, .. } if known.is_empty() => {
                "nothing was sampled into this store yet: `iostall collect run` does"
            }
            Self::NoSourceContains { known, .. } => return Some(format!("there are {}", known.join(", "))),
            Self::NoSourceNamed { known, .. } => {
                return Some(format!("`iostall store sources` lists them: {}", known.join(", ")));
            }
            Self::NoSettings { known } if known.is_empty() => {
                "`iostall collect once SOURCE` reads them, and `iostall collect run` every hour"
            }
            Self::NoSettings { known } => {
                return Some(format!("there are some of {}", known.join(", ")));
            }
            Self::NoteText { .. } => "put the rest where you keep such records, and note where that is",
            Self::NoteEnds { .. } => "write the earlier time with --at, and the later one with --end",
            Self::Setup(error) => return Some(error.hint()),
            Self::Alerts(_) => "docs/alerts.md explains the file; `iostall alerts check` reads it",
            Self::Overlap { .. } => "end the first window before the change, and start the second after it",
            Self::NothingSampled { .. } => {
                "`iostall collect run` samples; two samples make the first interval. What drives say of their wear is in \
                 `iostall drive endurance`"
            }
            Self::NothingWatched { .. } => {
                "name a SOURCE, such as linux:, or let `iostall collect run` sample some"
            }
            Self::Diverged { .. } => {
                "nothing was sent of it: the store was restored from an older copy. Let `iostall store remove` delete the source \
                 here, and sample it again: it gets an id of its own"
            }
            Self::NotNext { .. } => "let one `iostall fleet send` of this store run at a time",
            Self::NotSpool { .. } => "nothing was changed; name another file with --spool, which is created",
            Self::Push { .. } => "docs/watch.md explains receivers of samples",
            Self::Terminal(_)
            | Self::Output(_)
            | Self::Thread(_)
            | Self::BatchTooLong
            | Self::SamplingEnded => return None,
        };
        Some(hint.to_owned())
    }
}

hinted! {
    #[derive(Debug, Error)]
    pub enum RatingsError {
        #[error(transparent)]
        Input(#[from] error: InputError) => error.hint(),
        #[error("{} cannot be read as ratings: {reason}", path.display())]
        Form { path: PathBuf, reason: String } => "docs/endurance.md explains the file",
        #[error("{}: [[drive]] {}: {reason}", path.display(), shown(model))]
        Drive { path: PathBuf, model: String, reason: String } => "docs/endurance.md explains the file",
        #[error(transparent)]
        Typed(#[from] error: RatingError)
            => "write --tbw 1380TB --years 5, or --dwpd 1 --years 5 --capacity 1TB",
        #[error("{0} cannot be judged from a rating alone")]
        NotOfRating(limit: String) => "days follow from a rating and --from-rate; what is used, the drive itself says",
        #[error("one rating was given for drives of several models: {}", shown(&.0.join(", ")))]
        SeveralModels(error: Vec<String>)
            => "put the rating of each model into a file and name it with --drives",
    }
}

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SetupError {
    #[error(transparent)]
    Read(#[from] InputError),
    /// Not TOML, or an unknown key.
    #[error("{path} is no collector's file: {reason}", path = path.display())]
    Form {
        path: PathBuf,
        /// The parser's message, with the line.
        reason: String,
    },
    #[error("{path}: {place}: {reason}", path = path.display())]
    Value {
        path: PathBuf,
        /// The source or job.
        place: String,
        /// What is wrong, and what to write instead.
        reason: String,
    },
    /// The receiver on the command line.
    #[error("cannot send samples: {0}")]
    Push(String),
    #[error(transparent)]
    Alerts(#[from] AlertFileError),
}

impl SetupError {
    pub fn hint(&self) -> String {
        match self {
            Self::Read(error) => error.hint().unwrap_or_else(|| "docs/watch.md explains the file".into()),
            Self::Form { .. } | Self::Value { .. } => {
                "docs/watch.md explains the file; `iostall collect check FILE` reads it".into()
            }
            Self::Push(_) => "docs/watch.md explains receivers of samples".into(),
            Self::Alerts(_) => "docs/alerts.md explains rules and channels".into(),
        }
    }
}

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RolloutError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Release(#[from] ReleaseError),
    #[error("no server whose agent has asked has these labels")]
    NoServers,
    #[error("another push wants something of {server}")]
    Busy { server: String },
    #[error("there is no push {push}")]
    NoPush { push: u64 },
    #[error("push {push} does not wait for a server {server:?}")]
    NotAwaited { push: u64, server: String },
    #[error("push {push} is {state}, and cannot be ended")]
    NotRunning { push: u64, state: String },
    #[error("push {push} is {state}, and cannot be undone")]
    NotUndone { push: u64, state: String },
    #[error("this permit is for another release than that of push {push}")]
    OtherPermit { push: u64 },
    #[error("{text:?} is no label")]
    Label { text: String },
    #[error("{text:?} is no list of rings")]
    Rings { text: String },
    #[error("{text:?} is neither a number nor a share")]
    FailedMax { text: String },
}

impl From<RepositoryError> for RolloutError {
    fn from(error: RepositoryError) -> Self {
        Self::Store(error.into())
    }
}

impl RolloutError {
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Store(error) => return error.hint(),
            Self::Release(error) => return error.hint(),
            Self::NoServers => "`iostall fleet agent` on a server asks, and its policy says its labels",
            Self::Busy { .. } | Self::NoPush { .. } => "`iostall fleet push status` lists what goes on",
            Self::NotAwaited { .. } => {
                "`iostall fleet push status` with its number lists its servers, and what they do"
            }
            Self::NotUndone { .. } | Self::NotRunning { .. } => {
                "`iostall fleet push status` says how far it is"
            }
            Self::OtherPermit { .. } => "`iostall fleet release undo` makes one for the release of this push",
            Self::Label { .. } => "write a name and a value, such as role=standby",
            Self::Rings { .. } => "write how many servers each ring reaches, such as 1,10%,100%",
            Self::FailedMax { .. } => "write how many servers may fail, such as 3 or 2%",
        };
        Some(hint.to_owned())
    }
}
