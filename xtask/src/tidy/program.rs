//! Limits how much code is in the program besides its command line.

use super::{Finding, Tree};

/// Lines of `src/` without `cli/`: lower it when there are fewer. Up to `fsync` it must stay below 3,000; each later verb adds 80 at
/// most, and the ten of `backup` have about 60 each.
const LINES_MAX: usize = 5100;
/// The number must be lowered once there are this many fewer lines.
const LINES_SLACK: usize = 150;

const VERB_LINES_MAX: usize = 120;

/// `src/` does not grow, its verbs are short, and nothing in it uses the engine.
pub(super) fn program_is_the_command_line(tree: &Tree) -> Vec<Finding> {
    let mut findings = lines_stay_below(tree, LINES_MAX);
    findings.extend(verbs_are_short(tree));
    findings.extend(program_leaves_the_engine_alone(tree));
    findings
}

fn lines_stay_below(tree: &Tree, most: usize) -> Vec<Finding> {
    let own = tree.rust().filter(|file| file.path.starts_with("src/") && !file.path.starts_with("src/cli/"));
    let lines: usize = own.map(|file| file.text.lines().count()).sum();
    let message = match lines {
        _ if lines > most => format!(
            "{lines} lines without cli/, {most} allowed: what is more than arguments and printing belongs in a crate"
        ),
        _ if lines + LINES_SLACK < most => {
            format!("{lines} lines without cli/ by now: lower the number in xtask/src/tidy/program.rs")
        }
        _ => return Vec::new(),
    };
    vec![Finding::whole("src", message)]
}

fn verbs_are_short(tree: &Tree) -> Vec<Finding> {
    let verbs = tree.rust().filter(|file| file.path.starts_with("src/commands/"));
    verbs
        .map(|file| (file, file.text.lines().count()))
        .filter(|(_, lines)| *lines > VERB_LINES_MAX)
        .map(|(file, lines)| {
            let message = format!(
                "{lines} lines, a verb has {VERB_LINES_MAX} at most: what it does belongs in a crate"
            );
            Finding::whole(&file.path, message)
        })
        .collect()
}

fn program_leaves_the_engine_alone(tree: &Tree) -> Vec<Finding> {
    let uses_engine = |paths: &[(usize, Vec<String>)]| {
        paths.iter().any(|(_, path)| path.first().is_some_and(|first| first == "iostall_engine"))
    };
    tree.sources()
        .iter()
        .filter(|sources| sources.directory == "src")
        .flat_map(|sources| sources.modules.values())
        .filter(|module| uses_engine(&module.paths))
        .map(|module| {
            Finding::whole(&module.path, "the program uses the engine: ask session for what it needs")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Tree {
        Tree::of(&[
            ("src/main.rs", "fn main() {}\n\n"),
            ("src/cli/mod.rs", "struct Cli;\n"),
            ("src/commands/load.rs", "use iostall_engine::Engine;\n"),
            ("src/commands/copy.rs", "use iostall_transfer::Copier;\n"),
        ])
    }

    #[test]
    fn lines_are_counted_without_the_command_line_and_may_only_become_fewer() {
        let said = |most| lines_stay_below(&tree(), most).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!((said(4), said(4 + LINES_SLACK)), (Vec::new(), Vec::new()));
        assert!(said(3)[0].starts_with("src: 4 lines without cli/, 3 allowed"));
        assert!(said(5 + LINES_SLACK)[0].contains("lower the number"));
    }

    #[test]
    fn a_command_that_uses_the_engine_is_found() {
        let found = program_leaves_the_engine_alone(&tree());
        assert_eq!(found.len(), 1);
        assert!(found[0].to_string().starts_with("src/commands/load.rs"));
    }

    #[test]
    fn a_verb_that_grows_long_is_found() {
        let (long, short) = ("\n".repeat(VERB_LINES_MAX + 1), "\n".repeat(VERB_LINES_MAX));
        let tree = Tree::of(&[("src/commands/load.rs", &long), ("src/commands/copy.rs", &short)]);
        let found: Vec<String> = verbs_are_short(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("src/commands/load.rs: 121 lines"), "{found:?}");
    }
}
