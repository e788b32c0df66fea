//! The help has every command, and its examples and those of the guides are command lines that iostall accepts.

use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};

use super::{Cli, help, parsed};

/// Words as a shell would hand them over, up to a comment, a pipe or a redirection.
fn words(line: &str) -> Vec<OsString> {
    let (mut words, mut word, mut quote, mut has_begun) = (Vec::new(), String::new(), None, false);
    for character in line.chars() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (None, '\'' | '"') => (quote, has_begun) = (Some(character), true),
            // A second blank: what follows explains the example.
            (None, ' ') if !has_begun => break,
            (None, ' ') => {
                words.push(std::mem::take(&mut word));
                has_begun = false;
            }
            (None, '|' | '>' | ';' | '&') => break,
            _ => {
                word.push(character);
                has_begun = true;
            }
        }
    }
    words.extend(has_begun.then_some(word));
    words.into_iter().map(OsString::from).collect()
}

fn in_help(command: &Command, found: &mut Vec<String>) {
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let lines = after.lines().map(str::trim).filter(|line| line.starts_with("iostall "));
    found.extend(lines.map(str::to_owned));
    command.get_subcommands().for_each(|below| in_help(below, found));
}

fn in_code(path: &Path, found: &mut Vec<String>) {
    let (mut is_code, mut is_typed) = (false, false);
    for line in std::fs::read_to_string(path).unwrap().lines() {
        if line.starts_with("```") {
            is_code = !is_code;
            // What a program writes is marked as text.
            is_typed = is_code && line != "```text";
        } else if is_typed && line.starts_with("iostall ") {
            found.push(line.trim_end_matches('\\').to_owned());
        }
    }
}

/// `--target wal=…` stood in the help, which has no role of that name; options were renamed and guides were not.
#[test]
fn every_example_of_the_help_and_of_the_guides_is_a_line_that_is_understood() {
    let mut found = Vec::new();
    in_help(&Cli::command(), &mut found);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    in_code(&root.join("README.md"), &mut found);
    for entry in std::fs::read_dir(root.join("docs")).unwrap() {
        let path = entry.unwrap().path();
        let is_guide = path.extension().is_some_and(|end| end == "md");
        // The reference's lines are patterns, and the help's examples again.
        if is_guide && !path.ends_with("reference.md") {
            in_code(&path, &mut found);
        }
    }
    assert!(found.len() > 100, "{}", found.len());
    let wrong = found.iter().filter_map(|line| {
        let error = parsed(&words(line)).err().filter(clap::Error::use_stderr)?;
        Some(format!("{line}\n{error}"))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What stands between backticks in the messages of the sources below `directory` and begins with the name of the program.
fn in_messages(directory: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            in_messages(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("cli/examples.rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let is_comment = |line: &&str| line.trim_start().starts_with("//");
            let lines: Vec<&str> = text.lines().filter(|line| !is_comment(line)).map(str::trim).collect();
            // A line that ends with a backslash goes on in the next one.
            let text = lines.join("\n").replace("\\\n", "");
            let parts = text.split('`').filter(|part| part.starts_with("iostall ") && !part.contains('\n'));
            found.extend(parts.map(str::to_owned));
        }
    }
}

/// Whether the command line is wrong in a word that it spells out: what is left out, or stands for something, is not.
fn is_wrong(line: &str) -> bool {
    // What a message puts there.
    let mut typed = words(&line.replace("\\\"", "\""));
    for word in &mut typed {
        if word.to_string_lossy().contains(['{', '…']) {
            *word = "X".into();
        }
    }
    let stands_for_something =
        |word: &OsString| word.to_str().is_some_and(|word| word == word.to_uppercase());
    if typed.get(1).is_none_or(stands_for_something) {
        return false;
    }
    let Err(error) = parsed(&typed) else { return false };
    match error.kind() {
        ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand | ErrorKind::ArgumentConflict => true,
        ErrorKind::InvalidValue => match error.get(ContextKind::InvalidValue) {
            Some(ContextValue::String(value)) => !value.is_empty() && *value != value.to_uppercase(),
            _ => false,
        },
        _ => false,
    }
}

/// The story: advice told DBAs to type a source that is none, and an option that did not exist.
#[test]
fn every_command_in_a_message_is_one_that_is_understood() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    in_messages(&root.join("src"), &mut found);
    for entry in std::fs::read_dir(root.join("crates")).unwrap() {
        in_messages(&entry.unwrap().path().join("src"), &mut found);
    }
    assert!(found.len() > 80, "{}", found.len());
    for line in ["iostall report --level volumes", "iostall report volume", "iostall backups list DIR"] {
        assert!(is_wrong(line), "{line}");
    }
    let wrong: Vec<String> = found.into_iter().filter(|line| is_wrong(line)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn assert_all_are_in(command: &Command, groups: &[(&str, &[&str])]) {
    let mut shown: Vec<&str> =
        command.get_subcommands().filter(|one| !one.is_hide_set()).map(Command::get_name).collect();
    let mut grouped: Vec<&str> = groups.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    shown.sort_unstable();
    grouped.sort_unstable();
    assert_eq!(shown, grouped);
}

/// A command in no group would be in no help. What only calculates stood unmarked beside what destroys in `drive --help`.
#[test]
fn each_command_that_is_shown_is_in_one_group() {
    let command = Cli::command();
    assert_all_are_in(&command, &help::GROUPS);
    assert_all_are_in(command.find_subcommand("drive").unwrap(), &help::OF_DRIVE);
    let text = help::grouped(Cli::command()).render_help().to_string();
    assert!(text.contains("\nMeasure:\n  load     Put a database-shaped load"), "{text}");
    assert!(text.contains("--store <FILE>"), "{text}");
    let words: Vec<OsString> = ["iostall", "drive", "--help"].map(Into::into).to_vec();
    let text = parsed(&words).unwrap_err().to_string();
    let place = |name: &str| text.find(&format!("\n  {name}")).unwrap();
    assert!(place("endurance") < place("limits") && place("limits") < place("qualify"), "{text}");
    assert!(text.contains("--store <FILE>"), "{text}");
}
