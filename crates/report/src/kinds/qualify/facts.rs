//! The header of the report: what was tested, and how.

use iostall_model::profile::BlockMix;
use iostall_model::qualify::{Purged, QualifyTest};
use iostall_model::{QualifyOutcome, Run};

use super::words::{mix, stopped};
use crate::fact::Fact;
use crate::format::{bytes, duration, percent, shown};
use crate::point::setting_of;

pub(super) fn shape(outcome: &QualifyOutcome) -> String {
    let plan = &outcome.plan;
    let (test, scale) = (plan.test.name(), plan.scale.name());
    format!(
        "{test}, {scale}: {} of {} each, {}",
        count_of_cells(outcome),
        duration(plan.cell.0 as f64),
        setting_of(plan.queue_depth, plan.workers)
    )
}

fn count_of_cells(outcome: &QualifyOutcome) -> String {
    let counts: Vec<usize> = outcome.plan.stages().iter().map(|stage| stage.cells.len()).collect();
    match counts[..] {
        [1] => "samples".to_owned(),
        [count] => format!("{count} measurements a round"),
        _ => format!("{} stages, measurements", counts.len()),
    }
}

pub(super) fn facts(run: &Run, outcome: &QualifyOutcome) -> Vec<Fact> {
    let plan = &outcome.plan;
    let mixes: Vec<String> = plan.write_pcts.iter().map(|write_pct| mix(*write_pct)).collect();
    let sizes: Vec<String> = plan.sizes.iter().map(|size| BlockMix::single(*size).in_words()).collect();
    let mut facts = vec![
        Fact::new("active range", active_range(run, outcome)),
        Fact::new("data", "random, each block unlike any other"),
        Fact::new("before", before(outcome)),
        Fact::new("mixes", format!("reads/writes {}", mixes.join(", "))),
        Fact::new("sizes", sizes.join(", ")),
        Fact::new("in flight", in_flight(outcome)),
        Fact::new("rounds", rounds(outcome)),
    ];
    if let Some(earlier) = &outcome.resumed {
        facts.push(Fact::new("continues", format!("run {earlier}, whose rounds are the first ones")));
    }
    facts
}

fn in_flight(outcome: &QualifyOutcome) -> String {
    let plan = &outcome.plan;
    let setting = setting_of(plan.queue_depth, plan.workers);
    match plan.test {
        QualifyTest::Throughput | QualifyTest::FastCache => format!("{setting}, direct, in order"),
        QualifyTest::CrossStimulus => format!("{setting}, direct, in order and at random"),
        QualifyTest::Demand | QualifyTest::Depth => format!("up to {setting}, direct, random"),
        _ => format!("{setting}, direct, random"),
    }
}

fn active_range(run: &Run, outcome: &QualifyOutcome) -> String {
    let used = bytes(outcome.active_bytes);
    match run.targets.first() {
        Some(target) if target.size_bytes > outcome.active_bytes => {
            let share = percent(outcome.active_bytes as f64 / target.size_bytes as f64);
            format!("{used} of {} ({share}), from the start of {}", bytes(target.size_bytes), named(run))
        }
        _ => format!("{used}, all of {}", named(run)),
    }
}

fn named(run: &Run) -> String {
    run.targets.first().map_or_else(String::new, |target| shown(&target.path.to_string_lossy()))
}

fn before(outcome: &QualifyOutcome) -> String {
    let done = &outcome.preconditioning;
    let purged = match done.purged {
        Purged::None => "not purged",
        Purged::Discarded => "discarded",
        Purged::Punched => "holes made in the file",
        Purged::Formatted => "formatted with erasure of user data",
        Purged::BlocksErased => "sanitized, all blocks erased",
        Purged::KeyErased => "sanitized, the key of its encryption erased",
    };
    let made = match done.made_bytes {
        0 => String::new(),
        made => format!("the file made ({}); ", bytes(made)),
    };
    if done.written_bytes == 0 {
        return format!("{made}{purged}; nothing written in order");
    }
    format!(
        "{made}{purged}; {} written in order ({:.1} × the active range) in {}",
        bytes(done.written_bytes),
        outcome.fills(done.written_bytes),
        duration(done.elapsed_ns as f64)
    )
}

fn rounds(outcome: &QualifyOutcome) -> String {
    let written = outcome.rounds_bytes();
    let most = outcome.plan.stages().iter().fold(0_u32, |sum, stage| sum.saturating_add(stage.rounds_max));
    format!(
        "{} of {most} at most, {} written ({:.1} × the active range); ended because: {}",
        outcome.rounds.len(),
        bytes(written),
        outcome.fills(written),
        stopped(outcome.stopped)
    )
}
