//! The results of a paced write in words.

use iostall_measure::Rate;
use iostall_model::PacedOutcome;
use iostall_model::kinds::SweetSpot;
use iostall_model::paced::MethodOutcome;

use super::methods::method_name;
use crate::format::{NONE, bytes, count, duration, maybe_duration, maybe_throughput, shown, throughput};
use crate::section::Note;
use crate::table::Severity;

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
pub(super) fn answer(paced: &PacedOutcome) -> String {
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

pub(super) fn notes(paced: &PacedOutcome) -> Vec<Note> {
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
            let text = format!(
                "{name}: after {} had been written, the speed of writing {word} from {} to {} and stayed there \
                     (by chance in fewer than {} of 1000 cases).",
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
