//! The report of a paced write.

pub mod growing;

use iostall_measure::{Percentile, Rate, as_typed};
use iostall_model::kinds::SweetSpot;
use iostall_model::paced::{MethodOutcome, PacedInterval};
use iostall_model::{PacedOutcome, Run};
use serde_json::{Value, json};

use super::give_way;
use super::moved::NoSpans;
use crate::chart::{COLOURS, Chart, drawn, figure, latency_axis, rate_axis, rounded, seconds};
use crate::format::{
    NONE, bytes, count, duration, maybe_duration, maybe_throughput, number, shown, throughput,
};
use crate::report::Report;
use crate::section::{Layout, Note, Section};
use crate::table::{Column, Severity, Table, TableCell};

pub(super) fn report<'a>(run: &'a Run, paced: &'a PacedOutcome) -> Report<'a> {
    Report {
        run,
        description: String::new(),
        shape: String::new(),
        headline: headline(paced),
        line: Box::new(|| headline(paced)),
        answer: Box::new(|| answer(paced)),
        judgement: Box::new(|| None),
        asked: None,
        opens_one_way: false,
        sections: Box::new(|| {
            [Some(section(paced)), give_way::section(paced.gave_way.as_ref())].into_iter().flatten().collect()
        }),
        when_empty: "",
        charts: Box::new(|| {
            let gave_way = paced.gave_way.as_ref().map(give_way::charts);
            [Some(charts(paced)), gave_way].into_iter().flatten().collect()
        }),
        series: Box::new(|| growing::series(paced)),
        summary: Box::new(|| Box::new(NoSpans::new())),
    }
}

fn headline(paced: &PacedOutcome) -> String {
    format!(
        "{} written {}, sampled every {}",
        bytes(paced.methods.iter().map(|method| method.bytes).sum()),
        if paced.methods.len() == 1 {
            "by one method".to_owned()
        } else {
            format!("in {} parts", paced.methods.len())
        },
        as_typed(paced.interval_bytes as f64),
    )
}

fn section(paced: &PacedOutcome) -> Section {
    Section {
        title: "Result".to_owned(),
        subtitle: headline(paced),
        layout: Layout::Facts,
        notes: notes(paced),
        tables: vec![table(paced)],
        ..Section::default()
    }
}

fn charts(paced: &PacedOutcome) -> Vec<Chart> {
    let trace = |value: fn(&PacedInterval) -> Option<f64>, hover: &str| -> Vec<Value> {
        let drawn = paced.methods.iter().filter(|method| !method.intervals.is_empty());
        drawn
            .zip(COLOURS.iter().cycle())
            .map(|(method, colour)| {
                let gigabytes = |interval: &PacedInterval| rounded(interval.end_bytes as f64 / 1e9);
                json!({
                    "type": "scatter", "mode": if method.intervals.len() < 3 { "lines+markers" } else { "lines" },
                    "name": method_name(paced, method),
                    "x": method.intervals.iter().map(gigabytes).collect::<Vec<_>>(),
                    "y": method.intervals.iter().map(value).collect::<Vec<_>>(),
                    "line": {"color": colour, "width": 2}, "hovertemplate": hover,
                })
            })
            .collect()
    };
    let written = json!({"title": {"text": "gigabytes written"}, "rangemode": "tozero"});
    drawn([
        Chart {
            id: "peak".into(),
            title: "Peak write time".into(),
            caption: "The slowest write of each interval, against the data written so far.",
            figure: figure(
                &trace(|interval| Some(seconds(interval.write_ns_max.max(1) as f64)), "%{y:.3~s}s"),
                &written,
                &latency_axis(),
                "x unified",
            ),
        },
        Chart {
            id: "speed".into(),
            title: "Throughput".into(),
            caption: "Bytes of each interval over its time, pauses included, against the data written so far.",
            figure: figure(
                &trace(
                    |interval| interval.bytes_per_second().map(|rate| rounded(rate / 1_048_576.0)),
                    "%{y:,.0f} MiB/s",
                ),
                &written,
                &rate_axis("MiB/s"),
                "x unified",
            ),
        },
    ])
}

