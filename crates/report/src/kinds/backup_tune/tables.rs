//! What a search for settings has measured: settings, and each part alone.

use iostall_model::{BackupTuneOutcome, TunePart, TunedSetting};

use crate::format::{NONE, bytes, count, maybe_throughput, percent, shown, throughput};
use crate::table::{Column, Severity, Table, TableCell};

/// How many settings the report lists; JSON has all.
const LISTED: usize = 20;

/// The settings that were measured, the longest measured first, and always the defaults.
pub(super) fn tried(tune: &BackupTuneOutcome) -> Option<Table> {
    if tune.tried.is_empty() {
        return None;
    }
    let columns = vec![
        Column::words("setting"),
        Column::numbers("stripes"),
        Column::numbers("buffers"),
        Column::numbers("transfer"),
        Column::numbers(if tune.server.is_some() { "block" } else { "frame" }).droppable(2),
        Column::words("compression"),
        Column::numbers("memory").droppable(1),
        Column::numbers("source"),
        Column::numbers("stored").droppable(3),
        Column::numbers("measured").droppable(0),
    ];
    let mut table = Table::new("Settings", columns);
    for (name, severity, setting) in listed(tune) {
        table.row(vec![
            TableCell::from(name).severity(severity),
            TableCell::from(setting.targets.len().to_string()),
            TableCell::from(or_the_servers(setting.buffer_count, |count| count.to_string())),
            TableCell::from(or_the_servers(setting.transfer_bytes, |size| bytes(size.into()))),
            TableCell::from(or_the_servers(setting.frame_bytes, |size| bytes(size.into()))),
            TableCell::from(shown(&setting.compression)),
            TableCell::from(bytes(setting.memory_bytes)),
            TableCell::from(maybe_throughput(setting.bytes_per_s)).severity(severity),
            TableCell::from(setting.stored_share.map_or_else(|| NONE.to_owned(), percent)),
            TableCell::from(format!("{} times", count(setting.trials.into()))),
        ]);
    }
    note_more(tune, &mut table);
    Some(table)
}

/// The same for restores, whose set has its frames and its compression already.
pub(super) fn restores_tried(tune: &BackupTuneOutcome) -> Option<Table> {
    if tune.tried.is_empty() {
        return None;
    }
    let columns = vec![
        Column::words("setting"),
        Column::numbers("in flight"),
        Column::numbers("transfer"),
        Column::numbers("workers"),
        Column::numbers("buffers").droppable(2),
        Column::numbers("memory").droppable(1),
        Column::numbers("restored"),
        Column::numbers("measured").droppable(0),
    ];
    let mut table = Table::new("Settings", columns);
    for (name, severity, setting) in listed(tune) {
        let number = |number: Option<u32>| number.map_or_else(|| NONE.to_owned(), |one| one.to_string());
        table.row(vec![
            TableCell::from(name).severity(severity),
            TableCell::from(number(setting.depth)),
            TableCell::from(bytes(setting.transfer_bytes.into())),
            TableCell::from(number(setting.workers)),
            TableCell::from(setting.buffer_count.to_string()),
            TableCell::from(bytes(setting.memory_bytes)),
            TableCell::from(maybe_throughput(setting.bytes_per_s)).severity(severity),
            TableCell::from(format!("{} times", count(setting.trials.into()))),
        ]);
    }
    note_more(tune, &mut table);
    Some(table)
}

fn listed(
    tune: &BackupTuneOutcome,
) -> impl Iterator<Item = (&'static str, Severity, &TunedSetting)> + use<'_> {
    let all = tune.tried.iter().enumerate();
    let listed = all.filter(|(place, one)| *place < LISTED || one.is_default || one.is_best);
    listed.map(|(_, setting)| {
        let name = match (setting.is_best, setting.is_default) {
            (true, true) => "defaults: keep",
            (true, false) => "best",
            (false, true) => "defaults",
            (false, false) => "",
        };
        (name, if setting.is_best { Severity::Good } else { Severity::Plain }, setting)
    })
}

fn note_more(tune: &BackupTuneOutcome, table: &mut Table) {
    if tune.tried.len() > LISTED {
        table.note(&format!(
            "{} settings were tried in all, which JSON and CSV list.",
            count(tune.tried.len() as u64)
        ));
    }
}

pub(super) fn alone(tune: &BackupTuneOutcome) -> Option<Table> {
    if tune.alone.is_empty() {
        return None;
    }
    let columns = vec![Column::words("part"), Column::numbers("alone"), Column::words("of what")];
    let mut table = Table::new("Each part alone", columns);
    for one in &tune.alone {
        let (name, of_what) = match one.part {
            TunePart::Source if tune.restore.is_some() => (shown(&one.name), "read, not decoded"),
            TunePart::Cpu if tune.restore.is_some() => {
                (format!("CPU, {}", shown(&one.name)), "decoded from memory")
            }
            TunePart::Source => ("source".to_owned(), "read, not stored"),
            TunePart::Cpu => (format!("CPU, {}", shown(&one.name)), "of the source, from memory"),
            TunePart::Target if one.name.contains("://") => {
                (shown(&one.name), "sent through the network from memory")
            }
            TunePart::Target => (shown(&one.name), "written from memory"),
            TunePart::Targets => ("all targets".to_owned(), "written at the same time"),
        };
        let of_what = match one.stored_share {
            Some(share) => format!("{of_what}; {} of it stored", percent(share)),
            None => of_what.to_owned(),
        };
        table.row(vec![
            TableCell::from(name),
            TableCell::from(throughput(one.bytes_per_s)),
            TableCell::from(of_what),
        ]);
    }
    Some(table)
}

/// A number of a setting; 0 is what a server chose.
fn or_the_servers(value: u32, shown: impl Fn(u32) -> String) -> String {
    if value == 0 { "server's".to_owned() } else { shown(value) }
}
