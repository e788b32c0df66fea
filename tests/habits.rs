//! What people type who come from other tools, end to end; all the lines are in `habits.txt`.

use std::fs;

use crate::support::{Workspace, counted};

/// Each of these was "unexpected argument", and the last ones made files of odd names.
#[test]
fn words_of_other_tools_are_answered_with_ours_and_nothing_is_done() {
    let here = Workspace::new();
    fs::write(here.path("a"), "x").unwrap();
    for (line, answer) in [
        (
            "load --rw=randread --bs=4k --iodepth=8 --ioengine=libaio --direct=1 --runtime=60 --filename=t.dat",
            "in iostall's words: iostall load --access random --write-pct 0 --block-size 4K --queue-depth 8",
        ),
        ("load --preset oltp --runtime=60 t.dat", "iostall load --preset oltp --duration 60s t.dat"),
        ("load --preset oltp --verify=md5 t.dat", "fio's verify has no equal here"),
        ("load -d15 -o32 -t2 -b64K -h -r -L -w0 t.dat", "iostall diskspd -d15 -o32"),
        ("copy -avP a b", "docs/copying.md has a table"),
        ("copy a b /E /MT:8", "docs/copying.md has a table"),
        ("load –b8K –d60 –r t.dat", "iostall diskspd -b8K -d60 -r t.dat"),
        ("rsync -a a b", "rsync is `iostall copy` here: docs/copying.md"),
        ("fio job.fio", "iostall load --fio job.fio"),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let ran = here.run(&words).expect_status(2);
        assert!(ran.stderr.contains(answer), "{line}: {}", ran.stderr);
        assert_eq!(ran.stderr.matches("error: ").count(), 1, "{line}: {}", ran.stderr);
        let mut names: Vec<_> =
            fs::read_dir(here.path(".")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["a"], "{line}");
    }
    for line in ["help", "help load", "version", "runs list", "runs list --limit 3"] {
        let words: Vec<&str> = line.split(' ').collect();
        here.run(&words).expect_status(0);
    }
}

/// Somebody's job files would have had to be written again.
#[test]
fn a_job_file_of_fio_runs_as_it_stands() {
    let here = Workspace::new();
    fs::write(
        here.path("night.fio"),
        "[global]\nioengine=libaio\ndirect=1\nruntime=1\nsize=4m\n[data]\nrw=randread\nbs=8k\niodepth=4\nfilename=data.dat\n\
         [log]\nrw=write\nbs=4k\nfdatasync=1\nfilename=log.dat\nsize=2m\n",
    )
    .unwrap();
    let ran = here.run(&["load", "--fio", "night.fio", "--json", "o.json"]).expect_status(0);
    let run = here.json("o.json");
    assert_eq!(run["name"], "night");
    assert_eq!(run["load"]["spans"][0]["roles"][1]["name"], "log");
    assert!(counted(&run, 0, "read").0 > 0 && counted(&run, 1, "sync").0 > 0, "{}", ran.stdout);
    let size = |name: &str| fs::metadata(here.path(name)).unwrap().len();
    assert_eq!((size("data.dat"), size("log.dat")), (4 << 20, 2 << 20));

    fs::write(here.path("odd.fio"), "[a]\nverify=crc32c\nfilename=a.dat\n").unwrap();
    let refused = here.run(&["load", "--fio", "odd.fio"]).expect_status(2);
    assert!(refused.stderr.contains("odd.fio") && refused.stderr.contains("verify"), "{}", refused.stderr);
    assert!(!here.path("a.dat").exists());
}
