//! The wall that a backend for another system needs: what only Linux has is in `host` and `engine`.

use std::collections::BTreeMap;

use super::product::{Module, sources};
use super::{Finding, Tree, shrinking};

/// Places that are still outside, and how many in each file.
const LIST: &str = "xtask/lists/platform.txt";

/// Descriptors, error numbers, the kernel's own calls and its file systems are met in `host` and `engine` only.
pub(super) fn linux_has_two_rooms(tree: &Tree) -> Vec<Finding> {
    let outside = sources(tree)
        .into_iter()
        .filter(|sources| !["crates/host/src", "crates/engine/src"].contains(&sources.directory.as_str()));
    let counted: BTreeMap<String, usize> = outside
        .flat_map(|sources| sources.modules.into_values())
        .map(|module| (module.path.clone(), places(&module)))
        .filter(|(_, count)| *count > 0)
        .collect();
    shrinking::hold(
        tree,
        LIST,
        &counted,
        "uses of what only Linux has (os::unix, os::fd, errno, /proc, /sys)",
    )
}

fn places(module: &Module) -> usize {
    let paths = module.paths.iter().filter(|(_, path)| is_linux(path)).count();
    let texts = module.texts.iter().filter(|(_, text)| is_kernel_path(text)).count();
    paths + texts
}

fn is_linux(path: &[String]) -> bool {
    let names: Vec<&str> = path.iter().map(String::as_str).collect();
    match names.as_slice() {
        ["std", "os", ..] | ["rustix" | "libc" | "nix", ..] => true,
        _ => names.iter().any(|name| matches!(*name, "Errno" | "raw_os_error" | "from_raw_os_error")),
    }
}

/// A path and not a sentence about one.
fn is_kernel_path(text: &str) -> bool {
    let below = ["/proc/", "/sys/", "proc/", "sys/"];
    !text.contains(' ') && below.iter().any(|directory| text.starts_with(directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_linux_has_is_counted_outside_its_rooms() {
        let text = "use std::os::fd::AsFd;\nfn f() { read(\"/proc/stat\"); say(\"look into /proc/stat\"); \
                    rustix::fs::sync(); }\n#[cfg(test)]\nmod tests { use std::os::unix::fs::symlink; }\n";
        let list = "3 crates/load/src/lib.rs\n1 crates/model/src/lib.rs\n";
        let tree = Tree::of(&[
            ("crates/load/Cargo.toml", ""),
            ("crates/load/src/lib.rs", text),
            ("crates/engine/Cargo.toml", ""),
            ("crates/engine/src/lib.rs", text),
            ("crates/model/Cargo.toml", ""),
            ("crates/model/src/lib.rs", ""),
            ("src/main.rs", "fn main() { std::io::Error::from_raw_os_error(5); }\n"),
            (LIST, list),
        ]);
        let found: Vec<String> = linux_has_two_rooms(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("src/main.rs: 1 uses"), "{found:?}");
        assert!(found[1].contains("crates/model/src/lib.rs has 0 by now"), "{found:?}");
    }
}
