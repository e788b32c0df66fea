//! What a copy, a verification or a paced writing gave: facts, tables and sentences that text and HTML share.

use iostall_model::kinds::SweetSpot;
use iostall_model::paced::MethodOutcome;
use iostall_model::transfer::{DeviceImage, LimitSide, Mismatch, TransferShape, VerifyMode};
use iostall_model::{CopyOutcome, PacedOutcome, VerifyOutcome};
use iostall_model::{Run, RunBody};

use crate::facts::Fact;
use crate::format::{bytes, count, duration, maybe_duration, number, percent, shown};
use crate::table::{Column, Severity, Table, TableCell};

/// So many files that were not copied are named in a report.
const NOT_COPIED_TOLD: usize = 20;

/// A sentence and how it should stand out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// How.
    pub severity: Severity,
    /// What.
    pub text: String,
}

fn say(severity: Severity, text: impl Into<String>) -> Sentence {
    Sentence { severity, text: text.into() }
}

/// Decimal megabytes a second, as devices and lines are sold.
fn megabytes(bytes_per_second: Option<f64>) -> String {
    bytes_per_second.map_or_else(|| "-".to_owned(), |rate| format!("{} MB/s", number(rate / 1e6)))
}

/// The first words of the report: how much and how fast. `None` for a load.
pub fn headline(run: &Run) -> Option<String> {
    match &run.body {
        RunBody::Copy(copy) => Some(copy_headline(copy)),
        RunBody::Verify(verify) => Some(verify_headline(verify)),
        RunBody::Write(paced) => Some(format!(
            "{} written {}, sampled every {}",
            bytes(paced.methods.iter().map(|method| method.bytes).sum()),
            if paced.methods.len() == 1 {
                "by one method".to_owned()
            } else {
                format!("in {} parts", paced.methods.len())
            },
            bytes(paced.interval_bytes),
        )),
        _ => None,
    }
}

fn copy_headline(copy: &CopyOutcome) -> String {
    let files = copy.counts.files;
    format!(
        "{} in {} file{} copied in {}, {}",
        bytes(copy.bytes),
        count(files),
        if files == 1 { "" } else { "s" },
        duration(copy.elapsed_ns as f64),
        megabytes(copy.megabytes_per_second().map(|rate| rate * 1e6)),
    )
}

fn verify_headline(verify: &VerifyOutcome) -> String {
    let rate = (verify.elapsed_ns > 0).then(|| verify.bytes as f64 / (verify.elapsed_ns as f64 / 1e9));
    format!(
        "{} of {} files as they should be; {} read in {}, {}",
        count(verify.equal),
        count(verify.files),
        bytes(verify.bytes),
        duration(verify.elapsed_ns as f64),
        megabytes(rate),
    )
}

/// What is told beside the numbers; empty for a load.
pub fn facts(run: &Run) -> Vec<Fact> {
    match &run.body {
        RunBody::Copy(copy) => copy_facts(copy),
        RunBody::Verify(verify) => vec![fact("manifest", shown(&verify.manifest))],
        _ => Vec::new(),
    }
}

fn fact(label: &str, value: String) -> Fact {
    Fact { label: label.to_owned(), value }
}

fn copy_facts(copy: &CopyOutcome) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(shape) = &copy.shape {
        facts.push(fact("moved", moved(shape)));
        facts.extend(shape.caching_reasons.iter().map(|reason| fact("buffered", shown(reason))));
        let used = &shape.engine;
        let features = used.features.iter().map(|feature| shown(feature));
        let refused = used.refused.iter().map(|refused| format!("without {}", shown(&refused.to_string())));
        let engine: Vec<String> = [used.name.clone()].into_iter().chain(features).chain(refused).collect();
        facts.push(fact("engine", engine.join(" · ")));
    }
    if let Some(limit) = copy.buffer_time.limit() {
        facts.push(fact("limit", limit_words(copy, limit)));
    }
    facts.extend(copy.image.as_ref().map(|image| fact("device", onto_device(image))));
    facts.push(fact("time", times(copy)));
    let (user, system) = (duration(copy.cpu_user_ns as f64), duration(copy.cpu_system_ns as f64));
    let processor = match copy.cpu_seconds_per_gibibyte() {
        Some(seconds) => format!("{seconds:.2} s a GiB (user {user}, kernel {system})"),
        None => format!("user {user}, kernel {system}"),
    };
    facts.push(fact("processor", processor));
    facts.push(fact("made", made(copy)));
    facts
}

