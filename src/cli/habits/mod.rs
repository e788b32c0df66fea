//! The habits of other tools: what was typed in their words is answered with the same in ours.
//!
//! `tests/habits.txt` has the lines and the answers that are right; whoever misses one adds it there.

mod answer;
mod backup;
mod load;

#[cfg(test)]
mod tests;

use std::ffi::OsString;

use answer::quoted;

pub(crate) use answer::Answer;

/// `words`, without the program's own name, in the spelling that is read: `help load` is `load --help`, as it is elsewhere.
pub(crate) fn spelled(words: Vec<OsString>) -> Vec<OsString> {
    let mut words = words;
    let Some(first) = words.first().and_then(|word| word.to_str()) else { return words };
    match first {
        "help" => {
            words.remove(0);
            words.push("--help".into());
        }
        "version" if words.len() == 1 => words[0] = "--version".into(),
        "bench" | "benchmark" | "test" => words[0] = "load".into(),
        "diskspd.exe" | "DiskSpd" | "DiskSpd.exe" => words[0] = "diskspd".into(),
        "runs" if words.get(1).is_some_and(|word| word == "list" || word == "ls") => drop(words.remove(1)),
        _ => {}
    }
    words
}

/// What `words`, which are none of ours as they stand, mean in ours; `None` where they are no other tool's either.
pub(crate) fn answer(words: &[OsString]) -> Option<Answer> {
    let typed = words;
    let words: Vec<String> = typed.iter().map(|word| plain(&word.to_string_lossy())).collect();
    let has_dash =
        typed.iter().zip(&words).any(|(typed, word)| typed.to_str().is_some_and(|typed| typed != word));
    let (first, rest) = words.split_first()?;
    // The options alone, as behind the other tool's name.
    if first.starts_with('-') {
        return load::answer(&words);
    }
    let name = first.rsplit(['/', '\\']).next().unwrap_or(first).to_ascii_lowercase();
    match name.trim_end_matches(".exe") {
        "load" | "fio" => load::answer(rest),
        "diskspd" => Some(Answer::line(format!("iostall diskspd {}", quoted(rest)), Vec::new())),
        "sqlio" => load::sqlio(rest),
        // What makes SQLIO's table here, before SQLIO's line.
        "matrix" | "sweep" if rest.first().is_some_and(|word| word == "sqlio") => load::sqlio(&rest[1..]),
        "copy" => of_copy(rest, has_dash),
        "backup" => backup::answer(rest),
        tool @ ("cp" | "mv" | "rsync" | "rclone" | "robocopy" | "xcopy") => Some(of_tool(tool)),
        _ => None,
    }
}

/// Whether some of `words` are another tool's although ours could be read from them too: a switch of robocopy's is a path, and
/// an option with the dash of a web page is a file name. What is there under that name is meant.
pub(crate) fn is_foreign(words: &[OsString], exists: &dyn Fn(&str) -> bool) -> bool {
    let Some((first, rest)) = words.split_first() else { return false };
    let rest = rest.iter().filter_map(|word| word.to_str()).filter(|word| !exists(word));
    match first.to_str() {
        Some("diskspd") => false,
        Some("copy") => {
            let words: Vec<&str> = rest.collect();
            // Of two names the second is where the copy goes: `copy data /b`.
            let mut names = words.iter().filter(|word| !word.starts_with('-'));
            let place = if names.clone().count() == 2 { names.next_back() } else { None };
            words.iter().any(|word| {
                let is_place = place.is_some_and(|place| std::ptr::eq(*place, *word));
                plain(word) != **word || (is_switch(word) && !is_place)
            })
        }
        _ => rest.into_iter().any(|word| plain(word) != word),
    }
}

