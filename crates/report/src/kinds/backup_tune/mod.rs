//! The report of a search for the settings of backups.

mod tables;

use iostall_measure::foreign::shell_word;
use iostall_model::sqlserver_backup::BackupTrace;
use iostall_model::{BackupTuneOutcome, Run, TuneAnswer, TuneLimit, TunedServer, TunedSetting};

use self::tables::{alone, restores_tried, tried};
use super::moved::NoSpans;
use super::sqlserver_trace;
use crate::format::{bytes, count, duration, maybe_throughput, percent, shown};
use crate::report::{Field, Report, Series};
use crate::section::{Fact, Note, Section};

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

/// Less than this is read in a moment.
const SOURCE_BYTES_MIN: u64 = 64 << 20;

fn notes(tune: &BackupTuneOutcome) -> Vec<Note> {
    let mut notes = Vec::new();
    if trace(tune).is_some() {
        notes.push(Note::plain(
            "What the server said is of the first trial, which had the defaults.".to_owned(),
        ));
    }
    if (1..SOURCE_BYTES_MIN).contains(&tune.source_bytes) {
        notes.push(Note::caution(format!(
            "The source has {} only: a look at a setting ends before its rate can be told from its beginning and end, so this says nothing \
             about a larger source.",
            bytes(tune.source_bytes)
        )));
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

fn facts(tune: &BackupTuneOutcome) -> Vec<Fact> {
    let sources = tune.sources.iter().map(|source| Fact::new("source", shown(source)));
    let mut facts: Vec<Fact> = sources.collect();
    facts.extend(tune.restore.as_ref().map(|restore| Fact::new("set", shown(&restore.set))));
    facts.push(Fact::new("size", bytes(tune.source_bytes)));
    let budget = duration(tune.budget_ns as f64);
    facts.push(Fact::new("time", format!("{} of {budget}", duration(tune.elapsed_ns as f64))));
    let over = match tune.over_memory {
        0 => String::new(),
        over => format!(" · {} settings with more were not tried", count(over)),
    };
    facts.push(Fact::new("memory", format!("up to {} of buffers{over}", bytes(tune.memory_bytes_max))));
    if let Some(server) = &tune.server {
        facts.extend(server_facts(server));
        return facts;
    }
    if tune.trial_bytes_max > 0 {
        let most = bytes(tune.trial_bytes_max);
        let is_to_store = tune.targets.iter().any(|target| target.contains("://"));
        let place = match &tune.restore {
            None if is_to_store => "in uploads that were never completed".to_owned(),
            Some(_) => {
                format!("below {}", tune.targets.first().map(|place| shown(place)).unwrap_or_default())
            }
            None => "beside the stripes".to_owned(),
        };
        let (verb, end) = if is_to_store { ("sent", "") } else { ("written", ", and removed") };
        facts.push(Fact::new(verb, format!("up to {most} at a time {place}{end}")));
    }
    let workers = tune.worker_count;
    facts.push(Fact::new("workers", workers.to_string()));
    facts
}

fn server_facts(server: &TunedServer) -> Vec<Fact> {
    let one_line = |text: &str| {
        let lines = text.lines().filter(|line| !line.starts_with("--"));
        shown(&lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" "))
    };
    let name = format!("{}, SQL Server {}, {}", server.server, server.version, server.edition);
    let mut facts = vec![Fact::new("server", shown(&name))];
    let past = server
        .past_s
        .map(|seconds| format!("; the newest one before them took {}", duration(seconds as f64 * 1e9)));
    let backups = format!("{} whole ones with COPY_ONLY{}", count(server.backups), past.unwrap_or_default());
    facts.push(Fact::new("backups", backups));
    facts.extend(server.trace.as_ref().and_then(sqlserver_trace::buffers));
    facts.push(Fact::new("T-SQL", one_line(&server.statement)));
    facts.extend(server.script.as_ref().map(|script| Fact::new("maintenance script", one_line(script))));
    let left = server.files_left.iter();
    facts.extend(left.map(|file| Fact::new("delete", format!("{}: the last trial is in it", shown(file)))));
    facts
}

fn answer(tune: &BackupTuneOutcome) -> String {
    let rate = |setting: Option<&TunedSetting>| maybe_throughput(setting.and_then(|one| one.bytes_per_s));
    let parts = match (&tune.answer, tune.best()) {
        (TuneAnswer::Better { ratio }, Some(best)) => vec![
            Some(format!("{}: {} {}", in_words(tune, best), rate(Some(best)), of_what(tune))),
            Some(format!("{} as fast as the defaults", times(ratio))),
            room(tune, best),
        ],
        (TuneAnswer::NoDifference { ratio }, best) => vec![
            Some(format!("no difference: keep the defaults, {} {}", rate(best), of_what(tune))),
            Some(format!("the best other setting is {} as fast", times(ratio))),
        ],
        (TuneAnswer::NothingOpen, best) => {
            vec![Some(format!("every setting was given: {} {}", rate(best), of_what(tune)))]
        }
        (TuneAnswer::Undecided | TuneAnswer::Better { .. }, _) => {
            vec![Some("NOT DECIDED: nothing was compared with the defaults, so keep them".to_owned())]
        }
    };
    let limit = tune.limit.map(|limit| match limit {
        TuneLimit::Source if tune.restore.is_some() => "reading the stripes limits",
        TuneLimit::Source => "the source limits",
        TuneLimit::Target if tune.restore.is_some() => "the destination limits",
        TuneLimit::SharedDevice if tune.restore.is_some() => {
            "stripes and destination share a device, which limits"
        }
        TuneLimit::Cpu => "the CPU limits",
        TuneLimit::Target => "the target limits",
        TuneLimit::Network => "the network limits, or the store at its end",
        TuneLimit::Memory => "the memory for buffers limits",
        TuneLimit::SharedDevice => "source and target share a device, which limits",
    });
    parts.into_iter().flatten().chain(limit.map(str::to_owned)).collect::<Vec<_>>().join("; ")
}

fn of_what(tune: &BackupTuneOutcome) -> &'static str {
    if tune.restore.is_some() { "restored" } else { "of the source" }
}

