//! The report of a copy.

mod dry_run;

use iostall_model::transfer::{DeviceImage, LimitSide, NotCopied, TransferPoint, TransferShape, VerifyMode};
use iostall_model::{CopyOutcome, Run};

use super::give_way;
use super::moved::{self, NoSpans, limit_pace, mismatches};
use crate::format::{bytes, count, duration, maybe_throughput, percent, shown};
use crate::report::{Field, Report, Series};
use crate::section::{Fact, Layout, Note, Section};

const NOT_COPIED_LISTED: usize = 20;

const HEADER: [&str; 6] = ["start_s", "length_s", "read_bytes", "written_bytes", "not_copied", "message"];

pub(super) fn report<'a>(run: &'a Run, copy: &'a CopyOutcome) -> Report<'a> {
    Report {
        run,
        description: String::new(),
        shape: String::new(),
        headline: headline(copy),
        line: Box::new(|| headline(copy)),
        answer: Box::new(|| answer(copy)),
        judgement: Box::new(|| None),
        asked: None,
        opens_one_way: false,
        sections: Box::new(|| {
            [Some(section(copy)), give_way::section(copy.gave_way.as_ref())].into_iter().flatten().collect()
        }),
        when_empty: "",
        charts: Box::new(|| {
            let gave_way = copy.gave_way.as_ref().map(give_way::charts);
            [Some(moved::charts(&copy.used.series)), gave_way].into_iter().flatten().collect()
        }),
        series: Box::new(|| series(copy)),
        summary: Box::new(|| Box::new(NoSpans::new())),
    }
}

fn rate(copy: &CopyOutcome) -> Option<f64> {
    copy.megabytes_per_second().map(|rate| rate * 1e6)
}

fn section(copy: &CopyOutcome) -> Section {
    Section {
        title: "Result".to_owned(),
        subtitle: headline(copy),
        layout: Layout::Facts,
        notes: notes(copy),
        facts: facts(copy),
        ..Section::default()
    }
}

fn series(copy: &CopyOutcome) -> Series<'_> {
    let point = |point: &TransferPoint| -> Vec<Field<'_>> {
        let (start_s, length_s) = (point.start_ns as f64 / 1e9, point.length_ns as f64 / 1e9);
        vec![
            start_s.into(),
            length_s.into(),
            point.read_bytes.into(),
            point.written_bytes.into(),
            Field::Empty,
            Field::Empty,
        ]
    };
    let failed = copy.not_copied.iter().map(|NotCopied { path, message, .. }| {
        let mut row = vec![Field::Empty; 4];
        row.extend([path.as_str().into(), message.as_str().into()]);
        row
    });
    Series { header: &HEADER, rows: Box::new(copy.used.series.iter().map(point).chain(failed)) }
}

fn headline(copy: &CopyOutcome) -> String {
    if let Some(run) = &copy.dry_run {
        return dry_run::headline(run);
    }
    let files = copy.counts.files;
    format!(
        "{} in {} file{} copied in {}, {}",
        bytes(copy.bytes),
        count(files),
        if files == 1 { "" } else { "s" },
        duration(copy.elapsed_ns as f64),
        maybe_throughput(rate(copy)),
    )
}

fn answer(copy: &CopyOutcome) -> String {
    let limit = match copy.used.buffer_time.limit() {
        None | Some(LimitSide::Both) => None,
        Some(LimitSide::Rate) => {
            Some(limit_pace(copy.gave_way.as_ref(), copy.settings.limit_bytes_per_second))
        }
        Some(side) => Some(format!("the {} set the pace", side.name())),
    };
    let kept = (copy.kept_bytes > 0).then(|| format!("{} kept from an earlier try", bytes(copy.kept_bytes)));
    let unfinished = (copy.unfinished_bytes > 0)
        .then(|| format!("{} more are kept in unfinished files", bytes(copy.unfinished_bytes)));
    let there = copy.counts.already_there;
    let there = (there > 0).then(|| format!("{} already there", count(there)));
    let failed = copy.not_copied.len() + copy.mismatches.len();
    let whole = match failed {
        0 => is_read_back(copy).then(|| format!("{} read back and equal", count(copy.verified_files))),
        _ => Some(format!("{} failed", count(failed as u64))),
    };
    [Some(headline(copy)), unfinished, kept, there, whole, limit]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("; ")
}

/// Whether what was copied has been compared with its source on the medium. An unfinished copy has not.
fn is_read_back(copy: &CopyOutcome) -> bool {
    copy.settings.verify == VerifyMode::ReadBack
        && copy.mismatches.is_empty()
        && copy.remaining == 0
        && copy.verified_files > 0
}

fn fact(label: &str, value: String) -> Fact {
    Fact { label: label.to_owned(), value }
}

