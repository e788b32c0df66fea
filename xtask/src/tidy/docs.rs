//! Doc comments are required on crates and modules. Items need one only where their name does not say it, which
//! no rule can judge: a rule that demands them yields comments that repeat the name.

use super::{Finding, Tree};

/// Every file of the crates and the program starts with its purpose.
pub(super) fn modules_open_with_their_purpose(tree: &Tree) -> Vec<Finding> {
    let paths = tree.sources().iter().flat_map(|sources| sources.modules.values()).map(|module| &module.path);
    let files = paths.filter_map(|path| tree.file(path));
    files
        .filter(|file| !file.text.starts_with("//!"))
        .map(|file| Finding::whole(&file.path, "must open with `//!` and the module's purpose"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_does_not_open_with_its_purpose_is_refused_and_its_items_need_no_docs() {
        let tree = Tree::of(&[
            ("crates/load/Cargo.toml", ""),
            ("crates/load/src/lib.rs", "mod run;\n"),
            ("crates/load/src/run.rs", "//! Runs.\n\npub struct A;\npub fn b() {}\n"),
        ]);
        let found: Vec<String> =
            modules_open_with_their_purpose(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["crates/load/src/lib.rs: must open with `//!` and the module's purpose"]);
    }
}
