//! The report of a backup.

use iostall_model::figures::per_second;
use iostall_model::stripe::BackupShape;
use iostall_model::transfer::LimitSide;
use iostall_model::{BackupOutcome, Run};

use super::give_way;
use super::moved::{self, NoSpans, limit_pace};
use super::striped::{self, each, limit_fact, limit_name, processed};
use crate::format::{bytes, count, duration, maybe_throughput, shown};
use crate::report::Report;
use crate::section::{Fact, Layout, Note, Section};
use crate::zone::timestamp;

const PAGES_LISTED: usize = 100;

/// What the target is called where it sets the pace.
const TARGET: &str = "slowest stripe";

pub(super) fn report<'a>(run: &'a Run, backup: &'a BackupOutcome) -> Report<'a> {
    Report {
        run,
        description: String::new(),
        shape: String::new(),
        headline: line(backup),
        line: Box::new(|| line(backup)),
        answer: Box::new(|| answer(backup)),
        judgement: Box::new(|| None),
        asked: None,
        opens_one_way: false,
        sections: Box::new(|| {
            [Some(section(backup)), give_way::section(backup.gave_way.as_ref())]
                .into_iter()
                .flatten()
                .collect()
        }),
        when_empty: "",
        charts: Box::new(|| {
            let gave_way = backup.gave_way.as_ref().map(give_way::charts);
            [Some(moved::charts(&backup.used.series)), gave_way].into_iter().flatten().collect()
        }),
        series: Box::new(|| striped::series(&backup.used.series)),
        summary: Box::new(|| Box::new(NoSpans::new())),
    }
}

fn ratio(backup: &BackupOutcome) -> Option<String> {
    backup.ratio().map(|ratio| format!("{ratio:.2} : 1"))
}

/// In the form of BACKUP's last message, with the rates of source, compressor and targets apart.
fn line(backup: &BackupOutcome) -> String {
    let mut parts = vec![format!("processed {}", processed(backup.pages(), backup.bytes, backup.elapsed_ns))];
    if backup.shape.compression != "none" {
        parts.extend(ratio(backup).map(|ratio| format!("compressed {ratio}")));
    }
    let rate = |amount: u64| maybe_throughput(per_second(amount as f64, backup.elapsed_ns));
    let mut rates = format!("source {}", rate(backup.bytes));
    if backup.shape.compression != "none" && backup.compressed_bytes > 0 {
        rates.push_str(&format!(", compressed {}", rate(backup.compressed_bytes)));
    }
    if !is_to_null(backup) {
        rates.push_str(&format!(", written {}", rate(backup.stored_bytes)));
    }
    if let Some(each) = each(&backup.stripes, backup.elapsed_ns).filter(|_| backup.stripes.len() > 1) {
        rates.push_str(&format!(", {each}"));
    }
    parts.push(rates);
    parts.join("; ")
}

