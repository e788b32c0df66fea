//! Linux-specific code is only in `host` and `engine`, so that a port to another system touches nothing else.

use super::product::Module;
use super::{Finding, Tree};

/// Descriptors, error numbers, kernel calls and kernel file systems occur only in `host` and `engine`.
pub(super) fn linux_has_two_rooms(tree: &Tree) -> Vec<Finding> {
    tree.sources()
        .iter()
        .filter(|sources| !["crates/host/src", "crates/engine/src"].contains(&sources.directory.as_str()))
        .flat_map(|sources| sources.modules.values())
        .flat_map(places)
        .collect()
}

fn places(module: &Module) -> Vec<Finding> {
    let paths =
        module.paths.iter().filter(|(_, path)| is_linux(path)).map(|(line, path)| (*line, path.join("::")));
    let texts = module
        .texts
        .iter()
        .filter(|(_, text)| is_kernel_path(text))
        .map(|(line, text)| (*line, text.clone()));
    let found = |(line, name): (usize, String)| {
        let message = format!(
            "`{name}` is for Linux only: host and engine have such things, behind functions that say what is wanted"
        );
        Finding::at(&module.path, line, message)
    };
    paths.chain(texts).map(found).collect()
}

fn is_linux(path: &[String]) -> bool {
    let names: Vec<&str> = path.iter().map(String::as_str).collect();
    match names.as_slice() {
        ["std", "os", ..] | ["rustix" | "libc" | "nix", ..] => true,
        _ => names.iter().any(|name| matches!(*name, "Errno" | "raw_os_error" | "from_raw_os_error")),
    }
}

/// A path, as opposed to a sentence about one.
fn is_kernel_path(text: &str) -> bool {
    let below = ["/proc/", "/sys/", "proc/", "sys/"];
    !text.contains(' ') && below.iter().any(|directory| text.starts_with(directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_linux_has_is_found_outside_its_rooms() {
        let text = "use std::os::fd::AsFd;\nfn f() { read(\"/proc/stat\"); say(\"look into /proc/stat\"); \
                    rustix::fs::sync(); }\n#[cfg(test)]\nmod tests { use std::os::unix::fs::symlink; }\n";
        let tree = Tree::of(&[
            ("crates/load/Cargo.toml", ""),
            ("crates/load/src/lib.rs", text),
            ("crates/engine/Cargo.toml", ""),
            ("crates/engine/src/lib.rs", text),
            ("src/main.rs", "fn main() { std::io::Error::from_raw_os_error(5); }\n"),
        ]);
        let found: Vec<String> = linux_has_two_rooms(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(found[0].starts_with("crates/load/src/lib.rs:1: `std::os::fd::AsFd`"), "{found:?}");
        assert!(found[2].starts_with("crates/load/src/lib.rs:2: `/proc/stat`"), "{found:?}");
        assert!(found[3].starts_with("src/main.rs:1: `std::io::Error::from_raw_os_error`"), "{found:?}");
    }
}
