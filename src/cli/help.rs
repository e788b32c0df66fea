//! `iostall --help`: the commands in groups.

use clap::Command;

/// A heading, and the commands below it in this order.
pub(super) const GROUPS: [(&str, &[&str]); 5] = [
    ("Measure", &["load", "diskspd", "sweep", "matrix", "fsync", "compare", "runs", "profile"]),
    ("Watch", &["collect", "top", "report", "alerts"]),
    ("Move", &["copy", "verify", "write", "backup"]),
    ("Judge", &["drive"]),
    ("Fleet", &["store"]),
];

/// clap puts all commands into one list; this help has a list for each group.
pub(super) fn grouped(command: Command) -> Command {
    let (lists, options) = (lists(&command), heading(&command, "Options"));
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{lists}\n{options}\n{{options}}{{after-help}}",
    ))
}

fn lists(command: &Command) -> String {
    let width = GROUPS.iter().flat_map(|(_, names)| names.iter()).map(|name| name.len()).max().unwrap_or(0);
    let literal = command.get_styles().get_literal();
    let mut text = String::new();
    for (title, names) in GROUPS {
        text.push_str(&format!("\n{}\n", heading(command, title)));
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            text.push_str(&format!("  {literal}{name:width$}{literal:#}  {about}\n"));
        }
    }
    text
}

fn heading(command: &Command, title: &str) -> String {
    let style = command.get_styles().get_header();
    format!("{style}{title}:{style:#}")
}
