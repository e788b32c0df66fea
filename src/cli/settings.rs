//! `iostall collect settings` and `iostall collect advise`.

use clap::Args;
use clap::builder::PossibleValuesParser;
use iostall_watch::advice_rules;

/// Of which time, and in which form.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall collect settings --source postgres:        as they are now\n  \
    iostall collect settings --at 2026-11-01           as they were then\n  \
    iostall collect settings --changes --since 30d     what changed, and when\n  \
    iostall collect settings --diff 2026-11-01..       what is not as it was then\n\n\
    `iostall collect run` reads them at its start and every hour, `iostall collect once` if that was not done within the hour.")]
pub(crate) struct SettingsArgs {
    #[command(flatten)]
    pub(crate) choice: SettingsChoice,
}

/// Which settings, of which time, and in which form.
#[derive(Debug, Args)]
pub(crate) struct SettingsChoice {
    /// Only of sources whose name contains this
    #[arg(long, value_name = "TEXT")]
    pub(crate) source: Option<String>,
    /// Only settings whose name or subject contains this
    #[arg(long, value_name = "TEXT")]
    pub(crate) name: Option<String>,
    /// Only settings with this value, such as off; of changes, those from or to it
    #[arg(long, value_name = "TEXT")]
    pub(crate) value: Option<String>,
    /// As they were at this time: a date, a time, or how long ago [default: now]
    #[arg(long, value_name = "WHEN", conflicts_with_all = ["changes", "diff"])]
    pub(crate) at: Option<String>,
    /// What changed, instead of the values
    #[arg(long, conflicts_with = "diff")]
    pub(crate) changes: bool,
    /// Changes of this time or later [default: all]
    #[arg(long, value_name = "WHEN", requires = "changes")]
    pub(crate) since: Option<String>,
    /// Changes up to then
    #[arg(long, value_name = "WHEN", requires = "changes")]
    pub(crate) until: Option<String>,
    /// What differs between two times
    #[arg(long, value_name = "WHEN..WHEN")]
    pub(crate) diff: Option<String>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// About whom, and in which form.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall collect advise\n  \
    iostall collect advise --source linux: --json\n\n\
    Rules speak on what was read of settings (iostall collect settings) alone; what they cannot know they say. docs/watch.md lists them.")]
pub(crate) struct AdviseArgs {
    #[command(flatten)]
    pub(crate) choice: AdviseChoice,
}

/// Which advice, and in which form.
#[derive(Debug, Args)]
pub(crate) struct AdviseChoice {
    /// Only about sources whose name contains this
    #[arg(long, value_name = "TEXT")]
    pub(crate) source: Option<String>,
    /// Only this rule; may be repeated
    #[arg(long, value_name = "RULE", value_parser = rule())]
    pub(crate) rule: Vec<String>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The names of the rules.
fn rule() -> PossibleValuesParser {
    PossibleValuesParser::new(advice_rules().map(|(_, rule)| rule.id).collect::<Vec<_>>())
}
