//! Runs jobs as processes, each with a thread that waits for it.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use iostall_host::Program;
use iostall_measure::clock::receive;
use iostall_measure::{Clock, MonotonicClock};

use super::job::{Job, JobEnd, JobRunner, RunningJob};

/// Number of output lines stored, and the longest stored length of a line.
const LINES_MAX: usize = 20;
const LINE_BYTES_MAX: u64 = 500;
const LOOK_EVERY_NS: u64 = 50_000_000;
/// How long to wait for output after the program has ended. A child that is still running may hold the pipe
/// open forever.
const OUTPUT_WAIT_NS: u64 = 1_000_000_000;
/// Longer than a killed program is waited for.
const END_WAIT: Duration = Duration::from_secs(10);

/// Requests to the thread of a program.
const GO_ON: u8 = 0;
const ASK: u8 = 1;
const KILL: u8 = 2;

/// Starts programs with these additional environment variables.
#[derive(Clone, Debug, Default)]
pub struct ProcessRunner {
    pub environment: Vec<(OsString, OsString)>,
}

impl JobRunner for ProcessRunner {
    fn start(&mut self, job: &Job) -> Box<dyn RunningJob> {
        let request = Arc::new(AtomicU8::new(GO_ON));
        let (sender, end) = channel();
        let (words, environment, seen) =
            (job.command.clone(), self.environment.clone(), Arc::clone(&request));
        let run = move || {
            let ended = run(&words, environment, &seen);
            // The collector may have ended in the meantime.
            let _ = sender.send(ended.unwrap_or_else(|error| not_started(&words, &error)));
        };
        // Starting a program may block too, for example if its file is on a server that hangs. If the thread
        // cannot be created, the receiver sees a closed channel.
        drop(thread::Builder::new().name("iostall-job".into()).spawn(run));
        Box::new(Process { request, end })
    }
}

struct Process {
    request: Arc<AtomicU8>,
    end: Receiver<JobEnd>,
}

impl RunningJob for Process {
    fn poll(&mut self) -> Option<JobEnd> {
        match self.end.try_recv() {
            Ok(end) => Some(end),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(no_thread()),
        }
    }

    fn ask_to_end(&mut self) {
        self.request.fetch_max(ASK, Ordering::Relaxed);
    }

    fn kill(&mut self) {
        self.request.fetch_max(KILL, Ordering::Relaxed);
    }

    fn end(mut self: Box<Self>) -> JobEnd {
        loop {
            match receive(&self.end, END_WAIT) {
                Ok(end) => return end,
                Err(RecvTimeoutError::Disconnected) => return no_thread(),
                Err(RecvTimeoutError::Timeout) if self.request.load(Ordering::Relaxed) == KILL => {
                    return not_ended(String::new());
                }
                Err(RecvTimeoutError::Timeout) => self.kill(),
            }
        }
    }
}

fn not_ended(output: String) -> JobEnd {
    JobEnd { is_success: false, detail: "it cannot be ended: it waits for a device".into(), output }
}

fn no_thread() -> JobEnd {
    JobEnd { is_success: false, detail: "there was no thread to run it".into(), output: String::new() }
}

fn not_started(words: &[String], error: &io::Error) -> JobEnd {
    let program = words.first().map(String::as_str).unwrap_or_default();
    JobEnd { is_success: false, detail: format!("cannot run {program}: {error}"), output: String::new() }
}

fn run(words: &[String], environment: Vec<(OsString, OsString)>, request: &AtomicU8) -> io::Result<JobEnd> {
    let (reader, writer) = io::pipe()?;
    let mut command = Command::new(words.first().map(String::as_str).unwrap_or_default());
    command.args(words.iter().skip(1)).envs(environment).stdin(Stdio::null());
    command.stdout(writer.try_clone()?).stderr(writer);
    let program = Program::start(&mut command)?;
    // Closes our ends of the pipe, which would otherwise never end.
    drop(command);
    let tail = Tail::follow(reader);
    let Some(status) = wait(program, request)? else { return Ok(not_ended(tail.finish())) };
    Ok(JobEnd { is_success: status.success(), detail: status.to_string(), output: tail.finish() })
}

/// `None` if it cannot be ended.
fn wait(program: Program, request: &AtomicU8) -> io::Result<Option<ExitStatus>> {
    let clock = MonotonicClock::new();
    let mut done = GO_ON;
    while !program.has_ended()? {
        let wanted = request.load(Ordering::Relaxed);
        if wanted == KILL {
            break;
        }
        if wanted > done {
            program.ask_to_end();
            done = wanted;
        }
        clock.sleep_until(clock.now_ns() + LOOK_EVERY_NS);
    }
    if done == GO_ON && request.load(Ordering::Relaxed) != KILL {
        return program.finish().map(Some);
    }
    // Children do not outlive a program that had to be asked or killed.
    program.end()
}

