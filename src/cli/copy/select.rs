//! Options of a copy that select files.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use iostall_measure::ByteCount;
use iostall_transfer::copy::{FileList, NamePattern, NameRule, Selection};
use jiff::Timestamp;

use crate::cli::timestamp::timestamp;

const HEADING: &str = "Which files";

/// Which files are copied.
#[derive(Debug, Args)]
pub(crate) struct SelectArgs {
    #[command(flatten)]
    rules: RuleArgs,
    /// Leave out regular files below this size
    #[arg(long, value_name = "SIZE", help_heading = HEADING)]
    min_size: Option<ByteCount>,
    /// Leave out regular files above this size
    #[arg(long, value_name = "SIZE", help_heading = HEADING)]
    max_size: Option<ByteCount>,
    /// Leave out regular files that were last modified before TIME: 7d (ago), 2026-11-01, 2026-11-01T08:00
    #[arg(long, value_name = "TIME", help_heading = HEADING)]
    newer_than: Option<String>,
    /// Leave out regular files that were last modified at TIME or later
    #[arg(long, value_name = "TIME", help_heading = HEADING)]
    older_than: Option<String>,
    /// Copy only what FILE lists (`-`: standard input): one name a line, below the single source directory. A
    /// directory in it is copied with everything in it
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    pub(crate) files_from: Option<PathBuf>,
    /// Names in --files-from end in zero bytes, as from `find -print0`
    #[arg(short = '0', long, requires = "files_from", help_heading = HEADING)]
    pub(crate) null: bool,
}

impl SelectArgs {
    /// The selection, with the list that was read, at the time `now`.
    pub(crate) fn selection(&self, list: Option<FileList>, now: Timestamp) -> anyhow::Result<Selection> {
        let time_ns = |flag, text: &Option<String>| {
            let at = text.as_deref().map(|text| timestamp(flag, text, now)).transpose()?;
            anyhow::Ok(at.map(Timestamp::as_nanosecond))
        };
        Ok(Selection {
            rules: self.rules.0.clone(),
            min_bytes: self.min_size.map(ByteCount::bytes),
            max_bytes: self.max_size.map(ByteCount::bytes),
            modified_since_ns: time_ns("--newer-than", &self.newer_than)?,
            modified_before_ns: time_ns("--older-than", &self.older_than)?,
            list,
        })
    }
}

/// `--include` and `--exclude` in the order in which they were typed, which the derived parser does not keep.
#[derive(Debug)]
struct RuleArgs(Vec<NameRule>);

const RULES: [(&str, bool); 2] = [("include", true), ("exclude", false)];

impl Args for RuleArgs {
    fn augment_args(command: Command) -> Command {
        let rule = |name: &'static str| {
            Arg::new(name)
                .long(name)
                .value_name("GLOB")
                .action(ArgAction::Append)
                .value_parser(NamePattern::new)
                .help_heading(HEADING)
        };
        let include = rule("include").requires("exclude").help(
            "Copy names that match, although a later --exclude matches them too. May be repeated: the first \
             --include or --exclude that matches a name decides",
        );
        let exclude = rule("exclude").help(
            "Leave out names that match, directories with everything in them: '*.tmp' in any directory, 'temp/' \
             only directories, '/x' only at the top of the source. May be repeated",
        );
        command.arg(include).arg(exclude)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for RuleArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut placed: Vec<(usize, NameRule)> = Vec::new();
        for (name, includes) in RULES {
            let positions = matches.indices_of(name).into_iter().flatten();
            let patterns = matches.get_many::<NamePattern>(name).into_iter().flatten();
            placed.extend(
                positions
                    .zip(patterns)
                    .map(|(at, pattern)| (at, NameRule { includes, pattern: pattern.clone() })),
            );
        }
        placed.sort_by_key(|(at, _)| *at);
        Ok(Self(placed.into_iter().map(|(_, rule)| rule).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        select: SelectArgs,
    }

    #[test]
    fn rules_keep_the_order_in_which_they_were_typed() {
        let admits = |line: &str| {
            let line = Line::try_parse_from(line.split(' ')).unwrap();
            line.select
                .selection(None, Timestamp::UNIX_EPOCH)
                .unwrap()
                .admits_name(Path::new("keep.tmp"), false)
        };
        assert!(admits("copy --include keep* --exclude *.tmp"));
        assert!(!admits("copy --exclude *.tmp --include keep*"));
        assert!(admits("copy --exclude a --include keep.tmp --exclude *.tmp --include b"));
        assert!(Line::try_parse_from(["copy", "--include", "*.mdf"]).is_err(), "alone it leaves nothing out");
        assert!(Line::try_parse_from(["copy", "--exclude", "a[b"]).is_err());
    }
}
