//! The HTML reports in a real browser, headless: they draw, they answer the mouse, they complain of nothing and
//! ask for nothing. A probe script is added to the page; what it saw comes back in the dumped document.

mod browser;
#[path = "../../src/fixture/mod.rs"]
#[expect(dead_code, reason = "the unit tests use the rest")]
mod fixture;
mod looks;

use browser::{assert_quiet, opened, words};
use iostall_model::{Run, RunId};
use iostall_report::compare::ComparisonDocument;
use iostall_report::{Report, write_comparison_html, write_html, write_watch_html};
use iostall_session::analysis::comparison::Comparison;
use iostall_session::comparison::MeasuredSide;
use iostall_session::output::Form;
use iostall_session::requirements::comparison_verdicts;
use iostall_watch::windows::{WatchComparison, fixture as watched};
use serde_json::Value;
use uuid::Uuid;

fn page(run: &Run) -> String {
    let mut page = String::new();
    write_html(&Report::of(run), &mut page).unwrap();
    page
}

/// The identity of every chart with how many of `what` are drawn in it.
fn counts<'a>(seen: &'a Value, what: &str) -> Vec<(&'a str, u64)> {
    let charts = seen["charts"].as_array().unwrap();
    charts.iter().map(|chart| (chart["id"].as_str().unwrap(), chart[what].as_u64().unwrap())).collect()
}

fn assert_drawn(seen: &Value) {
    for chart in seen["charts"].as_array().unwrap() {
        assert!(chart["drawn"].as_u64() >= Some(1) && chart["bar"].as_u64() > Some(3), "{chart}");
        // The story: the legend of many lines lay over the axis below the plot, and neither could be read.
        assert_eq!(chart["covered"], Value::Array(Vec::new()), "{chart}");
    }
}

#[test]
fn the_page_draws_its_charts_and_answers_the_mouse_without_a_complaint_or_a_request() {
    let Some((seen, log)) = opened(&page(&fixture::run())) else { return };
    assert_quiet(&seen, &log);
    assert_eq!(seen["title"], "oltp · iostall load report");
    assert_eq!(seen["lang"], "en");
    assert_eq!(
        counts(&seen, "lines"),
        [
            ("span-1-percentiles", 7),
            ("span-1-distribution", 7),
            ("span-1-iops", 4),
            ("span-1-throughput", 3),
            ("span-1-latency", 12),
        ]
    );
    assert_drawn(&seen);
    let hovers = words(&seen["hovers"]);
    assert!(hovers[0].contains("took at most") && hovers[0].contains('s'), "{hovers:?}");
    assert!(hovers[1].contains("took at most"), "{hovers:?}");
    assert!(hovers[2].contains("2,100 IOPS"), "{hovers:?}");
    assert!(hovers[3].contains("16.4 MiB/s"), "{hovers:?}");
    assert!(hovers[4].contains("data read p99") && hovers[4].contains("ms"), "{hovers:?}");
}

#[test]
fn the_page_shows_the_tables_and_the_warnings_and_fits_its_window() {
    let Some((seen, _)) = opened(&page(&fixture::run())) else { return };
    assert_eq!(
        words(&seen["tables"]),
        [
            "Rates and latency",
            "Open loop",
            "Processor",
            "Devices, as the kernel counted",
            "Errors",
            "Latency percentiles of data",
            "Latency percentiles of log",
        ]
    );
    assert!(seen["warningsHeight"].as_f64() > Some(40.0));
    assert!(seen["warnings"].as_str().unwrap().contains("the target (8 GiB) fits in memory (32 GiB)"));
    assert!(seen["text"].as_str().unwrap().contains("1.78 ms"));
    assert_eq!(seen["overflow"], 0, "the page scrolls sideways");
}

