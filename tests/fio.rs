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
