//! Where results are written: no output option may destroy another file.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::running::Running;
use crate::support::{Ran, Workspace, binary, skip, unmount};

/// A very short load.
const LOAD: [&str; 5] = ["load", "--duration", "200ms", "--warmup", "0"];

fn load<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    LOAD.into_iter().chain(rest.iter().copied()).collect()
}

/// A workspace with a file to read.
fn with_target() -> Workspace {
    let here = Workspace::new();
    fs::write(here.path("t.dat"), vec![7; 4 << 20]).unwrap();
    here
}

/// Creates a character device (`1 3` is `/dev/null`, `1 7` is `/dev/full`) in the workspace; not possible
/// everywhere.
fn node(here: &Workspace, name: &str, minor: &str) -> bool {
    let made = Command::new("mknod").arg(here.path(name)).args(["c", "1", minor]).status();
    let usable = made.is_ok_and(|status| status.success())
        && fs::OpenOptions::new().write(true).open(here.path(name)).is_ok();
    if !usable {
        skip("outputs that are device nodes", "mknod is not allowed here");
    }
    usable
}

/// Runs the program with a private `/dev` that has only links to its descriptors, so that mistakes are
/// harmless.
struct PrivateDev<'a>(&'a Workspace);

impl<'a> PrivateDev<'a> {
    fn new(here: &'a Workspace) -> Option<Self> {
        let tried = Self(here).command("true", &[]).output();
        if tried.is_ok_and(|output| output.status.success()) {
            return Some(Self(here));
        }
        skip("results below /dev", "no mount namespace can be had here");
        None
    }

    /// Runs `script` with the program as `$0` and `words` as its arguments.
    fn command(&self, script: &str, words: &[&str]) -> Command {
        const LINKS: &str = "mount -t tmpfs none /dev && ln -s /proc/self/fd /dev/fd && ln -s fd/0 /dev/stdin && \
            ln -s fd/1 /dev/stdout && ";
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c", &format!("{LINKS}{script}")]);
        command.arg(binary()).args(words).current_dir(self.0.path("."));
        command.env("IOSTALL_STORE", self.0.path("store.db")).env("LC_ALL", "C.UTF-8").stdin(Stdio::null());
        command
    }

    fn run(&self, words: &[&str]) -> Ran {
        self.command("exec \"$0\" \"$@\"", words).output().expect("it ran before").into()
    }
}

/// Content of all files in a workspace, except the store's.
fn contents(here: &Workspace) -> BTreeMap<OsString, Vec<u8>> {
    let entries = fs::read_dir(here.path(".")).unwrap().map(|entry| entry.unwrap().path());
    entries
        .filter(|path| path.is_file())
        .map(|path| (path.file_name().unwrap().to_owned(), fs::read(&path).unwrap()))
        .collect()
}

/// Expects a refusal before any work: status 2, a hint, and all files unchanged.
#[track_caller]
fn refused(here: &Workspace, words: &[&str]) -> Ran {
    let before = contents(here);
    let ran = here.run(words);
    let after = contents(here);
    for (name, bytes) in &before {
        assert!(after.get(name) == Some(bytes), "{words:?} changed {}", name.display());
    }
    assert!(before.keys().eq(after.keys()), "{words:?} left {:?}", after.keys());
    let status = if words[0] == "diskspd" { 3 } else { 2 };
    let ran = ran.expect_status(status);
    assert!(ran.stderr.contains("hint: "), "{words:?}: {}", ran.stderr);
    assert!(ran.stdout.is_empty(), "{words:?} did something: {}", ran.stdout);
    ran
}

/// `--json n` with a device node, as root, replaced the node by a regular file. With `/dev/null` this damages
/// the host.
#[test]
fn a_device_node_stays_one_and_takes_what_it_is_given() {
    let here = with_target();
    if !node(&here, "n", "3") {
        return;
    }
    for words in [
        load(&["--json", "n", "--csv", "n", "--html", "n", "--markdown", "n", "t.dat"]),
        vec!["copy", "--overwrite", "--manifest", "n", "--json", "n", "t.dat", "copied"],
        vec!["verify", "--json", "n", "list.xxh3"],
        vec!["runs", "export", "last", "--output", "n"],
        vec!["runs", "show", "last", "--html", "n"],
        vec!["compare", "last", "last", "--json", "n"],
    ] {
        if words[0] == "verify" {
            here.run(&["copy", "--overwrite", "--manifest", "list.xxh3", "t.dat", "copied"]).expect_status(0);
        }
        here.run(&words).expect_status(0);
        let kind = fs::symlink_metadata(here.path("n")).unwrap();
        assert!(kind.file_type().is_char_device(), "{words:?} replaced the device");
    }
}

