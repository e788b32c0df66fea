//! Every command and option as Markdown, from the same description that parses the command line, so that the document cannot
//! promise what the program does not do.

use std::fmt::{self, Write as _};

use clap::{Arg, Command, CommandFactory};

use super::Cli;

const PREFACE: &str = "# Command reference

Made by `cargo run -- reference > docs/reference.md`; do not edit it by hand. The guide by task is
[load.md](load.md).
";

pub(crate) fn reference() -> Result<String, fmt::Error> {
    let mut root = Cli::command();
    root.build();
    let mut text = PREFACE.to_owned();
    write_command(&mut text, &root, true)?;
    Ok(text)
}

/// Writes `command` and its subcommands. Global options are listed only with the root.
fn write_command(text: &mut String, command: &Command, is_root: bool) -> fmt::Result {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    write!(text, "\n## `{name}`\n")?;
    if let Some(about) = command.get_long_about().or(command.get_about()) {
        write!(text, "\n{about}\n")?;
    }
    let usage = command.clone().render_usage().to_string();
    let usage = usage.strip_prefix("Usage:").unwrap_or(&usage);
    write!(text, "\n```text\n")?;
    for line in usage.lines() {
        writeln!(text, "{}", line.trim())?;
    }
    writeln!(text, "```")?;

    let shown: Vec<&Command> = command.get_subcommands().filter(|below| !below.is_hide_set()).collect();
    write_list_of_commands(text, &shown)?;
    let arguments = command.get_arguments().filter(|argument| {
        let everywhere =
            argument.is_global_set() || ["help", "version"].contains(&argument.get_id().as_str());
        !argument.is_hide_set() && (is_root || !everywhere)
    });
    for (heading, arguments) in by_heading(arguments) {
        write!(text, "\n### {heading}\n\n| | |\n|---|---|\n")?;
        for argument in arguments {
            writeln!(text, "| `{}` | {} |", in_cell(&spelling(argument)), in_cell(&meaning(argument)))?;
        }
    }
    if let Some(after) = command.get_after_long_help().or(command.get_after_help()) {
        write!(text, "\n```text\n{after}\n```\n")?;
    }
    shown.into_iter().try_for_each(|below| write_command(text, below, false))
}

fn write_list_of_commands(text: &mut String, commands: &[&Command]) -> fmt::Result {
    if commands.is_empty() {
        return Ok(());
    }
    write!(text, "\n| Command | |\n|---|---|\n")?;
    for command in commands {
        let name = command.get_bin_name().unwrap_or(command.get_name());
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        // Anchors as in rendered Markdown: lower case, hyphens for blanks, no other characters.
        let anchor = name.replace(' ', "-");
        writeln!(text, "| [`{name}`](#{anchor}) | {} |", in_cell(&about))?;
    }
    Ok(())
}

/// Arguments under their headings, both in the order of the help.
fn by_heading<'a>(arguments: impl Iterator<Item = &'a Arg>) -> Vec<(String, Vec<&'a Arg>)> {
    let mut groups: Vec<(String, Vec<&Arg>)> = Vec::new();
    for argument in arguments {
        let plain = if argument.is_positional() { "Arguments" } else { "Options" };
        let heading = argument.get_help_heading().unwrap_or(plain);
        match groups.iter_mut().find(|(known, _)| known == heading) {
            Some((_, group)) => group.push(argument),
            None => groups.push((heading.to_owned(), vec![argument])),
        }
    }
    groups
}

/// `-b, --block-size <SIZE>`.
fn spelling(argument: &Arg) -> String {
    match argument.get_short() {
        Some(short) if argument.get_long().is_some() => format!("-{short}, {argument}"),
        _ => argument.to_string(),
    }
}

/// The help, with possible values, the default and the environment variable.
fn meaning(argument: &Arg) -> String {
    let mut lines = Vec::new();
    let help = argument.get_long_help().or(argument.get_help());
    lines.extend(help.map(ToString::to_string));
    if argument.get_action().takes_values() {
        for value in argument.get_possible_values().iter().filter(|value| !value.is_hide_set()) {
            let help = value.get_help().map(|help| format!(": {help}")).unwrap_or_default();
            lines.push(format!("`{}`{help}", value.get_name()));
        }
        let defaults: Vec<_> =
            argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
        if !defaults.is_empty() {
            lines.push(format!("Default: `{}`", defaults.join(" ")));
        }
    }
    lines.extend(argument.get_env().map(|name| format!("Environment: `{}`", name.to_string_lossy())));
    lines.join("\n")
}

/// `text` for one cell of a table.
fn in_cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', "<br>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_is_told_with_its_values_default_and_environment() {
        let color = Arg::new("color")
            .long("color")
            .short('c')
            .value_name("WHEN")
            .help("Colour | none")
            .value_parser(["auto", "never"])
            .default_value("auto")
            .env("IOSTALL_COLOR");
        let mut command = Command::new("top").arg(color);
        command.build();
        let color = command.get_arguments().find(|argument| argument.get_id() == "color").unwrap();
        assert_eq!(spelling(color), "-c, --color <WHEN>");
        assert_eq!(
            in_cell(&meaning(color)),
            "Colour \\| none<br>`auto`<br>`never`<br>Default: `auto`<br>Environment: `IOSTALL_COLOR`"
        );
    }

    #[test]
    fn a_hidden_command_and_options_of_every_command_are_not_repeated() {
        let mut root = Command::new("top")
            .arg(Arg::new("store").long("store").global(true))
            .subcommand(Command::new("shown").arg(Arg::new("own").long("own")))
            .subcommand(Command::new("secret").hide(true));
        root.build();
        let mut text = String::new();
        write_command(&mut text, &root, true).unwrap();
        assert_eq!(text.matches("--store").count(), 1, "{text}");
        assert!(
            text.contains("## `top shown`") && text.contains("--own") && !text.contains("secret"),
            "{text}"
        );
    }
}
