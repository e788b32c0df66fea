//! Committed lists of remaining violations, per file or crate, which may only shrink.

use std::collections::BTreeMap;

use super::{Finding, Tree};

/// Findings if `counted` exceeds the list at `path`, or falls below it, so that the list is updated.
pub(super) fn hold(tree: &Tree, path: &str, counted: &BTreeMap<String, usize>, what: &str) -> Vec<Finding> {
    let text = tree.file(path).map(|file| file.text.as_str()).unwrap_or_default();
    let mut findings = Vec::new();
    let mut allowed = BTreeMap::new();
    for (number, line) in
        (1..).zip(text.lines()).filter(|(_, line)| !line.starts_with('#') && !line.is_empty())
    {
        match line.split_once(' ').and_then(|(count, place)| Some((place, count.parse::<usize>().ok()?))) {
            Some((place, count)) => {
                allowed.insert(place.to_owned(), (number, count));
            }
            None => findings.push(Finding::at(path, number, "is no line `NUMBER PLACE`")),
        }
    }
    for (place, count) in counted {
        let most = allowed.get(place).map_or(0, |(_, most)| *most);
        if *count > most {
            findings.push(Finding::whole(place, format!("{count} {what}, {most} allowed by {path}")));
        }
    }
    for (place, (number, most)) in allowed {
        let count = counted.get(&place).copied().unwrap_or(0);
        if count < most {
            findings.push(Finding::at(path, number, format!("{place} has {count} by now: lower the number")));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(list: &str, counted: &[(&str, usize)]) -> Vec<String> {
        let tree = Tree::of(&[("list.txt", list)]);
        let counted = counted.iter().map(|(place, count)| ((*place).to_owned(), *count)).collect();
        hold(&tree, "list.txt", &counted, "errors").iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_grows_is_refused_and_what_shrinks_must_be_written_down() {
        let list = "# why\n\n2 src/a.rs\n1 src/b.rs\n";
        assert_eq!(messages(list, &[("src/a.rs", 2), ("src/b.rs", 1)]), [""; 0]);
        assert_eq!(
            messages(list, &[("src/a.rs", 3), ("src/b.rs", 1), ("src/c.rs", 1)]),
            ["src/a.rs: 3 errors, 2 allowed by list.txt", "src/c.rs: 1 errors, 0 allowed by list.txt"]
        );
        assert_eq!(
            messages(list, &[("src/a.rs", 2)]),
            ["list.txt:4: src/b.rs has 0 by now: lower the number"]
        );
    }

    #[test]
    fn a_line_that_is_none_is_refused() {
        assert_eq!(messages("many src/a.rs\n", &[]), ["list.txt:1: is no line `NUMBER PLACE`"]);
    }
}