fn spot_note(paced: &PacedOutcome, spot: &SweetSpot) -> Note {
    let method = spot.method.name();
    match paced.step_of(spot) {
        Some(step) => Note::strong(format!(
            "{method}: the sweet spot is {} packets a burst: {} with no write slower than {}.",
            count(step.pace.packets_per_burst.into()),
            maybe_throughput(step.bytes_per_second()),
            maybe_duration(step.write_ns.max().map(|ns| ns as f64)),
        )),
        None => Note::bad(format!(
            "{method}: there is no sweet spot: already the first step lost its pace or failed."
        )),
    }
}

/// The sweet spots, or each method with its speed and its slowest write.
fn answer(paced: &PacedOutcome) -> String {
    if !paced.sweet_spots.is_empty() {
        let spots = paced.sweet_spots.iter().map(|spot| spot_note(paced, spot).text);
        return spots.map(|text| text.trim_end_matches('.').to_owned()).collect::<Vec<_>>().join(" · ");
    }
    let one = |method: &MethodOutcome| {
        let name = method_name(paced, method);
        if method.refused.is_some() {
            return format!("{name} is not possible here");
        }
        let slowest = maybe_duration(method.write_ns.max().map(|ns| ns as f64));
        let lost = if method.kept_pace() == Some(false) { ", pace lost" } else { "" };
        let failed = if method.failed.is_some() { ", failed" } else { "" };
        format!(
            "{name} {}, slowest write {slowest}{lost}{failed}",
            maybe_throughput(method.bytes_per_second())
        )
    };
    paced.methods.iter().map(one).collect::<Vec<_>>().join(" · ")
}

fn notes(paced: &PacedOutcome) -> Vec<Note> {
    let mut notes: Vec<Note> = paced.sweet_spots.iter().map(|spot| spot_note(paced, spot)).collect();
    for method in &paced.methods {
        let name = method_name(paced, method);
        if let Some(cause) = &method.failed {
            let held = match method.bytes {
                0 => "nothing had been written",
                _ => "its numbers hold for what had been written until then",
            };
            notes.push(Note::bad(format!("{name} FAILED: {}; {held}.", shown(cause))));
        }
        if method.intervals_joined > 1 {
            let text = format!(
                "{name}: too many intervals to keep each: {} neighbours are one here, with the largest of their percentiles.",
                count(method.intervals_joined)
            );
            notes.push(Note::plain(text));
        }
        if let Some(refused) = &method.refused {
            notes.push(Note::caution(format!("{name}: {}", shown(refused))));
        }
        if let Some(change) = &method.change {
            let (before, after) = (change.before_bytes_per_second, change.after_bytes_per_second);
            let (word, severity) =
                if after < before { ("fell", Severity::Bad) } else { ("rose", Severity::Plain) };
            // The chart is of the throughput, pauses included.
            let has_pauses = method.pace.period_ns > 0 || method.pace.delay_ns > 0;
            let pauses = if has_pauses { " Pauses are not in this, and are in the chart." } else { "" };
            let text = format!(
                "{name}: after {} had been written, the speed of writing {word} from {} to {} and stayed there \
                     (by chance in fewer than {} of 1000 cases).{pauses}",
                bytes(change.at_bytes),
                throughput(before),
                throughput(after),
                (change.p_value * 1000.0).ceil(),
            );
            notes.push(Note { severity, text });
        }
        if method.kept_pace() == Some(false) {
            notes.push(Note::bad(format!(
                "{name}: the pace of {} was not kept: {} of {} bursts began late, the latest by {}. No buffer is advised for a pace \
                 that is lost: choose a lower one, or a faster target.",
                method.pace.bytes_per_second().map(Rate::BytesPerSecond).map_or_else(|| NONE.to_owned(), |pace| pace.to_string()),
                count(method.late_bursts),
                count(method.bursts),
                duration(method.lateness_ns_max as f64),
            )));
        }
        if let (Some(buffer), Some(rate)) = (method.advised_buffer_bytes(), method.pace.bytes_per_second()) {
            notes.push(Note::plain(format!(
                "{name}: a source of {} needs a buffer of {} ({} of its data) to lose nothing.",
                Rate::BytesPerSecond(rate),
                bytes(buffer),
                duration(buffer as f64 / rate * 1e9),
            )));
        }
    }
    notes
}

const MIB: f64 = 1_048_576.0;

/// A method, with its packets per burst if several paces were tried.
fn method_name(paced: &PacedOutcome, method: &MethodOutcome) -> String {
    let name = method.method.name();
    let packets = method.pace.packets_per_burst;
    if paced.methods.iter().any(|other| other.pace.packets_per_burst != packets) {
        format!("{name} × {packets}")
    } else {
        name.to_owned()
    }
}

