//! Rules for all hand-written files.

use super::{Finding, Tree};

// Assembled so that this file does not break its own rules.
const MARKERS: [&str; 5] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("to", "do!"),
    concat!("unimpl", "emented!"),
];
const MACHINE_PATHS: [&str; 3] = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/tmp/", "bash")];

/// Unfinished work is an issue, not a comment.
pub(super) fn nothing_is_left_for_later(tree: &Tree) -> Vec<Finding> {
    let is_word_part = |c: char| c.is_alphanumeric() || c == '_';
    words_in(tree, &MARKERS, |before, after| {
        !before.is_some_and(is_word_part) && !after.is_some_and(is_word_part)
    })
    .map(|(path, line, word)| Finding::at(path, line, format!("{word}: do it, or open an issue")))
    .collect()
}

pub(super) fn no_machine_is_named(tree: &Tree) -> Vec<Finding> {
    // A directory of that name below `target/release` is fine; only a path from the root is not.
    let is_path_part = |c: char| c.is_alphanumeric() || "_-.~}".contains(c);
    words_in(tree, &MACHINE_PATHS, |before, _| !before.is_some_and(is_path_part))
        .map(|(path, line, word)| Finding::at(path, line, format!("{word} is a path of one machine")))
        .collect()
}

/// Every occurrence of one of `words` between characters that `fits` accepts.
fn words_in<'a>(
    tree: &'a Tree,
    words: &'a [&'a str],
    fits: impl Fn(Option<char>, Option<char>) -> bool + 'a,
) -> impl Iterator<Item = (&'a str, usize, &'a str)> {
    let lines = tree
        .hand_written()
        .flat_map(|file| file.numbered().map(|(number, line)| (&*file.path, number, line)));
    lines.filter_map(move |(path, number, line)| {
        let word = words.iter().find(|word| {
            line.match_indices(**word)
                .any(|(at, _)| fits(line[..at].chars().next_back(), line[at + word.len()..].chars().next()))
        })?;
        Some((path, number, *word))
    })
}

pub(super) fn lines_end_where_their_text_ends(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.hand_written() {
        for (number, line) in file.text.split('\n').enumerate() {
            if line.trim_end() != line {
                findings.push(Finding::at(&file.path, number + 1, "white space at the end of the line"));
            }
        }
    }
    findings
}

pub(super) fn files_end_with_one_newline(tree: &Tree) -> Vec<Finding> {
    let ends_well = |text: &str| text.is_empty() || (text.ends_with('\n') && !text.ends_with("\n\n"));
    tree.hand_written()
        .filter(|file| !ends_well(&file.text))
        .map(|file| Finding::whole(&file.path, "must end with one newline"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(findings: &[Finding]) -> Vec<(&str, Option<usize>)> {
        findings.iter().map(|finding| (finding.path.as_str(), finding.line)).collect()
    }

    #[test]
    fn each_mark_for_later_is_refused_as_a_word_and_not_inside_one() {
        let text = MARKERS.map(|marker| format!("// {marker}: later\n")).concat();
        let tree =
            Tree::of(&[("src/a.rs", &text), ("b.sh", concat!("#!/bin/sh\nmktemp iostall.XX", "XXXX\n"))]);
        let lines: Vec<_> = (1..=MARKERS.len()).map(|line| ("src/a.rs", Some(line))).collect();
        assert_eq!(at(&nothing_is_left_for_later(&tree)), lines);
    }

    #[test]
    fn a_path_of_one_machine_is_refused_and_a_relative_one_is_not() {
        let text = format!("at {0}x\nunder target{0}x\n", MACHINE_PATHS[0]);
        let tree = Tree::of(&[("README.md", &text)]);
        assert_eq!(at(&no_machine_is_named(&tree)), [("README.md", Some(1))]);
    }

    #[test]
    fn white_space_and_missing_newlines_at_ends_are_refused_in_what_people_write() {
        let tree = Tree::of(&[
            ("src/a.rs", "a \nb\r\nc"),
            ("src/b.rs", "a\n\n"),
            ("src/c.rs", "a\n"),
            ("tests/data/broken.toml", "a \nb"),
            ("check", "#!/bin/bash\ntrue"),
        ]);
        assert_eq!(
            at(&lines_end_where_their_text_ends(&tree)),
            [("src/a.rs", Some(1)), ("src/a.rs", Some(2))]
        );
        assert_eq!(
            at(&files_end_with_one_newline(&tree)),
            [("src/a.rs", None), ("src/b.rs", None), ("check", None)]
        );
    }
}