fn moved(shape: &TransferShape) -> String {
    let caching = |caching| if caching == iostall_measure::Caching::Direct { "direct" } else { "buffered" };
    format!(
        "{} a request, {} buffers, at most {} reads and {} writes in flight ({}); read {}, written {}",
        bytes(shape.transfer_bytes.into()),
        shape.buffer_count,
        shape.reads_max,
        shape.writes_max,
        shown(&shape.chosen_because),
        caching(shape.source_caching),
        caching(shape.target_caching),
    )
}

fn onto_device(image: &DeviceImage) -> String {
    let mut text = format!(
        "{}, the first {} of its {} bytes written",
        shown(&image.device),
        count(image.image_bytes + image.padding_bytes),
        count(image.device_bytes),
    );
    if image.padding_bytes > 0 {
        text.push_str(&format!(", the last {} of them zeros", count(image.padding_bytes)));
    }
    if !image.replaced.is_empty() {
        text.push_str(&format!("; what was there: {}", shown(&image.replaced.join(", "))));
    }
    text
}

fn limit_words(copy: &CopyOutcome, limit: LimitSide) -> String {
    let time = &copy.buffer_time;
    let busy_ns = (time.reading_ns + time.hashing_ns + time.writing_ns).max(1) as f64;
    let share = |part_ns: u64| percent(part_ns as f64 / busy_ns);
    format!(
        "{} (buffers: {} of their time reading, {} at checksums, {} writing)",
        limit.name(),
        share(time.reading_ns),
        share(time.hashing_ns),
        share(time.writing_ns),
    )
}

fn times(copy: &CopyOutcome) -> String {
    let mut parts = vec![format!("{} in all", duration(copy.elapsed_ns as f64))];
    for (word, time_ns) in [
        ("reserving room", copy.prepare_ns),
        ("making durable", copy.sync_ns),
        ("reading back", copy.verify_ns),
    ] {
        if time_ns > 0 {
            parts.push(format!("{} {word}", duration(time_ns as f64)));
        }
    }
    parts.join(" · ")
}

fn made(copy: &CopyOutcome) -> String {
    let counts = &copy.counts;
    let mut parts = vec![format!("{} files", count(counts.files))];
    for (number, word) in [
        (counts.small_files, "of them small"),
        (counts.reflinked_files, "of them sharing blocks"),
        (counts.resumed_files, "of them continued"),
        (counts.directories, "directories"),
        (counts.symlinks, "symbolic links"),
        (counts.hard_links, "hard links"),
        (counts.specials, "special files"),
        (counts.skipped_specials, "special files left out"),
        (counts.already_there, "already there"),
    ] {
        if number > 0 {
            parts.push(format!("{} {word}", count(number)));
        }
    }
    for (size, word) in [(copy.hole_bytes, "left as holes"), (copy.kept_bytes, "kept from an earlier try")] {
        if size > 0 {
            parts.push(format!("{} {word}", bytes(size)));
        }
    }
    parts.join(" · ")
}

/// What is to be said in sentences; empty for a load.
pub fn sentences(run: &Run) -> Vec<Sentence> {
    match &run.body {
        RunBody::Copy(copy) => copy_sentences(copy),
        RunBody::Verify(verify) => verify_sentences(verify),
        RunBody::Write(paced) => paced_sentences(paced),
        _ => Vec::new(),
    }
}

fn copy_sentences(copy: &CopyOutcome) -> Vec<Sentence> {
    let mut sentences = mismatches(&copy.mismatches);
    sentences.extend(not_copied(copy));
    let counts = &copy.counts;
    if !copy.settings.resume && counts.resumed_files + counts.already_there > 0 {
        let text = "An earlier try of this copy was continued; with --no-resume everything is copied anew.";
        sentences.push(say(Severity::Plain, text.to_owned()));
    }
    if copy.settings.verify == VerifyMode::ReadBack && copy.mismatches.is_empty() {
        sentences.push(say(
            Severity::Plain,
            format!(
                "Read back and equal: {} file{} ({}). What was read came past the page cache; a cache in the \
                 device or below it may still have answered.",
                count(copy.verified_files),
                if copy.verified_files == 1 { "" } else { "s" },
                copy.settings.hash,
            ),
        ));
    }
    sentences
}