/// A script that read the result from a pipe waited forever, because the pipe had been replaced by a file.
#[test]
fn the_reader_of_a_pipe_gets_the_document_whichever_comes_first() {
    let here = with_target();
    let pipe = here.path("p");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // The reader exists from the start.
    let reader = Running::new(Command::new("cat").arg(&pipe));
    let ran = here.run(&load(&["--json", "p", "t.dat"])).expect_status(0);
    assert!(ran.stdout.contains("stored as run"), "{}", ran.stdout);
    assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo(), "the pipe is gone");
    let run: Value = serde_json::from_str(&reader.ended().stdout).expect("the document, and nothing else");
    assert_eq!(run["schema"], "iostall-run");
    // The reader starts when the message asks for it.
    let mut program = here.start(&load(&["--json", "p", "--csv", "o.csv", "t.dat"]));
    program.wait_for("waiting for a reader of p");
    assert!(here.path("o.csv").exists(), "what need not wait is written first");
    let reader = Running::new(Command::new("cat").arg(&pipe));
    assert!(serde_json::from_str::<Value>(&reader.ended().stdout).is_ok());
    program.ended().expect_status(0);
    // Two documents in one pipe would be unusable.
    refused(&here, &load(&["--json", "p", "--csv", "p", "t.dat"]));
}

