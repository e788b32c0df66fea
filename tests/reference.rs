//! The documentation matches the program.

use std::path::Path;

use crate::support::Workspace;

fn document(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    std::fs::read_to_string(path).unwrap_or_default()
}

fn reference() -> String {
    Workspace::new().run(&["reference"]).expect_status(0).stdout
}

#[test]
fn the_reference_is_current() {
    let now = reference();
    let kept = document("docs/reference.md");
    let line = now.lines().zip(kept.lines()).position(|(now, kept)| now != kept);
    let line = line.unwrap_or_else(|| now.lines().count().min(kept.lines().count())) + 1;
    assert!(
        now == kept,
        "docs/reference.md differs from line {line} on: run `cargo run -- reference > docs/reference.md`"
    );
}

#[test]
fn every_command_of_the_reference_has_examples() {
    let reference = reference();
    let mut sections = reference.split("\n## `iostall ").skip(1).peekable();
    assert!(sections.peek().is_some());
    // Each subcommand appears in the examples of its command.
    let is_verb = |section: &&str| section.split('`').next().is_some_and(|name| name.contains(' '));
    for section in sections.filter(|section| !is_verb(section)) {
        assert!(section.contains("Examples:"), "{section}");
    }
}

#[test]
fn every_option_that_the_guides_give_to_iostall_exists() {
    let reference = reference();
    for name in ["README.md", "docs/load.md"] {
        let text = document(name);
        let mut options = Vec::new();
        for line in text.lines() {
            // From the program's name to the end of the code or command.
            for command in line.split("iostall ").skip(1) {
                let command = command.split(['`', '|', '#', ';']).next().unwrap_or_default();
                options.extend(command.split_whitespace().filter(|word| word.starts_with("--")));
            }
        }
        assert!(!options.is_empty(), "{name} shows no command");
        for option in options {
            let option = option.split('=').next().unwrap_or(option);
            let known = ["`", " ", ","].iter().any(|end| reference.contains(&format!("{option}{end}")));
            assert!(known, "{name} uses {option}, which iostall does not have");
        }
    }
}
