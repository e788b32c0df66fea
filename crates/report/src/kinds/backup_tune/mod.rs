//! The report of a search for the settings of backups.

mod answer;
mod facts;
mod tables;

use iostall_measure::foreign::shell_word;
use iostall_model::sqlserver_backup::BackupTrace;
use iostall_model::{BackupTuneOutcome, Run, TuneLimit, TunedSetting};

use self::answer::answer;
use self::facts::facts;
use self::tables::{alone, restores_tried, tried};
use super::moved::NoSpans;
use super::sqlserver_trace;
use crate::format::{bytes, count, duration, shown};
use crate::report::{Field, Report, Series};
use crate::section::{Note, Section};

/// In the order of a row's fields.
const HEADER: [&str; 13] = [
    "stripes",
    "buffers",
    "transfer_bytes",
    "frame_bytes",
    "compression",
    "memory_bytes",
    "bytes_per_s",
    "stored_share",
    "trials",
    "is_default",
    "is_best",
    "depth",
    "workers",
];

pub(super) fn report<'a>(run: &'a Run, tune: &'a BackupTuneOutcome) -> Report<'a> {
    Report {
        run,
        description: String::new(),
        shape: String::new(),
        headline: headline(tune),
        line: Box::new(|| answer(tune)),
        answer: Box::new(|| answer(tune)),
        judgement: Box::new(|| None),
        asked: None,
        opens_one_way: false,
        sections: Box::new(|| vec![section(tune)]),
        when_empty: "",
        charts: Box::new(|| vec![Vec::new()]),
        series: Box::new(|| series(tune)),
        summary: Box::new(|| Box::new(NoSpans::new())),
    }
}

fn headline(tune: &BackupTuneOutcome) -> String {
    let tried = tune.tried.len() as u64;
    let (all, took) = (count(tune.settings), duration(tune.elapsed_ns as f64));
    format!("{} of {all} settings tried in {took}", count(tried))
}

fn section(tune: &BackupTuneOutcome) -> Section {
    Section {
        title: "Result".to_owned(),
        subtitle: headline(tune),
        notes: notes(tune),
        results: if tune.restore.is_some() { restores_tried(tune) } else { tried(tune) },
        tables: alone(tune)
            .into_iter()
            .chain(trace(tune).into_iter().flat_map(sqlserver_trace::tables))
            .collect(),
        facts: facts(tune),
        command: tune.command.iter().map(|word| shell_word(word)).collect(),
        ..Section::default()
    }
}

fn trace(tune: &BackupTuneOutcome) -> Option<&BackupTrace> {
    tune.server.as_ref()?.trace.as_ref()
}

fn notes(tune: &BackupTuneOutcome) -> Vec<Note> {
    let mut notes = Vec::new();
    if trace(tune).is_some() {
        notes.push(Note::plain(
            "What the server said is of the first trial, which had the defaults.".to_owned(),
        ));
    }
    if tune.limit == Some(TuneLimit::Memory) {
        notes.push(Note::plain(format!(
            "Settings with more than {} of buffers were not tried; --memory allows more.",
            bytes(tune.memory_bytes_max)
        )));
    }
    notes.extend(tune.left_out.iter().map(|one| Note::plain(format!("Left out: {}.", shown(one)))));
    notes
}

fn series(tune: &BackupTuneOutcome) -> Series<'_> {
    let row = |one: &TunedSetting| -> Vec<Field<'_>> {
        vec![
            (one.targets.len() as u64).into(),
            u64::from(one.buffer_count).into(),
            u64::from(one.transfer_bytes).into(),
            u64::from(one.frame_bytes).into(),
            one.compression.clone().into(),
            one.memory_bytes.into(),
            one.bytes_per_s.into(),
            one.stored_share.into(),
            u64::from(one.trials).into(),
            u64::from(one.is_default).into(),
            u64::from(one.is_best).into(),
            one.depth.map(u64::from).into(),
            one.workers.map(u64::from).into(),
        ]
    };
    Series { header: &HEADER, rows: Box::new(tune.tried.iter().map(row)) }
}

#[cfg(test)]
mod tests {
    use iostall_model::{TuneAnswer, TunedRestore, TunedServer};

    use super::*;

    fn setting(is_best: bool, mib: f64, compression: &str, share: f64) -> TunedSetting {
        TunedSetting {
            targets: vec![0, 2],
            buffer_count: 40,
            transfer_bytes: 4 << 20,
            frame_bytes: 1 << 20,
            compression: compression.into(),
            bytes_per_s: Some(mib * 1_048_576.0),
            stored_share: Some(share),
            is_best,
            is_default: !is_best,
            ..TunedSetting::default()
        }
    }

