//! How much room and time backups will take.

use iostall_model::backup_plan::{BackupPlan, PlanInput, Stage};
use iostall_model::retention::{Period, Rules};
use iostall_session::backup::figures::KeptFigures;
use serde_json::{Value, json};

use crate::format::{NONE, bytes, count, shown, throughput};
use crate::section::{Fact, Layout, Note, Section};
use crate::table::{Column, Severity, Table, TableCell};
use crate::zone::timestamp;

pub fn plan_title(plan: &BackupPlan) -> String {
    let input = &plan.input;
    format!("backup plan: {} every {}", bytes(input.size_bytes), time(input.every_s as f64))
}

pub fn plan_sections(plan: &BackupPlan, kept: Option<&KeptFigures>) -> Vec<Section> {
    let mut facts = facts(&plan.input);
    facts.extend(kept.map(taken_from));
    vec![Section {
        title: "Plan".to_owned(),
        layout: Layout::Facts,
        facts,
        results: Some(table(plan)),
        notes: notes(plan),
        ..Section::default()
    }]
}

pub fn plan_json(plan: &BackupPlan, kept: Option<&KeptFigures>) -> Value {
    let mut value = json!(plan);
    if let (Some(kept), Some(object)) = (kept, value.as_object_mut()) {
        object.insert("taken_from".to_owned(), json!(kept));
    }
    value
}

/// Where figures come from that nobody typed.
fn taken_from(kept: &KeptFigures) -> Fact {
    let days = match kept.backups {
        1 => format!("1 backup of {}", timestamp(kept.last_utc)),
        many => {
            let (first, last) = (timestamp(kept.first_utc), timestamp(kept.last_utc));
            format!("{} backups from {first} to {last}", count(many as u64))
        }
    };
    let growth = match kept.growth_per_year {
        Some(_) => "",
        None => "; they say nothing about growth, which --growth gives",
    };
    Fact::new("taken from", format!("{days} of {}, but for what was typed{growth}", shown(&kept.source)))
}

fn facts(input: &PlanInput) -> Vec<Fact> {
    let growth = match input.growth_per_year * 100.0 {
        percent if percent.abs() < 0.05 => "none".to_owned(),
        percent => format!("{percent:.0} % a year"),
    };
    let rate = |rate: Option<f64>| rate.map_or_else(|| "not given".to_owned(), throughput);
    let mut facts = vec![
        Fact::new("source", format!("{} today, growth {growth}", bytes(input.size_bytes))),
        Fact::new("stored", format!("at {:.2} : 1", input.ratio)),
        Fact::new("kept", rules(&input.rules)),
        Fact::new("backup", rate(input.backup_bytes_per_s)),
        Fact::new("restore", rate(input.restore_bytes_per_s)),
    ];
    facts.extend(input.space_bytes.map(|space| Fact::new("room", bytes(space))));
    facts
}

/// `the last 3, 7 daily, 4 weekly, all within 30d`.
pub(crate) fn rules(rules: &Rules) -> String {
    let last = (rules.last > 0).then(|| format!("the last {}", rules.last));
    let adjective = |period| match period {
        Period::Hour => "hourly",
        Period::Day => "daily",
        Period::Week => "weekly",
        Period::Month => "monthly",
        Period::Year => "yearly",
    };
    let periods = Period::ALL.into_iter().filter(|period| rules.of(*period) > 0);
    let periods = periods.map(|period| format!("{} {}", rules.of(period), adjective(period)));
    let within = rules.within.map(|within| format!("all within {within}"));
    let parts: Vec<String> = last.into_iter().chain(periods).chain(within).collect();
    if parts.is_empty() { "only the last".to_owned() } else { parts.join(", ") }
}

fn table(plan: &BackupPlan) -> Table {
    let mut table = Table::new(
        "Room and time",
        vec![
            Column::words("after"),
            Column::numbers("source").droppable(1),
            Column::numbers("one backup"),
            Column::numbers("kept"),
            Column::numbers("in"),
            Column::numbers("room needed"),
            Column::numbers("backup takes"),
            Column::numbers("restore takes").droppable(2),
        ],
    );
    for stage in &plan.stages {
        table.row(row(plan, stage));
    }
    table.note(
        "room needed: the most until then, of all that are kept with the next one beside them, because an old backup goes only when the \
         new one is whole.",
    );
    table
}

