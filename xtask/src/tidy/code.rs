//! Rules for Rust sources.

use super::{Finding, SourceFile, Tree};

const LINES_MAX: usize = 600;
const LINES_WORTH_A_LOOK: usize = 400;

pub(super) fn files_fit_in_a_head(tree: &Tree) -> Vec<Finding> {
    longer_than(tree, LINES_MAX, usize::MAX)
}

pub(super) fn files_that_grow_long(tree: &Tree) -> Vec<Finding> {
    longer_than(tree, LINES_WORTH_A_LOOK, LINES_MAX)
}

fn longer_than(tree: &Tree, over: usize, up_to: usize) -> Vec<Finding> {
    let counted = tree.rust().map(|file| (file, file.text.lines().count()));
    counted
        .filter(|(_, lines)| (over + 1..=up_to).contains(lines))
        .map(|(file, lines)| {
            Finding::whole(&file.path, format!("{lines} lines, more than {over}: cut it by its nouns"))
        })
        .collect()
}

pub(super) fn modules_have_names_that_say_something(tree: &Tree) -> Vec<Finding> {
    const NAMES: [&str; 6] = ["common", "util", "utils", "helper", "helpers", "types"];
    let says_nothing = |part: &str| NAMES.contains(&part.trim_end_matches(".rs"));
    tree.rust()
        .filter_map(|file| {
            let name = file.path.split('/').find(|part| says_nothing(part))?;
            Some(Finding::whole(&file.path, format!("{name} says nothing: name it after what is in it")))
        })
        .collect()
}

/// Only `engine` contains code that the compiler cannot check.
pub(super) fn unsafe_has_one_room(tree: &Tree) -> Vec<Finding> {
    // Assembled so that this file does not break its own rule.
    let keyword = concat!("un", "safe");
    let uses = ["{", "fn", "impl", "extern", "trait"].map(|what| format!("{keyword} {what}"));
    let permits = ["allow", "expect"].map(|how| format!("{how}({keyword}_code"));
    lines_with(tree.rust().filter(|file| !file.path.starts_with("crates/engine/")), |line| {
        let found = uses.iter().chain(&permits).any(|words| line.contains(words));
        (found && !is_comment(line)).then(|| format!("{keyword} is for crates/engine alone"))
    })
}

pub(super) fn verbs_do_not_import_each_other(tree: &Tree) -> Vec<Finding> {
    let verb_of = |file: &SourceFile| {
        let inside = file.path.strip_prefix("src/commands/")?;
        let verb = inside.split('/').next()?.trim_end_matches(".rs");
        (verb != "mod").then(|| verb.to_owned())
    };
    let verbs: Vec<String> = tree.rust().filter_map(verb_of).collect();
    let mut findings = Vec::new();
    for file in tree.rust() {
        let Some(own) = verb_of(file) else { continue };
        findings.extend(lines_with([file], |line| {
            let other = verbs.iter().find(|verb| {
                **verb != own
                    && (names(line, &format!("commands::{verb}")) || names(line, &format!("super::{verb}")))
            })?;
            Some(format!("the verb {own} may not use the verb {other}: what both need belongs in a crate"))
        }));
    }
    findings
}

pub(super) fn sql_is_in_sql_files(tree: &Tree) -> Vec<Finding> {
    const STARTS: [&str; 12] = [
        "SELECT ",
        "INSERT INTO ",
        "UPDATE ",
        "DELETE FROM ",
        "CREATE TABLE ",
        "CREATE VIEW ",
        "CREATE INDEX ",
        "DROP TABLE ",
        "ALTER TABLE ",
        "PRAGMA ",
        "WITH RECURSIVE ",
        "BEGIN IMMEDIATE",
    ];
    let rust = tree.rust().filter(|file| !file.path.starts_with("xtask/"));
    lines_with(rust, |line| {
        let found = STARTS.iter().any(|start| line.contains(&format!("\"{start}")));
        (found && !is_comment(line))
            .then(|| "SQL belongs in a .sql file beside its caller (include_str!)".into())
    })
}

/// A finding for each line of `files` for which `check` returns a message.
fn lines_with<'a>(
    files: impl IntoIterator<Item = &'a SourceFile>,
    check: impl Fn(&str) -> Option<String>,
) -> Vec<Finding> {
    let lines =
        files.into_iter().flat_map(|file| file.numbered().map(move |(number, line)| (file, number, line)));
    lines.filter_map(|(file, number, line)| Some(Finding::at(&file.path, number, check(line)?))).collect()
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

/// Whether `line` contains `path` as a whole, not as the start of a longer name.
fn names(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let next = line[at + path.len()..].chars().next();
        !next.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(findings: &[Finding]) -> Vec<(&str, Option<usize>)> {
        findings.iter().map(|finding| (finding.path.as_str(), finding.line)).collect()
    }

    #[test]
    fn a_file_is_noted_beyond_four_hundred_lines_and_refused_beyond_six_hundred() {
        let [long, too_long] = [500, 601].map(|lines| "x\n".repeat(lines));
        let tree = Tree::of(&[("src/a.rs", &long), ("src/b.rs", &too_long), ("docs/c.md", &too_long)]);
        assert_eq!(at(&files_fit_in_a_head(&tree)), [("src/b.rs", None)]);
        assert_eq!(at(&files_that_grow_long(&tree)), [("src/a.rs", None)]);
    }

    #[test]
    fn a_module_that_says_nothing_is_refused_as_file_and_as_directory() {
        let tree = Tree::of(&[("src/utils.rs", ""), ("tests/common/mod.rs", ""), ("src/commonplace.rs", "")]);
        assert_eq!(
            at(&modules_have_names_that_say_something(&tree)),
            [("src/utils.rs", None), ("tests/common/mod.rs", None)]
        );
    }

    #[test]
    fn what_the_compiler_cannot_check_is_refused_outside_engine() {
        let keyword = concat!("un", "safe");
        let code = format!(
            "// {keyword} {{ is only a comment\nlet x = {keyword} {{ f() }};\n#![allow({keyword}_code)]\n"
        );
        let tree = Tree::of(&[("crates/engine/src/a.rs", &code), ("crates/load/src/b.rs", &code)]);
        assert_eq!(
            at(&unsafe_has_one_room(&tree)),
            [("crates/load/src/b.rs", Some(2)), ("crates/load/src/b.rs", Some(3))]
        );
    }

    #[test]
    fn a_verb_that_uses_another_is_refused_and_one_that_uses_itself_is_not() {
        let tree = Tree::of(&[
            ("src/commands/mod.rs", "pub mod load;\nuse self::load;\nuse super::runs;\n"),
            ("src/commands/load.rs", "use crate::commands::runs::show;\nuse super::loads_of_it;\n"),
            ("src/commands/load/scratch.rs", "use crate::commands::load::Options;\n"),
            ("src/commands/runs.rs", "use super::load;\n"),
        ]);
        assert_eq!(
            at(&verbs_do_not_import_each_other(&tree)),
            [("src/commands/load.rs", Some(1)), ("src/commands/runs.rs", Some(1))]
        );
    }

    #[test]
    fn a_statement_in_rust_is_refused() {
        let tree = Tree::of(&[
            ("crates/store/src/a.rs", "// \"SELECT 1\" would be wrong\nlet sql = \"SELECT 1\";\n"),
            ("crates/store/src/b.rs", "let sql = include_str!(\"a.sql\");\nlet text = \"Select one\";\n"),
        ]);
        assert_eq!(at(&sql_is_in_sql_files(&tree)), [("crates/store/src/a.rs", Some(2))]);
    }
}
