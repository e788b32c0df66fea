//! Counts lines by the syntax tree: `cargo xtask lines`.
//!
//! A line is one of the product unless it lies in a file of tests or in a `#[cfg(test)]` item, from that attribute
//! on. Files of tests are those below `tests/` and `fuzz/` and those that only a `#[cfg(test)] mod name;` reaches.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItem, Item};

use crate::tidy::product::{impl_attributes, is_test_condition, item_attributes, module_path};
use crate::tidy::{SourceFile, Tree};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Lines {
    files: usize,
    product: usize,
    tests: usize,
}

impl Lines {
    fn add(&mut self, other: Self) {
        self.files += other.files;
        self.product += other.product;
        self.tests += other.tests;
    }
}

/// The lines of every crate; the largest is printed first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Count {
    crates: BTreeMap<String, Lines>,
}

impl Count {
    /// A file that does not parse is left to the compiler: it counts as product.
    pub(crate) fn of(tree: &Tree) -> Self {
        let read: Vec<(&SourceFile, ForTests)> =
            tree.rust().map(|file| (file, ForTests::read(file))).collect();
        let for_tests: BTreeSet<String> = read
            .iter()
            .flat_map(|(file, found)| found.modules.iter().map(|name| below(&file.path, name)))
            .collect();
        let mut count = Self::default();
        for (file, found) in read {
            let all = file.text.lines().count();
            let is_test = is_below_tests(&file.path) || is_one_of(&file.path, &for_tests);
            let tests = if is_test { all } else { found.lines };
            let lines = Lines { files: usize::from(!is_test), product: all - tests, tests };
            count.crates.entry(crate_of(&file.path).to_owned()).or_default().add(lines);
        }
        count
    }

    fn total(&self) -> Lines {
        self.crates.values().fold(Lines::default(), |mut sum, lines| {
            sum.add(*lines);
            sum
        })
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut row = |name: &str, cells: [String; 3]| {
            writeln!(f, "{name:<10}{:>8}{:>10}{:>10}", cells[0], cells[1], cells[2])
        };
        row("crate", ["files", "product", "tests"].map(str::to_owned))?;
        let mut crates: Vec<(&str, Lines)> =
            self.crates.iter().map(|(name, lines)| (&**name, *lines)).collect();
        crates.sort_by_key(|(_, lines)| std::cmp::Reverse(lines.product));
        for (name, lines) in crates.into_iter().chain([("all", self.total())]) {
            row(name, [lines.files, lines.product, lines.tests].map(in_thousands))?;
        }
        Ok(())
    }
}

#[derive(Clone, Debug, Default)]
struct ForTests {
    lines: usize,
    /// Declared here, in files of their own.
    modules: Vec<String>,
}

impl ForTests {
    fn read(file: &SourceFile) -> Self {
        let mut found = Self::default();
        if let Ok(parsed) = syn::parse_file(&file.text) {
            found.visit_file(&parsed);
        }
        found
    }

    /// Whether `item` is for tests alone, with its lines counted.
    fn takes(&mut self, attributes: &[Attribute], item: &impl Spanned) -> bool {
        let Some(attribute) = attributes.iter().find(|attribute| is_test_condition(attribute)) else {
            return false;
        };
        self.lines += item.span().end().line + 1 - attribute.span().start().line;
        true
    }
}

impl<'ast> Visit<'ast> for ForTests {
    fn visit_item(&mut self, item: &'ast Item) {
        match (self.takes(item_attributes(item), item), item) {
            (true, Item::Mod(declared)) if declared.content.is_none() => {
                self.modules.push(declared.ident.to_string());
            }
            (true, _) => {}
            (false, _) => visit::visit_item(self, item),
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        if !self.takes(impl_attributes(item), item) {
            visit::visit_impl_item(self, item);
        }
    }
}

/// `src/plan.rs` and `src/plan/mod.rs` declare `zipf` as `src/plan/zipf`.
fn below(path: &str, name: &str) -> String {
    module_path(path).into_iter().chain([name.to_owned()]).collect::<Vec<_>>().join("/")
}

fn is_one_of(path: &str, modules: &BTreeSet<String>) -> bool {
    let parts = module_path(path);
    (1..=parts.len()).any(|end| modules.contains(&parts[..end].join("/")))
}

fn is_below_tests(path: &str) -> bool {
    let in_crate =
        path.strip_prefix("crates/").and_then(|rest| rest.split_once('/')).map(|(_, inside)| inside);
    let starts =
        |path: &str, directory: &str| path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'));
    starts(in_crate.unwrap_or(path), "tests") || starts(path, "fuzz")
}

/// `crates/load/src/plan.rs` is of `load`, `src/main.rs` of `src`.
fn crate_of(path: &str) -> &str {
    path.strip_prefix("crates/").unwrap_or(path).split('/').next().unwrap_or_default()
}

/// Such as 187,901.
fn in_thousands(count: usize) -> String {
    let digits = count.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(files: &[(&str, &str)]) -> Vec<(String, [usize; 3])> {
        let count = Count::of(&Tree::of(files));
        count
            .crates
            .into_iter()
            .map(|(name, lines)| (name, [lines.files, lines.product, lines.tests]))
            .collect()
    }

    #[test]
    fn what_is_for_tests_is_counted_from_its_attribute_on() {
        let text = "//! Why.\n\nstruct S;\n\nimpl S {\n    #[cfg(test)]\n    fn f() {\n    }\n}\n\n\
                    /// Checks.\n#[cfg(test)]\nmod tests {\n    fn g() {}\n}\n";
        assert_eq!(count(&[("src/a.rs", text)]), [("src".to_owned(), [1, 8, 7])]);
    }

    #[test]
    fn files_of_tests_are_those_in_directories_of_tests_and_those_that_only_tests_declare() {
        let files = [
            ("crates/load/src/lib.rs", "#[cfg(test)]\nmod made;\nmod plan;\n"),
            ("crates/load/src/made.rs", "mod up;\n"),
            ("crates/load/src/made/up.rs", "\n"),
            ("crates/load/src/plan/mod.rs", "#[cfg(test)]\nmod tests;\n"),
            ("crates/load/src/plan/tests.rs", "\n"),
            ("crates/load/tests/all.rs", "\n"),
            ("crates/load/examples/one.rs", "\n"),
            ("fuzz/src/lib.rs", "\n"),
            ("src/tests_of.rs", "\n"),
            ("tests/all.rs", "\n"),
        ];
        let expected = [("fuzz", [0, 0, 1]), ("load", [3, 2, 8]), ("src", [1, 1, 0]), ("tests", [0, 0, 1])];
        assert_eq!(count(&files), expected.map(|(name, lines)| (name.to_owned(), lines)));
    }

    #[test]
    fn the_largest_crate_is_printed_first_and_the_sum_last() {
        let large = "\n".repeat(1_234);
        let tree = Tree::of(&[("crates/a/src/lib.rs", "\n"), ("crates/b/src/lib.rs", &large)]);
        let printed = Count::of(&tree).to_string();
        let words: Vec<Vec<&str>> = printed.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(words[1..], [["b", "1", "1,234", "0"], ["a", "1", "1", "0"], ["all", "2", "1,235", "0"]]);
    }
}
