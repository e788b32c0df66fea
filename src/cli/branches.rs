//! Options that only some branches of a verb read: with the others they are refused by name.
//!
//! A branch is what a verb does in place of its usual work, such as `drive limits --vendor-log`, which reads a log and searches no
//! limits. An option that its branch does not read would be taken without a word and change nothing. What clap itself can say about
//! two options (`requires`, `conflicts_with`) stays with the options; a table is for a branch that leaves many of them unread, or
//! that a value makes.

use clap::error::{Error, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};

/// A verb whose branches read different options. Options are named by their ids, which are the names of their fields.
pub(super) struct Verb {
    /// Its words behind `iostall`.
    pub(super) words: &'static [&'static str],
    /// What all its branches read.
    pub(super) common: &'static [&'static str],
    /// The first one that is taken counts, and the last one always is.
    pub(super) branches: &'static [Branch],
}

pub(super) struct Branch {
    /// A line that takes it, for messages and tests.
    pub(super) line: &'static str,
    pub(super) is_taken: fn(&ArgMatches) -> bool,
    /// What it reads beside the common ones.
    pub(super) reads: &'static [&'static str],
}

impl Verb {
    fn reads(&self, branch: &Branch, id: &str) -> bool {
        self.common.contains(&id) || branch.reads.contains(&id)
    }

    fn branch(&self, matches: &ArgMatches) -> Option<&'static Branch> {
        self.branches.iter().find(|branch| (branch.is_taken)(matches)).or(self.branches.last())
    }

    /// What was typed although the branch does not read it, and which other branch does.
    fn refusal(&self, command: &Command, matches: &ArgMatches) -> Option<String> {
        let branch = self.branch(matches)?;
        let unread: Vec<&Arg> = own(command)
            .filter(|arg| is_typed(matches, arg.get_id().as_str()))
            .filter(|arg| !self.reads(branch, arg.get_id().as_str()))
            .collect();
        let first = unread.first()?;
        let names: Vec<String> = unread.iter().map(|arg| spelling(arg)).collect();
        let other = self.branches.iter().find(|other| self.reads(other, first.get_id().as_str()));
        let hint = other.map_or_else(String::new, |other| format!("; `iostall {}` reads it", other.line));
        Some(format!("`iostall {}` does not read {}: leave it out{hint}", branch.line, names.join(", ")))
    }
}

/// Whether `id` was typed, and not a default or from the environment.
pub(super) fn is_typed(matches: &ArgMatches, id: &str) -> bool {
    matches.value_source(id) == Some(ValueSource::CommandLine)
}

/// The arguments of a verb itself, which are not those of every command.
fn own(command: &Command) -> impl Iterator<Item = &Arg> {
    let is_general = |arg: &Arg| arg.is_global_set() || ["help", "version"].contains(&arg.get_id().as_str());
    command.get_arguments().filter(move |arg| !is_general(arg))
}

fn spelling(arg: &Arg) -> String {
    match arg.get_long() {
        Some(long) => format!("--{long}"),
        None => arg.to_string(),
    }
}

/// An error that names what was typed and is read by nobody.
pub(super) fn refuse(verbs: &[&Verb], command: &mut Command, matches: &ArgMatches) -> Result<(), Error> {
    let (mut words, mut at, mut below) = (Vec::new(), &mut *command, matches);
    while let Some((word, inner)) = below.subcommand() {
        words.push(word);
        below = inner;
        let Some(next) = at.find_subcommand_mut(word) else { return Ok(()) };
        at = next;
    }
    let verb = verbs.iter().find(|verb| verb.words == words);
    match verb.and_then(|verb| verb.refusal(at, below)) {
        Some(message) => Err(at.error(ErrorKind::ArgumentConflict, message)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::{BRANCHED, Cli};

    /// A value of every kind that options have; the first that an option understands is tried.
    const VALUES: [&str; 18] = [
        "1",
        "1s",
        "1M",
        "1M/s",
        "1MB/s",
        "1GB/day",
        "x",
        "10:4",
        "x=1",
        "p99<1ms",
        "1iops",
        "data=10",
        "1G,1",
        "0.5",
        "2026-11-01",
        "127.0.0.1:1",
        "10%",
        "days>1",
    ];

    fn command_of(verb: &Verb) -> Command {
        let mut command = Cli::command();
        command.build();
        verb.words.iter().fold(command, |at, word| at.find_subcommand(word).expect("a verb").clone())
    }

    fn words_of(verb: &Verb, branch: &Branch) -> Vec<OsString> {
        branch.line.split(' ').skip(verb.words.len() - 1).map(OsString::from).collect()
    }

    /// How `words` are understood with `arg` and a value of its kind; `None` if clap itself refuses them together.
    fn tried(command: &Command, words: &[OsString], arg: &Arg) -> Option<ArgMatches> {
        let option = OsString::from(spelling(arg));
        let possible = arg.get_possible_values();
        let named = possible.iter().map(clap::builder::PossibleValue::get_name);
        let values: Vec<Option<&str>> = if arg.get_action().takes_values() {
            named.chain(VALUES).map(Some).collect()
        } else {
            vec![None]
        };
        for value in values {
            let typed = [option.clone()].into_iter().chain(value.map(OsString::from));
            let words: Vec<OsString> = words.iter().cloned().chain(typed).collect();
            match command.clone().try_get_matches_from(&words) {
                Ok(matches) => return Some(matches),
                Err(error) if error.kind() == ErrorKind::ValueValidation => {}
                Err(error) if error.kind() == ErrorKind::InvalidValue => {}
                Err(_) => return None,
            }
        }
        panic!("none of VALUES is one of {}", spelling(arg));
    }

    /// Options were taken and changed nothing: a backup's size with a test that loads none, a seed with a log that is only read.
    #[test]
    fn every_option_of_a_verb_with_branches_is_read_by_its_branch_or_refused() {
        for verb in BRANCHED {
            let command = command_of(verb);
            let ids: Vec<&str> = own(&command).map(|arg| arg.get_id().as_str()).collect();
            let lists = verb.branches.iter().map(|branch| branch.reads).chain([verb.common]);
            let listed: Vec<&str> = lists.flatten().copied().collect();
            for id in &ids {
                assert!(listed.contains(id), "{:?}: no branch reads {id}: put it into a list", verb.words);
            }
            for id in listed {
                assert!(ids.contains(&id), "{:?} has no {id}", verb.words);
            }
            for branch in verb.branches {
                let words = words_of(verb, branch);
                let matches = command.clone().try_get_matches_from(&words).expect(branch.line);
                let taken = verb.branch(&matches).expect("a branch");
                assert_eq!(taken.line, branch.line, "the line takes another branch");
                for arg in own(&command).filter(|arg| !arg.is_positional()) {
                    let id = arg.get_id().as_str();
                    let Some(matches) = tried(&command, &words, arg).filter(|_| !is_typed(&matches, id))
                    else {
                        continue;
                    };
                    let taken = verb.branch(&matches).expect("a branch");
                    let refusal = verb.refusal(&command, &matches);
                    let is_named = refusal.as_ref().is_some_and(|said| said.contains(&spelling(arg)));
                    assert_eq!(is_named, !verb.reads(taken, id), "{}, {id}: {refusal:?}", branch.line);
                }
            }
        }
    }
}
