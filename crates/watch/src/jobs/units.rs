//! Jobs as systemd timers.

use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use iostall_engine::files;

use super::job::Job;
use crate::release::sha256;

/// The store for jobs that run `iostall`.
const STORE: &str = "/var/lib/iostall/iostall.db";

const UNIT_MODE: u32 = 0o644;
const UNIT_BYTES_MAX: u64 = 1 << 20;

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
    let units = units(jobs);
    let written = |unit: &Unit| {
        let path = directory.join(&unit.name);
        let failed = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        // All of them before the first is written.
        if files::stamp_of_link(&path).is_ok() && !is_as_written(&path).map_err(failed)? {
            let changed = io::Error::other(
                "somebody has changed or linked it since iostall wrote it: keep changes in a drop-in (systemctl edit), and remove it",
            );
            return Err(failed(changed));
        }
        Ok(path)
    };
    let paths: Vec<PathBuf> = units.iter().map(written).collect::<io::Result<_>>()?;
    for (unit, path) in units.iter().zip(&paths) {
        replace(path, &unit.text)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
    }
    Ok(paths)
}

/// What a unit in a file begins with: the sum of what follows tells whether somebody has changed it.
fn head(text: &str) -> String {
    format!("# Written by iostall, sha256 of what follows: {}\n", sha256(text.as_bytes()))
}

fn is_as_written(path: &Path) -> io::Result<bool> {
    let mut there = String::new();
    let file = files::open_in_shared_directory(path)?;
    file.take(UNIT_BYTES_MAX).read_to_string(&mut there)?;
    Ok(there.split_once('\n').is_some_and(|(first, rest)| format!("{first}\n") == head(rest)))
}

/// Replaces it as a whole, and no link.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let draft = path.with_file_name(format!(".{name}.iostall-{}", std::process::id()));
    let mut file = files::create_new(&draft, UNIT_MODE)?;
    let written = file
        .write_all((head(text) + text).as_bytes())
        .and_then(|()| file.sync_all())
        .and_then(|()| files::rename_over(&draft, path));
    if written.is_err() {
        // Already failing.
        let _ = files::remove_own(&draft, &file);
    }
    written
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

    fn job() -> Job {
        Job {
            name: "nightly".into(),
            calendar: Calendar::parse("30 2 * * MON-FRI", None).unwrap(),
            command: vec!["/bin/true".into()],
            deadline: Duration::from_secs(5_400),
            notify: Vec::new(),
            user: "iostall".into(),
        }
    }

    /// A unit that the administrator had edited was replaced, and one that was a link was written through it.
    #[test]
    fn a_unit_that_somebody_changed_or_linked_is_kept_and_none_is_written_then() {
        let place = tempfile::tempdir().unwrap();
        let [service, timer] =
            ["iostall-nightly.service", "iostall-nightly.timer"].map(|name| place.path().join(name));
        let write = |job: Job| write_units(&[job], place.path());
        assert_eq!(write(job()).unwrap(), [service.clone(), timer.clone()]);
        write(Job { deadline: Duration::from_secs(60), ..job() }).unwrap();
        let text = std::fs::read_to_string(&service).unwrap();
        assert!(text.contains("TimeoutStartSec=60\n"), "what iostall wrote is replaced: {text}");
        std::fs::write(&timer, std::fs::read_to_string(&timer).unwrap() + "Persistent=yes\n").unwrap();
        write(job()).unwrap_err();
        assert_eq!(std::fs::read_to_string(&service).unwrap(), text, "all or none");
        std::fs::remove_file(&timer).unwrap();
        let elsewhere = place.path().join("elsewhere");
        std::os::unix::fs::symlink(&elsewhere, &timer).unwrap();
        write(job()).unwrap_err();
        assert!(!elsewhere.exists());
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 2, "no draft is left");
    }

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