struct Tail {
    lines: Arc<Mutex<VecDeque<String>>>,
    end: Receiver<()>,
}

impl Tail {
    /// Reads `from` on a separate thread, which ends with the pipe.
    fn follow(from: impl Read + Send + 'static) -> Self {
        let lines = Arc::new(Mutex::new(VecDeque::new()));
        let (sender, end) = channel();
        let kept = Arc::clone(&lines);
        let read = move || {
            let mut reader = BufReader::new(from);
            while let Some(line) = next_line(&mut reader) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.push_back(line);
                while kept.len() > LINES_MAX {
                    kept.pop_front();
                }
            }
            drop(sender);
        };
        drop(thread::Builder::new().name("iostall-job-output".into()).spawn(read));
        Self { lines, end }
    }

    fn finish(self) -> String {
        // The sender is dropped at the end of the output.
        let _ = receive(&self.end, Duration::from_nanos(OUTPUT_WAIT_NS));
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

/// The next line, truncated to the stored length; `None` at the end.
fn next_line(reader: &mut impl BufRead) -> Option<String> {
    let mut line = Vec::new();
    let read = reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line).ok()?;
    if read == 0 {
        return None;
    }
    if line.ends_with(b"\n") {
        line.pop();
    } else {
        skip_line(reader);
    }
    Some(String::from_utf8_lossy(&line).trim_end().to_owned())
}

/// Skips the rest of a line without storing it: binary output may have no line breaks.
fn skip_line(reader: &mut impl BufRead) {
    while let Ok(buffer) = reader.fill_buf() {
        let found = buffer.iter().position(|byte| *byte == b'\n');
        let used = found.map_or(buffer.len(), |place| place + 1);
        reader.consume(used);
        if found.is_some() || used == 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::Calendar;

    fn job(script: &str) -> Job {
        Job {
            name: "test".into(),
            calendar: Calendar::parse("@daily", None).unwrap(),
            command: ["/bin/sh", "-c", script].map(Into::into).into(),
            deadline: Duration::from_secs(600),
            notify: Vec::new(),
            user: "iostall".into(),
        }
    }

    fn ended(mut running: Box<dyn RunningJob>) -> JobEnd {
        loop {
            if let Some(end) = running.poll() {
                return end;
            }
            thread::yield_now();
        }
    }

    #[test]
    fn the_last_lines_and_the_status_are_kept_and_variables_are_handed_on() {
        let mut runner = ProcessRunner { environment: vec![("WHERE".into(), "here".into())] };
        let script = "i=0; while [ $i -lt 40 ]; do echo line $i; i=$((i+1)); done; echo $WHERE >&2; exit 3";
        let end = ended(runner.start(&job(script)));
        assert_eq!((end.is_success, end.detail.as_str()), (false, "exit status: 3"));
        let lines: Vec<&str> = end.output.lines().collect();
        assert_eq!((lines.len(), lines[0], lines[19]), (20, "line 21", "here"));
        assert!(ended(runner.start(&job("true"))).is_success);
    }

    #[test]
    fn a_program_that_is_not_there_has_failed_with_its_name() {
        let missing = Job { command: vec!["/no/such/program".into()], ..job("") };
        let end = ended(ProcessRunner::default().start(&missing));
        assert!(!end.is_success && end.detail.contains("cannot run /no/such/program"), "{end:?}");
    }

    /// A shell that is asked to end leaves its children behind; the deadline kills them all.
    #[test]
    fn a_job_that_is_asked_to_end_leaves_nothing_behind() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("id");
        let script =
            format!("(trap '' TERM; echo $$ > {0}.new; mv {0}.new {0}; sleep 3600) & wait", path.display());
        let mut running = ProcessRunner::default().start(&job(&script));
        while !path.exists() {
            assert_eq!(running.poll(), None);
            thread::yield_now();
        }
        running.ask_to_end();
        // The sleep holds the pipe open, so its end shows that all have ended.
        let end = running.end();
        assert!(!end.is_success, "{end:?}");
    }

    #[test]
    fn a_line_without_an_end_is_cut() {
        let text = [b"x".repeat(2_000).as_slice(), b"\nnext\n\xff"].concat();
        let mut reader = text.as_slice();
        let lines: Vec<String> = std::iter::from_fn(|| next_line(&mut reader)).collect();
        assert_eq!(lines.iter().map(String::len).collect::<Vec<_>>(), [500, 4, 3]);
        assert_eq!(lines[1], "next");
    }
}
