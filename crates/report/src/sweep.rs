//! The report of a sweep: which setting to use and why, the knees, the points.

use iostall_measure::{Caching, Durability, Percent, Percentile};
use iostall_model::profile::Access;
use iostall_model::{Point, Profile, Repeat, RoleProfile, Run, SweepOutcome};
use iostall_qualify::knee::{Choice, CurvePoint, Knees, Sharpness};
use iostall_qualify::throttle::{change, plateau};
use serde::Serialize;

use crate::chapter::{Chapter, Finding};
use crate::format::{NONE, duration, maybe_duration, maybe_number, number, percent};
use crate::point::{in_words, precision, setting};
use crate::table::{Column, Table, TableCell, Tone};
use crate::{facts, tables};

/// A change of level below this share is not told.
const CHANGE_MIN: f64 = 0.1;

/// A sweep with its knees.
pub(crate) struct Found<'a> {
    /// Every point in which something completed.
    pub(crate) points: Vec<&'a Point>,
    /// The same as numbers, in the same order.
    pub(crate) curve_points: Vec<CurvePoint>,
    /// Indices are into both.
    pub(crate) knees: Knees,
}

impl<'a> Found<'a> {
    pub(crate) fn of(outcome: &'a SweepOutcome) -> Self {
        let (points, curve_points): (Vec<&Point>, Vec<CurvePoint>) =
            outcome.points.iter().filter_map(|point| Some((point, CurvePoint::of(point)?))).unzip();
        let target = outcome.latency_ns_p99_target.map(|target| target as f64);
        let knees = Knees::of(&curve_points, target);
        Self { points, curve_points, knees }
    }

    /// `(in flight, IOPS)` along the curve.
    pub(crate) fn pairs(&self) -> Vec<(f64, f64)> {
        let point = |index: &usize| &self.curve_points[*index];
        self.knees.curve.iter().map(|index| (point(index).in_flight as f64, point(index).iops)).collect()
    }

    fn is_power(&self, index: usize) -> bool {
        self.knees.power == Some(index)
    }
}

/// Whether a latency target was set and no setting met it.
pub fn target_missed(outcome: &SweepOutcome) -> bool {
    matches!(Found::of(outcome).knees.choice, Some(Choice::SloMissed(_)))
}

/// The one chapter of a sweep.
pub(crate) fn chapters(run: &Run, outcome: &SweepOutcome) -> Vec<Chapter> {
    let found = Found::of(outcome);
    let chosen = found.knees.choice.map(|choice| found.points[choice.index()]);
    let details = chosen.and_then(|point| {
        tables::ladder(&format!("Latency percentiles at {}", setting(point)), &point.latency_ns)
    });
    vec![Chapter {
        title: "The sweet spot".to_owned(),
        findings: findings(run, outcome, &found),
        tables: vec![knees_table(&found, outcome), points_table(&found, outcome)],
        details: details.into_iter().collect(),
    }]
}

