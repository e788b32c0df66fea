//! What was found, in sentences.

use iostall_model::LimitsOutcome;
use iostall_model::limits::LimitsEnd;
use iostall_session::analysis::limits::{Accounting, Bucket, Ceiling, Counted, Credit, Found, Sharing};

use super::{first_reads, volume_log};
use crate::format::{bytes, duration, number, percent, throughput};
use crate::section::Note;

/// An amount of requests or bytes.
fn amount(counted: Counted, value: f64) -> String {
    match counted {
        Counted::Requests => format!("{} requests", number(value)),
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts saturate")]
        Counted::Bytes => bytes(value as u64),
    }
}

pub(super) fn rate(counted: Counted, per_s: f64) -> String {
    match counted {
        Counted::Requests => format!("{} IOPS", number(per_s)),
        Counted::Bytes => throughput(per_s),
    }
}

fn of_bucket(bucket: &Bucket) -> String {
    format!(
        "a bucket of {}: {} for {} under full load, then {}",
        amount(bucket.counted, bucket.size),
        rate(bucket.counted, bucket.burst_per_s),
        duration(bucket.lasted_s * 1e9),
        rate(bucket.counted, bucket.refill_per_s)
    )
}

pub(super) fn answer(outcome: &LimitsOutcome, found: &Found) -> String {
    let mut parts = first_reads::answer(outcome);
    parts.extend(volume_log::answer(outcome));
    if outcome.plan.is_search() {
        parts.extend(of_search(found));
    }
    parts.join("; ")
}

fn of_search(found: &Found) -> Vec<String> {
    let mut parts = vec![match &found.credit {
        Credit::Bucket(bucket) => of_bucket(bucket),
        Credit::Unconfirmed(bucket) => format!("perhaps {}", of_bucket(bucket)),
        Credit::Fall { .. } | Credit::None { .. } => "no bucket".to_owned(),
        Credit::NotMeasured => "nothing was found out about a bucket".to_owned(),
    }];
    let is_bucket = matches!(found.credit, Credit::Bucket(_) | Credit::Unconfirmed(_));
    let ceilings = [(Counted::Requests, found.iops), (Counted::Bytes, found.bytes)];
    for (counted, ceiling) in ceilings {
        let Some(ceiling) = ceiling else { continue };
        let shown = rate(counted, ceiling.per_s);
        if ceiling.is_held && !is_bucket {
            parts.push(format!("held at {shown}"));
        } else if !is_bucket {
            parts.push(format!("up to {shown}"));
        }
    }
    parts
}

pub(super) fn ended(end: LimitsEnd) -> &'static str {
    match end {
        LimitsEnd::Complete => "everything was measured",
        LimitsEnd::Time => "the time was up",
        LimitsEnd::Bytes => "the bytes were used up",
        LimitsEnd::Interrupted => "it was interrupted",
    }
}

pub(super) fn notes(outcome: &LimitsOutcome, found: &Found) -> Vec<Note> {
    let mut notes = first_reads::notes(outcome);
    notes.extend(volume_log::notes(outcome));
    if outcome.plan.is_search() {
        notes.extend(notes_of_search(outcome, found));
    }
    notes
}

fn notes_of_search(outcome: &LimitsOutcome, found: &Found) -> Vec<Note> {
    let mut notes = credit(&found.credit);
    let ceilings = [(Counted::Requests, found.iops), (Counted::Bytes, found.bytes)];
    for (counted, ceiling) in ceilings {
        notes.extend(ceiling.map(|ceiling| of_ceiling(counted, &ceiling)));
    }
    notes.extend(accounting(found.accounting));
    notes.extend(found.sharing_iops.map(|sharing| of_sharing(Counted::Requests, sharing)));
    notes.extend(found.sharing_bytes.map(|sharing| of_sharing(Counted::Bytes, sharing)));
    match outcome.ended {
        LimitsEnd::Complete => {}
        LimitsEnd::Time => notes
            .push(Note::caution("The time was up before everything was measured: --time-limit allows more.")),
        LimitsEnd::Bytes => notes.push(Note::caution(
            "The bytes were used up before everything was measured: --byte-limit allows more.",
        )),
        LimitsEnd::Interrupted => {
            notes.push(Note::caution("It was interrupted: what stands here is what was found until then."));
        }
    }
    notes
}

