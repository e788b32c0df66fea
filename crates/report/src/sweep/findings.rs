//! What a sweep found, in words.

use iostall_model::{Point, Repeat, Run, SweepOutcome};
use iostall_stats::change::change;
use iostall_stats::knee::{Choice, Sharpness};
use iostall_stats::plateau::plateau;

use super::Found;
use super::command::diskspd;
use crate::chapter::Finding;
use crate::format::{NONE, duration, maybe_duration, number};
use crate::point::{in_words, setting};

/// A change of level below this share is not told.
const CHANGE_MIN: f64 = 0.1;

/// Which setting to use first, then what it rests on.
pub(super) fn findings(run: &Run, outcome: &SweepOutcome, found: &Found<'_>) -> Vec<Finding> {
    let Some(choice) = found.knees.choice else {
        return vec![Finding::doubt("Nothing completed: there is no curve to find a knee on.")];
    };
    let point = found.points[choice.index()];
    let mut findings = vec![used(point, choice), why(outcome, choice)];
    findings.push(commands(run, outcome, point));
    findings.push(sharpness(found));
    findings.extend(limited(found));
    findings.extend(changed(outcome, point));
    findings.extend(generator(found));
    findings
}

fn used(point: &Point, choice: Choice) -> Finding {
    let text = format!("{} ({} in flight): {}", setting(point), point.in_flight(), in_words(point));
    match choice {
        Choice::SloMissed(_) => Finding::doubt(format!("No setting keeps the target. Nearest: {text}")),
        Choice::Slo(_) | Choice::Power(_) => Finding::strong(format!("Use {text}")),
    }
}

fn why(outcome: &SweepOutcome, choice: Choice) -> Finding {
    let target = maybe_duration(outcome.latency_ns_p99_target.map(|target| target as f64));
    Finding::plain(match choice {
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

/// The setting as this program and as DiskSpd take it.
fn commands(run: &Run, outcome: &SweepOutcome, point: &Point) -> Finding {
    let whole = match diskspd(run, outcome, point) {
        Ok(line) => format!("As a whole: {line}"),
        Err(missing) => format!("DiskSpd cannot say the whole: it has no {missing}."),
    };
    // With several targets our workers are a pool.
    let threads = if run.targets.len() > 1 { 'F' } else { 't' };
    Finding::plain(format!(
        "As options: -o{depth} -{threads}{workers} (DiskSpd), --queue-depth {depth} --workers {workers} (iostall load). {whole}",
        depth = point.queue_depth,
        workers = point.workers,
    ))
}

fn sharpness(found: &Found<'_>) -> Finding {
    let name = |index: Option<usize>| index.map_or(NONE.to_owned(), |index| setting(found.points[index]));
    match found.knees.sharpness {
        Sharpness::Sharp => {
            Finding::plain("The knee is sharp: power and Kneedle agree to one step of the sweep.")
        }
        Sharpness::NotSharp => Finding::plain(format!(
            "No sharp knee: power says {}, Kneedle {}. The curve bends slowly; let the latency decide.",
            name(found.knees.power),
            name(found.knees.kneedle)
        )),
        Sharpness::StillRising => Finding::doubt(
            "Throughput was still rising at the last step: the knee may lie beyond. Raise --in-flight-max or --workers-max.",
        ),
        Sharpness::TooFewPoints => {
            Finding::doubt("Too few settings were measured to tell how sharp the knee is.")
        }
    }
}

fn limited(found: &Found<'_>) -> Option<Finding> {
    let flat = plateau(&found.pairs())?;
    Some(Finding::doubt(format!(
        "IOPS stay at {} (largest difference {:.1} %) from {} to {} in flight. A limit (of a cloud volume, an array, a control group) looks like \
         this, a saturated device rarely. At another block size the same IOPS would mean a limit on IOPS, the same MiB/s \
         one on bandwidth: `iostall matrix` tells.",
        number(flat.level),
        flat.spread * 100.0,
        flat.from_in_flight,
        flat.to_in_flight
    )))
}

/// The chosen setting was measured again at the end: whether it gave the same.
fn changed(outcome: &SweepOutcome, point: &Point) -> Option<Finding> {
    let again = outcome.checked.as_ref()?;
    let first = point.repeats.first()?.start_ns;
    let later = again.repeats.first()?.start_ns.saturating_sub(first);
    let series: Vec<f64> = point.repeats.iter().chain(&again.repeats).filter_map(Repeat::iops).collect();
    let side_min = point.repeats.len().min(again.repeats.len()).min(3);
    let found = change(&series, side_min, CHANGE_MIN)?;
    let (verb, cause) = if found.after < found.before {
        ("fell", "burst credits that ran out, a write cache that filled, or somebody else's load")
    } else {
        ("rose", "a cache that filled with the target's data, or somebody else's load that ended")
    };
    Some(Finding::doubt(format!(
        "The same setting, measured again {} later, {verb} from {} to {} IOPS ({:+.0} %): {cause}. Trust neither before a \
         longer run.",
        duration(later as f64),
        number(found.before),
        number(found.after),
        found.share() * 100.0
    )))
}

fn generator(found: &Found<'_>) -> Option<Finding> {
    let lazy = found.curve_points.iter().filter(|point| !point.obeys_little()).count();
    (lazy > 0).then(|| {
        Finding::doubt(format!(
            "{lazy} of {} settings kept less in flight than asked (Little's law is more than 5 % off): there the generator or the \
             system, not the device, set the pace.",
            found.points.len()
        ))
    })
}