/// `word` with hyphens in place of the dashes that web pages make of them at the beginning of an option.
fn plain(word: &str) -> String {
    let is_dash = |c: char| matches!(c, '\u{2010}'..='\u{2015}' | '\u{2212}');
    match word.strip_prefix(is_dash) {
        // An en dash is one hyphen or two; what follows a single one is a letter and its value.
        Some(rest) if !rest.starts_with(|c: char| c.is_ascii_alphabetic() || is_dash(c)) => word.to_owned(),
        Some(rest) if rest.starts_with(is_dash) => format!("--{}", rest.trim_start_matches(is_dash)),
        Some(rest) if rest.contains('=') || word.starts_with('\u{2014}') => format!("--{rest}"),
        Some(rest) => format!("-{rest}"),
        None => word.to_owned(),
    }
}

/// What stands behind the name of a tool.
fn of_tool(tool: &str) -> Answer {
    Answer::No(format!("{tool} is `iostall copy` here: docs/copying.md has a table of its options and ours"))
}

/// What stands behind `iostall copy`; `None` where it is nobody's.
fn of_copy(words: &[String], has_dash: bool) -> Option<Answer> {
    let is_letters = |word: &str| {
        word.strip_prefix('-')
            .is_some_and(|letters| !letters.is_empty() && letters.chars().all(|c| c.is_ascii_alphabetic()))
    };
    let is_long = |word: &str| {
        word.strip_prefix("--")
            .is_some_and(|name| LONG_OF_OTHERS.contains(&name.split('=').next().unwrap_or(name)))
    };
    let is_theirs = |word: &String| word != "-q" && is_letters(word) || is_long(word) || is_switch(word);
    (has_dash || words.iter().any(is_theirs)).then(|| {
        let text = "docs/copying.md has a table of the options of cp, rsync, rclone and robocopy, and ours";
        Answer::No(text.to_owned())
    })
}

/// Options of cp, rsync and rclone that no option here is spelled like.
const LONG_OF_OTHERS: [&str; 24] = [
    "append",
    "append-verify",
    "archive",
    "backup",
    "backup-dir",
    "bwlimit",
    "delete-after",
    "delete-before",
    "delete-during",
    "delete-excluded",
    "force",
    "ignore-existing",
    "inplace",
    "max-age",
    "max-delete",
    "no-clobber",
    "partial",
    "preserve",
    "progress",
    "recursive",
    "remove-source-files",
    "stats",
    "transfers",
    "verbose",
];

/// Whether `word` is a switch of robocopy's, which would be read as a path here: its files would go into a directory `/MT:8`.
fn is_switch(word: &str) -> bool {
    let Some(switch) = word.strip_prefix('/') else { return false };
    let name = switch.split(':').next().unwrap_or_default().trim_end_matches('+').to_ascii_uppercase();
    #[rustfmt::skip]
    let is_known = matches!(
        name.as_str(),
        "A" | "B" | "BYTES" | "COMPRESS" | "COPY" | "COPYALL" | "CREATE" | "DCOPY" | "DST" | "E" | "ETA" | "FFT" | "FP" | "H" | "I"
            | "IA" | "IF" | "IM" | "IORATE" | "IPG" | "IS" | "IT" | "J" | "K" | "L" | "LEV" | "LOG" | "M" | "MAX" | "MAXAGE"
            | "MAXLAD" | "MIN" | "MINAGE" | "MINLAD" | "MIR" | "MON" | "MOT" | "MOV" | "MOVE" | "MT" | "NDL" | "NFL" | "NJH" | "NJS"
            | "NODCOPY" | "NOOFFLOAD" | "NP" | "PF" | "PURGE" | "QUIT" | "R" | "REG" | "RH" | "S" | "SEC" | "SECFIX" | "SL" | "SPARSE"
            | "TBD" | "TEE" | "THRESHOLD" | "TIMFIX" | "TS" | "UNICODE" | "UNILOG" | "V" | "W" | "X" | "XA" | "XC" | "XD" | "XF"
            | "XJ" | "XJD" | "XJF" | "XL" | "XN" | "XO" | "XX" | "Y" | "Z" | "ZB" | "256"
    );
    is_known
}
