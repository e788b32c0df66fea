//! Rules for SQL, profiles and documents.

use std::path::{Component, Path, PathBuf};

use super::{Finding, SourceFile, Tree};

/// SQL statements are tagged, so that a DBA who sees one on a server finds its file.
pub(super) fn sql_is_tagged(tree: &Tree) -> Vec<Finding> {
    let untagged = tree.files().iter().filter(|file| file.has_extension("sql")).filter(|file| !has_tag(file));
    untagged
        .map(|file| {
            Finding::whole(
                &file.path,
                format!("must open with its tag, such as `/* iostall:{} */`", file.stem()),
            )
        })
        .collect()
}

fn has_tag(file: &SourceFile) -> bool {
    let name = file.text.strip_prefix("/* iostall:").and_then(|rest| rest.split_once(" */"));
    name.is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    })
}

/// A profile explains its numbers before it lists them.
pub(super) fn examples_open_with_why(tree: &Tree) -> Vec<Finding> {
    tree.files()
        .iter()
        .filter(|file| file.path.starts_with("examples/") && file.has_extension("toml"))
        .filter(|file| !file.text.starts_with("# "))
        .map(|file| Finding::whole(&file.path, "must open with a comment: why these numbers"))
        .collect()
}

pub(super) fn links_lead_somewhere(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files().iter().filter(|file| file.has_extension("md")) {
        let mut in_code = false;
        for (number, line) in file.numbered() {
            if line.trim_start().starts_with("```") {
                in_code = !in_code;
            }
            if in_code {
                continue;
            }
            let dead = links_in(line).filter(|link| !leads_somewhere(tree, &file.path, link));
            findings.extend(
                dead.map(|link| Finding::at(&file.path, number, format!("the link to {link} leads nowhere"))),
            );
        }
    }
    findings
}

/// Tests listed in a table of clauses exist: a row such as ``| A1 | … | `tests/output.rs::name` |``.
pub(super) fn tests_of_clauses_exist(tree: &Tree) -> Vec<Finding> {
    let tables = tree.files().iter().filter(|file| file.path.starts_with("tests/clauses/"));
    let mut findings = Vec::new();
    for table in tables.filter(|file| file.has_extension("md")) {
        for (number, line) in table.numbered().filter(|(_, line)| line.starts_with('|')) {
            let dead =
                line.split('`').filter(|word| word.contains(".rs::")).filter(|test| !is_test(tree, test));
            findings.extend(
                dead.map(|test| Finding::at(&table.path, number, format!("there is no test {test}"))),
            );
        }
    }
    findings
}

/// The list of tests that run only at length.
const LONG: &str = "tests/long.md";
/// How such a test is marked.
const MARK: &str = "#[ignore";

/// A test that the gate leaves out stands in the list beside one that the gate runs, and whatever is in the list is there.
pub(super) fn tests_left_out_are_held_by_others(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut listed = Vec::new();
    if let Some(list) = tree.file(LONG) {
        for (number, line) in list.numbered().filter(|(_, line)| line.starts_with("| `")) {
            let tests: Vec<&str> = line.split('`').filter(|word| word.contains(".rs::")).collect();
            let wrong = match tests[..] {
                [long, ..] if !is_left_out(tree, long) => format!("no test {long} is marked {MARK}"),
                [long, ref gate @ ..] if !gate.is_empty() => {
                    listed.push(long);
                    let Some(gone) = gate.iter().find(|gate| !is_test(tree, gate) || is_left_out(tree, gate))
                    else {
                        continue;
                    };
                    format!("the gate does not run {gone}")
                }
                _ => "a row names a test that runs at length, and those of the gate in its place".into(),
            };
            findings.push(Finding::at(LONG, number, wrong));
        }
    }
    for file in tree.rust().filter(|file| !file.path.starts_with("xtask/")) {
        let marked = file.numbered().filter(|(_, line)| line.trim_start().starts_with(MARK));
        for (number, _) in marked {
            let name = file.text.lines().skip(number).find_map(|line| line.trim_start().strip_prefix("fn "));
            let name = name.and_then(|rest| rest.split('(').next()).unwrap_or_default();
            if !listed.contains(&format!("{}::{name}", file.path).as_str()) {
                findings.push(Finding::at(
                    &file.path,
                    number,
                    format!("{name} is not in {LONG}, beside a test of the gate"),
                ));
            }
        }
    }
    findings
}

/// Whether the mark stands directly above the test.
fn is_left_out(tree: &Tree, test: &str) -> bool {
    let Some((path, name)) = test.split_once("::") else { return false };
    let Some(file) = tree.file(path) else { return false };
    let Some((before, _)) = file.text.split_once(&format!("fn {name}(")) else { return false };
    before
        .lines()
        .rev()
        .take_while(|line| line.trim_start().starts_with("#[") || line.trim().is_empty())
        .any(|line| line.trim_start().starts_with(MARK))
}

/// Files and folders listed in the guide to the code exist: a row such as `` `crates/load/src/plan/` ``.
pub(super) fn architecture_names_what_is_there(tree: &Tree) -> Vec<Finding> {
    let Some(guide) = tree.file("docs/architecture.md") else { return Vec::new() };
    let mut findings = Vec::new();
    for (number, line) in guide.numbered() {
        let named = line.split('`').skip(1).step_by(2).filter(|word| is_place(word));
        let dead = named.filter(|place| !tree.exists(place.trim_end_matches('/')));
        findings.extend(dead.map(|place| Finding::at(&guide.path, number, format!("there is no {place}"))));
    }
    findings
}

