//! The report of a paced write.

mod charts;
pub mod growing;
mod methods;
mod notes;
mod series;

use iostall_measure::as_typed;
use iostall_model::{PacedOutcome, Run};

use super::give_way;
use super::moved::NoSpans;
use crate::card::{latency_tiles, p99_tile};
use crate::format::{bytes, duration, maybe_duration, maybe_throughput};
use crate::report::Report;
use crate::section::{Layout, Section, Tile};
use crate::table::Severity;

/// The report of a paced write.
pub(super) fn report<'a>(run: &'a Run, paced: &'a PacedOutcome) -> Report<'a> {
    Report {
        run,
        description: String::new(),
        shape: String::new(),
        headline: headline(paced),
        line: Box::new(|| headline(paced)),
        answer: Box::new(|| notes::answer(paced)),
        judgement: Box::new(|| None),
        card: Box::new(|| card(paced)),
        asked: None,
        opens_one_way: false,
        sections: Box::new(|| {
            [Some(section(paced)), give_way::section(paced.gave_way.as_ref())].into_iter().flatten().collect()
        }),
        when_empty: "",
        charts: Box::new(|| {
            let gave_way = paced.gave_way.as_ref().map(give_way::charts);
            [Some(charts::charts(paced)), gave_way].into_iter().flatten().collect()
        }),
        series: Box::new(|| series::series(paced)),
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

/// The speed and the slowest write of each method, then the other times of each.
fn card(paced: &PacedOutcome) -> Vec<Tile> {
    let mut tiles = Vec::new();
    let mut others: [Vec<Tile>; 4] = Default::default();
    for method in paced.methods.iter().filter(|method| method.refused.is_none()) {
        let name = methods::method_name(paced, method);
        let is_lost = method.failed.is_some() || method.kept_pace() == Some(false);
        let (under, severity) =
            if is_lost { ("failed, or did not keep the pace", Severity::Bad) } else { ("", Severity::Plain) };
        let rate = maybe_throughput(method.bytes_per_second());
        tiles.push(Tile { severity, ..Tile::plain(name.clone(), rate, under) });
        let slowest = maybe_duration(method.write_ns.max().map(|ns| ns as f64));
        tiles.push(Tile::plain(format!("{name} slowest write"), slowest, ""));
        let [p50, _, p99_9, mean] = latency_tiles(&format!("{name} write "), &method.write_ns);
        let p99 = p99_tile(&format!("{name} write p99"), &method.write_ns, None);
        let each = [p99, Some(mean), Some(p50), Some(p99_9)];
        others.iter_mut().zip(each).for_each(|(all, one)| all.extend(one));
    }
    let sync_ns = paced.methods.iter().map(|method| method.sync_ns).max().unwrap_or(0);
    let written = paced.methods.iter().map(|method| method.bytes).sum();
    tiles.extend(others.into_iter().flatten());
    tiles.push(Tile::plain("final sync", duration(sync_ns as f64), "the longest"));
    tiles.push(Tile::plain("written", bytes(written), "by all methods"));
    tiles
}

fn section(paced: &PacedOutcome) -> Section {
    Section {
        title: "Result".to_owned(),
        subtitle: headline(paced),
        layout: Layout::Facts,
        notes: notes::notes(paced),
        tables: vec![methods::table(paced)],
        ..Section::default()
    }
}