/// The same, with whether there is a backup now and what set the pace.
fn answer(backup: &BackupOutcome) -> String {
    let state = match &backup.manifest {
        Some(manifest) => format!("whole and durable: {}", shown(manifest)),
        None if is_to_null(backup) => "to null, so nothing was kept".to_owned(),
        None => "NOT COMPLETED: there is no backup".to_owned(),
    };
    let bad = backup.bad_pages.len() as u64;
    let bad = (bad > 0).then(|| format!("{} with a wrong checksum in the database", pages(bad)));
    let limit = match backup.used.buffer_time.limit() {
        None | Some(LimitSide::Both) => None,
        Some(LimitSide::Rate) => {
            Some(limit_pace(backup.gave_way.as_ref(), backup.shape.limit_bytes_per_second))
        }
        Some(LimitSide::Hash) => Some("the CPU set the pace".to_owned()),
        Some(side) => Some(format!("the {} set the pace", limit_name(side, TARGET))),
    };
    [Some(line(backup)), Some(state), bad, limit].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// Whether it measured everything but the targets.
fn is_to_null(backup: &BackupOutcome) -> bool {
    backup.stripes.iter().any(|stripe| stripe.path == "null:")
}

fn pages(number: u64) -> String {
    if number == 1 { "1 page".to_owned() } else { format!("{} pages", count(number)) }
}

fn section(backup: &BackupOutcome) -> Section {
    Section {
        title: "Result".to_owned(),
        subtitle: line(backup),
        layout: Layout::Facts,
        notes: notes(backup),
        facts: facts(backup),
        tables: striped::stripes(&backup.stripes, backup.elapsed_ns).into_iter().collect(),
        ..Section::default()
    }
}

fn facts(backup: &BackupOutcome) -> Vec<Fact> {
    let sources = backup.sources.iter().map(|source| Fact::new("source", shown(source)));
    let mut facts: Vec<Fact> = sources.collect();
    facts.extend(backup.through.map(|through| Fact::new("through", through.name().to_owned())));
    facts.extend(backup.set.as_ref().map(|set| Fact::new("set", shown(set))));
    facts.extend(backup.manifest.as_ref().map(|manifest| Fact::new("manifest", shown(manifest))));
    facts.extend(
        backup
            .object_lock
            .filter(|_| backup.is_whole())
            .map(|lock| Fact::new("locked", format!("until {} ({})", timestamp(lock.until_utc), lock.mode))),
    );
    if let Some(base) = backup.bases.first() {
        let more = match backup.bases.len() - 1 {
            0 => String::new(),
            1 => ", which is based on another one".to_owned(),
            more => format!(", which is based on {more} others"),
        };
        // An increment that the server has made was not compared.
        let same = match backup.base_bytes {
            0 => String::new(),
            same => format!("; {} are as they were there", bytes(same)),
        };
        let of = backup.base_source.as_ref().map(|source| format!(" of {}", shown(source)));
        let at = backup.base_made_utc.map(|at| format!(", made on {}", timestamp(at)));
        let of = [of, at].into_iter().flatten().collect::<String>();
        facts.push(Fact::new("base", format!("{}{of}{more}{same}", shown(base))));
    }
    facts.push(Fact::new("moved", moved_by(&backup.shape)));
    facts.extend(backup.shape.caching_reasons.iter().map(|reason| Fact::new("buffered", shown(reason))));
    let encryption = backup.shape.encryption.as_ref();
    facts.push(Fact::new("encryption", encryption.map_or_else(|| "none".to_owned(), |words| shown(words))));
    facts.extend(limit_fact(&backup.used.buffer_time, TARGET));
    let holes = (backup.hole_bytes > 0).then(|| format!(" · {} of holes left out", bytes(backup.hole_bytes)));
    let changed = (!backup.bases.is_empty())
        .then(|| format!(", {} of them changed", bytes(backup.bytes.saturating_sub(backup.base_bytes))));
    let files =
        if backup.files == 1 { "1 file".to_owned() } else { format!("{} files", count(backup.files)) };
    facts.push(Fact::new(
        "size",
        format!(
            "{} in {files}{}, stored as {}{}",
            bytes(backup.bytes),
            changed.unwrap_or_default(),
            bytes(backup.stored_bytes),
            holes.unwrap_or_default()
        ),
    ));
    let (all, sync) = (duration(backup.elapsed_ns as f64), duration(backup.sync_ns as f64));
    facts.push(Fact::new("time", format!("{all} in all · {sync} making durable")));
    facts.push(striped::cpu(backup.used.cpu_user_ns, backup.used.cpu_system_ns, backup.bytes));
    if let Some(checked) = backup.pages_checked {
        let bad = backup.bad_pages.len() as u64;
        facts.push(Fact::new("pages", format!("{} checked, {} wrong", count(checked), count(bad))));
    }
    facts
}

fn moved_by(shape: &BackupShape) -> String {
    let caching = |is_direct| if is_direct { "direct" } else { "buffered" };
    format!(
        "{} a transfer, {} a frame, {} buffers, {} worker{}, compression {}; read {}, written {}",
        bytes(shape.transfer_bytes.into()),
        bytes(shape.frame_bytes.into()),
        shape.buffer_count,
        shape.worker_count,
        if shape.worker_count == 1 { "" } else { "s" },
        shown(&shape.compression),
        caching(shape.reads_directly),
        caching(shape.writes_directly),
    )
}

fn notes(backup: &BackupOutcome) -> Vec<Note> {
    let mut notes = Vec::new();
    if !backup.is_whole() && !is_to_null(backup) {
        notes.push(Note::bad(
            "NOT COMPLETED: there is no manifest, so nothing of it can be taken for a backup. Run it again: nothing \
             has to be cleaned up first.",
        ));
    }
    let bad = backup.bad_pages.iter();
    notes.extend(bad.take(PAGES_LISTED).map(|page| Note::bad(format!("WRONG PAGE {}", shown(page)))));
    let more = backup.bad_pages.len().saturating_sub(PAGES_LISTED) as u64;
    if more > 0 {
        notes.push(Note::bad(format!("WRONG PAGE: {} more, which JSON lists.", count(more))));
    }
    notes
}

#[cfg(test)]
mod tests {
    use iostall_model::stripe::StripeUse;
    use iostall_model::transfer::BufferTime;
    use iostall_model::{GiveWay, TransferUse};

    use super::*;

    fn backup() -> BackupOutcome {
        BackupOutcome {
            set: Some("00ff".into()),
            manifest: Some("/b1/shop.iob.manifest".into()),
            page_bytes: Some(8192),
            bytes: 1 << 30,
            compressed_bytes: 3 << 27,
            stored_bytes: 1 << 29,
            elapsed_ns: 2_000_000_000,
            shape: BackupShape { compression: "zstd:1".into(), ..BackupShape::default() },
            ..BackupOutcome::default()
        }
    }

    /// The story: the published 618 MB/s counted 150 GB of source, of which 25 were written, and nobody could tell.
    #[test]
    fn the_rates_of_source_and_target_are_apart() {
        assert_eq!(
            line(&backup()),
            "processed 131072 pages (1 GiB) in 2.000 seconds (512.000 MB/sec); compressed 2.00 : 1; \
             source 512 MiB/s, compressed 192 MiB/s, written 256 MiB/s"
        );
        let stripe = StripeUse { path: "null:".into(), bytes: 1 << 29, ..StripeUse::default() };
        let null = BackupOutcome { stripes: vec![stripe], ..backup() };
        assert!(
            line(&null).ends_with("source 512 MiB/s, compressed 192 MiB/s"),
            "nothing was written: {}",
            line(&null)
        );
    }

    /// The story: a backup that gave way was slow, and its last line blamed a --limit that nobody had set.
    #[test]
    fn what_set_the_pace_is_who_it_gave_way_to() {
        let buffer_time = BufferTime { reading_ns: 1, held_ns: 9, elapsed_ns: 10, ..BufferTime::default() };
        let gave_way = GiveWay { source: "postgres://db1".into(), ..GiveWay::default() };
        let backup = BackupOutcome {
            used: TransferUse { buffer_time, ..TransferUse::default() },
            gave_way: Some(gave_way),
            ..backup()
        };
        assert!(
            answer(&backup).ends_with("; giving way to postgres://db1 set the pace"),
            "{}",
            answer(&backup)
        );
    }

    #[test]
    fn the_answer_says_whether_there_is_a_backup_now() {
        assert!(answer(&backup()).ends_with("; whole and durable: /b1/shop.iob.manifest"));
        let stopped = BackupOutcome { set: None, manifest: None, ..backup() };
        assert!(answer(&stopped).ends_with("; NOT COMPLETED: there is no backup"));
        assert!(notes(&stopped)[0].text.contains("Run it again"));
        let stripe = StripeUse { path: "null:".into(), ..StripeUse::default() };
        let null = BackupOutcome { set: None, manifest: None, stripes: vec![stripe], ..backup() };
        assert!(answer(&null).ends_with("; to null, so nothing was kept"));
        assert!(notes(&null).is_empty());
    }
}