    fn tuned(answer: TuneAnswer) -> BackupTuneOutcome {
        BackupTuneOutcome {
            tried: vec![setting(true, 812.0, "lz4", 0.52), setting(false, 655.0, "zstd:1", 0.43)],
            answer,
            limit: Some(TuneLimit::Cpu),
            ..BackupTuneOutcome::default()
        }
    }

    /// The story: "it was 20 % faster" in one try, and nobody knew that tries differ by as much.
    #[test]
    fn the_answer_says_how_sure_it_is_and_what_it_costs() {
        assert_eq!(
            answer(&tuned(TuneAnswer::Better { ratio: [1.18, 1.24, 1.31] })),
            "2 stripes, 40 buffers of 4 MiB, frames of 1 MiB, compression lz4: 812 MiB/s of the source; 1.24 times \
             (1.18 to 1.31) as fast as the defaults; stores 52.0 % of the source instead of 43.0 %; the CPU limits"
        );
    }

    /// The story: the report said "frames of 64 KiB" of a backup that SQL Server had made, which has none.
    #[test]
    fn a_servers_settings_have_its_own_words_and_the_answer_is_there_in_t_sql() {
        let mut tuned = tuned(TuneAnswer::Better { ratio: [1.68, 1.71, 1.74] });
        tuned.tried[0].targets = vec![0, 1, 2, 3];
        tuned.tried[0].frame_bytes = 0;
        tuned.tried[0].compression = "on".into();
        tuned.server = Some(Box::new(TunedServer {
            server: "sqlserver://db1:1433".into(),
            backups: 240,
            past_s: Some(90),
            statement: "BACKUP DATABASE [sales]\nTO DISK = N'NUL'\nWITH COPY_ONLY;\n".into(),
            script: Some(
                "-- DatabaseBackup\nEXECUTE dbo.DatabaseBackup\n    @Databases = N'sales';\n".into(),
            ),
            files_left: vec![r"E:\t\1.bak".into()],
            ..TunedServer::default()
        }));
        let said = answer(&tuned);
        assert!(
            said.starts_with("4 files, BUFFERCOUNT 40, MAXTRANSFERSIZE 4 MiB, compression on: 812 MiB/s"),
            "{said}"
        );
        let facts: Vec<String> =
            facts(&tuned).iter().map(|fact| format!("{}: {}", fact.label, fact.value)).collect();
        for fact in [
            "backups: 240 whole ones with COPY_ONLY; the newest one before them took 90.0 s",
            "T-SQL: BACKUP DATABASE [sales] TO DISK = N'NUL' WITH COPY_ONLY;",
            "maintenance script: EXECUTE dbo.DatabaseBackup @Databases = N'sales';",
            r"delete: E:\t\1.bak: the last trial is in it",
        ] {
            assert!(facts.iter().any(|one| one == fact), "{fact}: {facts:?}");
        }
    }

    /// The story: the report of a restore spoke of a source, which was on a server that had burnt down.
    #[test]
    fn settings_of_a_restore_have_its_own_words() {
        let best = TunedSetting { depth: Some(16), workers: Some(1), ..setting(true, 812.0, "zstd:1", 0.43) };
        let usual =
            TunedSetting { depth: Some(8), workers: Some(2), ..setting(false, 655.0, "zstd:1", 0.43) };
        let tuned = BackupTuneOutcome {
            tried: vec![best, usual],
            targets: vec!["/scratch".into()],
            trial_bytes_max: 1 << 30,
            limit: Some(TuneLimit::Target),
            restore: Some(Box::new(TunedRestore { set: "0f1e".into() })),
            ..tuned(TuneAnswer::Better { ratio: [1.18, 1.24, 1.31] })
        };
        assert_eq!(
            answer(&tuned),
            "16 requests of up to 4 MiB in flight each way, 1 worker: 812 MiB/s restored; 1.24 times (1.18 to 1.31) as \
             fast as the defaults; the destination limits"
        );
        let facts = facts(&tuned);
        assert!(facts.iter().any(|fact| fact.value == "up to 1 GiB at a time below /scratch, and removed"));
        assert!(restores_tried(&tuned).is_some());
    }

    #[test]
    fn no_difference_is_an_answer_and_too_little_time_is_none() {
        let mut kept = tuned(TuneAnswer::NoDifference { ratio: [0.97, 1.01, 1.04] });
        kept.tried = vec![TunedSetting { is_best: true, ..setting(false, 655.0, "zstd:1", 0.43) }];
        assert_eq!(
            answer(&kept),
            "no difference: keep the defaults, 655 MiB/s of the source; the best other setting is 1.01 times (0.97 to \
             1.04) as fast; the CPU limits"
        );
        let undecided = BackupTuneOutcome::default();
        assert_eq!(answer(&undecided), "NOT DECIDED: nothing was compared with the defaults, so keep them");
    }
}