fn method_cell(paced: &PacedOutcome, method: &MethodOutcome) -> TableCell {
    let name = method_name(paced, method);
    match method.failed {
        Some(_) => TableCell::from(format!("{name} (failed)")).severity(Severity::Bad),
        None => TableCell::from(name).severity(Severity::Strong),
    }
}

fn table(paced: &PacedOutcome) -> Table {
    let mut table = Table::new(
        "Methods",
        vec![
            Column::words("method"),
            Column::numbers("written"),
            Column::numbers("MiB/s"),
            Column::numbers("with sync").droppable(3),
            Column::numbers("write mean"),
            Column::numbers("p99"),
            Column::numbers("peak"),
            Column::numbers("peak at").droppable(1),
            Column::numbers("intervals MiB/s").droppable(2),
            Column::numbers("late bursts"),
            Column::numbers("buffer needed"),
        ],
    );
    for method in &paced.methods {
        let rate = |rate: Option<f64>| rate.map_or_else(|| "-".to_owned(), |rate| number(rate / MIB));
        // The last interval may be too short to say much.
        let whole_bytes = method.whole_interval_bytes(paced.interval_bytes);
        let whole = method.intervals.iter().filter(|interval| interval.is_most_of(whole_bytes));
        let speeds = whole.filter_map(PacedInterval::bytes_per_second);
        let (low, high) = speeds.fold((f64::MAX, 0.0_f64), |(low, high), at| (low.min(at), high.max(at)));
        let range = if high > 0.0 {
            format!("{} to {}", number(low / MIB), number(high / MIB))
        } else {
            "-".to_owned()
        };
        let percentile = method.write_ns.value_at(Percentile::P99);
        let paced_here = method.pace.period_ns > 0;
        let late = if paced_here {
            format!("{} of {}", count(method.late_bursts), count(method.bursts))
        } else if method.pace.delay_ns > 0 {
            "it waits".to_owned()
        } else {
            "no pace".to_owned()
        };
        let late = TableCell::from(late).severity(if method.kept_pace() == Some(false) {
            Severity::Bad
        } else {
            Severity::Plain
        });
        table.row(vec![
            method_cell(paced, method),
            bytes(method.bytes).into(),
            rate(method.bytes_per_second()).into(),
            rate(method.durable_bytes_per_second()).into(),
            TableCell::maybe_time(method.write_ns.mean()),
            TableCell::maybe_time(percentile.map(|ns| ns as f64)),
            TableCell::maybe_time(method.write_ns.max().map(|ns| ns as f64)),
            bytes(method.peak_offset).into(),
            range.into(),
            late,
            method.advised_buffer_bytes().map_or_else(|| "-".to_owned(), bytes).into(),
        ]);
    }
    table.note("with sync: the same with the sync at the end, which buffered writing owes.");
    table.note("late: a burst that began more than half a period after it was due. buffer needed: what a source that cannot wait must hold.");
    table
}

#[cfg(test)]
mod tests {
    use iostall_model::paced::{ChangePoint, Pace, WriteMethod};

    use super::*;

    /// "the speed of writing fell from 3,579 MiB/s to 304 MiB/s" stood above a chart that was flat at 95.
    #[test]
    fn a_change_within_the_writes_of_a_paced_source_is_not_that_of_the_chart() {
        let change = ChangePoint {
            at_bytes: 1 << 30,
            before_bytes_per_second: 3e9,
            after_bytes_per_second: 3e8,
            p_value: 0.001,
        };
        let note = |period_ns| {
            let pace = Pace { packet_bytes: 819_200, packets_per_burst: 6, period_ns, delay_ns: 0 };
            let method =
                MethodOutcome { change: Some(change), ..MethodOutcome::new(WriteMethod::Buffered, pace) };
            let outcome = PacedOutcome {
                interval_bytes: 1 << 20,
                total_bytes: None,
                memory_limit_bytes: None,
                methods: vec![method],
                sweet_spots: Vec::new(),
                gave_way: None,
            };
            notes(&outcome)[0].text.clone()
        };
        assert!(note(50_000_000).contains("Pauses"), "{}", note(50_000_000));
        assert!(!note(0).contains("Pauses"), "{}", note(0));
    }
}
