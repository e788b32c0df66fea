//! `iostall alerts`: whether a file of alerts can be read, and whether notices arrive.

use std::path::Path;

use iostall_measure::clock::utc_now;
use iostall_measure::foreign::shown;
use iostall_model::alert::{Condition, Measured, Notice, Rule};
use iostall_notify::{AlertFile, Channel, deliver};

use crate::cli::{AlertsArgs, AlertsCommand, AlertsTestArgs};
use crate::failure::{Status, hinted};
use crate::printer::Printer;

/// Reads, or tries.
pub(crate) fn run(args: &AlertsArgs, printer: &Printer) -> anyhow::Result<Status> {
    match &args.command {
        AlertsCommand::Check(check) => {
            printer.result(&listing(&read(&check.file)?))?;
            Ok(Status::Done)
        }
        AlertsCommand::Test(test) => try_channels(test, printer),
    }
}

fn read(path: &Path) -> anyhow::Result<AlertFile> {
    AlertFile::read(path).map_err(|error| hinted(error, "docs/alerts.md explains the file"))
}

/// Rules and channels, a line each.
fn listing(file: &AlertFile) -> String {
    let mut text = String::new();
    for rule in &file.book.rules {
        text.push_str(&format!(
            "rule {:?}: {}, tells {}\n",
            rule.name,
            condition(rule),
            shown(&rule.channels.join(", "))
        ));
    }
    for Channel { name, transport, .. } in &file.channels {
        let is_used = file.book.rules.iter().any(|rule| rule.channels.contains(name));
        let note = if is_used { "" } else { " (no rule notifies it)" };
        text.push_str(&format!("channel {name:?}: {}{note}\n", shown(&transport.describe())));
    }
    text
}

fn condition(rule: &Rule) -> String {
    let seconds = rule.sustained_ns / 1_000_000_000;
    match &rule.condition {
        Condition::Silent => format!("a source silent for {seconds} s"),
        Condition::Over { measured, threshold, by_class } => {
            let mut limits: Vec<String> = threshold.iter().map(|limit| amount(*measured, *limit)).collect();
            limits.extend(
                by_class
                    .iter()
                    .map(|(class, limit)| format!("{} {}", shown(class), amount(*measured, *limit))),
            );
            format!("over {} for {seconds} s", limits.join(", "))
        }
    }
}

fn amount(measured: Measured, limit: f64) -> String {
    match measured {
        Measured::StallPerRead => format!("{} ms/read", limit / 1e6),
        Measured::StallPerWrite => format!("{} ms/write", limit / 1e6),
        Measured::StallPerIo => format!("{} ms/io", limit / 1e6),
        Measured::Throughput => format!("{} MB/s", limit / 1e6),
        Measured::Iops => format!("{limit} io/s"),
    }
}

/// Sends a notice through each channel once, of the rule that was named or of the first that tells it.
fn try_channels(args: &AlertsTestArgs, printer: &Printer) -> anyhow::Result<Status> {
    let file = read(&args.file)?;
    let rules: Vec<&Rule> = match &args.rule {
        None => file.book.rules.iter().collect(),
        Some(name) => file.book.rules.iter().filter(|rule| rule.name == *name).collect(),
    };
    let Some(first) = rules.first() else {
        let names: Vec<String> = file.book.rules.iter().map(|rule| format!("{:?}", rule.name)).collect();
        let error = anyhow::anyhow!("there is no rule {:?}", args.rule.as_deref().unwrap_or_default());
        return Err(hinted(error, format!("the rules are {}", names.join(", "))));
    };
    let mut status = Status::Done;
    for channel in &file.channels {
        let rule = rules.iter().find(|rule| rule.channels.contains(&channel.name));
        if rule.is_none() && args.rule.is_some() {
            continue;
        }
        // Somebody is waiting for the answer: once is enough.
        let once = Channel { attempts: 1, ..channel.clone() };
        let notice = Notice::test(rule.unwrap_or(first), utc_now());
        let (name, transport) = (shown(&channel.name), shown(&channel.transport.describe()));
        let line = match deliver(&once, &notice).result {
            Ok(()) => format!("delivered  {name}: {transport}\n"),
            Err(error) => {
                status = Status::No;
                format!("FAILED     {name}: {transport}: {}\n", shown(&error.to_string()))
            }
        };
        printer.result(&line)?;
    }
    Ok(status)
}