/// Two roles were the most that a page had been looked at with; a profile may have a dozen, with long names.
#[test]
fn a_legend_of_many_long_names_covers_nothing() {
    let mut run = fixture::run();
    let load = fixture::load_mut(&mut run);
    let like = load.spans[0].roles[0].clone();
    for number in 0..6 {
        let mut role = like.clone();
        role.name = format!("pages of the tenant with number {number} and a long name");
        load.spans[0].roles.push(role);
    }
    let Some((seen, log)) = opened(&page(&run)) else { return };
    assert_quiet(&seen, &log);
    assert_drawn(&seen);
    assert_eq!(seen["overflow"], 0, "the page scrolls sideways");
}

#[test]
fn a_hostile_run_is_shown_as_text_and_runs_no_script() {
    let Some((seen, log)) = opened(&page(&fixture::hostile())) else { return };
    assert_quiet(&seen, &log);
    assert!(
        words(&seen["headings"])[0].starts_with("</script><script>alert(1)</script>"),
        "{}",
        seen["headings"]
    );
    assert_eq!(seen["charts"].as_array().unwrap().len(), 5);
    // The chart library has a markup of its own: the name's tags must come out as text there too.
    let legend = words(&seen["legend"]);
    assert!(legend[0].contains("</script>\"'&<b>") && legend[0].ends_with(" read"), "{legend:?}");
    assert_eq!(seen["links"], 0);
    assert_eq!(seen["overflow"], 0, "the page scrolls sideways");
}

#[test]
fn a_run_that_measured_nothing_opens_without_a_complaint() {
    let Some((seen, log)) = opened(&page(&fixture::empty())) else { return };
    assert_quiet(&seen, &log);
    assert!(seen["charts"].as_array().unwrap().is_empty());
    assert!(seen["text"].as_str().unwrap().contains("there is nothing to draw"));
}

#[test]
fn the_page_of_a_sweep_draws_its_curve_the_setting_to_use_and_the_target() {
    let Some((seen, log)) = opened(&page(&fixture::sweep())) else { return };
    assert_quiet(&seen, &log);
    assert_eq!(counts(&seen, "lines"), [("span-1-curve", 5), ("span-1-depth", 1)]);
    assert_drawn(&seen);
    assert_eq!(seen["overflow"], 0, "the page scrolls sideways");
    let legend = words(&seen["legend"]);
    assert!(legend.iter().any(|label| label.starts_with("use ")), "{legend:?}");
}

#[test]
fn the_page_of_a_matrix_draws_a_map_a_device_and_a_family_of_curves_a_pattern() {
    let Some((seen, log)) = opened(&page(&fixture::matrix())) else { return };
    assert_quiet(&seen, &log);
    let all = ["span-1-heat-0", "span-1-heat-1", "span-1-curves-0", "span-1-curves-1"];
    let with = |counts: [u64; 4]| all.into_iter().zip(counts).collect::<Vec<_>>();
    assert_eq!(counts(&seen, "maps"), with([1, 1, 0, 0]));
    assert_eq!(counts(&seen, "lines"), with([0, 0, 4, 4]));
    assert_drawn(&seen);
    let hovers = words(&seen["hovers"]);
    assert!(hovers[0].contains("depth"), "{hovers:?}");
    assert_eq!(seen["overflow"], 0, "the page scrolls sideways");
}

#[test]
fn the_page_of_a_watched_window_draws_broken_lines_and_shades_what_is_not_known() {
    let mut text = String::new();
    write_watch_html(&watched::report(), &watched::series(), &mut text).unwrap();
    let Some((seen, log)) = opened(&text) else { return };
    assert_quiet(&seen, &log);
    assert_eq!(
        counts(&seen, "lines"),
        [
            ("span-1-rates", 6),
            // Of the file that only writes, no bytes read are told.
            ("span-1-bytes", 5),
            // It has no reads, so no stall of them.
            ("span-1-read-stall", 2),
            ("span-1-write-stall", 3),
            ("span-1-queue", 3),
            ("span-1-distribution", 3),
        ]
    );
    let shades = counts(&seen, "shades");
    assert!(shades[..5].iter().all(|(_, shades)| *shades == 2), "a gap and a reset: {shades:?}");
    assert_drawn(&seen);
    let hovers = words(&seen["hovers"]);
    assert!(hovers[2].contains("per read") && hovers[2].contains("ms"), "{hovers:?}");
    let legend = words(&seen["legend"]);
    assert!(legend.iter().any(|label| label.contains("(submission only if asynchronous)")), "{legend:?}");
    assert_eq!(words(&seen["tables"]), ["Where lines are broken", "Most time waited first"]);
    assert!(seen["warnings"].as_str().unwrap().contains("<this> login"));
    assert_eq!(seen["overflow"], 0, "the page scrolls sideways");
}

