//! fio's job files: which parts of a file their jobs touch, and what is said of what is not done as fio does it.

use std::fs;

use crate::support::Workspace;

const MIB: usize = 1 << 20;

/// A file of 32 MiB of zeros that the jobs may write.
fn zeros(here: &Workspace, name: &str) {
    fs::write(here.path(name), vec![0; 32 * MIB]).unwrap();
}

/// The last byte that is not 0, and after it where the file ends.
fn written_up_to(here: &Workspace, name: &str) -> (usize, usize) {
    let bytes = fs::read(here.path(name)).unwrap();
    (bytes.iter().rposition(|byte| *byte != 0).unwrap_or(0), bytes.len())
}

/// A job wrote 8 MiB of a device, and another one read what lay behind: a quarter of all writes went to what was only to be
/// read. The size of the one was that of the largest.
#[test]
fn a_job_writes_within_its_own_size_whatever_runs_beside_or_after_it_and_wherever_its_file_is_named() {
    let here = Workspace::new();
    let global = "[global]\nbs=4k\nruntime=1\ntime_based\nioengine=libaio\niodepth=4\n";
    let hot = "[hot]\nrw=randwrite\nsize=8m\n";
    let jobs = [
        ("beside", "filename=t.dat\n", "[cold]\nrw=randread\noffset=8m\nsize=16m\n"),
        ("after", "filename=t.dat\n", "[cold]\nstonewall\nrw=randread\nsize=24m\n"),
        ("whole", "filename=t.dat\n", "[cold]\nrw=randread\n"),
        ("elsewhere", "filename=not-there.dat\n", "[cold]\nrw=randread\nsize=16m\n"),
    ];
    for (name, file, cold) in jobs {
        zeros(&here, "t.dat");
        fs::write(here.path("j.fio"), [global, file, hot, cold].concat()).unwrap();
        let mut words = vec!["load", "--overwrite", "t.dat", "--fio", "j.fio", "--no-store"];
        words.extend((name == "elsewhere").then_some("t.dat"));
        here.run(&words).expect_status(0);
        let (last, end) = written_up_to(&here, "t.dat");
        assert!((1..8 * MIB).contains(&last) && end == 32 * MIB, "{name}: written up to {last} of {end}");
    }
    assert!(!here.path("not-there.dat").exists());
}

/// A job behind the end of a file rewrote all of it, and one that may make no file let it grow.
#[test]
fn a_job_beyond_the_end_of_a_file_leaves_what_is_there_and_one_that_may_make_none_lets_it_be() {
    let here = Workspace::new();
    let kept = |len: usize| fs::read(here.path("f")).unwrap()[..len].iter().all(|byte| *byte == b'U');
    fs::write(here.path("f"), vec![b'U'; MIB]).unwrap();
    fs::write(here.path("j.fio"), "[a]\nfilename=f\nrw=write\nbs=64k\nsize=64k\noffset=1m\n").unwrap();
    here.run(&["load", "--overwrite", "f", "--fio", "j.fio", "--no-store"]).expect_status(0);
    assert!(kept(MIB) && fs::metadata(here.path("f")).unwrap().len() > MIB as u64);
    fs::write(here.path("f"), vec![b'U'; MIB]).unwrap();
    fs::write(here.path("j.fio"), "[a]\nfilename=f\nallow_file_create=0\nrw=read\nsize=2m\n").unwrap();
    here.run(&["load", "--overwrite", "f", "--fio", "j.fio", "--no-store"]).expect_status(2);
    assert!(kept(MIB) && fs::metadata(here.path("f")).unwrap().len() == MIB as u64);
    // No file has as many bytes; there was an overflow, and an empty file was left.
    here.run(&["load", "--size", "18446744073709551615", "new.dat"]).expect_status(2);
    assert!(!here.path("new.dat").exists());
}

/// A file that was named on the command line and was not there was made with 1 GiB, and a job was cut to the size of another.
#[test]
fn a_file_is_made_as_long_as_its_jobs_reach_and_a_job_without_a_size_uses_all_of_it() {
    let here = Workspace::new();
    let jobs = "[global]\nruntime=1\ntime_based\nbs=4k\n[a]\nfilename=f\nsize=2m\n[b]\nfilename=f\noffset=2m\nsize=4m\n";
    fs::write(here.path("j.fio"), jobs).unwrap();
    here.run(&["load", "--fio", "j.fio", "--no-store", "new.dat"]).expect_status(0);
    assert_eq!(fs::metadata(here.path("new.dat")).unwrap().len(), 6 << 20);
    assert!(!here.path("f").exists());
}