fn facts(copy: &CopyOutcome) -> Vec<Fact> {
    if let Some(run) = &copy.dry_run {
        return dry_run::facts(run);
    }
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
    if let Some(limit) = copy.used.buffer_time.limit() {
        facts.push(fact("limit", limit_words(copy, limit)));
    }
    facts.extend(copy.image.as_ref().map(|image| fact("device", onto_device(image))));
    facts.push(fact("time", times(copy)));
    let (user, system) = (duration(copy.used.cpu_user_ns as f64), duration(copy.used.cpu_system_ns as f64));
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
    let time = &copy.used.buffer_time;
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
        (counts.metadata_renewed, "of them with new metadata"),
        (counts.newer_there, "newer there and kept"),
        (counts.excluded, "left out"),
        (counts.deleted, "deleted at the destination"),
        (counts.removed_sources, "sources removed"),
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

fn notes(copy: &CopyOutcome) -> Vec<Note> {
    let mut notes = mismatches(&copy.mismatches);
    notes.extend(not_copied(copy));
    if let Some(run) = &copy.dry_run {
        notes.extend(dry_run::notes(run));
        return notes;
    }
    if copy.has_selected_nothing() {
        let text = "Nothing was selected: the patterns, sizes, times or the list leave everything out.";
        notes.push(Note::caution(text.to_owned()));
    }
    let counts = &copy.counts;
    let was_begun = counts.resumed_files > 0 || (counts.already_there > 0 && !copy.settings.skips_equal);
    if !copy.settings.resume && was_begun {
        let text = "An earlier try of this copy was continued; with --no-resume everything is copied anew.";
        notes.push(Note::plain(text.to_owned()));
    }
    if is_read_back(copy) {
        notes.push(Note::plain(format!(
            "Read back and equal: {} file{} ({}). What was read came past the page cache; a cache in the \
                 device or below it may still have answered.",
            count(copy.verified_files),
            if copy.verified_files == 1 { "" } else { "s" },
            copy.settings.hash,
        )));
    }
    notes
}

/// An incomplete copy must not look like a complete one.
fn not_copied(copy: &CopyOutcome) -> Vec<Note> {
    let failed = copy.not_copied.iter().take(NOT_COPIED_LISTED);
    let mut notes: Vec<Note> = failed
        .map(|NotCopied { what, path, message }| {
            let what = what.name().to_uppercase();
            Note::bad(format!("NOT {what} {}: {}", shown(path), shown(message)))
        })
        .collect();
    let more = copy.not_copied.len().saturating_sub(NOT_COPIED_LISTED) as u64;
    if more > 0 {
        notes.push(Note::bad(format!("NOT DONE: {} more, which JSON and CSV list.", count(more))));
    }
    if copy.unfinished_bytes > 0 {
        let text = format!(
            "{} of unfinished files are durable and kept: the same command goes on from there.",
            bytes(copy.unfinished_bytes)
        );
        notes.push(Note::strong(text));
    }
    if copy.remaining > 0 {
        let text = format!("The copy ended early: {} more were still to be copied.", count(copy.remaining));
        notes.push(Note::bad(text));
    }
    notes
}

#[cfg(test)]
mod tests {
    use iostall_model::TransferUse;
    use iostall_model::transfer::{BufferTime, Mismatch};

    use super::*;

    #[test]
    fn a_copy_is_told_with_its_limit_and_its_mismatch() {
        let copy = CopyOutcome {
            bytes: 2_000_000_000,
            elapsed_ns: 2_000_000_000,
            used: TransferUse {
                buffer_time: BufferTime {
                    reading_ns: 90,
                    writing_ns: 10,
                    elapsed_ns: 50,
                    ..BufferTime::default()
                },
                ..TransferUse::default()
            },
            mismatches: vec![Mismatch {
                path: "/b/x".into(),
                first_offset: Some(7),
                message: "first at byte 7".into(),
            }],
            ..CopyOutcome::default()
        };
        assert!(headline(&copy).contains("954 MiB/s"), "{}", headline(&copy));
        let limit = facts(&copy).into_iter().find(|fact| fact.label == "limit").unwrap();
        assert!(limit.value.starts_with("source (buffers: 90"), "{}", limit.value);
        assert_eq!(notes(&copy)[0].text, "DIFFERENT /b/x: first at byte 7");
    }

    /// The story: somebody moved three terabytes, was told how fast that was, and asked whether they were whole.
    #[test]
    fn the_answer_of_a_copy_says_whether_it_is_whole() {
        let mut copy = CopyOutcome {
            bytes: 2 << 30,
            elapsed_ns: 2_000_000_000,
            kept_bytes: 1 << 30,
            verified_files: 3,
            ..CopyOutcome::default()
        };
        copy.counts.files = 3;
        assert_eq!(
            answer(&copy),
            "2 GiB in 3 files copied in 2.00 s, 1,024 MiB/s; 1 GiB kept from an earlier try"
        );
        copy.settings.verify = VerifyMode::ReadBack;
        assert!(
            answer(&copy).ends_with("; 1 GiB kept from an earlier try; 3 read back and equal"),
            "{}",
            answer(&copy)
        );
        copy.remaining = 1;
        assert!(!answer(&copy).contains("read back"), "{}", answer(&copy));
        // Interrupted after a gibibyte of its one file: not "nothing done".
        let unfinished = CopyOutcome { unfinished_bytes: 1 << 30, remaining: 1, ..CopyOutcome::default() };
        assert!(answer(&unfinished).contains("1 GiB more are kept"), "{}", answer(&unfinished));
    }

    /// Scaling up a copy of two bytes, whose time is mostly program start, reported a week per GiB.
    #[test]
    fn a_small_copy_is_not_scaled_up_to_a_gibibyte() {
        let processor = |bytes| {
            let used = TransferUse { cpu_user_ns: 1_000_000, ..TransferUse::default() };
            let copy = CopyOutcome { bytes, used, ..CopyOutcome::default() };
            let facts = facts(&copy);
            facts.into_iter().find(|fact| fact.label == "processor").unwrap().value
        };
        assert!(!processor(2).contains("GiB"), "{}", processor(2));
        assert!(processor(1 << 30).starts_with("0.00 s a GiB"), "{}", processor(1 << 30));
    }
}