#[test]
fn the_page_of_two_windows_draws_them_side_by_side() {
    let both = WatchComparison { before: watched::report_of(1), after: watched::report_of(3) };
    let mut text = String::new();
    write_comparison_html(&both, &mut text).unwrap();
    let Some((seen, log)) = opened(&text) else { return };
    assert_quiet(&seen, &log);
    assert_eq!(counts(&seen, "bars"), [("span-1-stall", 3), ("span-1-rates", 2)]);
    assert_drawn(&seen);
    assert_eq!(words(&seen["headings"])[0], "Files, two windows held against each other");
    assert!(seen["text"].as_str().unwrap().contains("+200"));
    assert_eq!(seen["overflow"], 0, "the page scrolls sideways");
}

/// Three runs against each other, one of a hostile name, with a requirement.
fn comparison() -> String {
    let run = |id: u128, run: Run| Run { id: RunId(Uuid::from_u128(id)), ..run };
    let side = |label: &str, run: Run| MeasuredSide { label: label.into(), runs: vec![run] };
    let sides = [
        side("before", run(1, fixture::run())),
        side("after", run(2, fixture::two_spans())),
        side("</script><b>, with a name that is longer than a telephone is wide", run(3, fixture::hostile())),
    ];
    let comparison = Comparison::of(&sides);
    let verdicts = comparison_verdicts(&comparison, &["no-regression".parse().unwrap()]);
    let document = ComparisonDocument::of_runs("Comparison of before, after".into(), &comparison, verdicts);
    let mut page = Vec::new();
    document.write(Form::Html, &mut page).unwrap();
    String::from_utf8(page).unwrap()
}

/// Everything that a page can show: a report of each kind, two spans, a hostile name, both reports of watched sources, and a
/// comparison.
fn every_page() -> Vec<(&'static str, String)> {
    let runs = [
        ("load", fixture::run()),
        ("two spans", fixture::two_spans()),
        ("hostile", fixture::hostile()),
        ("sweep", fixture::sweep()),
        ("matrix", fixture::matrix()),
        ("max rate", fixture::max_rate(500_000)),
        ("fsync", fixture::fsync()),
        ("copy", fixture::copy()),
        ("write", fixture::write()),
    ];
    let mut pages: Vec<_> = runs.iter().map(|(name, run)| (*name, page(run))).collect();
    let mut window = String::new();
    write_watch_html(&watched::report(), &watched::series(), &mut window).unwrap();
    pages.push(("window", window));
    let both = WatchComparison { before: watched::report_of(1), after: watched::report_of(3) };
    let mut windows = String::new();
    write_comparison_html(&both, &mut windows).unwrap();
    pages.push(("two windows", windows));
    pages.push(("comparison", comparison()));
    pages
}

/// The story: a report in a ticket was opened on a telephone at night.
#[test]
fn every_page_can_be_read_on_a_telephone_and_at_a_desk_in_light_and_in_dark() {
    let pages = every_page();
    for dark in [false, true] {
        let Some(seen) = looks::looked_at(&pages, dark) else { return };
        assert_eq!(seen.len(), 2 * pages.len());
        for look in seen {
            assert_eq!((&look["dark"], &look["width"]), (&Value::from(dark), &look["seenWidth"]), "{look}");
            assert_eq!(look["overflow"], 0, "it scrolls sideways: {look}");
            assert_eq!(look["faint"], Value::Array(Vec::new()), "{look}");
            // The story: between 2 and 8 ms there is no power of ten, and the axis had no number at all.
            assert_eq!(look["bare"], Value::Array(Vec::new()), "a chart without numbers: {look}");
        }
    }
}
