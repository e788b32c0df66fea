//! What the server says of its own work on a BACKUP: trace flags of the session, and what they write into the error log.

use iostall_connect::SourceError;
use iostall_connect::sqlserver::{BlockingConnection, Parameter};
use iostall_model::sqlserver_backup::{BackupTrace, TraceSetting, TraceStep};
use iostall_model::{Warning, WarningCode};
use jiff::Unit;
use jiff::civil::DateTime;

use super::server::{Server, text};

/// Turns the flags on. 3605 sends everything to the error log; 3213 shows buffers, 3004 and 3014 steps, 3212 statistics.
const ON: &str = include_str!("sql/trace_on.sql");
const OFF: &str = include_str!("sql/trace_off.sql");
const LINES: &str = include_str!("sql/trace_lines.sql");

/// What a line begins with that is about the flags themselves.
const OF_FLAGS: &str = "DBCC TRACE";
const HEADING: &str = "buffer configuration parameters";
/// A database of thousands of files has more.
const STEPS_MAX: usize = 2000;
/// Longer names are none of a setting.
const NAME_BYTES_MAX: usize = 40;

/// What turns them on and off in a script.
pub(super) fn around() -> [&'static str; 2] {
    let statement = |text: &'static str| text.lines().find(|line| line.starts_with(OF_FLAGS));
    [ON, OFF].map(|text| statement(text).unwrap_or_default())
}

/// Flags that are on in one session. They end with it: nothing has to be taken back after a kill, or by another session.
pub(super) struct Flags {
    session_id: i64,
    /// When they were turned on, by the server's clock.
    since: String,
}

impl Flags {
    pub(super) fn on(main: &mut BlockingConnection, session_id: i64) -> Result<Self, SourceError> {
        let rows = main.query("iostall:backup_trace_on", ON, &[])?;
        let since = rows.first().map(|row| text(row, "since")).filter(|since| !since.is_empty());
        // Without a time, the lines of an earlier session of that number would be taken for ours.
        Ok(Self { session_id, since: since.ok_or(SourceError::Defect)? })
    }

    /// Turns them off, if the session is still there as `main`, and reads what they made the server say.
    fn end(
        &self,
        main: Option<&mut BlockingConnection>,
        server: &Server,
    ) -> Result<Option<BackupTrace>, SourceError> {
        match main {
            Some(main) => {
                // If this fails, they end with the session.
                let _ = main.query("iostall:backup_trace_off", OFF, &[]);
                self.read(main)
            }
            None => self.read(&mut server.open()?),
        }
    }

    fn read(&self, connection: &mut BlockingConnection) -> Result<Option<BackupTrace>, SourceError> {
        let values = [Parameter::Text(&self.since), Parameter::Number(self.session_id)];
        let rows = connection.query("iostall:backup_trace_lines", LINES, &values)?;
        let lines = rows.iter().filter_map(|row| LogLine::of(&text(row, "logged"), &text(row, "said")));
        Ok(trace(&lines.collect::<Vec<_>>()))
    }
}

/// What flags made the server say that were to be turned on, or why nobody knows: the backup is made all the same.
pub(super) fn found(
    flags: Result<Flags, SourceError>,
    main: Option<&mut BlockingConnection>,
    server: &Server,
) -> Result<BackupTrace, Warning> {
    let flags = flags.map_err(|error| {
        Warning::new(WarningCode::MissingGrant, format!("the trace flags could not be turned on: {error}"))
            .hint("DBCC TRACEON needs a login with the role sysadmin")
    })?;
    let why = match flags.end(main, server) {
        Ok(Some(found)) => return Ok(found),
        Ok(None) => "it has no line of this session".to_owned(),
        Err(error) => error.to_string(),
    };
    let message = format!("what the trace flags say could not be read from the server's error log: {why}");
    Err(Warning::new(WarningCode::MissingGrant, message).hint(
        "xp_readerrorlog needs securityadmin, from 2022 on VIEW ANY ERROR LOG; a log that was cycled meanwhile begins anew",
    ))
}

