//! Calls that take a path, where root works in places that belong to others.
//!
//! Who may write to a directory exchanges what a path in it leads to at any moment. There a directory is opened once
//! (`iostall_engine::files::OpenDirectory`), and what is in it is found by descriptor.

use super::product::Module;
use super::{Finding, Tree};

/// Where root restores, starts servers of other accounts, archives for them, and does what releases say.
const ROOMS: [&str; 5] = [
    "crates/transfer/src/backup/restore/",
    "crates/watch/src/deploy/",
    "crates/session/src/backup/drill/",
    "crates/session/src/backup/mariadb/",
    "crates/session/src/backup/wal/",
];
/// How many there are: each was looked at, and is in a directory that nobody else can change then, only reads, or removes a name that is
/// our own. Lower it when some are gone.
const KNOWN: [(&str, usize); 14] = [
    ("crates/transfer/src/backup/restore/combine.rs", 1),
    ("crates/transfer/src/backup/restore/place.rs", 10),
    ("crates/watch/src/deploy/carry_out.rs", 1),
    ("crates/watch/src/deploy/place.rs", 1),
    ("crates/watch/src/deploy/state.rs", 2),
    ("crates/session/src/backup/drill/mariadb.rs", 1),
    ("crates/session/src/backup/drill/pages.rs", 1),
    ("crates/session/src/backup/drill/postgres.rs", 1),
    ("crates/session/src/backup/drill/scratch.rs", 3),
    ("crates/session/src/backup/wal/archive.rs", 2),
    ("crates/session/src/backup/wal/directory.rs", 2),
    ("crates/session/src/backup/wal/incoming.rs", 1),
    ("crates/session/src/backup/wal/place.rs", 7),
    ("crates/session/src/backup/wal/point.rs", 1),
];
/// Associated functions of the standard library that open a path.
const OPENERS: [&str; 5] = ["open", "create", "create_new", "options", "new"];

pub(super) fn root_works_by_descriptor(tree: &Tree) -> Vec<Finding> {
    more_than(&KNOWN, tree)
}

fn more_than(known: &[(&str, usize)], tree: &Tree) -> Vec<Finding> {
    let modules = tree.sources().iter().flat_map(|sources| sources.modules.values());
    let in_rooms = modules.filter(|module| ROOMS.iter().any(|room| module.path.starts_with(room)));
    let finding = |module: &Module| {
        let lines: Vec<usize> = by_path(module).collect();
        let known = known.iter().find(|(path, _)| *path == module.path).map_or(0, |(_, count)| *count);
        let message = format!(
            "{} calls take a path (lines {lines:?}), {known} are known: another account may exchange what it leads to; \
             `OpenDirectory` finds it by descriptor",
            lines.len()
        );
        (lines.len() > known).then(|| Finding::whole(&module.path, message))
    };
    in_rooms.filter_map(finding).collect()
}

/// The lines with such calls.
fn by_path(module: &Module) -> impl Iterator<Item = usize> {
    module.paths.iter().filter_map(|(line, path)| {
        let (first, rest) = path.split_first()?;
        let above = module.imports.get(first).cloned().unwrap_or_else(|| vec![first.clone()]);
        let whole: Vec<&str> = above.iter().chain(rest).map(String::as_str).collect();
        let is_call = match whole.as_slice() {
            ["std", "fs", "File" | "OpenOptions", function] => OPENERS.contains(function),
            ["std", "fs", function] => function.starts_with(char::is_lowercase),
            _ => false,
        };
        is_call.then_some(*line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_by_path_is_found_where_root_works_in_places_of_others_and_beyond_what_is_known() {
        let text = "use std::fs::{self, File};\nuse iostall_engine::files;\n\
                    fn give(path: &Path) { fs::remove_file(path); std::fs::read_dir(path); File::open(path); }\n\
                    fn right(open: &OpenDirectory) { files::give(open); open.remove_file(name); fs::Metadata::len(x); }\n\
                    #[cfg(test)]\nmod tests { fn f() { fs::read(path); } }\n";
        let tree = Tree::of(&[
            ("crates/session/Cargo.toml", ""),
            ("crates/session/src/backup/drill/scratch.rs", text),
            ("crates/session/src/backup/catalog.rs", text),
        ]);
        let found: Vec<String> = more_than(&[], &tree).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("scratch.rs: 3 calls") && found[0].contains("[3, 3, 3]"), "{found:?}");
        assert_eq!(more_than(&[("crates/session/src/backup/drill/scratch.rs", 3)], &tree), []);
    }
}
