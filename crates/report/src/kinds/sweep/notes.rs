//! The results of a sweep in words.

use iostall_model::{Point, Run, SweepOutcome};
use iostall_session::analysis::sweep::{LaterChange, SweepAnalysis, later_change};
use iostall_stats::knee::{Choice, Sharpness};

use super::command::diskspd;
use crate::format::{NONE, duration, maybe_duration, number};
use crate::point::{give_or_take, imprecise, in_words};
use crate::section::Note;

pub(super) fn notes(run: &Run, outcome: &SweepOutcome, found: &SweepAnalysis<'_>) -> Vec<Note> {
    let Some(choice) = found.knees.choice else {
        return vec![Note::caution("Nothing completed: there is no curve to find a knee on.")];
    };
    let point = found.points[choice.index()];
    let mut notes = vec![used(point, choice), why(outcome, choice)];
    notes.extend(alike(found));
    notes.push(commands(run, outcome, point));
    notes.push(sharpness(found));
    notes.extend(limited(found));
    notes.extend(changed(outcome, point));
    notes.extend(generator(found));
    notes
}

/// The setting to use, what limits it, and how sure that is.
pub(super) fn answer(outcome: &SweepOutcome) -> String {
    let found = SweepAnalysis::of(outcome);
    let Some(choice) = found.knees.choice else { return "nothing completed".to_owned() };
    let point = found.points[choice.index()];
    let result = format!("{}: {}", point.setting(), in_words(point));
    let mut clauses = vec![match choice {
        Choice::SloMissed(_) => format!("no setting keeps the target, the nearest is {result}"),
        Choice::Slo(_) | Choice::Power(_) => format!("use {result}"),
    }];
    clauses.extend(found.plateau().map(|flat| format!("capped at {} IOPS", number(flat.level))));
    clauses
        .extend(in_flight_alike(&found).map(|(others, last)| {
            format!("{} and {last} in flight cannot be told apart", others.join(", "))
        }));
    clauses.extend(imprecise(&outcome.points, "settings", outcome.precision_pct));
    clauses.join(" · ")
}

/// The numbers in flight of the settings as good as the chosen one, the last apart; `None` if there is only that one.
fn in_flight_alike(found: &SweepAnalysis<'_>) -> Option<(Vec<String>, String)> {
    let in_flight = |index: &usize| found.curve_points[*index].in_flight.to_string();
    let mut alike: Vec<String> = found.alike()?.iter().map(in_flight).collect();
    let last = alike.pop().filter(|_| !alike.is_empty())?;
    Some((alike, last))
}

fn used(point: &Point, choice: Choice) -> Note {
    let (rates, sure) = (in_words(point), give_or_take(point));
    let sure = if sure.is_empty() { " · measured once".to_owned() } else { format!(" · IOPS{sure}") };
    let text = format!("{} ({} in flight): {rates}{sure}", point.setting(), point.in_flight());
    match choice {
        Choice::SloMissed(_) => Note::caution(format!("No setting keeps the target. Nearest: {text}")),
        Choice::Slo(_) | Choice::Power(_) => Note::strong(format!("Use {text}")),
    }
}

fn why(outcome: &SweepOutcome, choice: Choice) -> Note {
    let target = maybe_duration(outcome.latency_ns_p99_target.map(|target| target as f64));
    Note::plain(match choice {
        Choice::Slo(_) => format!("Why: the most throughput whose 99th percentile is within {target}."),
        Choice::SloMissed(_) => {
            format!("Why: every 99th percentile is above {target}; this one is the lowest.")
        }
        Choice::Power(_) => {
            "Why: the most throughput for its latency (power = IOPS / mean latency). A target latency would \
                             be the better judge: --target-latency 5ms."
                .to_owned()
        }
    })
}

fn alike(found: &SweepAnalysis<'_>) -> Option<Note> {
    if found.alike().is_none() {
        return Some(Note::caution(
            "Each setting was measured once, so nothing says how sure this choice is: --repeats-max 3 measures each three times.",
        ));
    }
    let (others, last) = in_flight_alike(found)?;
    Some(Note::caution(format!(
        "{} and {last} in flight cannot be told apart: they differ by less than each varies from one interval to the next. The \
         fewest in flight is the cautious choice; a smaller --precision and a larger --repeats-max tell them apart.",
        others.join(", ")
    )))
}

fn commands(run: &Run, outcome: &SweepOutcome, point: &Point) -> Note {
    let whole = match diskspd(run, outcome, point) {
        Ok(line) => format!("As a whole: {line}"),
        Err(missing) => format!("DiskSpd cannot say the whole: it has no {missing}."),
    };
    // With several targets our workers are a pool.
    let threads = if run.targets.len() > 1 { 'F' } else { 't' };
    Note::plain(format!(
        "As options: -o{depth} -{threads}{workers} (DiskSpd), --queue-depth {depth} --workers {workers} (iostall load). {whole}",
        depth = point.queue_depth,
        workers = point.workers,
    ))
}

fn sharpness(found: &SweepAnalysis<'_>) -> Note {
    let name = |index: Option<usize>| index.map_or(NONE.to_owned(), |index| found.points[index].setting());
    match found.knees.sharpness {
        Sharpness::Sharp => {
            Note::plain("The knee is sharp: power and Kneedle agree to one step of the sweep.")
        }
        Sharpness::NotSharp => Note::plain(format!(
            "No sharp knee: power says {}, Kneedle {}. The curve bends slowly; let the latency decide.",
            name(found.knees.power),
            name(found.knees.kneedle)
        )),
        Sharpness::StillRising => Note::caution(
            "Throughput was still rising at the last step: the knee may lie beyond. Raise --in-flight-max or --workers-max.",
        ),
        Sharpness::TooFewPoints => {
            Note::caution("Too few settings were measured to tell how sharp the knee is.")
        }
    }
}

fn limited(found: &SweepAnalysis<'_>) -> Option<Note> {
    let flat = found.plateau()?;
    Some(Note::caution(format!(
        "IOPS stay at {} (largest difference {:.1} %) from {} to {} in flight. A limit (of a cloud volume, an array, a control group) looks like \
         this, a saturated device rarely. At another block size the same IOPS would mean a limit on IOPS, the same MiB/s \
         one on bandwidth: `iostall matrix` tells.",
        number(flat.level),
        flat.spread * 100.0,
        flat.from_in_flight,
        flat.to_in_flight
    )))
}

/// Whether the chosen setting gave the same result when measured again at the end.
fn changed(outcome: &SweepOutcome, point: &Point) -> Option<Note> {
    let LaterChange { later_ns: later, change: found } = later_change(outcome, point)?;
    let (verb, cause) = if found.after < found.before {
        ("fell", "burst credits that ran out, a write cache that filled, or somebody else's load")
    } else {
        ("rose", "a cache that filled with the target's data, or somebody else's load that ended")
    };
    Some(Note::caution(format!(
        "The same setting, measured again {} later, {verb} from {} to {} IOPS ({:+.0} %): {cause}. Trust neither before a \
         longer run.",
        duration(later as f64),
        number(found.before),
        number(found.after),
        found.share() * 100.0
    )))
}

fn generator(found: &SweepAnalysis<'_>) -> Option<Note> {
    let lazy = found.short_of_depth();
    (lazy > 0).then(|| {
        Note::caution(format!(
            "{lazy} of {} settings kept less in flight than asked (Little's law is more than 5 % off): there the generator or the \
             system, not the device, set the pace.",
            found.points.len()
        ))
    })
}