/// A job that fills a file once went on for its runtime, and a random one missed a third of the blocks. fio counts 43 and 2,048 too.
#[test]
fn a_job_ends_with_its_size_and_writes_each_block_once() {
    let here = Workspace::new();
    let jobs = "[order]\nfilename=a.dat\nrw=write\nsize=100000\nbs=2300\nruntime=600\n\
                [fill]\nstonewall\nfilename=b.dat\nrw=randwrite\nsize=8m\nbs=4k\nruntime=600\nioengine=libaio\niodepth=4\n";
    fs::write(here.path("j.fio"), jobs).unwrap();
    zeros(&here, "b.dat");
    here.run(&["load", "--overwrite", "b.dat", "--fio", "j.fio", "--no-store", "--json", "o.json"])
        .expect_status(0);
    let run = here.json("o.json");
    let writes = |span: usize| {
        let mut cells = run["load"]["spans"][span]["roles"][0]["cells"].as_array().unwrap().iter();
        cells.find(|cell| cell["op"] == "write").unwrap()["service_ns"]["count"].as_u64().unwrap()
    };
    assert_eq!((writes(0), writes(1)), (43, 2048));
    assert_eq!(run["load"]["spans"][1]["interrupted"], false);
    let bytes = fs::read(here.path("b.dat")).unwrap();
    let filled = bytes.chunks(4096).filter(|block| block.iter().any(|byte| *byte != 0)).count();
    assert_eq!((filled, bytes.len()), (2048, 32 * MIB));
    let short =
        run["warnings"].as_array().unwrap().iter().find(|warning| warning["code"] == "short-run").unwrap();
    assert!(short["message"].as_str().unwrap().contains("its size"), "it says why it ended: {short}");
}

/// `ioengine=null` made a file of 64 MiB and wrote it 49,846 times.
#[test]
fn a_job_without_io_makes_no_file_and_one_that_may_make_none_measures_nothing() {
    let here = Workspace::new();
    let global = "[a]\nfilename=n.dat\nsize=8m\nrw=randwrite\nruntime=1\ntime_based\n";
    fs::write(here.path("null.fio"), [global, "ioengine=null\n"].concat()).unwrap();
    here.run(&["load", "--fio", "null.fio", "--no-store", "--json", "o.json"]).expect_status(0);
    assert_eq!(here.json("o.json")["load"]["spans"][0]["roles"][0]["engine"]["name"], "null");
    fs::write(here.path("none.fio"), [global, "allow_file_create=0\n"].concat()).unwrap();
    let refused = here.run(&["load", "--fio", "none.fio", "--no-store"]).expect_status(2);
    assert!(
        refused.stderr.contains("n.dat") && refused.stderr.contains("allow_file_create"),
        "{}",
        refused.stderr
    );
    assert!(!here.path("n.dat").exists());
}

/// The notes went to the standard error, and a stored number lost them.
#[test]
fn what_is_not_as_fio_does_it_is_in_the_report_the_document_and_the_stored_run() {
    let here = Workspace::new();
    fs::write(here.path("j.fio"), "[a]\nfilename=a.dat\nsize=8m\nrw=write\nend_fsync=1\n").unwrap();
    let ran = here.run(&["load", "--fio", "j.fio", "--json", "o.json"]).expect_status(0);
    let said = |run: &serde_json::Value| {
        let mut warnings = run["warnings"].as_array().unwrap().iter();
        warnings
            .any(|warning| warning["code"] == "not-as-written" && warning.to_string().contains("end_fsync"))
    };
    assert!(said(&here.json("o.json")) && ran.stdout.contains("end_fsync"), "{}", ran.stdout);
    here.run(&["runs", "show", "last", "--json", "stored.json"]).expect_status(0);
    assert!(said(&here.json("stored.json")));
    assert_eq!(here.json("o.json")["load"]["spans"][0]["roles"][0]["engine"]["name"], "psync");
}

/// `load nightly.fio` took the job file for a target.
#[test]
fn a_job_file_is_no_target_and_comes_from_standard_input_too() {
    let here = Workspace::new();
    fs::write(here.path("j.fio"), "[a]\nfilename=a.dat\nsize=2m\n").unwrap();
    for name in ["j.fio", "missing.fio"] {
        let refused = here.run(&["load", name, "--no-store"]).expect_status(2);
        assert!(refused.stderr.contains("--fio"), "{}", refused.stderr);
    }
    assert!(!here.path("missing.fio").exists());
    let mut command = here.command(&["load", "--fio", "-", "--no-store"]);
    command.stdin(fs::File::open(here.path("j.fio")).unwrap());
    assert!(command.output().unwrap().status.success());
    assert!(here.path("a.dat").exists());
    let toml = here.run(&["profile", "translate", "--fio", "j.fio"]).expect_status(0).stdout;
    assert!(toml.contains("--target file1=a.dat") && toml.contains("2 MiB"), "{toml}");
}

/// A job whose file was the job file overwrote it; so did a target on the command line, and a profile of DiskSpd.
#[test]
fn a_file_that_a_command_reads_is_never_its_target() {
    let here = Workspace::new();
    std::os::unix::fs::symlink("j.fio", here.path("link")).unwrap();
    fs::create_dir(here.path("d")).unwrap();
    for name in ["j.fio", "./j.fio", "d/../j.fio", "link"] {
        let jobs = format!("[a]\nfilename={name}\nrw=write\nbs=4k\nsize=8k\n");
        fs::write(here.path("j.fio"), &jobs).unwrap();
        for words in [&["load", "--fio", "j.fio"][..], &["load", "--fio", "link", "--overwrite", name]] {
            here.run(words).expect_status(2);
            assert_eq!(fs::read_to_string(here.path("j.fio")).unwrap(), jobs, "{words:?} {name}");
        }
        let typed = here.run(&["load", "--fio", "link", "--overwrite", name, name]).expect_status(2);
        assert!(typed.stderr.contains("that this command reads"), "{}", typed.stderr);
    }
}
