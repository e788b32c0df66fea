//! What a command writes besides its text. Each has only the outputs that mean something for it; `runs show` has them all.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use iostall_model::requirement::{Basis, Limit, Requirement};
use iostall_session::output::{Form, Wanted};

use crate::failure::hinted;

/// The outputs of a command that makes a run.
pub(crate) trait RunOutput {
    /// The options, for [`iostall_session::output::Outputs::check`].
    fn wanted(&self) -> Vec<Wanted<'_>>;

    /// What must hold.
    fn require(&self) -> &[Requirement] {
        &[]
    }

    /// Whether the text has the full percentile table.
    fn percentiles(&self) -> bool {
        false
    }

    /// Refuses outputs of a run where there is none: what was typed is used, or refused by name.
    fn refuse(&self, why: &str) -> anyhow::Result<()> {
        let named = self.wanted().into_iter().find_map(|(option, _, path)| path.map(|_| option));
        let judged = (!self.require().is_empty()).then_some("--require");
        let Some(option) = named.or(judged) else { return Ok(()) };
        Err(hinted(anyhow!("there is no run for {option}: {why}"), format!("leave {option} out")))
    }
}

/// The formats that everything has.
#[derive(Clone, Debug, Args)]
pub(crate) struct FormArgs {
    /// Write everything as JSON; - for standard output instead of the text
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    json: Option<PathBuf>,
    /// Write a self-contained HTML page with charts
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    html: Option<PathBuf>,
    /// Write the report as Markdown, for pasting into a ticket
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    markdown: Option<PathBuf>,
}

/// Of a check, whose answer is yes or no.
#[derive(Clone, Debug, Args)]
pub(crate) struct CheckOutputArgs {
    #[command(flatten)]
    forms: FormArgs,
    /// Write each requirement as a test case in JUnit's XML, for a pipeline
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    junit: Option<PathBuf>,
}

/// Of what measures and has no verdict.
#[derive(Clone, Debug, Args)]
pub(crate) struct SeriesOutputArgs {
    #[command(flatten)]
    forms: FormArgs,
    /// Write the second-by-second series as CSV; - for standard output instead of the text
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    csv: Option<PathBuf>,
}

/// Of what a server does for us: its rate can be judged, and there is no series of ours.
#[derive(Clone, Debug, Args)]
pub(crate) struct JudgedOutputArgs {
    #[command(flatten)]
    check: CheckOutputArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

/// Of what measures and can be judged.
#[derive(Clone, Debug, Args)]
pub(crate) struct RatedOutputArgs {
    #[command(flatten)]
    check: CheckOutputArgs,
    /// Write the second-by-second series as CSV; - for standard output instead of the text
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) csv: Option<PathBuf>,
    #[command(flatten)]
    limits: LimitArgs,
}

/// Of what measures latencies, with a table of percentiles.
#[derive(Clone, Debug, Args)]
pub(crate) struct OutputArgs {
    #[command(flatten)]
    rated: RatedOutputArgs,
    /// Show the full percentile table in the text
    #[arg(long, help_heading = "Output")]
    percentiles: bool,
}

/// What must hold.
#[derive(Clone, Debug, Args)]
struct LimitArgs {
    /// Exit status 1 unless all of these hold: [NAME.]iops, throughput, p99 (or any percentile), mean, max or
    /// failed, with <, <=, > or >=, such as 'log.p99<1ms,data.iops>3000'
    #[arg(long, value_name = "LIMIT,…", value_delimiter = ',', value_parser = of_run, help_heading = "Output")]
    require: Vec<Requirement>,
}

fn csv(path: Option<&PathBuf>) -> Wanted<'_> {
    ("--csv", Form::Csv, path.map(PathBuf::as_path))
}

impl FormArgs {
    fn wanted(&self) -> Vec<Wanted<'_>> {
        vec![
            ("--json", Form::Json, self.json.as_deref()),
            ("--html", Form::Html, self.html.as_deref()),
            ("--markdown", Form::Markdown, self.markdown.as_deref()),
        ]
    }
}

impl RunOutput for CheckOutputArgs {
    fn wanted(&self) -> Vec<Wanted<'_>> {
        let mut wanted = self.forms.wanted();
        wanted.push(("--junit", Form::Junit, self.junit.as_deref()));
        wanted
    }
}

impl RunOutput for SeriesOutputArgs {
    fn wanted(&self) -> Vec<Wanted<'_>> {
        let mut wanted = self.forms.wanted();
        wanted.push(csv(self.csv.as_ref()));
        wanted
    }
}

impl RunOutput for JudgedOutputArgs {
    fn wanted(&self) -> Vec<Wanted<'_>> {
        self.check.wanted()
    }

    fn require(&self) -> &[Requirement] {
        &self.limits.require
    }
}

impl RunOutput for RatedOutputArgs {
    fn wanted(&self) -> Vec<Wanted<'_>> {
        let mut wanted = self.check.wanted();
        wanted.push(csv(self.csv.as_ref()));
        wanted
    }

    fn require(&self) -> &[Requirement] {
        &self.limits.require
    }
}

impl RunOutput for OutputArgs {
    fn wanted(&self) -> Vec<Wanted<'_>> {
        self.rated.wanted()
    }

    fn require(&self) -> &[Requirement] {
        self.rated.require()
    }

    fn percentiles(&self) -> bool {
        self.percentiles
    }
}

/// For a command that makes or shows a run.
fn of_run(text: &str) -> Result<Requirement, String> {
    parse(Basis::Run, text)
}

/// For a comparison.
pub(super) fn of_comparison(text: &str) -> Result<Requirement, String> {
    parse(Basis::Comparison, text)
}

/// For what drives say of themselves.
pub(super) fn of_drive(text: &str) -> Result<Limit, String> {
    match parse(Basis::Drive, text)? {
        Requirement::Limit(limit) if limit.subject.is_none() => Ok(limit),
        _ => Err(format!("{text:?} must hold for every drive: write days>90 or used<80")),
    }
}

/// For a report on watched sources.
pub(super) fn of_window(text: &str) -> Result<Requirement, String> {
    parse(Basis::Window, text)
}

fn parse(basis: Basis, text: &str) -> Result<Requirement, String> {
    Requirement::parse_for(basis, text).map_err(|error| format!("{error}\nhint: {}", error.hint()))
}
