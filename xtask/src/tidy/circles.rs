//! Which module of a crate uses which.

use std::collections::{BTreeMap, BTreeSet};

use super::product::Sources;
use super::{Finding, Tree};

/// For each module path, those it uses.
type Uses = BTreeMap<Vec<String>, BTreeSet<Vec<String>>>;

/// No two neighbouring modules use each other, directly or indirectly.
pub(super) fn modules_use_each_other_one_way(tree: &Tree) -> Vec<Finding> {
    tree.sources().iter().flat_map(|sources| circles_of_siblings(sources, &uses_of(sources))).collect()
}

/// No two files use each other: a module's own names are not for the files below it that the module uses.
pub(super) fn files_use_each_other_one_way(tree: &Tree) -> Vec<Finding> {
    tree.sources().iter().flat_map(circles_of_files).collect()
}

fn circles_of_files(sources: &Sources) -> Vec<Finding> {
    let circles = circles(&uses_of(sources));
    let file = |module: &Vec<String>| sources.modules.get(module).map(|module| module.path.as_str());
    let finding = |circle: &BTreeSet<Vec<String>>| {
        let files: Vec<&str> = circle.iter().filter_map(file).collect();
        let message = format!(
            "the files {} use each other in a circle: what they share belongs in a file of its own",
            files.join(", ")
        );
        Finding::whole(&sources.directory, message)
    };
    circles.iter().map(finding).collect()
}

fn uses_of(sources: &Sources) -> Uses {
    let mut uses = Uses::new();
    for (module, source) in &sources.modules {
        let others = source.paths.iter().filter_map(|(_, path)| resolve(sources, module, path));
        uses.insert(module.clone(), others.filter(|other| other != module).collect());
    }
    uses
}

/// How many imports a name is followed through; more is a cycle of imports.
const IMPORTS_MAX: usize = 8;

/// The file that defines what `path`, written in `module`, names; `None` if it is outside the crate.
fn resolve(sources: &Sources, module: &[String], path: &[String]) -> Option<Vec<String>> {
    follow(sources, module, path, IMPORTS_MAX)
}

fn follow(sources: &Sources, module: &[String], path: &[String], most: usize) -> Option<Vec<String>> {
    let child = |parent: &[String], name: &String| {
        let below = [parent, std::slice::from_ref(name)].concat();
        sources.modules.contains_key(&below).then_some(below)
    };
    let (first, mut rest) = path.split_first()?;
    let mut place = match first.as_str() {
        "crate" => Vec::new(),
        "self" => module.to_vec(),
        "super" => {
            let ups = 1 + rest.iter().take_while(|name| *name == "super").count();
            rest = &rest[ups - 1..];
            module[..module.len().checked_sub(ups)?].to_vec()
        }
        // A single name is local, or an import that is counted at its own place.
        _ if rest.is_empty() => return None,
        _ => child(module, first)?,
    };
    while let Some((name, after)) = rest.split_first() {
        let Some(below) = child(&place, name) else {
            // A re-exported name belongs to the place where it is defined.
            let passed_on = sources.modules.get(&place)?.imports.get(name);
            let origin = passed_on.filter(|_| most > 0).map(|origin| [origin.as_slice(), after].concat());
            return match origin {
                Some(origin) => follow(sources, &place, &origin, most - 1),
                None => Some(place),
            };
        };
        (place, rest) = (below, after);
    }
    Some(place)
}

/// Cycles among the modules of one parent, each including everything below it.
fn circles_of_siblings(sources: &Sources, uses: &Uses) -> Vec<Finding> {
    let parents: BTreeSet<&[String]> =
        uses.keys().flat_map(|module| (0..module.len()).map(|depth| &module[..depth])).collect();
    let mut findings = Vec::new();
    for parent in parents {
        let sibling = |module: &[String]| {
            module.starts_with(parent).then(|| module.get(..=parent.len()).map(<[String]>::to_vec)).flatten()
        };
        let mut between = Uses::new();
        for (module, used) in uses {
            let Some(from) = sibling(module) else { continue };
            let others = used.iter().filter_map(|other| sibling(other)).filter(|other| *other != from);
            between.entry(from.clone()).or_default().extend(others);
        }
        for circle in circles(&between) {
            let names: Vec<&str> =
                circle.iter().filter_map(|module| module.last()).map(String::as_str).collect();
            let place = [vec![sources.directory.clone()], parent.to_vec()].concat().join("/");
            let message = format!(
                "the modules {} use each other in a circle: what they share belongs in a module of its own",
                names.join(", ")
            );
            findings.push(Finding::whole(&place, message));
        }
    }
    findings
}