/// A copy that is not whole must not read like one that is.
fn not_copied(copy: &CopyOutcome) -> Vec<Sentence> {
    let failed = copy.not_copied.iter().take(NOT_COPIED_TOLD);
    let mut sentences: Vec<Sentence> = failed
        .map(|failed| {
            say(Severity::Bad, format!("NOT COPIED {}: {}", shown(&failed.path), shown(&failed.message)))
        })
        .collect();
    let more = copy.not_copied.len().saturating_sub(NOT_COPIED_TOLD) as u64;
    if more > 0 {
        sentences
            .push(say(Severity::Bad, format!("NOT COPIED: {} more, which JSON and CSV list.", count(more))));
    }
    if copy.remaining > 0 {
        let text = format!("The copy ended early: {} more were still to be copied.", count(copy.remaining));
        sentences.push(say(Severity::Bad, text));
    }
    sentences
}

fn verify_sentences(verify: &VerifyOutcome) -> Vec<Sentence> {
    let mut sentences = mismatches(&verify.mismatches);
    if verify.unchecked() > 0 {
        let (left, all) = (count(verify.unchecked()), count(verify.files));
        sentences.push(say(
            Severity::Caution,
            format!("{left} of {all} files were NOT CHECKED: it was stopped before."),
        ));
    }
    sentences
}

fn mismatches(mismatches: &[Mismatch]) -> Vec<Sentence> {
    mismatches
        .iter()
        .map(|mismatch| {
            say(Severity::Bad, format!("DIFFERENT {}: {}", shown(&mismatch.path), shown(&mismatch.message)))
        })
        .collect()
}

/// The tables; none for a load, a copy or a verification.
pub fn tables(run: &Run) -> Vec<Table> {
    match &run.body {
        RunBody::Write(paced) => vec![methods_table(paced)],
        _ => Vec::new(),
    }
}

/// A method and, where several paces were tried, its packets a burst.
pub(crate) fn method_name(paced: &PacedOutcome, method: &MethodOutcome) -> String {
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

fn methods_table(paced: &PacedOutcome) -> Table {
    let mut table = Table::new(
        "Methods",
        vec![
            Column::words("method"),
            Column::numbers("written"),
            Column::numbers("MB/s"),
            Column::numbers("with sync").droppable(3),
            Column::numbers("write mean"),
            Column::numbers("p99"),
            Column::numbers("peak"),
            Column::numbers("peak at").droppable(1),
            Column::numbers("intervals MB/s").droppable(2),
            Column::numbers("late bursts"),
            Column::numbers("buffer needed"),
        ],
    );
    for method in &paced.methods {
        let rate = |rate: Option<f64>| rate.map_or_else(|| "-".to_owned(), |rate| number(rate / 1e6));
        // The last one may be a rest that says little.
        let whole_bytes = method.whole_interval_bytes(paced.interval_bytes);
        let whole = method.intervals.iter().filter(|interval| interval.is_most_of(whole_bytes));
        let speeds = whole.filter_map(iostall_model::paced::PacedInterval::bytes_per_second);
        let (low, high) = speeds.fold((f64::MAX, 0.0_f64), |(low, high), at| (low.min(at), high.max(at)));
        let range = if high > 0.0 {
            format!("{} to {}", number(low / 1e6), number(high / 1e6))
        } else {
            "-".to_owned()
        };
        let percentile = method.write_ns.value_at(iostall_measure::Percentile::P99);
        let paced_here = method.pace.period_ns > 0;
        let late = if paced_here {
            format!("{} of {}", count(method.late_bursts), count(method.bursts))
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
            maybe_duration(method.write_ns.mean()).into(),
            maybe_duration(percentile.map(|ns| ns as f64)).into(),
            maybe_duration(method.write_ns.max().map(|ns| ns as f64)).into(),
            bytes(method.peak_offset).into(),
            range.into(),
            late,
            method.buffer_bytes.map_or_else(|| "-".to_owned(), bytes).into(),
        ]);
    }
    table.note("with sync: the same with the sync at the end, which buffered writing owes.");
    table.note("late: a burst that began more than half a period after it was due. buffer needed: what a source that cannot wait must hold.");
    table
}

/// What a sweep over the packets of a burst has found.
fn spot_sentence(paced: &PacedOutcome, spot: &SweetSpot) -> Sentence {
    let method = spot.method.name();
    match paced.step_of(spot) {
        Some(step) => say(
            Severity::Strong,
            format!(
                "{method}: the sweet spot is {} packets a burst: {} with no write slower than {}.",
                count(step.pace.packets_per_burst.into()),
                megabytes(step.bytes_per_second()),
                maybe_duration(step.write_ns.max().map(|ns| ns as f64)),
            ),
        ),
        None => say(
            Severity::Bad,
            format!("{method}: there is no sweet spot: already the first step lost its pace or failed."),
        ),
    }
}

