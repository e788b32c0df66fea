//! `iostall top`: once for scripts, and full-screen on a pseudo-terminal.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;

use serde_json::Value;

use crate::support::{PATIENCE, Workspace, binary, skip};

/// A device that the kernel counts; a loop device only if there is no other, because tests attach and detach
/// them.
fn counted_device() -> Option<String> {
    let text = std::fs::read_to_string("/proc/diskstats").unwrap_or_default();
    let used = text.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
    let used = used.filter(|words| words.get(3).is_some_and(|reads| *reads != "0"));
    let names: Vec<&str> = used.filter_map(|words| words.get(2).copied()).collect();
    let lasting = names.iter().find(|name| !name.starts_with("loop"));
    lasting.or(names.first()).map(ToString::to_string)
}

/// Whether a device in the document has an interval.
pub(crate) fn has_interval(json: &Value) -> bool {
    let groups = json["groups"].as_array().unwrap();
    // Devices attached in the meantime have no interval yet.
    groups.iter().any(|group| {
        group["kind"] == "linux-device" && group["covered_s"].as_f64().is_some_and(|covered| covered > 0.0)
    })
}

#[test]
fn one_interval_is_printed_for_scripts_and_has_its_form_for_programs() {
    if counted_device().is_none() {
        return skip("top --once", "no block device is counted here");
    }
    let workspace = Workspace::new();
    let ran = workspace.run(&["top", "--once", "--interval", "1s", "linux:"]).expect_status(0);
    assert!(ran.stdout.contains("linux:\n") && ran.stdout.contains("reads/s"), "{}", ran.stdout);
    let ran = workspace.run(&["top", "--once", "--json", "--interval", "1s", "linux:"]).expect_status(0);
    let json: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&json["schema"], &json["level"]), (&"iostall-watch".into(), &"volumes".into()));
    assert!(has_interval(&json), "{json}");
    let ran = workspace.run(&["top", "--once", "--interval", "1s", "--filter", "no such", "linux:"]);
    assert!(ran.expect_status(2).stderr.contains("another --filter"));
}

#[test]
fn without_a_source_it_shows_what_a_collector_writes() {
    if counted_device().is_none() {
        return skip("top from the store", "no block device is counted here");
    }
    let workspace = Workspace::new();
    let ran = workspace.run(&["top", "--once"]).expect_status(2);
    assert!(ran.stderr.contains("hint: name a SOURCE"), "{}", ran.stderr);
    for _ in 0..2 {
        workspace.run(&["collect", "once", "linux:"]).expect_status(0);
    }
    let ran = workspace.run(&["top", "--once", "--json"]).expect_status(0);
    let json: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(json["groups"][0]["source"], "linux:");
    workspace.run(&["top", "--once", "--interval", "5s"]).expect_status(2);
}

#[test]
fn a_screen_needs_a_terminal_and_a_dead_source_is_said() {
    let workspace = Workspace::new();
    let ran = workspace.run(&["top", "linux:"]).expect_status(2);
    assert!(ran.stderr.contains("needs a terminal") && ran.stderr.contains("--once"), "{}", ran.stderr);
    let ran = workspace.run(&["top", "--once", "--interval", "1s", "postgres://mon@127.0.0.1:9/sales"]);
    let ran = ran.expect_status(2);
    assert!(ran.stderr.contains("cannot connect to postgres://127.0.0.1:9/sales"), "{}", ran.stderr);
}

/// Runs `top` on a pseudo-terminal with `filter`, so that the row is visible on a machine with many devices.
/// Calls `end` with the child once `wanted` is on the screen. Returns all output, and the terminal settings
/// that `stty` reports afterwards.
fn on_a_terminal(filter: &str, wanted: &str, end: impl Fn(&mut std::process::Child)) -> Option<String> {
    let words = format!("--interval 1s --filter '{filter}' linux:");
    on_a_terminal_of(&Workspace::new(), (130, 30), &words, wanted, end)
}