fn row(plan: &BackupPlan, stage: &Stage) -> Vec<TableCell> {
    let is_full = plan.input.space_bytes.is_some_and(|space| stage.needed_bytes > space);
    let severity = if is_full { Severity::Bad } else { Severity::Plain };
    let seconds = |seconds: Option<f64>| seconds.map_or_else(|| NONE.to_owned(), time);
    vec![
        TableCell::from(after(stage.after_days)),
        TableCell::from(bytes(stage.size_bytes)),
        TableCell::from(bytes(stage.backup_bytes)),
        TableCell::from(count(stage.kept)),
        TableCell::from(bytes(stage.kept_bytes)),
        TableCell::from(bytes(stage.needed_bytes)).severity(severity),
        TableCell::from(seconds(stage.backup_s)),
        TableCell::from(seconds(stage.restore_s)),
    ]
}

fn notes(plan: &BackupPlan) -> Vec<Note> {
    let input = &plan.input;
    let mut notes = Vec::new();
    if input.backup_bytes_per_s.is_none() {
        notes.push(Note::plain(
            "How long it takes was not planned: --rate says how fast a backup is, as its last line prints it.",
        ));
    } else if input.restore_bytes_per_s.is_none() {
        notes.push(Note::caution(
            "How long a restore takes was not planned: --restore-rate says how fast one is. Measure it: a restore may be \
             slower than the backup.",
        ));
    }
    let Some(last) = plan.stages.last() else { return notes };
    let needed = format!("{} are needed in {}", bytes(last.needed_bytes), after(last.after_days));
    notes.push(match (plan.full_utc, input.space_bytes) {
        (Some(full), Some(space)) => {
            let (space, full) = (bytes(space), timestamp(full));
            Note::bad(format!("It does NOT fit: {space} are full on {full}, and {needed}."))
        }
        (None, Some(space)) => Note::strong(format!("It fits: {needed}, and there are {}.", bytes(space))),
        (_, None) => Note::strong(format!("{needed}, for {}.", backups(last.needed_kept))),
    });
    notes
}

fn backups(number: u64) -> String {
    if number == 1 {
        "1 backup and the next one".to_owned()
    } else {
        format!("{} backups and the next one", count(number))
    }
}

fn after(days: u64) -> String {
    match days {
        0 => "the first".to_owned(),
        1 => "1 day".to_owned(),
        365 => "1 year".to_owned(),
        days if days.is_multiple_of(365) => format!("{} years", days / 365),
        days => format!("{days} days"),
    }
}

/// `45 s`, `12 min`, `2 h 21 min`, `3 d 4 h`.
fn time(seconds: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative; too large is the largest"
    )]
    let whole = seconds.round() as u64;
    let two = |large: u64, unit: &str, small: u64, below: &str| match small {
        0 => format!("{large} {unit}"),
        small => format!("{large} {unit} {small} {below}"),
    };
    match whole {
        0..100 => format!("{whole} s"),
        100..3_600 => two(whole / 60, "min", whole % 60, "s"),
        3_600..86_400 => two(whole / 3_600, "h", whole % 3_600 / 60, "min"),
        _ => two(whole / 86_400, "d", whole % 86_400 / 3_600, "h"),
    }
}

#[cfg(test)]
mod tests {
    use iostall_model::backup_plan::plan;
    use jiff::tz::TimeZone;

    use super::*;
    use crate::forms::sections_text;
    use crate::text::TextOptions;

    fn input() -> PlanInput {
        PlanInput {
            size_bytes: 5 << 40,
            ratio: 5.0,
            growth_per_year: 0.2,
            every_s: 86_400,
            rules: Rules { daily: 7, weekly: 4, monthly: 12, ..Rules::default() },
            backup_bytes_per_s: Some(618.0 * 1_048_576.0),
            restore_bytes_per_s: None,
            days: 365,
            space_bytes: Some(16 << 40),
        }
    }

    #[test]
    fn a_plan_reads_so() {
        let plan = plan(input(), "2026-01-01T02:00:00Z".parse().unwrap(), &TimeZone::UTC).unwrap();
        let options = TextOptions { width: 120, ..TextOptions::default() };
        insta::assert_snapshot!(sections_text(&plan_title(&plan), &plan_sections(&plan, None), &options));
    }

    #[test]
    fn rules_and_times_read_as_somebody_would_say_them() {
        assert_eq!(rules(&input().rules), "7 daily, 4 weekly, 12 monthly");
        assert_eq!(rules(&Rules::default()), "only the last");
        let shown = [0.4, 99.0, 100.0, 3_600.0, 8_481.0, 86_400.0, 273_600.0].map(time);
        assert_eq!(shown, ["0 s", "99 s", "1 min 40 s", "1 h", "2 h 21 min", "1 d", "3 d 4 h"]);
    }
}
