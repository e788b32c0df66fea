//! Signals that end a run: results are kept and unfinished files are removed.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;

use crate::running::Running;
use crate::support::{Workspace, binary, pause, skip, until};

/// A load of the working directory that runs until it is interrupted.
const LOAD: [&str; 9] = ["load", "--size", "16M", "--warmup", "0", "--duration", "1h", "--json", "o.json"];

/// Number of unfinished destinations in `directory`.
fn parts(directory: &Path) -> usize {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    entries.flatten().filter(|entry| entry.file_name().to_string_lossy().ends_with(".part")).count()
}

/// A tree of `count` files of 1 KiB.
fn tree(at: &Path, count: usize) {
    fs::create_dir(at).unwrap();
    for number in 0..count {
        fs::write(at.join(format!("{number:05}")), [b'x'; 1000]).unwrap();
    }
}

/// The newest run in the store.
fn newest(here: &Workspace) -> Value {
    let shown = here.run(&["runs", "export", "last"]).expect_status(0).stdout;
    serde_json::from_str(&shown).expect("a document")
}

/// An ssh session dropped at night. The run was lost, and its scratch file was still there in the morning.
#[test]
fn a_load_whose_session_is_dropped_keeps_what_it_measured_and_removes_its_scratch_file() {
    let here = Workspace::new();
    let mut load = here.start(&LOAD);
    load.wait_until("its workers", Running::is_loading);
    load.signal("HUP");
    let ran = load.ended().expect_status(130);
    assert!(ran.stdout.contains("INTERRUPTED"), "{}", ran.stdout);
    assert_eq!(here.json("o.json")["interrupted"], true);
    assert_eq!(newest(&here)["id"], here.json("o.json")["id"]);
    assert!(!here.path("iostall-scratch.dat").exists());
}

/// A run of hours in a batch job said nothing between its first line and its last, and USR1, which `dd` answers, ended it.
#[test]
fn a_status_line_is_printed_on_usr1_and_the_run_goes_on() {
    let here = Workspace::new();
    let mut load = here.start(&[&LOAD[..], &["--quiet"]].concat());
    load.wait_until("its workers", Running::is_loading);
    let status = loop {
        load.signal("USR1");
        let line = load.wait_for("status: ");
        // The first answer may come before the first second is over.
        if line.contains("measuring") {
            break line;
        }
    };
    assert!(status.starts_with("status: 0 %  0:") && status.contains(" of 1:00:00, until "), "{status}");
    load.signal("INT");
    load.ended().expect_status(130);
    assert_eq!(here.json("o.json")["interrupted"], true);
}

/// The same for every command that loads storage.
#[test]
fn whatever_puts_load_on_storage_ends_as_told_when_its_session_is_dropped() {
    let commands: [&[&str]; 4] = [
        &["diskspd", "-c16M", "-d3600", "-W0", "-w0", "t.dat"],
        &["sweep", "--size", "16M", "--warmup", "0", "--interval", "1h"],
        &["matrix", "--size", "16M", "--warmup", "0", "--interval", "1h"],
        &["compare", "--fresh", "2", "--size", "16M", "--warmup", "0", "--duration", "1h", "a.dat", "b.dat"],
    ];
    for words in commands {
        let here = Workspace::new();
        let mut load = here.start(words);
        load.wait_until("its workers", Running::is_loading);
        load.signal("HUP");
        load.ended().expect_status(130);
        assert!(!here.path("iostall-scratch.dat").exists(), "{words:?}");
    }
}