/// The same with `words`, in `workspace`, on a terminal of a size in columns and lines.
fn on_a_terminal_of(
    workspace: &Workspace,
    (columns, lines): (u16, u16),
    words: &str,
    wanted: &str,
    end: impl Fn(&mut std::process::Child),
) -> Option<String> {
    let program = binary().display().to_string();
    let script =
        format!("stty rows {lines} cols {columns}; {program} top {words}; echo \"status $?\"; stty -a");
    let mut command = Command::new("script");
    command
        .args(["--quiet", "--flush", "--command", &script, "/dev/null"])
        .env("IOSTALL_STORE", workspace.path("store.db"))
        .env("TERM", "xterm-256color")
        .env("TZ", "UTC")
        .env("SHELL", "/bin/sh")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else {
        skip("top on a terminal", "script (util-linux) is not installed");
        return None;
    };
    let mut output = child.stdout.take().unwrap();
    let (sender, pieces) = channel();
    std::thread::spawn(move || {
        let mut piece = [0; 4096];
        while let Ok(count @ 1..) = output.read(&mut piece) {
            if sender.send(piece[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    let (mut all, mut is_told) = (Vec::new(), false);
    let mut draws = 0;
    while let Ok(piece) = pieces.recv_timeout(PATIENCE) {
        all.extend(piece);
        draws += 1;
        if draws > DRAWS_MAX {
            child.kill().unwrap();
        }
        if !is_told && String::from_utf8_lossy(&all).contains(wanted) {
            is_told = true;
            end(&mut child);
        }
    }
    child.wait().unwrap();
    assert!(is_told, "{wanted:?} never came: {}", String::from_utf8_lossy(&all));
    Some(String::from_utf8_lossy(&all).into_owned())
}

/// Give up after this many pieces of output; the screen is drawn a few times per second.
const DRAWS_MAX: u32 = 5_000;

#[track_caller]
fn assert_is_sane(all: &str) {
    let (_, after) = all.rsplit_once("\u{1b}[?1049l").expect("the screen was given back");
    assert!(after.contains("status 0"), "{after}");
    let settings: Vec<&str> = after.split_ascii_whitespace().collect();
    for setting in ["icanon", "echo", "isig", "icrnl"] {
        assert!(settings.contains(&setting), "{setting} in {after}");
    }
    assert!(all.contains("\u{1b}[?25h"), "the cursor is shown again");
}

#[test]
fn on_a_terminal_it_shows_a_device_and_the_key_q_gives_the_terminal_back() {
    let Some(device) = counted_device() else {
        return skip("top on a terminal", "no block device is counted here");
    };
    let press_q = |child: &mut std::process::Child| {
        child.stdin.as_mut().unwrap().write_all(b"/x\rq").unwrap();
    };
    // The filter itself is on the screen from the start, so do not use the whole name.
    if let Some(all) = on_a_terminal(&device[1..], &device, press_q) {
        assert!(all.contains("ms/io") && all.contains("q quit"), "the table and the help are there");
        assert_is_sane(&all);
    }
}

#[test]
fn a_signal_gives_the_terminal_back_too() {
    let end = |child: &mut std::process::Child| {
        let shell = Command::new("pgrep").args(["-P", &child.id().to_string()]).output().unwrap();
        let shell = String::from_utf8(shell.stdout).unwrap();
        let top = Command::new("pkill").args(["-TERM", "-P", shell.trim(), "iostall"]).status().unwrap();
        assert!(top.success());
    };
    if Command::new("pgrep").arg("--version").output().is_err() {
        return skip("top and a signal", "pgrep (procps) is not installed");
    }
    if let Some(all) = on_a_terminal("", "q quit", end) {
        assert_is_sane(&all);
    }
}

/// The store had the samples of the night, and the live view could not show them.
#[test]
fn the_past_is_shown_on_a_terminal_of_80_columns_and_left_again() {
    if counted_device().is_none() {
        return skip("top in the past", "no block device is counted here");
    }
    let workspace = Workspace::new();
    for _ in 0..3 {
        workspace.run(&["collect", "once", "linux:"]).expect_status(0);
    }
    let ran = workspace.run(&["top", "--at", "2000-01-01", "--once", "--json"]).expect_status(0);
    let json: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(json["groups"][0]["source"], "linux:", "the first there is: {json}");
    workspace.run(&["top", "--at", "yesterday", "linux:"]).expect_status(2);
    workspace.run(&["top", "--at", "never"]).expect_status(2);
    // The key for the time before the first sample says that there is none.
    let press = |child: &mut std::process::Child| {
        child.stdin.as_mut().unwrap().write_all(b"[[[[?q").unwrap();
    };
    let words = "--all --at 2000-01-01";
    if let Some(all) = on_a_terminal_of(&workspace, (80, 24), words, "PAST", press) {
        assert!(all.contains("Ctrl-C"), "the long help: {all}");
        assert_is_sane(&all);
    }
}

/// Whoever looks into a row gets its history and comes back with escape.
#[test]
fn enter_looks_into_a_device_on_a_terminal() {
    let Some(device) = counted_device() else {
        return skip("top inside a row", "no block device is counted here");
    };
    let press = |child: &mut std::process::Child| {
        child.stdin.as_mut().unwrap().write_all(b"\r?q").unwrap();
    };
    if let Some(all) = on_a_terminal(&device[1..], &device, press) {
        assert!(all.contains("linux-device") && all.contains("Ctrl-C"), "the row, then the long help: {all}");
        assert_is_sane(&all);
    }
}