struct LogLine {
    at: DateTime,
    said: String,
}

impl LogLine {
    fn of(at: &str, said: &str) -> Option<Self> {
        let said = said.trim();
        let is_it = !said.is_empty() && !said.starts_with(OF_FLAGS);
        is_it.then(|| Some(Self { at: at.parse().ok()?, said: said.to_owned() })).flatten()
    }
}

/// What the lines say; `None` if there are none.
fn trace(lines: &[LogLine]) -> Option<BackupTrace> {
    let first = lines.first()?;
    let mut trace = BackupTrace::default();
    let mut begun: Vec<(u64, &str)> = Vec::new();
    let mut are_settings = false;
    for line in lines {
        let said = line.said.as_str();
        let setting = setting(said).filter(|_| are_settings);
        if said.contains(HEADING) {
            are_settings = true;
        } else if let Some((name, value)) = setting {
            keep(&mut trace, name, value);
        } else {
            are_settings = false;
            begun.push((milliseconds(first.at, line.at), said));
        }
    }
    let ends = begun.iter().skip(1).map(|(at_ms, _)| *at_ms).chain(begun.last().map(|(at_ms, _)| *at_ms));
    let steps = begun.iter().zip(ends).map(|((at_ms, said), end_ms)| TraceStep {
        at_ms: *at_ms,
        elapsed_ms: end_ms.saturating_sub(*at_ms),
        name: step_name(said).to_owned(),
    });
    trace.steps = steps.take(STEPS_MAX).collect();
    trace.more_steps = begun.len().saturating_sub(STEPS_MAX) as u64;
    Some(trace)
}

/// A clock that was set back has no time between two lines.
fn milliseconds(from: DateTime, to: DateTime) -> u64 {
    let between = from.until((Unit::Millisecond, to)).map_or(0, |span| span.get_milliseconds());
    u64::try_from(between).unwrap_or(0)
}

/// `Max transfer size:   1024 KB`, as it was spelled until 2008 R2, and `MaxTransferSize:   1024 KB`.
fn setting(said: &str) -> Option<(&str, &str)> {
    let (name, value) = said.split_once(':')?;
    let (name, value) = (name.trim(), value.trim());
    let is_one = !value.is_empty() && name.len() <= NAME_BYTES_MAX && !name.contains('(');
    is_one.then_some((name, value))
}

fn keep(trace: &mut BackupTrace, name: &str, value: &str) {
    let plain: String = name.chars().filter(|letter| !letter.is_whitespace()).collect();
    let known = match plain.to_lowercase().as_str() {
        "memorylimit" => Some(&mut trace.memory_limit_bytes),
        "buffercount" => Some(&mut trace.buffer_count),
        "setsofbuffers" => Some(&mut trace.buffer_sets),
        "maxtransfersize" => Some(&mut trace.transfer_bytes),
        "totalbufferspace" => Some(&mut trace.buffer_bytes),
        _ => None,
    };
    if let Some(known) = known {
        *known = amount(value);
    }
    trace.settings.push(TraceSetting { name: name.to_owned(), value: value.to_owned() });
}