/// The same for the collector: its last interval was not rolled up, and its log ended abruptly.
#[test]
fn a_collector_whose_session_is_dropped_stores_its_last_sample_and_says_its_last_line() {
    for signal in ["HUP", "TERM"] {
        let here = Workspace::new();
        let mut collector = here.start(&["collect", "run", "--interval", "1s", "linux:"]);
        collector.wait_until("an interval", |_| here.run(&["report", "server"]).status == Some(0));
        collector.signal(signal);
        let ran = collector.ended().expect_status(0);
        let last = ran.stderr.lines().last().unwrap_or_default();
        assert!(last.starts_with("stored ") && last.contains("samples"), "{signal}: {}", ran.stderr);
        assert!(!here.path("store.db-wal").exists(), "{signal}: the store was not closed");
    }
}

/// `nohup iostall …` still ended with the session, and a background run in a script ended on the Ctrl-C for
/// the script. A program started with a signal ignored must keep ignoring it.
#[test]
fn a_signal_that_was_ignored_from_the_start_stays_ignored() {
    let here = Workspace::new();
    let words = "trap '' HUP INT; exec \"$0\" write --duration 1h --period 20ms --methods buffered --json o.json t.dat";
    let mut write = Running::new(here.shell(words).arg(binary()));
    let size = |here: &Workspace| fs::metadata(here.path("t.dat")).map_or(0, |found| found.len());
    write.wait_until("a megabyte", |_| size(&here) > 1_000_000);
    write.signal("HUP");
    write.signal("INT");
    let then = size(&here);
    write.wait_until("three megabytes more", |_| size(&here) > then + 3_000_000);
    write.signal("TERM");
    write.ended().expect_status(130);
    assert!(here.json("o.json")["write"]["methods"][0]["bytes"].as_u64().unwrap() > then);
}

/// A terminal and a supervisor both sent a signal. The second ended the copy at once and left thousands of
/// temporary files.
#[test]
fn two_signals_at_once_are_one_and_leave_no_part() {
    let here = Workspace::new();
    tree(&here.path("from"), 2000);
    let mut copy = here.start(&["copy", "--no-store", "--limit", "100K", "from", "to"]);
    let to = here.path("to");
    copy.wait_until("some parts", |_| parts(&to) > 20);
    // Two signals in quick succession from the shell, and two different ones that the kernel does not merge.
    let id = copy.id().to_string();
    let both = here.shell("kill -INT $0; kill -TERM $0").arg(&id).status();
    assert!(both.is_ok_and(|status| status.success()));
    let ran = copy.ended().expect_status(130);
    assert_eq!(parts(&to), 0, "{}", ran.stderr);
}

/// The source's storage hung. The first Ctrl-C could not end the copy; a second one did, but left temporary
/// files.
#[test]
fn a_second_signal_removes_the_parts_of_a_copy_that_hangs() {
    let here = Workspace::new();
    tree(&here.path("from"), 20);
    // Opening a file on which another process has a lease blocks, like a hanging device.
    let Some(mut held) = Held::new(&here.path("from/00010")) else {
        return skip("a copy that hangs", "python3 can take no lease here");
    };
    let to = here.path("to");
    let mut copy = here.start(&["copy", "--no-store", "--workers", "1", "from", "to"]);
    held.wait_for_somebody();
    assert_eq!(parts(&to), 10);
    copy.signal("INT");
    let said = copy.wait_for("stopping");
    assert!(said.contains("Press Ctrl-C again"), "{said}");
    assert_eq!(parts(&to), 10, "it hangs, and cannot clean up by itself");
    // Late enough to count as a second signal.
    pause(1500);
    copy.signal("INT");
    assert_eq!(copy.ended().status, None, "ended by the signal");
    assert_eq!(parts(&to), 0);
}

/// A third signal works without cooperation: a notice that is being delivered forever cannot block the exit.
#[test]
fn a_second_signal_ends_a_collector_whose_last_notice_hangs() {
    let here = Workspace::new();
    let rules = "[channels.it]\ncommand = [\"sh\", \"-c\", \"echo > told; exec sleep 1000\"]\ntimeout = \"1h\"\n\
                 [[rules]]\nname = \"any\"\nwhen = \"silent\"\nfor = \"1s\"\nnotify = [\"it\"]\n";
    fs::write(here.path("alerts.toml"), rules).unwrap();
    let words =
        ["collect", "run", "--interval", "1s", "--alerts", "alerts.toml", "mysql://nobody@127.0.0.1:1"];
    let mut collector = here.start(&words);
    collector.wait_until("a notice", |_| here.path("told").exists());
    collector.signal("TERM");
    collector.wait_for("stopping");
    pause(1500);
    collector.signal("TERM");
    assert_eq!(collector.ended().status, None, "ended by the signal");
}

