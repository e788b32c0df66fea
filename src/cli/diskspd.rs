//! `iostall diskspd`: DiskSpd's options are left to its own parser; ours begin with two hyphens, which
//! DiskSpd's never do.

use std::ffi::OsString;

use clap::{Args, CommandFactory, Parser};

use super::load::{EngineChoice, SafetyArgs};
use super::output::OutputArgs;

/// Everything after `iostall diskspd`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall diskspd -d15 -o32 -t2 -b64K -h -r -L -w0 /data/test.dat\n  \
    iostall diskspd -c4G -d15 -o1 -t1 -b60K -h -s -L -w100 --html log.html /data/test.dat\n  \
    iostall diskspd -Xprofile.xml -Rtext,xml\n  \
    iostall diskspd -?          DiskSpd's options\n\n\
    Beside DiskSpd's options: --json, --csv, --html, --markdown, --junit FILE; --require LIMIT,…; \
    --overwrite, --destroy, --destroy-database PATH; --engine; --name TEXT; --no-store. See docs/diskspd.md.")]
pub(crate) struct DiskspdArgs {
    /// DiskSpd's options and targets (`-?` lists them), and ours, which begin with two hyphens
    #[arg(value_name = "OPTION|TARGET", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<OsString>,
}

/// Our own options in addition to DiskSpd's.
#[derive(Debug, Parser)]
#[command(name = "iostall diskspd", disable_help_flag = true, no_binary_name = true)]
pub(crate) struct DiskspdExtras {
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) safety: SafetyArgs,
    /// I/O engine
    #[arg(long, value_name = "ENGINE", default_value = "auto")]
    pub(crate) engine: EngineChoice,
    /// Name of the run in the store
    #[arg(long, value_name = "TEXT", default_value = "diskspd")]
    pub(crate) name: String,
    /// Do not store the run
    #[arg(long)]
    pub(crate) no_store: bool,
}

impl DiskspdExtras {
    /// Parses our own options. Errors from clap get the format of our other errors.
    pub(crate) fn read(words: &[OsString]) -> anyhow::Result<Self> {
        Self::try_parse_from(words).map_err(|error| {
            let text = error.to_string();
            let text = text.strip_prefix("error: ").unwrap_or(&text);
            anyhow::anyhow!("{}", text.split("\n\nUsage:").next().unwrap_or(text).trim_end())
        })
    }

    /// Help for our own options, for `-?`.
    pub(crate) fn usage() -> String {
        let mut command = Self::command().help_template("Besides DiskSpd's, with two hyphens\n{options}");
        command.render_help().to_string()
    }
}

impl DiskspdArgs {
    /// Our options, and DiskSpd's.
    pub(crate) fn split(&self) -> (Vec<OsString>, Vec<OsString>) {
        let (mut ours, mut diskspds) = (Vec::new(), Vec::new());
        let mut words = self.words.iter();
        while let Some(word) = words.next() {
            let text = word.to_string_lossy();
            // DiskSpd's parser answers `--help`, and lists our options too.
            if !text.starts_with("--") || text == "--help" {
                diskspds.push(word.clone());
                continue;
            }
            ours.push(word.clone());
            let flag = matches!(text.as_ref(), "--no-store" | "--percentiles");
            if !flag && !text.contains('=') {
                ours.extend(words.next().cloned());
            }
        }
        (ours, diskspds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_two_hyphens_are_ours_with_their_values_and_the_rest_is_diskspds() {
        let words = ["-d15", "--json", "o.json", "-w100", "--no-store", "--overwrite=t.dat", "t.dat"];
        let args = DiskspdArgs { words: words.map(OsString::from).to_vec() };
        let (ours, diskspds) = args.split();
        assert_eq!(ours, ["--json", "o.json", "--no-store", "--overwrite=t.dat"]);
        assert_eq!(diskspds, ["-d15", "-w100", "t.dat"]);
        let extras = DiskspdExtras::try_parse_from(ours).unwrap();
        assert!(extras.no_store && extras.safety.overwrite.len() == 1);
    }
}