fn credit(credit: &Credit) -> Vec<Note> {
    match credit {
        Credit::Bucket(bucket) => {
            let earned = bucket.earned_per_s.map_or_else(String::new, |earned| {
                format!(" A pause gave back {} for each second.", amount(bucket.counted, earned))
            });
            vec![
                Note::strong(format!("It spends credits: {}.{earned}", of_bucket(bucket))),
                Note::plain(format!(
                    "Empty, it takes {} without any load until it is full again, and this search has emptied it.",
                    duration(bucket.size / bucket.refill_per_s * 1e9)
                )),
            ]
        }
        Credit::Unconfirmed(bucket) => vec![Note::caution(format!(
            "The rate fell as that of {} does. Whether a pause fills it again was not tried: there was no time for it. --time-limit \
             allows more.",
            of_bucket(bucket)
        ))],
        Credit::Fall { counted, before, after } => vec![Note::caution(format!(
            "No bucket: the rate fell from {} to {}, but after a pause it did not come back and fall again as that of a bucket does. A \
             neighbour, a cache or heat explain that.",
            rate(*counted, *before),
            rate(*counted, *after)
        ))],
        Credit::None { counted, spent } => vec![Note::strong(format!(
            "No bucket: the rate did not fall while {} were asked for. One that holds more would not have shown.",
            amount(*counted, *spent)
        ))],
        Credit::NotMeasured => {
            vec![Note::caution("Whether there is a bucket was not measured.")]
        }
    }
}

fn of_ceiling(counted: Counted, ceiling: &Ceiling) -> Note {
    let shown = rate(counted, ceiling.per_s);
    let varies =
        ceiling.variation.map_or_else(String::new, |share| format!(" (it varies by {})", percent(share)));
    if ceiling.is_held {
        Note::strong(format!(
            "Held at {shown}{varies}: as flat as only a limit is, the same for two sizes, while each request alone is answered at once."
        ))
    } else {
        Note::plain(format!(
            "Up to {shown}{varies}, which may be a limit or what the device can do: they cannot be told apart here."
        ))
    }
}

fn accounting(accounting: Accounting) -> Option<Note> {
    let size = |size: u32| bytes(size.into());
    Some(Note::plain(match accounting {
        Accounting::Each { up_to } => format!("Each request counts as one, up to {} at least.", size(up_to)),
        Accounting::Units { unit_bytes } => format!(
            "A request counts once for every {} of it: one of 256 KiB is {} of {}.",
            size(unit_bytes),
            (262_144 / unit_bytes.max(1)).max(1),
            size(unit_bytes)
        ),
        Accounting::Bytes => "Only bytes count, whatever the size of the requests.".to_owned(),
        Accounting::Unknown => return None,
    }))
}

fn of_sharing(counted: Counted, sharing: Sharing) -> Note {
    let said = |alone: f64, together: f64| {
        format!("together {}, alone {} in sum", rate(counted, together), rate(counted, alone))
    };
    match sharing {
        Sharing::Own { alone_per_s, together_per_s } => Note::plain(format!(
            "The two targets have limits of their own: {}.",
            said(alone_per_s, together_per_s)
        )),
        Sharing::Shared { alone_per_s, together_per_s } => Note::strong(format!(
            "The two targets share a limit, which is that of the machine, its link, or a device under both: {}.",
            said(alone_per_s, together_per_s)
        )),
        Sharing::Unclear { alone_per_s, together_per_s } => Note::caution(format!(
            "Whether the two targets share a limit is not clear: {}.",
            said(alone_per_s, together_per_s)
        )),
    }
}
