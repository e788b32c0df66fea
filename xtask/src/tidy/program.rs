//! How much of the program is more than its command line.

use super::product::sources;
use super::{Finding, Tree};

/// Lines of `src/` without `cli/`, and how many files of commands use `engine`: numbers to get down, no limits yet.
pub(super) fn program_is_the_command_line(tree: &Tree) -> Vec<Finding> {
    let own = tree.rust().filter(|file| file.path.starts_with("src/") && !file.path.starts_with("src/cli/"));
    let lines: usize = own.map(|file| file.text.lines().count()).sum();
    let uses_engine = |paths: &[(usize, Vec<String>)]| {
        paths.iter().any(|(_, path)| path.first().is_some_and(|first| first == "iostall_engine"))
    };
    let commands = sources(tree)
        .into_iter()
        .filter(|sources| sources.directory == "src")
        .flat_map(|sources| sources.modules.into_values())
        .filter(|module| module.path.starts_with("src/commands/") && uses_engine(&module.paths))
        .count();
    vec![Finding::whole(
        "src",
        format!("{lines} lines without cli/, {commands} files of commands use engine"),
    )]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_without_the_command_line() {
        let tree = Tree::of(&[
            ("src/main.rs", "fn main() {}\n\n"),
            ("src/cli/mod.rs", "struct Cli;\n"),
            ("src/commands/load.rs", "use iostall_engine::Engine;\n"),
            ("src/commands/copy.rs", "use iostall_transfer::Copier;\n"),
        ]);
        let said = program_is_the_command_line(&tree).remove(0).to_string();
        assert_eq!(said, "src: 4 lines without cli/, 1 files of commands use engine");
    }
}
