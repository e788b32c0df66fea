//! `iostall collect note` and `iostall collect notes`.

use clap::{Args, ValueEnum};
use iostall_model::NoteKind;

/// What was done, and when.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall collect note --kind deploy 'release 42'\n  \
    iostall collect note --kind failover --source linux: --at 03:10 --end 03:25 'to the second controller'\n  \
    iostall collect notes                 lists them, with the numbers to remove them by")]
pub(crate) struct NoteArgs {
    /// One line
    #[arg(value_name = "TEXT")]
    pub(crate) text: String,
    /// What kind of thing
    #[arg(long, value_name = "KIND", default_value = "other")]
    pub(crate) kind: NoteChoice,
    /// The source that it is about [default: all of them]
    #[arg(long, value_name = "NAME", add = super::candidates::sources())]
    pub(crate) source: Option<String>,
    /// When it was, or began: a date, a time, or how long ago [default: now]
    #[arg(long, value_name = "WHEN")]
    pub(crate) at: Option<String>,
    /// When it was over, if it took a while
    #[arg(long, value_name = "WHEN")]
    pub(crate) end: Option<String>,
}

/// Which notes.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall collect notes --since 7d --kind deploy\n  \
    iostall collect notes --remove 3\n\n\
    iostall's own jobs and runs are not in this list: reports show them by themselves.")]
pub(crate) struct NotesArgs {
    #[command(flatten)]
    pub(crate) choice: NotesChoice,
    /// Remove the note of this number; may be repeated
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["since", "until", "kind", "source", "json"])]
    pub(crate) remove: Vec<u32>,
}

/// Which notes, and in which form.
#[derive(Debug, Args)]
pub(crate) struct NotesChoice {
    /// What was noted of this time or later: a date, a time, or how long ago [default: everything]
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Up to then
    #[arg(long, value_name = "WHEN")]
    pub(crate) until: Option<String>,
    /// Only of this kind
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<NoteChoice>,
    /// Only about sources whose name contains this, and about all sources
    #[arg(long, value_name = "TEXT")]
    pub(crate) source: Option<String>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The kinds that people note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NoteChoice {
    /// None of the others
    Other,
    /// A new version or another configuration of an application
    Deploy,
    /// Another server or another path took over
    Failover,
    /// A backup or a restore of another program
    Backup,
    /// A job of another program
    Job,
    /// Work on the server or its storage
    Maintenance,
}

impl From<NoteChoice> for NoteKind {
    fn from(choice: NoteChoice) -> Self {
        match choice {
            NoteChoice::Other => Self::Other,
            NoteChoice::Deploy => Self::Deploy,
            NoteChoice::Failover => Self::Failover,
            NoteChoice::Backup => Self::Backup,
            NoteChoice::Job => Self::Job,
            NoteChoice::Maintenance => Self::Maintenance,
        }
    }
}