/// A link such as `latest.json` was replaced by a file, while its target kept last week's result.
#[test]
fn a_link_stays_and_what_it_leads_to_is_written() {
    let here = with_target();
    fs::create_dir(here.path("results")).unwrap();
    fs::write(here.path("results/june.json"), "{\"old\": 1}").unwrap();
    fs::set_permissions(here.path("results/june.json"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("results/june.json", here.path("latest.json")).unwrap();
    symlink("results/july.json", here.path("next.json")).unwrap();
    here.run(&load(&["--json", "latest.json", "t.dat"])).expect_status(0);
    here.run(&load(&["--json", "next.json", "t.dat"])).expect_status(0);
    for (link, name) in [("latest.json", "june.json"), ("next.json", "july.json")] {
        assert!(fs::symlink_metadata(here.path(link)).unwrap().is_symlink(), "{link}");
        assert_eq!(here.json(&format!("results/{name}"))["schema"], "iostall-run");
    }
    let mode = fs::metadata(here.path("results/june.json")).unwrap().mode();
    assert_eq!(mode & 0o777, 0o640, "who may read it stays");
    let left: Vec<_> = fs::read_dir(here.path("results")).unwrap().collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

/// `/dev/stdout` was replaced, as root for the whole machine. It means the same as `-`, and a descriptor
/// opened by the shell is written at its current position.
#[test]
fn standard_output_and_descriptors_are_written_through() {
    let here = with_target();
    let Some(private) = PrivateDev::new(&here) else { return };
    for name in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "-"] {
        let ran = private.run(&load(&["--json", name, "t.dat"])).expect_status(0);
        assert!(serde_json::from_str::<Value>(&ran.stdout).is_ok(), "{name}: {}", ran.stdout);
    }
    for wrong in [["--json", "/dev/fd/97"], ["--json", "/dev/stdin"]] {
        let ran = private.run(&load(&[&wrong[..], &["t.dat"]].concat())).expect_status(2);
        assert!(ran.stdout.is_empty() && ran.stderr.contains("the descriptor "), "{}", ran.stderr);
    }
    let ran = private.run(&load(&["--json", "-", "--csv", "/dev/stdout", "t.dat"])).expect_status(2);
    assert!(ran.stderr.contains("cannot both use standard output"), "{}", ran.stderr);
    let script =
        "echo before > list; exec 5>> list; \"$0\" \"$@\" > text; status=$?; echo after >&5; exit $status";
    let output = private.command(script, &load(&["--json", "/dev/fd/5", "t.dat"])).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let list = fs::read_to_string(here.path("list")).unwrap();
    let document = list.strip_prefix("before\n").and_then(|rest| rest.strip_suffix("after\n")).unwrap();
    assert!(serde_json::from_str::<Value>(document).is_ok(), "{list}");
    assert!(fs::read_to_string(here.path("text")).unwrap().contains("stored as run"));
    // Text and document in one file would overwrite each other.
    let mut command = here.command(&load(&["--json", "same", "t.dat"]));
    let output = command.stdout(fs::File::create(here.path("same")).unwrap()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
}

/// `--json live.db live.db` turned a database into JSON, `--store own.db --json own.db` destroyed the store,
/// and `--json same --csv same` kept only one of the two.
#[test]
fn a_result_never_takes_the_place_of_what_the_command_works_on() {
    let here = with_target();
    // Our own store is a database that must stay intact.
    for name in ["live.db", "own.db"] {
        here.run(&[&["--store", name], &load(&["t.dat"])[..]].concat()).expect_status(0);
    }
    fs::hard_link(here.path("live.db"), here.path("hard.db")).unwrap();
    symlink("live.db", here.path("soft.db")).unwrap();
    fs::create_dir(here.path("d")).unwrap();
    fs::write(here.path("p.toml"), "name = 'p'\n[[role]]\nname = 'data'\nblock-size = '8K'\n").unwrap();
    for path in ["live.db", "./live.db", "d/../live.db", "hard.db", "soft.db"] {
        let ran = refused(&here, &load(&["--json", path, "live.db"]));
        assert!(ran.stderr.contains("a target"), "{path}: {}", ran.stderr);
        refused(&here, &load(&["--json", path, "t.dat"]));
    }
    for path in ["own.db", "hard-own.db", "own.db-wal", "own.db-shm", "own.db-journal"] {
        if path == "hard-own.db" {
            fs::hard_link(here.path("own.db"), here.path(path)).unwrap();
        }
        refused(&here, &[&["--store", "own.db"], &load(&["--json", path, "t.dat"])[..]].concat());
    }
    refused(&here, &[&["--store", "new.db"], &load(&["--csv", "d/../new.db", "t.dat"])[..]].concat());
    for words in [
        load(&["--json", "same", "--csv", "same", "t.dat"]),
        load(&["--json", "same", "--html", "d/../same", "t.dat"]),
        load(&["--json", "new.dat", "--size", "8M", "--preset", "random-write", "new.dat"]),
        load(&["--json", "iostall-scratch.dat"]),
        load(&["--profile", "p.toml", "--html", "p.toml", "t.dat"]),
        load(&["--preset", "postgres", "--json", "w.dat", "--target", "wal=w.dat", "t.dat"]),
        vec!["sweep", "--json", "t.dat", "t.dat"],
        vec!["matrix", "--quick", "--json", "t.dat", "t.dat"],
        vec!["compare", "--fresh", "1", "--json", "t.dat", "t.dat", "live.db"],
        vec!["compare", "--work", "a.csv", "b.csv", "--json", "a.csv"],
        vec!["write", "--size", "8M", "--json", "w.dat", "w.dat"],
        vec!["diskspd", "-d1", "-b8K", "--json", "t.dat", "t.dat"],
        vec!["diskspd", "-Xp.xml", "--json", "p.xml"],
        vec!["report", "files", "--json", "store.db"],
        vec!["runs", "export", "last", "--output", "store.db"],
        vec!["runs", "show", "last", "--json", "store.db"],
    ] {
        for (name, text) in
            [("a.csv", "name,seconds\nload,1\n"), ("b.csv", "name,seconds\nload,2\n"), ("p.xml", PROFILE)]
        {
            fs::write(here.path(name), text).unwrap();
        }
        refused(&here, &words);
    }
}

const PROFILE: &str = "<Profile><TimeSpans><TimeSpan><Duration>1</Duration><Targets><Target><Path>t.dat</Path>\
    </Target></Targets></TimeSpan></TimeSpans></Profile>";

/// `copy --json a.mdf b.mdf new/` destroyed a source, and `--manifest X src X` destroyed the copy.
#[test]
fn a_result_never_takes_the_place_of_what_is_copied() {
    let here = Workspace::new();
    for directory in ["src/below", "new/src", "other"] {
        fs::create_dir_all(here.path(directory)).unwrap();
    }
    fs::write(here.path("src/below/f.json"), "{\"precious\": 1}").unwrap();
    fs::write(here.path("a.mdf"), "{ not really one").unwrap();
    fs::write(here.path("b.mdf"), "{ nor this").unwrap();
    fs::write(here.path("b.json"), "{\"precious\": 2}").unwrap();
    fs::hard_link(here.path("b.json"), here.path("hard.json")).unwrap();
    symlink("new", here.path("soft")).unwrap();
    for words in [
        &["copy", "--json", "a.mdf", "b.mdf", "new/"][..],
        &["copy", "--json", "b.json", "b.json", "new/"],
        &["copy", "--json", "hard.json", "b.json", "new/"],
        &["copy", "--json", "new/b.json", "b.json", "new/"],
        &["copy", "--json", "soft/b.json", "b.json", "new"],
        &["copy", "--json", "x.json", "b.json", "x.json"],
        &["copy", "--json", "other/../x.json", "b.json", "x.json"],
        &["copy", "--manifest", "x", "b.json", "x"],
        &["copy", "--manifest", "x", "src", "x"],
        &["copy", "--overwrite", "--manifest", "b.json", "b.json", "x"],
        &["copy", "--manifest", "same", "--json", "same", "b.json", "x"],
        &["copy", "--json", "src/below/f.json", "src", "new"],
        &["copy", "--json", "new/src/below", "src", "new"],
        &["copy", "--json", "new/src/f", "src", "other/f"],
    ] {
        if words[2] == "new/src/f" {
            // Next to the copy, without a conflict.
            here.run(words).expect_status(0);
            continue;
        }
        refused(&here, words);
        assert!(fs::read_dir(here.path("new/src")).unwrap().next().is_none(), "{words:?} copied");
        assert_eq!(fs::read_to_string(here.path("src/below/f.json")).unwrap(), "{\"precious\": 1}");
    }
    here.run(&["copy", "--manifest", "list.xxh3", "b.json", "new/"]).expect_status(0);
    let list = fs::read(here.path("list.xxh3")).unwrap();
    refused(&here, &["verify", "--json", "list.xxh3", "list.xxh3"]);
    refused(&here, &["verify", "--json", "new/b.json", "list.xxh3"]);
    assert_eq!(fs::read(here.path("list.xxh3")).unwrap(), list);
}

/// A typo, `--json a.mdf` for `a.json`, replaced a file with a document. Only an earlier result of the same
/// kind may be replaced.
#[test]
fn only_a_former_result_of_the_same_form_makes_room() {
    let here = with_target();
    let forms = [
        ("--json", "o.json"),
        ("--csv", "o.csv"),
        ("--html", "o.html"),
        ("--markdown", "o.md"),
        ("--junit", "o.xml"),
    ];
    for (flag, name) in forms {
        here.run(&load(&[flag, name, "t.dat"])).expect_status(0);
        let first = fs::metadata(here.path(name)).unwrap().ino();
        here.run(&load(&[flag, name, "t.dat"])).expect_status(0);
        assert_ne!(fs::metadata(here.path(name)).unwrap().ino(), first, "{name} was not written as a whole");
        fs::write(here.path("empty"), "").unwrap();
        here.run(&load(&[flag, "empty", "t.dat"])).expect_status(0);
    }
    fs::write(here.path("precious"), "not ours\n").unwrap();
    fs::write(here.path("a.mdf"), [&b"\x01\x0f"[..], &[0; 34], b"\x02\0", &[0; 8000]].concat()).unwrap();
    fs::write(here.path("b.mdf"), [0; 8192]).unwrap();
    for name in ["precious", "a.mdf", "b.mdf", "t.dat"] {
        for (flag, _) in forms {
            refused(&here, &load(&[flag, name, "--preset", "random-read", "--size", "8M", "new.dat"]));
        }
        for words in [
            vec!["sweep", "--json", name, "new.dat"],
            vec!["matrix", "--csv", name, "new.dat"],
            vec!["write", "--html", name, "new.dat"],
            vec!["copy", "--csv", name, "o.json", "new.dat"],
            vec!["copy", "--manifest", name, "o.json", "new.dat"],
            vec!["compare", "last", "last", "--json", name],
            vec!["runs", "export", "last", "--output", name],
            vec!["runs", "show", "last", "--csv", name],
            vec!["report", "volumes", "--csv", name],
            vec!["diskspd", "-c8M", "-d1", "-b8K", "--json", name, "new.dat"],
        ] {
            refused(&here, &words);
        }
    }
    refused(&here, &load(&["--json", "o.csv", "t.dat"]));
    // Tables of other commands may also be replaced.
    here.run(&["copy", "--csv", "o.csv", "o.json", "copied"]).expect_status(0);
    here.run(&load(&["--csv", "o.csv", "t.dat"])).expect_status(0);
}

/// A file mounted into a container cannot be replaced by renaming, so the result was lost at the end of the
/// run.
#[test]
fn a_file_that_is_mounted_by_itself_is_written_in_place() {
    let here = with_target();
    fs::write(here.path("outside.json"), format!("{{\"old\": \"{}\"}}", "x".repeat(100_000))).unwrap();
    fs::write(here.path("o.json"), "").unwrap();
    let (from, to) = (here.path("outside.json"), here.path("o.json"));
    let mounted = Command::new("mount").arg("--bind").args([&from, &to]).status();
    if !mounted.is_ok_and(|status| status.success()) {
        return skip("an output that is a mount point", "mount is not allowed here");
    }
    let ran = here.run(&load(&["--json", "o.json", "t.dat"]));
    unmount(&to);
    ran.expect_status(0);
    assert_eq!(here.json("outside.json")["schema"], "iostall-run");
}

/// `--json /dev/nvme9n1.json` is a typo too: no file is created in `/dev` or among the kernel's control
/// files.
#[test]
fn no_result_is_made_among_the_devices() {
    let here = with_target();
    let Some(private) = PrivateDev::new(&here) else { return };
    for path in ["/dev/o.json", "/proc/self/o.json"] {
        let ran = private.run(&load(&["--json", path, "t.dat"])).expect_status(2);
        assert!(ran.stderr.contains(&format!("--json {path}: ")), "{}", ran.stderr);
        assert!(ran.stdout.is_empty(), "it was measured before: {}", ran.stdout);
    }
}