/// With `ulimit -f` in a shell profile, the kernel's signal silently killed the program and left half a file.
#[test]
fn a_limit_on_the_size_of_files_is_an_error_with_a_hint() {
    let here = Workspace::new();
    fs::write(here.path("large"), vec![7; 30_000_000]).unwrap();
    for words in ["load --no-store --duration 1s --size 64M new", "copy --no-store large new"] {
        let shell = format!("ulimit -f 8192; exec \"$0\" {words}");
        let ran = Running::new(here.shell(&shell).arg(binary())).ended().expect_status(2);
        assert!(ran.stderr.contains("File too large") && ran.stderr.contains("ulimit -f"), "{}", ran.stderr);
        let left: Vec<_> =
            fs::read_dir(here.path("")).unwrap().flatten().map(|one| one.file_name()).collect();
        assert_eq!(left, ["large"], "{words}");
    }
}

/// A verify of ten terabytes, stopped after nine, reported nothing, not even the file it had found to differ.
#[test]
fn an_interrupted_verify_tells_what_it_found_until_then() {
    let here = Workspace::new();
    fs::write(here.path("differs"), "now").unwrap();
    fs::write(here.path("large"), vec![7; 40_000_000]).unwrap();
    let nothing = "0".repeat(32);
    fs::write(here.path("list.md5"), format!("{nothing}  differs\n{nothing}  large\n")).unwrap();
    // Too slow to finish on any machine.
    let mut verify = here.start(&["verify", "--limit", "100K", "--json", "o.json", "list.md5"]);
    let large = here.path("large");
    verify.wait_until("the second file", |verify| {
        let Ok(files) = fs::read_dir(format!("/proc/{}/fd", verify.id())) else { return false };
        files.flatten().any(|file| fs::read_link(file.path()).is_ok_and(|link| link == large))
    });
    verify.signal("TERM");
    let ran = verify.ended().expect_status(130);
    assert!(
        ran.stdout.contains("DIFFERENT differs") && ran.stdout.contains("1 of 2 files were NOT CHECKED"),
        "{}",
        ran.stdout
    );
    let run = here.json("o.json");
    assert_eq!((&run["interrupted"], &run["verify"]["equal"]), (&Value::from(true), &Value::from(0)));
    assert_eq!(run["verify"]["mismatches"].as_array().unwrap().len(), 1);
}

/// Commands of alerts must start with default signal handling. A command that unknowingly ignores SIGPIPE or
/// SIGXFSZ continues where it should end.
#[test]
fn a_command_of_an_alert_has_no_signal_ignored() {
    let here = Workspace::new();
    fs::write(
        here.path("alerts.toml"),
        "[channels.it]\ncommand = [\"sh\", \"-c\", \"cat /proc/self/status > found; cat > /dev/null\"]\n\
         [[rules]]\nname = \"any\"\nwhen = \"silent\"\nfor = \"1s\"\nnotify = [\"it\"]\n",
    )
    .unwrap();
    here.run(&["alerts", "test", "alerts.toml"]).expect_status(0);
    let status = fs::read_to_string(here.path("found")).unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    let ignored = u64::from_str_radix(ignored.trim(), 16).unwrap();
    for (name, number) in [("SIGPIPE", 13), ("SIGXFSZ", 25)] {
        assert_eq!(ignored >> (number - 1) & 1, 0, "{name}:\n{status}");
    }
}