fn paced_sentences(paced: &PacedOutcome) -> Vec<Sentence> {
    let mut sentences: Vec<Sentence> =
        paced.sweet_spots.iter().map(|spot| spot_sentence(paced, spot)).collect();
    for method in &paced.methods {
        let name = method_name(paced, method);
        if let Some(cause) = &method.failed {
            let held = match method.bytes {
                0 => "nothing had been written",
                _ => "its numbers hold for what had been written until then",
            };
            sentences.push(say(Severity::Bad, format!("{name} FAILED: {}; {held}.", shown(cause))));
        }
        if method.intervals_joined > 1 {
            let text = format!(
                "{name}: too many intervals to keep each: {} neighbours are one here, with the largest of their percentiles.",
                count(method.intervals_joined)
            );
            sentences.push(say(Severity::Plain, text));
        }
        if let Some(refused) = &method.refused {
            sentences.push(say(Severity::Caution, format!("{name}: {}", shown(refused))));
        }
        if let Some(change) = &method.change {
            let (before, after) = (change.before_bytes_per_second, change.after_bytes_per_second);
            let (word, severity) =
                if after < before { ("fell", Severity::Bad) } else { ("rose", Severity::Plain) };
            sentences.push(say(
                severity,
                format!(
                    "{name}: after {} had been written, the speed of writing {word} from {} to {} and stayed there \
                     (by chance in fewer than {} of 1000 cases).",
                    bytes(change.at_bytes),
                    megabytes(Some(before)),
                    megabytes(Some(after)),
                    (change.chance * 1000.0).ceil(),
                ),
            ));
        }
        if method.kept_pace() == Some(false) {
            sentences.push(say(
                Severity::Bad,
                format!(
                    "{name}: the pace of {} was not kept: {} of {} bursts began late, the latest by {}.",
                    megabytes(method.pace.bytes_per_second()),
                    count(method.late_bursts),
                    count(method.bursts),
                    duration(method.lateness_ns_max as f64),
                ),
            ));
        }
        if let (Some(buffer), Some(rate)) = (method.buffer_bytes, method.pace.bytes_per_second()) {
            sentences.push(say(
                Severity::Plain,
                format!(
                    "{name}: a source of {} needs a buffer of {} ({} of its data) to lose nothing.",
                    megabytes(Some(rate)),
                    bytes(buffer),
                    duration(buffer as f64 / rate * 1e9),
                ),
            ));
        }
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostall_model::transfer::BufferTime;

    #[test]
    fn a_copy_is_told_with_its_limit_and_its_mismatch() {
        let copy = CopyOutcome {
            bytes: 2_000_000_000,
            elapsed_ns: 2_000_000_000,
            buffer_time: BufferTime {
                reading_ns: 90,
                writing_ns: 10,
                elapsed_ns: 50,
                ..BufferTime::default()
            },
            mismatches: vec![Mismatch {
                path: "/b/x".into(),
                first_offset: Some(7),
                message: "first at byte 7".into(),
            }],
            ..CopyOutcome::default()
        };
        assert!(copy_headline(&copy).contains("1,000 MB/s"), "{}", copy_headline(&copy));
        let limit = copy_facts(&copy).into_iter().find(|fact| fact.label == "limit").unwrap();
        assert!(limit.value.starts_with("source (buffers: 90"), "{}", limit.value);
        assert_eq!(copy_sentences(&copy)[0].text, "DIFFERENT /b/x: first at byte 7");
    }

    /// The start of the process made two bytes look as if a GiB took a week.
    #[test]
    fn a_small_copy_is_not_scaled_up_to_a_gibibyte() {
        let processor = |bytes| {
            let copy = CopyOutcome { bytes, cpu_user_ns: 1_000_000, ..CopyOutcome::default() };
            let facts = copy_facts(&copy);
            facts.into_iter().find(|fact| fact.label == "processor").unwrap().value
        };
        assert!(!processor(2).contains("GiB"), "{}", processor(2));
        assert!(processor(1 << 30).starts_with("0.00 s a GiB"), "{}", processor(1 << 30));
    }
}