/// `6`, `1024 KB`, `3325MB`.
fn amount(value: &str) -> Option<u64> {
    let digits = value.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(value.len());
    let number: u64 = value[..digits].parse().ok()?;
    let unit: u64 = match value[digits..].trim() {
        "" | "B" | "bytes" => 1,
        "KB" => 1 << 10,
        "MB" => 1 << 20,
        "GB" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(unit)
}

/// Without `Backup(NAME): ` or, until 2014, `Backup: ` before it.
fn step_name(said: &str) -> &str {
    match said.split_once(": ") {
        Some((head, name)) if head.starts_with("Backup") && head.contains('(') == head.ends_with(')') => name,
        _ => said,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[(&str, &str)]) -> BackupTrace {
        let line = |(at, said): &(&str, &str)| LogLine::of(&format!("2026-05-28T03:00:{at}"), said);
        trace(&lines.iter().filter_map(line).collect::<Vec<_>>()).unwrap()
    }

    /// The lines of 2005 and 2008, as Microsoft's engineers have shown them, and those of later versions.
    #[test]
    fn buffers_are_read_in_the_words_of_old_and_new_versions() {
        let old = [
            (
                "00.140",
                "DBCC TRACEON 3605, server process ID (SPID) 57. This is an informational message only.",
            ),
            ("01.140", "Backup/Restore buffer configuration parameters"),
            ("01.140", "Memory limit: 3325MB"),
            ("01.140", "Buffer count:               6"),
            ("01.140", "Max transfer size:          1024 KB"),
            ("01.140", "Min MaxTransfer size:       64 KB"),
            ("01.140", "Total buffer space:         6 MB"),
            ("01.140", "Filesystem i/o alignment:   512"),
        ];
        let found = read(&old);
        let BackupTrace { memory_limit_bytes, buffer_count, buffer_sets, transfer_bytes, .. } = found;
        assert_eq!((memory_limit_bytes, buffer_count, buffer_sets), (Some(3325 << 20), Some(6), None));
        assert_eq!((transfer_bytes, found.buffer_bytes), (Some(1 << 20), Some(6 << 20)));
        assert_eq!((found.settings.len(), found.steps.len()), (6, 0));
        assert_eq!(found.settings[3].name, "Min MaxTransfer size");
        let new = [
            ("01.140", "Backup/Restore buffer configuration parameters"),
            ("01.140", "BufferCount:                7"),
            ("01.140", "Sets Of Buffers:            3"),
            ("01.140", "MaxTransferSize:            4096 KB"),
            ("01.140", "Total buffer space:         84 MB"),
            ("01.150", "Backup(sales): The media set is ready for backup"),
            ("01.150", "BufferCount: 9"),
        ];
        let found = read(&new);
        assert_eq!((found.buffer_count, found.buffer_sets), (Some(7), Some(3)), "settings end at a step");
        assert_eq!((found.transfer_bytes, found.buffer_bytes), (Some(4 << 20), Some(84 << 20)));
        assert_eq!(found.steps.len(), 2);
    }

    #[test]
    fn a_step_takes_until_the_next_one_and_has_no_database_before_it() {
        let found = read(&[
            ("00.000", "Backup(a: b): BACKUP DATABASE started"),
            ("00.030", "Backup: Media open"),
            ("00.030", "BackupStream(0): Starting MSDA of size 384 extents"),
            ("04.530", r"Completed file E:\data\sales.mdf"),
            ("03.000", "BackupDatabase: Finished"),
        ]);
        let steps: Vec<_> =
            found.steps.iter().map(|step| (step.at_ms, step.elapsed_ms, step.name.as_str())).collect();
        assert_eq!(
            steps,
            [
                (0, 30, "Backup(a: b): BACKUP DATABASE started"),
                (30, 0, "Media open"),
                (30, 4_500, "Starting MSDA of size 384 extents"),
                (4_530, 0, r"Completed file E:\data\sales.mdf"),
                (3_000, 0, "Finished"),
            ]
        );
    }

    #[test]
    fn of_very_many_steps_the_first_are_kept_and_all_are_counted() {
        let many: Vec<_> = (0..STEPS_MAX + 3).map(|_| ("00.000", "Started file x")).collect();
        let found = read(&many);
        assert_eq!((found.steps.len(), found.more_steps), (STEPS_MAX, 3));
        assert_eq!(trace(&[]), None);
    }

    #[test]
    fn a_script_has_the_flags_around_the_backup() {
        let [on, off] = around();
        assert_eq!(on, "DBCC TRACEON (3605, 3004, 3014, 3212, 3213) WITH NO_INFOMSGS;");
        assert_eq!(off, on.replace("TRACEON", "TRACEOFF"));
    }
}