fn findings(run: &Run, outcome: &SweepOutcome, found: &Found<'_>) -> Vec<Finding> {
    let Some(choice) = found.knees.choice else {
        return vec![Finding::doubt("Nothing completed: there is no curve to find a knee on.")];
    };
    let point = found.points[choice.index()];
    let mut findings = vec![used(point, choice), why(outcome, choice)];
    findings.extend(commands(run, outcome, point));
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
fn commands(run: &Run, outcome: &SweepOutcome, point: &Point) -> Option<Finding> {
    let role = outcome.profile.spans.first()?.roles.first()?;
    let paths: Vec<String> = run.targets.iter().map(|target| facts::path(&target.path)).collect();
    Some(Finding::plain(format!(
        "As options: -o{depth} -t{workers} (DiskSpd), --queue-depth {depth} --workers {workers} (iostall load). As a whole: \
         {} {}",
        diskspd(role, point),
        paths.join(" "),
        depth = point.queue_depth,
        workers = point.workers,
    )))
}

fn diskspd(role: &RoleProfile, point: &Point) -> String {
    let access = if role.access == Access::Random { "-r" } else { "-s" };
    let caching = match (role.caching, role.durability) {
        (Caching::Direct, Durability::WriteThrough) => " -Sh",
        (Caching::Direct, Durability::None) => " -Su",
        (Caching::Buffered, Durability::WriteThrough) => " -Sw",
        (Caching::Buffered, Durability::None) => "",
    };
    let writes = role.write_pct.percent().round();
    let size = role.block_size.largest().bytes();
    let size = if size.is_multiple_of(1024) { format!("{}K", size / 1024) } else { size.to_string() };
    format!(
        "diskspd -d60 -b{size} -o{} -t{} {access} -w{writes}{caching} -L",
        point.queue_depth, point.workers
    )
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

fn knees_table(found: &Found<'_>, outcome: &SweepOutcome) -> Table {
    let mut table = Table::new(
        "Knees",
        vec![
            Column::words("by"),
            Column::words("setting"),
            Column::numbers("in flight"),
            Column::numbers("IOPS"),
            Column::numbers("mean"),
            Column::numbers("p99"),
        ],
    );
    let mut row = |by: String, index: Option<usize>| {
        let point = index.map(|index| (found.points[index], &found.curve_points[index]));
        table.row(match point {
            None => std::iter::once(by.into()).chain((0..5).map(|_| NONE.into())).collect(),
            Some((point, numbers)) => vec![
                by.into(),
                setting(point).into(),
                numbers.in_flight.to_string().into(),
                number(numbers.iops).into(),
                duration(numbers.latency_ns_mean).into(),
                tables::percentile_cell(&point.latency_ns, Percentile::P99),
            ],
        });
    };
    if let Some(target) = outcome.latency_ns_p99_target {
        row(format!("latency: p99 within {}", duration(target as f64)), found.knees.slo);
    }
    row("power: most IOPS / latency".to_owned(), found.knees.power);
    row("Kneedle: bend of the curve".to_owned(), found.knees.kneedle);
    if let Some(usl) = &found.knees.usl {
        let peak = match usl.peak() {
            Some(peak) => format!("peak at {} in flight", number(peak)),
            None => "no peak".to_owned(),
        };
        table.note(&format!(
            "Universal scalability law through the curve: contention {}, coherence {}, {peak}.",
            percent(usl.contention),
            if usl.coherence > 0.0 { format!("{:.1e}", usl.coherence) } else { "0".to_owned() }
        ));
    }
    table
}

fn points_table(found: &Found<'_>, outcome: &SweepOutcome) -> Table {
    let columns = vec![
        Column::numbers("depth"),
        Column::numbers("workers"),
        Column::numbers("in flight"),
        Column::numbers("IOPS"),
        Column::numbers("±").droppable(4),
        Column::numbers("MiB/s"),
        Column::numbers("mean").droppable(3),
        Column::numbers("p50").droppable(1),
        Column::numbers("p99"),
        Column::numbers("power").droppable(5),
        Column::numbers("by Little").droppable(2),
        Column::words("knee"),
    ];
    let mut table = Table::new("Settings", columns);
    let mut order: Vec<usize> = (0..found.points.len()).collect();
    order.sort_by_key(|index| (found.points[*index].in_flight(), found.points[*index].workers));
    let best = found.knees.power.map_or(1.0, |index| found.curve_points[index].power());
    for index in order {
        table.row(point_cells(found, index, best, outcome.precision_pct));
    }
    table.note(
        "± is half the 95 % confidence interval of IOPS; power is IOPS / mean latency, in % of the best.",
    );
    table.note("by Little: requests in flight by Little's law (IOPS × mean latency); ? is more than 5 % off what was asked.");
    table
}

fn point_cells(found: &Found<'_>, index: usize, best: f64, precision_pct: f64) -> Vec<TableCell> {
    let (point, numbers) = (found.points[index], &found.curve_points[index]);
    let sure = match precision(point) {
        None => TableCell::from(NONE),
        Some(share) if share * 100.0 > precision_pct => {
            TableCell::from(format!("{}?", percent(share))).tone(Tone::Doubt)
        }
        Some(share) => percent(share).into(),
    };
    let little = number(numbers.in_flight_by_little());
    let little = if numbers.obeys_little() {
        TableCell::from(little)
    } else {
        TableCell::from(format!("{little}?")).tone(Tone::Doubt)
    };
    let marks: Vec<&str> = [
        (found.knees.slo == Some(index), "latency"),
        (found.is_power(index), "power"),
        (found.knees.kneedle == Some(index), "Kneedle"),
    ]
    .into_iter()
    .filter_map(|(is, word)| is.then_some(word))
    .collect();
    let chosen = found.knees.choice.is_some_and(|choice| choice.index() == index);
    let tone = if chosen { Tone::Strong } else { Tone::Plain };
    vec![
        TableCell::from(point.queue_depth.to_string()).tone(tone),
        point.workers.to_string().into(),
        point.in_flight().to_string().into(),
        TableCell::from(number(numbers.iops)).tone(tone),
        sure,
        maybe_number(point.mib_per_s()).into(),
        duration(numbers.latency_ns_mean).into(),
        tables::percentile_cell(&point.latency_ns, Percentile::P50),
        tables::percentile_cell(&point.latency_ns, Percentile::P99),
        format!("{:.0} %", numbers.power() / best * 100.0).into(),
        little,
        TableCell::from(marks.join(", ")).tone(tone),
    ]
}

/// The findings for scripts.
#[derive(Debug, Serialize)]
pub(crate) struct SweepSummary {
    knees: Vec<KneeSummary>,
    sharpness: &'static str,
    target_missed: bool,
    usl: Option<UslSummary>,
    plateau_iops: Option<f64>,
    findings: Vec<String>,
}

#[derive(Debug, Serialize)]
struct KneeSummary {
    by: &'static str,
    queue_depth: u32,
    workers: u32,
    in_flight: u64,
    iops: f64,
    latency_ns_p99: f64,
    /// This is the one to use.
    recommended: bool,
}

#[derive(Debug, Serialize)]
struct UslSummary {
    contention: f64,
    coherence: f64,
    throughput_of_one_iops: f64,
    peak_in_flight: Option<f64>,
    limit_iops: Option<f64>,
    residual_iops: f64,
}

impl SweepSummary {
    pub(crate) fn of(run: &Run, outcome: &SweepOutcome) -> Self {
        let found = Found::of(outcome);
        let knees = &found.knees;
        let chosen = match knees.choice {
            Some(Choice::Slo(_)) => "latency",
            Some(Choice::Power(_)) => "power",
            Some(Choice::SloMissed(_)) | None => "",
        };
        let all = [("latency", knees.slo), ("power", knees.power), ("kneedle", knees.kneedle)];
        let summary = |(by, index): (&'static str, Option<usize>)| {
            let index = index?;
            Some(KneeSummary {
                by,
                queue_depth: found.points[index].queue_depth,
                workers: found.points[index].workers,
                in_flight: found.curve_points[index].in_flight,
                iops: found.curve_points[index].iops,
                latency_ns_p99: found.curve_points[index].latency_ns_p99,
                recommended: by == chosen,
            })
        };
        Self {
            knees: all.into_iter().filter_map(summary).collect(),
            sharpness: match knees.sharpness {
                Sharpness::Sharp => "sharp",
                Sharpness::NotSharp => "not-sharp",
                Sharpness::StillRising => "still-rising",
                Sharpness::TooFewPoints => "too-few-points",
            },
            target_missed: matches!(knees.choice, Some(Choice::SloMissed(_))),
            usl: knees.usl.map(|usl| UslSummary {
                contention: usl.contention,
                coherence: usl.coherence,
                throughput_of_one_iops: usl.throughput_of_one,
                peak_in_flight: usl.peak(),
                limit_iops: usl.limit(),
                residual_iops: usl.residual,
            }),
            plateau_iops: plateau(&found.pairs()).map(|flat| flat.level),
            findings: findings(run, outcome, &found).into_iter().map(|finding| finding.text).collect(),
        }
    }
}

/// What a sweep was asked to do, in words.
pub(crate) fn asked(profile: &Profile) -> String {
    let role = profile.spans.first().and_then(|span| span.roles.first());
    let shape = role.map(facts::role_shape).unwrap_or_default();
    let reads_only = role.is_none_or(|role| role.write_pct <= Percent::ZERO);
    let order = if reads_only {
        ""
    } else {
        "; writes wear the storage in, so that later settings meet an older device"
    };
    format!("{shape}{order}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::json::{JsonLayout, read_json, write_json};
    use crate::text::{TextOptions, write_text};
    use iostall_model::RunBody;

    fn outcome(run: &mut Run) -> &mut SweepOutcome {
        match &mut run.body {
            RunBody::Sweep(outcome) => outcome,
            _ => unreachable!("the fixture is a sweep"),
        }
    }

    fn text(run: &Run) -> String {
        let mut text = String::new();
        write_text(run, &TextOptions { width: 120, ..TextOptions::default() }, &mut text).unwrap();
        text
    }

    fn in_a_line(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn json(run: &Run) -> serde_json::Value {
        let mut bytes = Vec::new();
        write_json(run, JsonLayout::Pretty, &mut bytes).unwrap();
        assert_eq!(&read_json(&bytes).unwrap(), run);
        serde_json::from_slice(&bytes).unwrap()
    }

    #[test]
    fn the_report_of_a_sweep_reads_so() {
        insta::assert_snapshot!(text(&fixture::sweep()));
    }

    #[test]
    fn a_script_finds_the_setting_to_use() {
        let value = json(&fixture::sweep());
        let knees = value["summary"]["sweep"]["knees"].as_array().unwrap();
        let to_use: Vec<_> = knees.iter().filter(|knee| knee["recommended"] == true).collect();
        assert_eq!(to_use.len(), 1);
        assert_eq!(to_use[0]["by"], "latency");
        assert_eq!(value["summary"]["points"].as_array().unwrap().len(), 8);
        assert!(value["summary"]["sweep"]["plateau_iops"].as_f64().is_some());
    }

    #[test]
    fn a_target_that_no_setting_meets_is_told_and_the_nearest_is_shown() {
        let mut run = fixture::sweep();
        outcome(&mut run).latency_ns_p99_target = Some(1000);
        assert!(target_missed(outcome(&mut run)));
        assert!(in_a_line(&text(&run)).contains("No setting keeps the target. Nearest: depth 4"));
        assert!(!target_missed(outcome(&mut fixture::sweep())));
    }

    #[test]
    fn storage_that_gives_less_at_the_end_is_not_trusted() {
        let mut run = fixture::sweep();
        assert!(!text(&run).contains("measured again"));
        for repeat in &mut outcome(&mut run).checked.as_mut().unwrap().repeats {
            repeat.count /= 10;
            repeat.start_ns += 40_000_000_000;
        }
        let said = in_a_line(&text(&run));
        assert!(
            said.contains(
                "measured again 40.0 s later, fell from 40,100 to 4,010 IOPS (-90 %): burst credits"
            ),
            "{said}"
        );
    }

    #[test]
    fn a_sweep_that_was_stopped_at_once_is_reported_without_a_false_number() {
        let mut run = fixture::sweep();
        let outcome = outcome(&mut run);
        (outcome.points, outcome.checked) = (Vec::new(), None);
        let text = text(&run);
        assert!(text.contains("nothing measured") && !text.contains("NaN"), "{text}");
        let value = json(&run);
        assert!(value["summary"]["sweep"]["knees"].as_array().unwrap().is_empty());
        let mut page = String::new();
        crate::html::write_html(&run, &mut page).unwrap();
        assert!(!page.contains("class=\"chart\""));
    }

    #[test]
    fn the_page_of_a_sweep_draws_the_curve_with_its_knee_and_target() {
        let mut page = String::new();
        crate::html::write_html(&fixture::sweep(), &mut page).unwrap();
        assert!(page.contains("id=\"span-1-curve\"") && page.contains("p99 target"));
        assert!(page.contains("iostall sweep report"));
    }
}
