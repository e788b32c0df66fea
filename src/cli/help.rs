//! `iostall --help` and `iostall drive --help`: the commands in groups.

use clap::Command;

/// A heading, and the commands below it in this order.
pub(super) const GROUPS: [(&str, &[&str]); 5] = [
    ("Measure", &["load", "diskspd", "sweep", "matrix", "fsync", "compare", "runs", "profile"]),
    ("Watch", &["collect", "top", "report", "alerts"]),
    ("Move", &["copy", "verify", "write", "backup"]),
    ("Judge", &["drive"]),
    ("Fleet", &["fleet", "store"]),
];

/// By what they do to the target: some overwrite it, and others only calculate.
pub(super) const OF_DRIVE: [(&str, &[&str]); 4] = [
    ("Ask what drives say of themselves", &["endurance", "atomic"]),
    ("Read a volume under load (limits --write overwrites it)", &["guard", "limits"]),
    ("Overwrite a target", &["qualify", "powerfail"]),
    ("Calculate, without any drive", &["flash", "plan"]),
];

/// clap puts all commands into one list; this help has a list for each group.
pub(super) fn grouped(command: Command) -> Command {
    in_groups(command.mut_subcommand("drive", |drive| in_groups(drive, &OF_DRIVE)), &GROUPS)
}

fn in_groups(command: Command, groups: &[(&str, &[&str])]) -> Command {
    let (lists, options) = (lists(&command, groups), heading(&command, "Options"));
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{lists}\n{options}\n{{options}}{{after-help}}",
    ))
}

fn lists(command: &Command, groups: &[(&str, &[&str])]) -> String {
    let width = groups.iter().flat_map(|(_, names)| names.iter()).map(|name| name.len()).max().unwrap_or(0);
    let literal = command.get_styles().get_literal();
    let mut text = String::new();
    for (title, names) in groups {
        text.push_str(&format!("\n{}\n", heading(command, title)));
        for name in *names {
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
