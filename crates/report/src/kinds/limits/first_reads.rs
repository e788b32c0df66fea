//! First reads against second ones, and every block read once, in sentences.

use iostall_model::LimitsOutcome;
use iostall_model::limits::{LimitsTask, ReadAll};
use iostall_session::analysis::first_reads::{Filling, SlowReads, filling};

use crate::format::{bytes, count, duration, maybe_throughput, number, percent};
use crate::section::{Fact, Note};

fn found(outcome: &LimitsOutcome) -> Option<Filling> {
    outcome.first_reads.as_ref().map(filling)
}

/// `24 times as long (12.0 ms against 0.5 ms)`.
fn times(slow: &SlowReads) -> String {
    format!(
        "{} times as long as second ones ({} against {})",
        number(slow.times()),
        duration(slow.first_ns),
        duration(slow.again_ns)
    )
}

/// The main clauses, before those of the search.
pub(super) fn answer(outcome: &LimitsOutcome) -> Vec<String> {
    let is_alone = outcome.plan.task == LimitsTask::FirstReads;
    let mut parts = Vec::new();
    parts.extend(match found(outcome) {
        Some(Filling::Yes(slow)) => Some(format!(
            "still being filled from its snapshot: first reads take {} times as long as second ones",
            number(slow.times())
        )),
        Some(Filling::No) if is_alone => Some("first reads are as fast as second ones".to_owned()),
        Some(Filling::Cached(_)) if is_alone => {
            Some("second reads are faster because a cache answers them".to_owned())
        }
        Some(Filling::Unclear(slow)) => Some(format!(
            "first reads take {} times as long as second ones, and why is not clear",
            number(slow.times())
        )),
        Some(Filling::NotMeasured) | None if is_alone => {
            Some("first reads were not compared with second ones".to_owned())
        }
        _ => None,
    });
    parts.extend(outcome.read_all.as_ref().map(of_all));
    parts
}

fn of_all(read: &ReadAll) -> String {
    if read.is_whole() {
        match read.failed {
            0 => "every block was read".to_owned(),
            failed => format!("every block was read but those of {} pieces of 1 MiB", count(failed)),
        }
    } else {
        let share = read.to_bytes as f64 / read.whole_bytes.max(1) as f64;
        format!("{} of {} are read ({})", bytes(read.to_bytes), bytes(read.whole_bytes), percent(share))
    }
}

pub(super) fn facts(outcome: &LimitsOutcome) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(reads) = &outcome.first_reads {
        let late = match reads.late.len() {
            0 => String::new(),
            late => format!(", {} elsewhere, {late} pairs", bytes(reads.between_bytes)),
        };
        let said = format!("{} pairs of {}{late}", reads.soon.len(), reads.block_size);
        facts.push(Fact::new("first and second reads", said));
    }
    if let Some(read) = &outcome.read_all {
        facts.push(Fact::new("rate", maybe_throughput(read.bytes_per_s())));
        facts.push(Fact::new("begun at", bytes(read.from_bytes)));
    }
    facts
}

pub(super) fn notes(outcome: &LimitsOutcome) -> Vec<Note> {
    let mut notes = found(outcome).map_or_else(Vec::new, |found| of_first(outcome, &found));
    if outcome.plan.task == LimitsTask::FirstReads && outcome.first_reads.is_none() {
        notes.push(Note::caution("The target is too small for that: 32 MiB are needed at least."));
    }
    notes.extend(outcome.read_all.iter().flat_map(of_read));
    notes
}

fn of_first(outcome: &LimitsOutcome, found: &Filling) -> Vec<Note> {
    let between = bytes(outcome.first_reads.as_ref().map_or(0, |reads| reads.between_bytes));
    match found {
        Filling::Yes(slow) => {
            let mut notes = vec![
                Note::strong(format!(
                    "First reads take {}: this volume is still being filled from its snapshot. Of the blocks that were looked at, {} are \
                     not there yet. Blocks that had been read stayed fast after {between} of other reads, so a cache would have to be \
                     larger than that.",
                    times(slow),
                    percent(slow.share)
                )),
                Note::plain(
                    "A database meets that with its first queries, its backup and its first restart. `iostall drive limits --read-all` \
                     reads every block once.",
                ),
            ];
            if outcome.plan.is_search() {
                notes.push(Note::caution("The limits below are those of a volume that is being filled."));
            }
            notes
        }
        Filling::No => Vec::new(),
        Filling::Cached(slow) => vec![Note::plain(format!(
            "First reads take {}, but after {between} of other reads the same blocks were slow again: a cache answered, and no snapshot \
             is being fetched.",
            times(slow)
        ))],
        Filling::Unclear(slow) => vec![Note::caution(format!(
            "First reads take {}. A cache explains that as well as a volume that is still being filled from its snapshot: after {between} of \
             other reads it did not show. --first-reads with a longer --time-limit looks for longer.",
            times(slow)
        ))],
        Filling::NotMeasured => vec![Note::caution(
            "First reads were not compared with second ones: there was no time for it, or reads failed.",
        )],
    }
}

fn of_read(read: &ReadAll) -> Vec<Note> {
    let mut notes = Vec::new();
    if !read.is_whole() {
        notes.push(Note::caution(format!(
            "{} are left: the same command with --resume goes on at {}.",
            bytes(read.whole_bytes.saturating_sub(read.to_bytes)),
            bytes(read.to_bytes)
        )));
    }
    if read.failed > 0 {
        let places: Vec<String> = read.failed_at.iter().map(|offset| format!("byte {offset}")).collect();
        notes.push(Note::strong(format!(
            "{} pieces of 1 MiB could not be read, the first at {}: what is there is lost, or the device is failing. `dmesg` says more.",
            count(read.failed),
            places.join(", ")
        )));
    }
    notes
}