fn is_place(word: &str) -> bool {
    ["crates/", "fuzz/", "packaging/", "src/", "xtask/"]
        .iter()
        .any(|folder| word.starts_with(folder) && word != *folder)
}

fn is_test(tree: &Tree, test: &str) -> bool {
    let Some((path, name)) = test.split_once("::") else { return false };
    tree.file(path).is_some_and(|file| file.text.contains(&format!("fn {name}(")))
}

/// The targets of a line's links and images, in Markdown or HTML.
fn links_in(line: &str) -> impl Iterator<Item = &str> {
    [("](", ')'), ("src=\"", '"'), ("href=\"", '"')].into_iter().flat_map(move |(start, end)| {
        line.match_indices(start).filter_map(move |(at, _)| line[at + start.len()..].split(end).next())
    })
}

/// Whether `link` in the document `from` is an existing file of ours, or not a file of ours at all.
fn leads_somewhere(tree: &Tree, from: &str, link: &str) -> bool {
    let path = link.split(['#', ' ']).next().unwrap_or_default();
    if path.is_empty() || path.contains(':') {
        return true;
    }
    let directory = Path::new(from).parent().unwrap_or(Path::new(""));
    let mut resolved = PathBuf::new();
    for part in directory.join(path).components() {
        match part {
            Component::ParentDir if !resolved.pop() => return false,
            Component::Normal(name) => resolved.push(name),
            Component::ParentDir | Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    resolved.to_str().is_some_and(|path| tree.exists(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(findings: &[Finding]) -> Vec<(&str, Option<usize>)> {
        findings.iter().map(|finding| (finding.path.as_str(), finding.line)).collect()
    }

    #[test]
    fn a_statement_without_its_tag_is_refused() {
        let tree = Tree::of(&[
            ("a.sql", "/* iostall:a */\nselect 1;\n"),
            ("b.sql", "select 1;\n"),
            ("c.sql", "/* iostall: */\n"),
            ("d.sql", "\n/* iostall:d */\n"),
        ]);
        assert_eq!(at(&sql_is_tagged(&tree)), [("b.sql", None), ("c.sql", None), ("d.sql", None)]);
    }

    #[test]
    fn an_example_that_does_not_say_why_is_refused() {
        let tree = Tree::of(&[
            ("examples/oltp.toml", "# Data pages are 8K.\nname = 'oltp'\n"),
            ("examples/scan.toml", "name = 'scan'\n"),
        ]);
        assert_eq!(at(&examples_open_with_why(&tree)), [("examples/scan.toml", None)]);
    }

    #[test]
    fn a_file_that_is_not_there_is_refused_in_the_guide_to_the_code() {
        let tree = Tree::of(&[
            (
                "docs/architecture.md",
                "Through `src/main.rs` to\n`crates/load/src/plan/` and `crates/gone.rs`.\n",
            ),
            ("src/main.rs", ""),
            ("crates/load/src/plan/mod.rs", ""),
        ]);
        assert_eq!(at(&architecture_names_what_is_there(&tree)), [("docs/architecture.md", Some(2))]);
    }

    #[test]
    fn a_test_that_is_not_there_is_refused_in_a_table_of_clauses() {
        let tree = Tree::of(&[
            ("tests/clauses/harm.md", "| A1 | `tests/output.rs::a_node_stays` | `tests/output.rs::gone` |\n"),
            ("tests/output.rs", "#[test]\nfn a_node_stays() {}\n"),
        ]);
        let dead = tests_of_clauses_exist(&tree);
        assert_eq!(at(&dead), [("tests/clauses/harm.md", Some(1))]);
        assert!(dead[0].message.ends_with("tests/output.rs::gone"));
    }

    #[test]
    fn a_test_that_the_gate_leaves_out_has_one_in_its_place() {
        let test = |name: &str, mark: &str| format!("#[test]\n{mark}fn {name}() {{}}\n");
        let mark = "#[ignore = \"long\"]\n";
        let source = [test("slow", mark), test("quick", ""), test("forgotten", mark)].concat();
        let row = |long: &str, gate: &str| format!("| `tests/a.rs::{long}` | `tests/a.rs::{gate}` | why |\n");
        let rows =
            [row("slow", "quick"), row("quick", "slow"), row("slow", "gone"), row("slow", "forgotten")];
        let tree = Tree::of(&[("tests/long.md", &rows.concat()), ("tests/a.rs", &source)]);
        assert_eq!(
            at(&tests_left_out_are_held_by_others(&tree)),
            [
                ("tests/long.md", Some(2)),
                ("tests/long.md", Some(3)),
                ("tests/long.md", Some(4)),
                ("tests/a.rs", Some(7)),
            ]
        );
    }

    #[test]
    fn a_link_to_what_is_not_there_is_refused_and_the_web_is_not_asked() {
        let tree = Tree::of(&[
            (
                "README.md",
                "[a](docs/design.md#why) [b](docs/) [c](https://example.org/x) [d](#here)\n\
                 [e](docs/gone.md) <img src=\"docs/gone.png\" alt=\"\">\n\
                 ```\n[f](nowhere.md)\n```\n",
            ),
            ("docs/design.md", "[up](../README.md) [out](../../etc/passwd) ![p](\"x\")\n"),
        ]);
        let dead = links_lead_somewhere(&tree);
        assert_eq!(
            at(&dead),
            [
                ("README.md", Some(2)),
                ("README.md", Some(2)),
                ("docs/design.md", Some(1)),
                ("docs/design.md", Some(1))
            ]
        );
    }
}
