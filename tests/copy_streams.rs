//! Standard input, standard output and devices as source or destination of a copy.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;

use crate::copy::{content, names};
use crate::devices::LoopDevice;
use crate::support::{Ran, Workspace, binary};

/// `pg_dump | iostall copy - FILE` made a directory entry of the name `-` of it, or failed to find one.
#[test]
fn standard_input_becomes_a_whole_file_or_none() {
    let here = Workspace::new();
    let data = content(5_000_001);
    fs::write(here.path("from"), &data).unwrap();
    let copied = |words: &str| {
        let script = format!("cat from | \"$0\" copy {words}");
        Ran::from(here.shell(&script).arg(binary()).output().unwrap())
    };
    copied("--verify --hash md5 --manifest list.md5 --json o.json - to").expect_status(0);
    assert!(fs::read(here.path("to")).unwrap() == data);
    assert_eq!(fs::metadata(here.path("to")).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(here.json("o.json")["copy"]["verified_files"], 1);
    here.run(&["verify", "list.md5"]).expect_status(0);
    let ran = copied("- to").expect_status(2);
    assert!(ran.stderr.contains("exists"), "{}", ran.stderr);
    copied("--overwrite - to").expect_status(0);
    for words in ["- .", "- from to", "--move - new", "- no/such/dir/to"] {
        copied(words).expect_status(2);
    }
    copied("--dry-run - new").expect_status(0);
    let mut command = here.command(&["copy", "-", "empty"]);
    Ran::from(command.stdin(File::open("/dev/null").unwrap()).output().unwrap()).expect_status(0);
    assert_eq!(fs::read(here.path("empty")).unwrap(), b"");
    assert_eq!(names(&here.path(".")), ["empty", "from", "list.md5", "o.json", "to"]);
}

#[test]
fn a_file_goes_to_standard_output_and_nothing_else_does() {
    let here = Workspace::new();
    let data = content(3_000_000);
    fs::write(here.path("from"), &data).unwrap();
    let output = here.command(&["copy", "from", "-"]).output().unwrap();
    assert!(output.status.success() && output.stdout == data, "{}", String::from_utf8_lossy(&output.stderr));
    let appended =
        here.shell("\"$0\" copy from - > twice; \"$0\" copy from - >> twice").arg(binary()).status();
    assert!(appended.unwrap().success());
    assert!(fs::read(here.path("twice")).unwrap() == [data.clone(), data].concat());
    for words in [&["--verify"][..], &["--json", "-"], &["--move"], &["--mirror"]] {
        let ran = here.run(&[&["copy"], words, &["from", "-"]].concat()).expect_status(2);
        assert!(ran.stdout.is_empty(), "{}", ran.stdout);
    }
    here.run(&["copy", "absent", "-"]).expect_status(2);
    here.run(&["copy", ".", "-"]).expect_status(2);
}

/// "iostall copy --specials keep" was the advice, which would have made another device node.
#[test]
fn an_image_of_a_device_is_a_file_with_everything_on_it() {
    let here = Workspace::new();
    let Some(device) = LoopDevice::new(&here, "an image of a device", 8) else { return };
    let data = content(8 << 20);
    fs::write(here.path("disk"), &data).unwrap();
    here.run(&["copy", "--to-device", device.name(), "disk", device.name()]).expect_status(0);
    here.run(&["copy", "--verify", "--json", "o.json", device.name(), "out"]).expect_status(0);
    assert!(fs::read(here.path("out")).unwrap() == data);
    let copy = &here.json("o.json")["copy"];
    assert_eq!((&copy["bytes"], &copy["verified_files"]), (&(8 << 20).into(), &1.into()));
    let ran = here.run(&["copy", device.name(), "out"]).expect_status(2);
    assert!(ran.stderr.contains("exists"), "{}", ran.stderr);
    here.run(&["copy", "--move", device.name(), "new"]).expect_status(2);
    assert!(!here.path("new").exists());
}

/// `/dev/stdout` was opened anew: a second position in the shell's file, so what the shell wrote next landed on it. On a socket,
/// and on a file that only whoever started us may open, it failed.
#[test]
fn standard_output_is_the_one_that_the_shell_and_others_write_to() {
    let here = Workspace::new();
    fs::write(here.path("h"), "hello\n").unwrap();
    fs::write(here.path("large"), content(3 << 20)).unwrap();
    let run = |script: &str| Ran::from(here.shell(script).arg(binary()).output().unwrap()).expect_status(0);
    run("(echo header; \"$0\" copy h -; echo trailer) > x");
    assert_eq!(fs::read(here.path("x")).unwrap(), b"header\nhello\ntrailer\n");
    run("exec 8>y; echo start >&8; \"$0\" copy large - >&8; echo end >&8");
    assert_eq!(fs::read(here.path("y")).unwrap(), [b"start\n", &content(3 << 20)[..], b"end\n"].concat());
    run("(read line; \"$0\" copy - rest) < x");
    assert!(fs::read(here.path("rest")).unwrap().ends_with(b"trailer\n"));

    for (script, made) in [("\"$0\" copy h - >&-", None), ("\"$0\" copy - new <&-", Some("new"))] {
        let ran = Ran::from(here.shell(script).arg(binary()).output().unwrap()).expect_status(2);
        assert!(ran.stderr.contains("Bad file descriptor"), "{}", ran.stderr);
        assert!(made.is_none_or(|name| !here.path(name).exists()));
    }
    let ran = here.run(&["copy", "h", "/dev/stdout"]).expect_status(2);
    assert!(ran.stderr.contains("`-`") && !ran.stderr.contains("remove"), "{}", ran.stderr);

    let (ours, theirs) = UnixStream::pair().unwrap();
    let copied = here.command(&["copy", "h", "-"]).stdout(OwnedFd::from(theirs)).status().unwrap();
    assert!(copied.success());
    let mut text = String::new();
    (&ours).read_to_string(&mut text).unwrap();
    assert_eq!(text, "hello\n");
}

/// `copy --update - f` overwrote a newer file: nobody looked at the option.
/// It grew by what was just read of it, without an end.
#[test]
fn a_file_is_not_appended_to_itself() {
    let here = Workspace::new();
    fs::write(here.path("f"), "hello").unwrap();
    let ran = here.shell("\"$0\" copy f - >> f").arg(binary()).output().unwrap();
    Ran::from(ran).expect_status(2);
    assert_eq!(fs::read(here.path("f")).unwrap(), b"hello");
}

#[test]
fn an_option_that_a_stream_does_not_read_is_refused_by_name() {
    let here = Workspace::new();
    fs::write(here.path("f"), "newer").unwrap();
    for words in [
        &["--update"][..],
        &["--overwrite", "--exclude", "*"],
        &["--overwrite", "--max-size", "1"],
        &["--overwrite", "--resume"],
        &["--overwrite", "--checksum"],
        &["--overwrite", "--retries", "2"],
    ] {
        let ran = here.run(&[&["copy"], words, &["-", "f"]].concat()).expect_status(2);
        assert!(ran.stderr.contains(words[words.len().min(2) - 1]), "{words:?}: {}", ran.stderr);
        assert_eq!(fs::read(here.path("f")).unwrap(), b"newer", "{words:?}");
    }
}
