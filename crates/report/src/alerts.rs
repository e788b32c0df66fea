//! A file of alerts as text.

use iostall_measure::foreign::shown;
use iostall_measure::number::age;
use iostall_measure::{Rate, as_typed};
use iostall_model::alert::{Condition, Measured, Rule, VolumeLimit};
use iostall_notify::{AlertFile, Channel};

/// Lists rules and channels, one per line. `others` are channels notified by something other than a rule.
pub fn listing(file: &AlertFile, others: &[&String]) -> String {
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
        let is_used =
            file.book.rules.iter().any(|rule| rule.channels.contains(name)) || others.contains(&name);
        let note = if is_used { "" } else { " (nothing notifies it)" };
        text.push_str(&format!("channel {name:?}: {}{note}\n", shown(&transport.describe())));
    }
    text
}

/// Says of rules that they can never fire: whoever wrote them believes to be covered.
pub fn never_fire(never: &[(&str, String)]) -> String {
    let line = |(rule, reason): &(&str, String)| {
        format!("the rule {rule:?} can never fire: {reason} (docs/alerts.md has a table)\n")
    };
    never.iter().map(line).collect()
}

fn condition(rule: &Rule) -> String {
    let seconds = rule.sustained_ns / 1_000_000_000;
    match &rule.condition {
        Condition::Silent => format!("a source silent for {seconds} s"),
        Condition::Undrilled { backup } => {
            let of = backup.as_deref().map_or_else(|| "any backup".to_owned(), shown);
            format!("no good drill of {of} for {} h", seconds / 3600)
        }
        Condition::NotBackedUp { counts } => {
            let counts: Vec<&str> = counts.iter().map(|sort| sort.name()).collect();
            format!("no backup ({}) of a database for {}", counts.join(", "), age(rule.sustained_ns))
        }
        Condition::Limit(VolumeLimit::HeldIops) => {
            format!("held at a number of requests a second for {seconds} s")
        }
        Condition::Limit(VolumeLimit::HeldThroughput) => {
            format!("held at a number of bytes a second for {seconds} s")
        }
        Condition::Limit(VolumeLimit::Draining { credits, refill_iops, within_ns }) => format!(
            "a bucket of {credits} that earns {refill_iops} a second empty within {} for {seconds} s",
            age(*within_ns)
        ),
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
        Measured::StallPerSync => format!("{} ms/sync", limit / 1e6),
        Measured::Syncs => format!("{limit} syncs/s"),
        Measured::Throughput | Measured::HeldThroughput => Rate::BytesPerSecond(limit).to_string(),
        Measured::Iops | Measured::HeldIops => format!("{limit} io/s"),
        Measured::Size => as_typed(limit),
        Measured::BackupAge | Measured::EmptyIn => format!("{} s", limit / 1e9),
    }
}
