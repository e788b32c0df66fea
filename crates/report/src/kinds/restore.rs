//! The report of a restored backup.

use iostall_model::figures::per_second;
use iostall_model::transfer::LimitSide;
use iostall_model::wal_archive::RecoveryRecord;
use iostall_model::{Newest, RestoreOutcome, Run};

use super::give_way;
use super::moved::{self, NoSpans, limit_pace};
use super::striped::{self, each, limit_fact, limit_name, processed};
use crate::format::{bytes, count, duration, maybe_throughput, shown};
use crate::report::Report;
use crate::section::{Fact, Layout, Note, Section};

pub(super) fn report<'a>(run: &'a Run, restore: &'a RestoreOutcome) -> Report<'a> {
    Report {
        run,
        description: String::new(),
        shape: String::new(),
        headline: line(restore),
        line: Box::new(|| line(restore)),
        answer: Box::new(|| answer(restore)),
        judgement: Box::new(|| None),
        asked: None,
        opens_one_way: false,
        sections: Box::new(|| {
            [Some(section(restore)), give_way::section(restore.gave_way.as_ref())]
                .into_iter()
                .flatten()
                .collect()
        }),
        when_empty: "",
        charts: Box::new(|| {
            let gave_way = restore.gave_way.as_ref().map(give_way::charts);
            [Some(moved::charts(&restore.used.series)), gave_way].into_iter().flatten().collect()
        }),
        series: Box::new(|| striped::series(&restore.used.series)),
        summary: Box::new(|| Box::new(NoSpans::new())),
    }
}

/// In the form of RESTORE's last message.
fn line(restore: &RestoreOutcome) -> String {
    let rate = |amount: u64| maybe_throughput(per_second(amount as f64, restore.elapsed_ns));
    let mut text = format!(
        "processed {}; read {}, written {}",
        processed(restore.pages(), restore.bytes, restore.elapsed_ns),
        rate(restore.stored_bytes),
        rate(restore.bytes)
    );
    if let Some(each) = each(&restore.stripes, restore.elapsed_ns).filter(|_| restore.stripes.len() > 1) {
        text.push_str(&format!(", {each}"));
    }
    text
}

fn answer(restore: &RestoreOutcome) -> String {
    let is_other = matches!(restore.newest, Newest::Other { .. });
    let state = match (restore.damage.len(), restore.is_whole) {
        (0, true) => format!("every frame as it was written; {} is whole and durable", shown(&restore.to)),
        (0, false) if is_other => "NOT RESTORED: it is not the backup that was expected".to_owned(),
        (0, false) => format!("NOT COMPLETED: {} is not whole", shown(&restore.to)),
        (1, _) => format!("THE BACKUP IS DAMAGED in 1 place: {} is not whole", shown(&restore.to)),
        (many, _) => {
            let many = count(many as u64);
            format!("THE BACKUP IS DAMAGED in {many} places: {} is not whole", shown(&restore.to))
        }
    };
    let limit = match restore.used.buffer_time.limit() {
        None | Some(LimitSide::Both) => None,
        Some(LimitSide::Rate) => Some(limit_pace(restore.gave_way.as_ref(), restore.limit_bytes_per_second)),
        Some(side) => Some(format!("the {} set the pace", limit_name(side, "destination"))),
    };
    [Some(line(restore)), Some(state), limit].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

fn section(restore: &RestoreOutcome) -> Section {
    Section {
        title: "Result".to_owned(),
        subtitle: line(restore),
        layout: Layout::Facts,
        notes: notes(restore),
        facts: facts(restore),
        tables: striped::stripes(&restore.stripes, restore.elapsed_ns).into_iter().collect(),
        ..Section::default()
    }
}

fn facts(restore: &RestoreOutcome) -> Vec<Fact> {
    let mut facts = vec![
        Fact::new("backup", shown(&restore.from)),
        Fact::new("set", shown(&restore.set)),
        Fact::new("destination", shown(&restore.to)),
    ];
    facts.extend(restore.only.as_ref().map(|only| Fact::new("only", shown(only))));
    facts.extend(restore.tablespaces.iter().map(|one| {
        Fact::new(
            "tablespace",
            format!("{}: was {}, is {}", shown(&one.oid), shown(&one.was), shown(&one.is)),
        )
    }));
    facts.extend(restore.recovery.as_ref().map(|recovery| Fact::new("recovers", recovers(recovery))));
    facts.push(Fact::new(
        "moved",
        format!(
            "at most {} reads in flight{}, {} worker{}",
            restore.reads_max,
            restore
                .transfer_bytes
                .map(|size| format!(" of up to {}", bytes(size.into())))
                .unwrap_or_default(),
            restore.worker_count,
            if restore.worker_count == 1 { "" } else { "s" }
        ),
    ));
    facts.extend(limit_fact(&restore.used.buffer_time, "destination"));
    let (all, sync) = (duration(restore.elapsed_ns as f64), duration(restore.sync_ns as f64));
    let prepare =
        restore.prepare_ns.map(|ns| format!(" · {} preparing the files for a server", duration(ns as f64)));
    let prepare = prepare.unwrap_or_default();
    facts.push(Fact::new("time", format!("{all} in all{prepare} · {sync} making durable")));
    facts.push(striped::cpu(restore.used.cpu_user_ns, restore.used.cpu_system_ns, restore.bytes));
    facts
}

fn recovers(recovery: &RecoveryRecord) -> String {
    let (until, archive) = (shown(&recovery.until), shown(&recovery.archive));
    let then = if recovery.then_pauses {
        "waits there until pg_wal_replay_resume() is called"
    } else {
        "becomes a primary"
    };
    format!(
        "to {until} on timeline {}, with the log in {archive}, when a server is started; then it {then}",
        recovery.timeline
    )
}

fn notes(restore: &RestoreOutcome) -> Vec<Note> {
    let mut notes = striped::damage(&restore.damage);
    if let Newest::Other { set, because } = &restore.newest {
        let (because, set) = (shown(because), shown(set));
        notes.push(Note::bad(format!(
            "NOT THE EXPECTED SET: {because}. Expected was {set}; nothing was written."
        )));
    }
    if let Some(left) = &restore.left {
        notes.push(Note::bad(format!("NOT COMPLETED: what was restored so far is in {}.", shown(left))));
    }
    notes
}

#[cfg(test)]
mod tests {
    use iostall_model::stripe::BackupDamage;

    use super::*;

    /// The story: a restore stopped at a damaged frame, and its last line said how fast it had been.
    #[test]
    fn the_answer_of_a_restore_says_whether_it_is_whole() {
        let whole = RestoreOutcome {
            to: "/scratch/shop".into(),
            is_whole: true,
            bytes: 1 << 30,
            stored_bytes: 1 << 29,
            elapsed_ns: 2_000_000_000,
            ..RestoreOutcome::default()
        };
        assert_eq!(
            answer(&whole),
            "processed 1073741824 bytes (1 GiB) in 2.000 seconds (512.000 MB/sec); read 256 MiB/s, written 512 MiB/s; \
             every frame as it was written; /scratch/shop is whole and durable"
        );
        let stopped = RestoreOutcome { is_whole: false, ..whole.clone() };
        assert!(answer(&stopped).ends_with("NOT COMPLETED: /scratch/shop is not whole"));
        let damaged = RestoreOutcome { damage: vec![BackupDamage::default()], ..stopped };
        assert!(answer(&damaged).contains("THE BACKUP IS DAMAGED in 1 place"), "{}", answer(&damaged));
    }
}
