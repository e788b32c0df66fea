//! Results of what makes data durable, which nobody may throw away.

use super::{Finding, Tree};

/// What was not synced or put may be lost, and only its result says so.
const KEEPS: [&str; 9] =
    ["sync", "sync_all", "sync_data", "sync_directory", "fsync", "fdatasync", "put", "put_state", "record"];

/// `let _ = log.sync()` and `store.put(run).ok();` are refused in product code: a comment that says why it does no harm was wrong.
pub(super) fn what_keeps_data_is_believed(tree: &Tree) -> Vec<Finding> {
    let product =
        tree.rust().filter(|file| !file.path.contains("/tests") && !file.path.starts_with("tests/"));
    let mut findings = Vec::new();
    for file in product {
        let own = file.numbered().take_while(|(_, line)| !line.starts_with("#[cfg(test)]"));
        for (number, line) in own {
            if let Some(name) = thrown_away(line) {
                let message = format!(
                    "the result of {name} is thrown away: return it, tell it, or keep it for who asks later"
                );
                findings.push(Finding::at(&file.path, number, message));
            }
        }
    }
    findings
}

fn thrown_away(line: &str) -> Option<&'static str> {
    let line = line.trim();
    let is_dropped = line.starts_with("let _ =") || (line.ends_with(".ok();") && !line.contains('='));
    KEEPS.into_iter().find(|name| is_dropped && line.contains(&format!(".{name}(")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sync_whose_result_is_thrown_away_is_found_and_one_that_is_used_is_not() {
        let text = "fn end() {\n    let _ = log.sync();\n    store.put(run).ok();\n    let there = store.put(run).ok();\n    \
                    let _ = write!(text, \"a\");\n}\n#[cfg(test)]\nmod tests {\n    let _ = log.sync();\n}\n";
        let tree = Tree::of(&[("crates/watch/src/log.rs", text), ("tests/log.rs", text)]);
        let found: Vec<String> = what_keeps_data_is_believed(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0].starts_with("crates/watch/src/log.rs:2: ") && found[1].contains(":3: "),
            "{found:?}"
        );
    }
}
