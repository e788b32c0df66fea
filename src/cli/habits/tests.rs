use clap::Parser;
use iostall_diskspd::command_line::Surroundings;
use iostall_diskspd::{Parsed, parse};

use super::*;
use crate::cli::Cli;

const HABITS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/habits.txt");

/// Words as a shell would hand them over, but that a backslash outside quotes is one.
fn split(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted, mut begun) = (Vec::new(), String::new(), false, false);
    for character in line.chars() {
        match character {
            '\'' => (quoted, begun) = (!quoted, true),
            ' ' if !quoted => {
                if begun {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            other => {
                word.push(other);
                begun = true;
            }
        }
    }
    words.extend(begun.then_some(word));
    words
}

fn read(words: &[OsString]) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(std::iter::once(OsString::from("iostall")).chain(words.iter().cloned()))
}

fn os(words: &[String]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

/// What becomes of a line: in the form of the file.
fn answered(line: &str) -> String {
    let words = split(line);
    if words[0].starts_with("diskspd") {
        let exists = |path: &str| path == "/data/t.dat";
        return match parse(&words[1..], &Surroundings { exists: &exists, clock_seed: 0 }) {
            Ok(Parsed::Run(request)) => {
                let words = iostall_diskspd::to_command_line(&request.profile).unwrap_or_default();
                format!("= iostall diskspd {}", words.join(" "))
            }
            Ok(_) => "= iostall diskspd -?".to_owned(),
            Err(error) => format!("! {error} {}", error.hint().unwrap_or_default()),
        };
    }
    let words = spelled(os(if words[0] == "iostall" { &words[1..] } else { &words }));
    let found = read(&words);
    let is_fine = match &found {
        Ok(_) => !is_foreign(&words, &|_| false),
        Err(error) => !error.use_stderr(),
    };
    match answer(&words) {
        _ if is_fine => format!("= iostall {}", words.join(" ".as_ref()).to_string_lossy()),
        Some(Answer::Line { line, .. }) => line,
        Some(Answer::No(reason)) => format!("! {reason}"),
        None => "?".to_owned(),
    }
}

/// What a line of ours is to the program; for help and the version, what it prints.
fn meaning(line: &str) -> Result<String, String> {
    let words = split(line);
    if words[1] == "diskspd" {
        let exists = |path: &str| path == "/data/t.dat";
        return match parse(&words[2..], &Surroundings { exists: &exists, clock_seed: 0 }) {
            Ok(Parsed::Run(request)) => Ok(format!("{:?}", request.profile)),
            Ok(other) => Ok(format!("{other:?}")),
            Err(error) => Err(error.to_string()),
        };
    }
    match read(&os(&words[1..])) {
        Ok(cli) => Ok(format!("{cli:?}")),
        Err(error) if error.use_stderr() => Err(error.to_string()),
        Err(shown) => Ok(shown.to_string()),
    }
}

/// Two hundred lines that people brought along from fio, DiskSpd, SQLIO and tools that copy were answered with
/// "unexpected argument", or not at all.
#[test]
fn the_habits_of_other_tools_get_the_right_answer() {
    let habits = std::fs::read_to_string(HABITS).unwrap();
    let mut lines = habits.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).peekable();
    let (mut count, mut wrong) = (0, String::new());
    while let Some(typed) = lines.next() {
        assert!(!typed.starts_with(' '), "an answer without a question: {typed}");
        let expected = lines.next_if(|line| line.starts_with(' ')).map_or("(no answer)", str::trim);
        let actual = answered(typed);
        let is_right = match expected.split_at_checked(2) {
            Some(("! ", words)) => actual.starts_with("! ") && actual.contains(words),
            Some(("= ", line)) => {
                actual.starts_with("= ") && meaning(&actual[2..]) == meaning(line) && meaning(line).is_ok()
            }
            _ => actual == expected && meaning(expected).is_ok(),
        };
        count += 1;
        if !is_right {
            wrong.push_str(&format!("{typed}\n    {actual}\n"));
            if let (false, Err(error)) = (actual.starts_with('!'), meaning(actual.trim_start_matches("= "))) {
                wrong.push_str(&format!("    # {}\n", error.lines().next().unwrap_or_default()));
            }
        }
    }
    assert!(wrong.is_empty(), "answered otherwise:\n{wrong}");
    assert!(count >= 200, "{count}");
}

/// A list that its authors fill with what they have answered already says nothing about others.
#[test]
fn nine_of_ten_lines_of_somebody_who_had_not_seen_the_code_are_answered_as_he_expected() {
    let habits = std::fs::read_to_string(HABITS).unwrap();
    let (_, his) = habits.split_once("# Written down by somebody who had never seen the code\n").unwrap();
    let typed = his.lines().filter(|line| !line.starts_with(['#', ' ']) && !line.is_empty()).count();
    let otherwise = his.lines().filter(|line| line.starts_with("# expected otherwise: ")).count();
    assert!(typed >= 40 && otherwise * 10 <= typed, "{typed}, {otherwise} otherwise");
}

/// A stride of 64 blocks became a plain sequence, and nothing was said of it.
#[test]
fn what_is_not_in_the_answer_to_a_line_of_sqlio_is_named() {
    let answer = answer(&os(&split("matrix sqlio -kR -t8 -s60 -f64 -o16 -b8 -mS4 t.dat"))).unwrap();
    assert!(answer.hint().ends_with("(left out: -f64, -mS4)"), "{}", answer.hint());
}

#[test]
fn words_that_are_nobodys_are_left_to_the_usual_message() {
    for line in [
        "load --bogus",
        "load --preset oltp --bogus=1",
        "load --preset oltp --fio f t.dat",
        "copy --bogus a b",
        "copy --dry-run --retries many a b",
        "copy --include *.mdf --verify a b",
        "nothing",
        "runs --bogus",
    ] {
        assert_eq!(answer(&os(&split(line))), None, "{line}");
    }
    assert!(!is_foreign(&os(&split("copy /data /E")), &|path| path == "/E"), "there is such a directory");
    assert!(!is_foreign(&os(&split("copy data /b")), &|_| false), "a destination in the root directory");
}