/// A laptop was closed: terminal and shell were gone, and every write to the terminal failed. (A session's
/// shell forwards the signal to its children, as this one does.)
#[test]
fn a_run_on_a_terminal_that_hangs_up_writes_its_outputs_and_its_store() {
    let here = Workspace::new();
    let session = format!(
        "'{}' {} & id=$!\necho $id > id\ntrap 'kill -HUP $id' HUP\nwait $id; wait $id\necho $? > status\n",
        binary().display(),
        LOAD.join(" ")
    );
    fs::write(here.path("session"), session).unwrap();
    let Some(mut terminal) = Terminal::open(&here, "sh session") else {
        return skip("a terminal that hangs up", "there is no script(1)");
    };
    let id: u32 = until("its number", || fs::read_to_string(here.path("id")).ok()?.trim().parse().ok());
    until("its workers", || Running::has_workers(id).then_some(()));
    terminal.hang_up();
    let status: i32 =
        until("its status", || fs::read_to_string(here.path("status")).ok()?.trim().parse().ok());
    assert_eq!(status, 130);
    let run = here.json("o.json");
    assert_eq!(run["interrupted"], true);
    assert_eq!(newest(&here)["id"], run["id"]);
    assert!(!here.path("iostall-scratch.dat").exists());
}

/// A full-screen view kept reading keys from a terminal that was gone.
#[test]
fn a_full_screen_view_ends_with_its_terminal() {
    let here = Workspace::new();
    let session = format!(
        "trap '' HUP\nstty rows 30 cols 100\n'{}' top linux:\necho $? > status\n",
        binary().display()
    );
    fs::write(here.path("session"), session).unwrap();
    let Some(mut terminal) = Terminal::open(&here, "sh session") else {
        return skip("a view whose terminal hangs up", "there is no script(1)");
    };
    until("the view", || {
        let shown = fs::read(here.path("typescript")).unwrap_or_default();
        String::from_utf8_lossy(&shown).contains("linux:").then_some(())
    });
    // It ignores the signal here, so only the terminal can end it.
    terminal.hang_up();
    let status: i32 =
        until("its status", || fs::read_to_string(here.path("status")).ok()?.trim().parse().ok());
    assert_eq!(status, 0);
}

/// A pseudo-terminal with a program; its output goes to `typescript`.
struct Terminal(Child);

impl Terminal {
    fn open(here: &Workspace, command: &str) -> Option<Self> {
        let mut script = Command::new("script");
        script.args(["-q", "-f", "-c", command, "typescript"]).current_dir(here.path(""));
        script.env("IOSTALL_STORE", here.path("store.db")).env("LC_ALL", "C.UTF-8").env("TERM", "xterm");
        script.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        script.spawn().ok().map(Self)
    }

    /// Closes the other end without any warning.
    fn hang_up(&mut self) {
        self.0.kill().expect("script is there");
        self.0.wait().expect("script ends");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A file on which a program has a lease.
struct Held {
    holder: Child,
    said: BufReader<ChildStdout>,
}

impl Held {
    fn new(path: &Path) -> Option<Self> {
        const HOLD: &str = "import fcntl, os, signal, sys\n\
            file = os.open(sys.argv[1], os.O_RDWR)\n\
            signal.signal(signal.SIGIO, lambda *_: print('asked', flush=True))\n\
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)\n\
            print('held', flush=True)\n\
            while True: signal.pause()\n";
        let mut python = Command::new("python3");
        python.args(["-c", HOLD]).arg(path).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut holder = python.spawn().ok()?;
        let said = BufReader::new(holder.stdout.take()?);
        let mut held = Self { holder, said };
        (held.line() == "held").then_some(held)
    }

    fn wait_for_somebody(&mut self) {
        assert_eq!(self.line(), "asked");
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        // At the end of the output, an empty line.
        let _ = self.said.read_line(&mut line);
        line.trim().to_owned()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}