/// `1.24 times (1.18 to 1.31)`.
fn times(ratio: &[f64; 3]) -> String {
    let [low, most_likely, high] = ratio;
    format!("{most_likely:.2} times ({low:.2} to {high:.2})")
}

fn in_words(tune: &BackupTuneOutcome, setting: &TunedSetting) -> String {
    if tune.server.is_some() {
        return options(setting);
    }
    if let (Some(depth), Some(workers)) = (setting.depth, setting.workers) {
        let size = bytes(setting.transfer_bytes.into());
        let requests = if depth == 1 { "request" } else { "requests" };
        let threads = if workers == 1 { "worker" } else { "workers" };
        return format!("{depth} {requests} of up to {size} in flight each way, {workers} {threads}");
    }
    let stripes = match setting.targets.len() {
        0 => String::new(),
        1 => "1 stripe, ".to_owned(),
        many => format!("{many} stripes, "),
    };
    format!(
        "{stripes}{} buffers of {}, frames of {}, compression {}",
        setting.buffer_count,
        bytes(setting.transfer_bytes.into()),
        bytes(setting.frame_bytes.into()),
        shown(&setting.compression),
    )
}

/// In the words of a server's BACKUP. What is left to the server is not among them.
fn options(setting: &TunedSetting) -> String {
    let files = match setting.targets.len() {
        1 => "1 file".to_owned(),
        many => format!("{many} files"),
    };
    let buffers = (setting.buffer_count > 0).then(|| format!("BUFFERCOUNT {}", setting.buffer_count));
    let size = |name: &str, value: u32| (value > 0).then(|| format!("{name} {}", bytes(value.into())));
    let parts = [
        Some(files),
        buffers,
        size("MAXTRANSFERSIZE", setting.transfer_bytes),
        size("BLOCKSIZE", setting.frame_bytes),
        Some(format!("compression {}", shown(&setting.compression))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn room(tune: &BackupTuneOutcome, best: &TunedSetting) -> Option<String> {
    let default = tune.default_setting().filter(|default| default.compression != best.compression)?;
    let (now, then) = (best.stored_share?, default.stored_share?);
    Some(format!("stores {} of the source instead of {}", percent(now), percent(then)))
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

    /// The story: 2.9 MiB were tuned for 20 seconds, and the report said "no difference" as if that were an answer.
    #[test]
    fn a_source_that_is_too_small_to_tell_anything_is_named() {
        let notes_of = |source_bytes| {
            let tune = BackupTuneOutcome {
                source_bytes,
                ..tuned(TuneAnswer::NoDifference { ratio: [0.8, 1.0, 1.6] })
            };
            notes(&tune).len()
        };
        assert_eq!((notes_of(3_000_000), notes_of(10 << 30)), (1, 0));
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