/// Sets of modules that all reach each other.
fn circles(uses: &Uses) -> Vec<BTreeSet<Vec<String>>> {
    let reached: BTreeMap<&Vec<String>, BTreeSet<&Vec<String>>> =
        uses.keys().map(|module| (module, reach(uses, module))).collect();
    let mut circles: Vec<BTreeSet<Vec<String>>> = Vec::new();
    for (module, others) in &reached {
        let circle: BTreeSet<Vec<String>> = others
            .iter()
            .filter(|other| reached.get(**other).is_some_and(|back| back.contains(module)))
            .map(|other| (*other).clone())
            .collect();
        if !circle.is_empty() && !circles.contains(&circle) {
            circles.push(circle);
        }
    }
    circles
}

/// Everything that `module` uses directly or indirectly; includes itself if it is on a cycle.
fn reach<'a>(uses: &'a Uses, module: &Vec<String>) -> BTreeSet<&'a Vec<String>> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&Vec<String>> = uses.get(module).into_iter().flatten().collect();
    while let Some(next) = open.pop() {
        if reached.insert(next) {
            open.extend(uses.get(next).into_iter().flatten());
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> Tree {
        let files: Vec<(String, &str)> =
            files.iter().map(|(path, text)| (format!("crates/load/src/{path}"), *text)).collect();
        let mut all = vec![("crates/load/Cargo.toml", "")];
        all.extend(files.iter().map(|(path, text)| (path.as_str(), *text)));
        Tree::of(&all)
    }

    fn siblings(files: &[(&str, &str)]) -> Vec<String> {
        modules_use_each_other_one_way(&tree(files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn modules_that_use_each_other_are_found_at_every_depth_and_by_way_of_others() {
        let found = siblings(&[
            ("lib.rs", "mod a;\nmod b;\nmod c;\nuse a::A;\n"),
            ("a.rs", "use crate::b::B;\n"),
            ("b.rs", "fn f() -> super::c::inner::C { todo }\n"),
            ("c/mod.rs", "mod inner;\n"),
            ("c/inner.rs", "use crate::a;\n"),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("crates/load/src: the modules a, b, c use"), "{found:?}");
        let found = siblings(&[
            ("lib.rs", "mod c;\n"),
            ("c/mod.rs", "mod x;\nmod y;\n"),
            ("c/x.rs", "use super::y::Y;\n"),
            ("c/y.rs", "use crate::c::x::X;\n"),
        ]);
        assert!(found[0].starts_with("crates/load/src/c: the modules x, y use"), "{found:?}");
    }

    #[test]
    fn one_way_is_no_circle_nor_are_a_test_a_stranger_and_a_local_name() {
        let found = siblings(&[
            ("lib.rs", "mod a;\nmod b;\n"),
            ("a.rs", "use crate::b::B;\nuse std::io;\n"),
            ("b.rs", "use other::a::A;\nfn f(a: u8) { a; }\n#[cfg(test)]\nmod tests { use crate::a::A; }\n"),
        ]);
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn a_name_that_a_module_only_passes_on_is_no_use_of_that_module() {
        let found = siblings(&[
            ("lib.rs", "mod a;\nmod b;\nmod c;\npub use b::B;\n"),
            ("a.rs", "use crate::B;\n"),
            ("b.rs", "pub use crate::c::C;\n"),
            ("c.rs", "use crate::a::A;\nuse crate::b::C as Own;\n"),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("the modules a, b, c use"), "{found:?}");
    }

    /// An error's `#[error("{}", crate::b::NAME)]` was the one circle of files that nobody saw.
    #[test]
    fn what_an_attribute_or_a_macro_names_from_the_root_counts() {
        for by in [
            "#[error(\"{}\", crate::b::NAME)]\nstruct E;\n",
            "hinted! { #[error(\"{}\", crate::b::NAME)] A }\n",
        ] {
            let tree = tree(&[("lib.rs", "mod a;\nmod b;\n"), ("a.rs", by), ("b.rs", "use crate::a::E;\n")]);
            assert_eq!(files_use_each_other_one_way(&tree).len(), 1, "{by}");
        }
    }

    #[test]
    fn a_file_must_not_use_names_of_its_parent_that_uses_it() {
        let files = [
            ("lib.rs", "mod a;\n"),
            ("a.rs", "mod x;\nuse x::X;\nstruct A;\n"),
            ("a/x.rs", "use super::A;\n"),
        ];
        assert_eq!(siblings(&files), [""; 0]);
        let found = files_use_each_other_one_way(&tree(&files));
        let files = "crates/load/src: the files crates/load/src/a.rs, crates/load/src/a/x.rs use each other";
        assert!(found[0].to_string().starts_with(files), "{found:?}");
    }
}
