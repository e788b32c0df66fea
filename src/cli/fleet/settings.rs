//! `iostall fleet settings`, `iostall fleet notes` and `iostall fleet advise`.

use clap::Args;

use crate::cli::{AdviseChoice, NotesChoice, SettingsChoice};

/// Of which servers.
#[derive(Debug, Args)]
pub(crate) struct FleetServerChoice {
    /// postgres://USER@HOST/DATABASE of the repository
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Only of this server: its name, that of its host, or the id of its store
    #[arg(long, value_name = "SERVER")]
    pub(crate) server: Option<String>,
}

/// Of which servers, and which settings.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall fleet settings 'postgres://iostall@localhost/iostall' --name full_page_writes --value off   who has it off?\n  \
    iostall fleet settings 'postgres://iostall@localhost/iostall' --changes --since 7d   what changed anywhere\n  \
    iostall fleet settings 'postgres://iostall@localhost/iostall' --server db1 --diff 2026-11-01..\n\n\
    `iostall fleet send` sends what each server has read of them (iostall collect settings).")]
pub(crate) struct FleetSettingsArgs {
    #[command(flatten)]
    pub(crate) of: FleetServerChoice,
    #[command(flatten)]
    pub(crate) choice: SettingsChoice,
}

/// Of which servers, and which notes.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall fleet notes 'postgres://iostall@localhost/iostall' --since 7d --kind deploy\n\n\
    A note is written and removed on its server (iostall collect note), and `iostall fleet send` sends either.")]
pub(crate) struct FleetNotesArgs {
    #[command(flatten)]
    pub(crate) of: FleetServerChoice,
    #[command(flatten)]
    pub(crate) choice: NotesChoice,
}

/// Of which servers, and which advice.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall fleet advise 'postgres://iostall@localhost/iostall'\n  \
    iostall fleet advise 'postgres://iostall@localhost/iostall' --server db1 --rule fsync-off --json")]
pub(crate) struct FleetAdviseArgs {
    #[command(flatten)]
    pub(crate) of: FleetServerChoice,
    #[command(flatten)]
    pub(crate) choice: AdviseChoice,
}
