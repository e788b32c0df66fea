//! What waits for a time, or for a lock.

use super::{Finding, Tree};

/// The only room that may: there, a test in simulated time catches it.
const ROOM: &str = "crates/measure/src/clock";
/// Methods and functions of the standard library that wait for a time; `thread::sleep` is the compiler's to refuse.
const WAITS: [&str; 6] = [
    "recv_timeout",
    "wait_timeout",
    "wait_timeout_ms",
    "wait_timeout_while",
    "park_timeout",
    "recv_deadline",
];

pub(super) fn waiting_has_one_room(tree: &Tree) -> Vec<Finding> {
    let modules = tree.sources().iter().flat_map(|sources| sources.modules.values());
    modules
        .filter(|module| !module.path.starts_with(ROOM))
        .flat_map(|module| {
            let functions = module.paths.iter().filter_map(|(line, path)| Some((*line, path.last()?.clone())));
            let all = functions.chain(module.calls.iter().cloned());
            let waits = all.filter(|(_, name)| WAITS.contains(&name.as_str()));
            let finding = |(line, name): (usize, String)| {
                let message = format!(
                    "{name} waits in real time behind the back of tests in simulated time: `iostall_measure::clock` has what waits"
                );
                Finding::at(&module.path, line, message)
            };
            waits.map(finding).collect::<Vec<_>>()
        })
        .collect()
}

/// A value that is made for `then_some` and its like is dropped at once where it is not wanted. If its `Drop` takes the lock that the
/// same expression holds, it waits for itself for ever: that once stopped a whole fleet.
pub(super) fn nothing_is_made_for_others_under_a_lock(tree: &Tree) -> Vec<Finding> {
    let modules = tree.sources().iter().flat_map(|sources| sources.modules.values());
    modules
        .flat_map(|module| {
            module.made_under_locks.iter().map(|(line, name)| {
                let message = format!(
                    "{name} drops a value that was made for it while the lock in this expression is held: keep what the lock gives in a \
                     variable first"
                );
                Finding::at(&module.path, *line, message)
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_found_in_product_code_outside_the_clock_and_nowhere_else() {
        let waits = "fn wait(c: &Receiver<u8>) { c.recv_timeout(LIMIT); }\n\
                     #[cfg(test)]\nmod tests {\n fn wait() { c.recv_timeout(LIMIT); }\n}\n";
        let tree = Tree::of(&[
            ("crates/measure/Cargo.toml", ""),
            ("crates/measure/src/clock/wait.rs", waits),
            ("crates/watch/Cargo.toml", ""),
            ("crates/watch/src/feed.rs", waits),
            ("src/screen.rs", "fn rest() { std::thread::park_timeout(LIMIT) }\n"),
        ]);
        let found: Vec<String> = waiting_has_one_room(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("crates/watch/src/feed.rs:1: recv_timeout"), "{found:?}");
        assert!(found[1].starts_with("src/screen.rs:1: park_timeout"), "{found:?}");
    }

    #[test]
    fn a_value_that_is_made_while_a_lock_is_held_is_found() {
        let texts = [
            ("fn f() { lock(all).insert(store).then_some(Turn { all }); }\n", true),
            ("fn f() { self.all.lock().unwrap().get(&1).cloned().unwrap_or(Turn::new()); }\n", true),
            ("fn f() { (!lock(all)?.is_empty()).then_some(Turn::new(all)); }\n", true),
            ("fn f() { lock(all).insert(store).then(|| Turn { all }); }\n", false),
            ("fn f() { lock(all).get(&1).copied().unwrap_or(0); }\n", false),
            ("fn f() { lock(all).failure.as_ref().map_or(Ok(()), |failure| Err(again(failure))); }\n", false),
            ("fn f() { let is_new = lock(all).insert(1); is_new.then_some(Turn { all }); }\n", false),
        ];
        for (text, is_found) in texts {
            let tree = Tree::of(&[("crates/web/Cargo.toml", ""), ("crates/web/src/turn.rs", text)]);
            assert_eq!(nothing_is_made_for_others_under_a_lock(&tree).len(), usize::from(is_found), "{text}");
        }
    }
}
