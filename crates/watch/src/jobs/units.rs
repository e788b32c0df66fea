//! Jobs as systemd timers.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::job::Job;

/// The store for jobs that run `iostall`.
const STORE: &str = "/var/lib/iostall/iostall.db";

#[derive(Clone, Debug, PartialEq, Eq)]
struct Unit {
    name: String,
    text: String,
}

/// A service and a timer per job. The account is unprivileged; to write outside the state directory, a job
/// needs `ReadWritePaths=`.
fn units(jobs: &[Job]) -> Vec<Unit> {
    jobs.iter().flat_map(|job| [service(job), timer(job)]).collect()
}

pub fn units_text(jobs: &[Job]) -> String {
    let text = |unit: &Unit| format!("# {}\n{}\n", unit.name, unit.text);
    units(jobs).iter().map(text).collect::<Vec<_>>().concat()
}

pub fn write_units(jobs: &[Job], directory: &Path) -> io::Result<Vec<PathBuf>> {
    let write = |unit: Unit| {
        let path = directory.join(&unit.name);
        let failed = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        fs::write(&path, unit.text).map_err(failed)?;
        Ok(path)
    };
    units(jobs).into_iter().map(write).collect()
}

fn service(job: &Job) -> Unit {
    let command: Vec<String> = job.command.iter().map(|word| quoted(word)).collect();
    let text = format!(
        "[Unit]\nDescription=iostall job: {name}\n\n[Service]\nType=oneshot\nUser={user}\nStateDirectory=iostall\n\
         Environment=IOSTALL_STORE={STORE}\nExecStart={command}\nTimeoutStartSec={deadline_s}\nNoNewPrivileges=yes\n\
         ProtectSystem=strict\nProtectHome=read-only\nPrivateTmp=yes\n",
        name = description(&job.name),
        user = job.user,
        command = command.join(" "),
        deadline_s = job.deadline.as_secs().max(1),
    );
    Unit { name: format!("{}.service", job.unit_name()), text }
}

fn timer(job: &Job) -> Unit {
    let calendars: String = job
        .calendar
        .on_calendar()
        .iter()
        .map(|line| format!("OnCalendar={line}\n"))
        .collect::<Vec<_>>()
        .concat();
    let text = format!(
        "[Unit]\nDescription=When the iostall job {name} runs\n\n[Timer]\n{calendars}AccuracySec=1s\n\n[Install]\n\
         WantedBy=timers.target\n",
        name = description(&job.name),
    );
    Unit { name: format!("{}.timer", job.unit_name()), text }
}

/// A name on one line, with `%` escaped for systemd.
fn description(name: &str) -> String {
    name.replace(['\n', '\r'], " ").replace('%', "%%")
}

/// Quotes a word for systemd, which expands `%`, `$` and escapes, and splits at blanks.
fn quoted(word: &str) -> String {
    let escaped: String = word
        .chars()
        .map(|letter| match letter {
            '%' => "%%".to_owned(),
            '$' => "$$".to_owned(),
            '\\' => "\\\\".to_owned(),
            '"' => "\\\"".to_owned(),
            '\n' => "\\n".to_owned(),
            '\t' => "\\t".to_owned(),
            other => other.to_string(),
        })
        .collect();
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+=:,@%$".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) { escaped } else { format!("\"{escaped}\"") }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::jobs::Calendar;

    #[test]
    fn a_job_is_a_service_and_a_timer_that_systemd_reads_as_it_was_meant() {
        let job = Job {
            name: "nightly drill 100%".into(),
            calendar: Calendar::parse("30 2 * * MON-FRI", None).unwrap(),
            command: ["/bin/sh", "-c", "echo \"$HOME\" at 5% > 'a b'"].map(Into::into).into(),
            deadline: Duration::from_secs(5_400),
            notify: Vec::new(),
            user: "iostall".into(),
        };
        let [service, timer] = units(&[job]).try_into().unwrap();
        assert_eq!(
            (&*service.name, &*timer.name),
            ("iostall-nightly-drill-100-.service", "iostall-nightly-drill-100-.timer")
        );
        assert!(service.text.contains("Description=iostall job: nightly drill 100%%\n"), "{}", service.text);
        assert!(service.text.contains("User=iostall\n") && service.text.contains("TimeoutStartSec=5400\n"));
        let command = "ExecStart=/bin/sh -c \"echo \\\"$$HOME\\\" at 5%% > 'a b'\"\n";
        assert!(service.text.contains(command), "{}", service.text);
        assert!(timer.text.contains("OnCalendar=Mon,Tue,Wed,Thu,Fri *-*-* 02:30:00 UTC\n"), "{}", timer.text);
    }
}
