use iostall_measure::{Caching, Nanos, Rate};
use iostall_model::profile::{Access, Arrivals};

use super::*;
use crate::check;

fn read(text: &str) -> Result<FioProfile, FioError> {
    let variable = |name: &str| (name == "DIR").then(|| "sub".to_owned());
    let read = read_jobs("x", text, &variable)?;
    check(&read.profile).unwrap();
    Ok(read)
}

/// The roles of the first span.
fn roles(text: &str) -> Vec<iostall_model::RoleProfile> {
    read(text).unwrap().profile.spans.remove(0).roles
}

/// What is refused, of a file that is.
fn refused(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

const NIGHT: &str = "; what runs every night
[global]
ioengine=libaio
direct=1
runtime=60
time_based
filename=/data/t.dat
size=10g

[data]
rw=randrw
rwmixread=70
bs=8k
iodepth=16
numjobs=4
norandommap

[log]
rw=write   ; in order
bs=4k # small
fdatasync=1
filename=/log/t.dat
size=1g
rate_iops=500
rate_process=poisson

[backup]
stonewall
rw=read
bs=1m
iodepth=8
";

/// Somebody has job files, and would have had to write each of them again.
#[test]
fn a_job_file_becomes_a_profile_with_the_files_that_it_names() {
    let read = read(NIGHT).unwrap();
    let [together, after] = read.profile.spans.as_slice() else { panic!("{:?}", read.profile) };
    assert_eq!((together.duration, together.warmup), (Nanos(60_000_000_000), Nanos(0)));
    let [data, log] = together.roles.as_slice() else { panic!("{together:?}") };
    assert_eq!((data.access, data.queue_depth, data.workers), (Access::Random, 16, 4));
    assert_eq!((data.write_pct.percent(), data.block_size.to_string()), (30.0, "8K".to_owned()));
    assert!(!data.every_block && data.passes.is_none());
    assert_eq!((log.rate, log.arrivals), (Some(Rate::Iops(500.0)), Arrivals::Poisson));
    assert_eq!((log.access, log.sync.unwrap().every, log.caching), (Access::Sequential, 1, Caching::Direct));
    assert_eq!((after.roles[0].name.as_str(), after.roles[0].queue_depth), ("backup", 8));
    let files: Vec<_> =
        read.files.iter().map(|file| (file.path.to_str().unwrap(), file.size.unwrap().0 >> 30)).collect();
    assert_eq!(files, [("/data/t.dat", 10), ("/log/t.dat", 1)]);
    assert_eq!(
        (&data.targets, &log.targets, &after.roles[0].targets),
        (&vec!["file1".into()], &vec!["file2".into()], &data.targets)
    );
    assert!(read.notes.is_empty() && read.engine == FioEngine::Async, "{:?}", read.notes);
}

/// What a job may touch was the largest size of all jobs on its file.
#[test]
fn the_region_of_a_job_is_from_its_offset_as_long_as_its_size() {
    let jobs = "[global]\nfilename=f\n[a]\nsize=8m\n[b]\noffset=8m\nsize=32m\n[c]\nstonewall\noffset=1m\n[d]\nstonewall\n[e]\nstonewall\noffset=10%\nsize=50%\n[f]\nstonewall\nsize=100%\n";
    let read = read(jobs).unwrap();
    let roles = read.profile.spans.iter().flat_map(|span| &span.roles);
    let regions: Vec<String> = roles.map(|role| role.region.to_string()).collect();
    assert_eq!(regions, ["0..8388608", "8388608..41943040", "1048576..", "all", "10%..60%", "all"]);
    assert_eq!((read.files[0].size.unwrap().0, read.files[0].must_exist), (40 << 20, true));
}

/// `filesize` is where the file ends, and not how much follows the offset.
#[test]
fn a_job_with_an_offset_stays_within_the_size_of_its_file() {
    for wrong in ["offset=1m", "offset=64k\noffset_increment=64k\nnumjobs=2"] {
        assert!(read(&format!("[a]\nfilename=f\nfilesize=1m\n{wrong}\n")).is_err(), "{wrong}");
    }
    let read = read("[a]\nfilename=f\nfilesize=1m\noffset=512k\n").unwrap();
    assert_eq!(read.profile.spans[0].roles[0].region.to_string(), "524288..1048576");
    assert_eq!(read.files[0].size.unwrap().0, 1 << 20);
}

/// What cannot be had was told one error at a time, and values that fio has anyway were refused.
#[test]
fn what_cannot_be_expressed_is_refused_by_name_all_at_once() {
    for (text, part) in [
        ("[a]\nverify=crc32c\n", "job \"a\": fio's verify has no equal here"),
        ("[a]\nioengine=rbd\n", "ioengine"),
        ("[a]\nbs=4q\n", "bs=4q"),
        ("[a]\nbs\n", "a value must follow"),
        ("[a]\nnonsense=1\n", "nonsense is no option"),
        ("[a]\nfilename=f\nruntime=10\n[b]\nfilename=f\nruntime=20\n", "job \"b\": jobs that run together"),
        ("rw=read\n", "line 1: an option stands below"),
        ("[a\n", "line 1: a section ends"),
        ("[global]\nrw=read\n", "no job in it"),
        ("", "no job in it"),
        ("[a]\nfilename=f\nrw=rw\nbs=4k,8k\n", "bs"),
        ("[a]\nfilename=f\nrw=rw\nrate_iops=100,\n", "rate"),
        ("[a]\nfilename=f\nfilesize=4m\nsize=1m\n", "filesize"),
        ("[a]\nfilename=f\nreadonly\nrw=write\n", "readonly"),
        ("[a]\nfilename=$ncpus\n", "$ncpus"),
        ("[a]\nfilename=${NONE}\n", "NONE"),
        ("[a]\nioengine=null\n[b]\n", "ioengine"),
        ("[a]\n[b]\n[c]\nwait_for=a\n", "wait_for"),
        ("[a]\nnrfiles=200000\n", "nrfiles"),
        ("[a]\nnumjobs=4000000000\n", "numjobs"),
        ("[a]\nfilename=f\nrate=1m\nrate_iops=10\n", "rate_iops"),
        ("[global]\nrate_iops=10\n[a]\nfilename=f\nrate=1m\n", "rate_iops"),
        ("[a]\nfilename=f:g\n", "file_service_type"),
        ("[a]\nnrfiles=2\nfile_service_type=roundrobin\n", "file_service_type"),
        ("[a]\nfilename=f\nruntime=5\nbssplit=4k/50:8k/50\n", "bssplit"),
    ] {
        assert!(refused(text).contains(part), "{text:?}: {}", refused(text));
    }
    let all =
        refused("[global]\nverify=md5\n[a]\ntrim_backlog=5\nrw=rw\nbs=4k,8k\n[b]\nruntime=5\nzonemode=zbd\n");
    for part in ["verify", "trim_backlog", "bs", "runtime", "zonemode"] {
        assert!(all.contains(part), "{part}: {all}");
    }
    let own = "[a]\nverify=0\nloops=1\nnrfiles=1\nruntime=0\nlatency_percentile=100\niodepth_batch=1\nstartdelay=0\nzonemode=none\n\
               io_submit_mode=inline\nthinktime_blocks=1\nfile_service_type=roundrobin\ndirect=1\n";
    assert_eq!(read(own).unwrap().notes, Vec::<String>::new());
}

/// `fio --cmdhelp` lists them; 59 of 151 were "no option of fio's that is known here".
#[test]
fn every_option_of_fio_is_known() {
    let Ok(printed) = std::process::Command::new("fio").arg("--cmdhelp").output() else {
        let _ = std::io::Write::write_all(&mut std::io::stderr(), b"SKIPPED: fio is not installed\n");
        return;
    };
    let text = String::from_utf8(printed.stdout).unwrap();
    let names = text.lines().filter_map(|line| line.split([' ', ':']).next()).filter(|name| !name.is_empty());
    let unknown: Vec<&str> = names.filter(|name| !FioJob::knows(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

/// Rates, block sizes and shares for one direction were taken for both, and a rate for both together.
#[test]
fn reads_and_writes_have_values_of_their_own() {
    let of = |more: &str| roles(&format!("[a]\nfilename=f\n{more}\n")).remove(0);
    let rate = |more: &str| {
        let role = of(more);
        (role.rate, role.write_pct.percent())
    };
    assert_eq!(rate("rw=randrw\nrwmixread=70\nrate_iops=200"), (Some(Rate::Iops(400.0)), 50.0));
    assert_eq!(rate("rw=randrw\nrate_iops=90,10"), (Some(Rate::Iops(100.0)), 10.0));
    assert_eq!(rate("rw=rw\nrate=2m"), (Some(Rate::BytesPerSecond(4_194_304.0)), 50.0));
    assert_eq!(rate("rw=randread\nrate=,400k"), (None, 0.0));
    assert_eq!(rate("rw=randwrite\nrate=400k,\nnumjobs=2"), (None, 100.0));
    assert_eq!(rate("rw=randread\nrate_iops=100\nnumjobs=3"), (Some(Rate::Iops(300.0)), 0.0));
    let block = |more: &str| of(more).block_size.to_string();
    assert_eq!((block("rw=read\nbs=,64k"), block("rw=write\nbs=,64k")), ("4K".into(), "64K".into()));
    assert_eq!((block("rw=write\nbs=64k,"), block("rw=rw\nbs=8k,8k")), ("4K".into(), "8K".into()));
    let random = of("rw=randread\npercentage_random=50,0").random_pct.unwrap();
    assert_eq!(random.percent().to_string(), "50");
}

/// A job that fills a file once wrote for its runtime, 96 times as much, and reached two of three blocks.
#[test]
fn a_job_ends_with_its_size_and_reaches_each_block_unless_it_says_otherwise() {
    let of = |more: &str| {
        let role = roles(&format!("[a]\nfilename=f\nsize=8m\nrw=randwrite\n{more}\n")).remove(0);
        (role.passes, role.every_block)
    };
    assert_eq!(of("runtime=5"), (Some(1), true));
    assert_eq!(of("loops=3"), (Some(3), true));
    assert_eq!(of("runtime=5\ntime_based\nloops=3"), (None, true));
    assert_eq!(of("runtime=5\ntime_based=0\nnorandommap"), (Some(1), false));
    assert_eq!(of("runtime=5\nrandom_distribution=zipf:1.1"), (Some(1), false));
    let mixed =
        read("[a]\nfilename=f\nrw=randread\nbssplit=4k/50:8k/50\ndirect=1\nruntime=1\ntime_based\n").unwrap();
    assert!(!mixed.profile.spans[0].roles[0].every_block && mixed.notes[0].contains("norandommap"));
    assert!(roles("[a]\nfilename=f\nrw=rw\n")[0].apart, "each direction has its position");
    let two = read("[global]\nfilename=f\nsize=1m\ndirect=1\n[a]\n[b]\n").unwrap();
    assert!(two.notes.iter().any(|note| note.contains("a, b")), "{:?}", two.notes);
}

#[test]
fn names_of_files_are_read_as_fio_reads_them() {
    let paths = |text: &str| {
        let read = read(text).unwrap();
        read.files.iter().map(|file| file.path.display().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(paths("[a]\nfilename=a\\:b.dat:c.dat\nfile_service_type=random\n"), ["a:b.dat", "c.dat"]);
    assert_eq!(paths("[a]\nfilename=${DIR}/x.dat ; the file\n"), ["sub/x.dat"]);
    assert_eq!(
        paths("[a]\nfilename=a.dat\nfilename=b.dat:a.dat\nfile_service_type=random\n"),
        ["a.dat", "b.dat"]
    );
    assert_eq!(paths("[global]\nfilename=g\n[a]\nfilename=a\n[b]\n"), ["a", "g"]);
    assert_eq!(paths("[a]\ndirectory=p1\nfilename=/abs/x\n"), ["p1//abs/x"]);
    assert_eq!(
        paths("[a]\nnumjobs=2\n[b]\nnrfiles=2\nfile_service_type=random\nsize=8m\n"),
        ["a.0.0", "a.1.0", "b.0.0", "b.0.1"]
    );
    let shared = read(
        "[a]\nioengine=libaio\niodepth=32\nfilename=f:g\nfile_service_type=random\nsize=32m\nruntime=1\n",
    )
    .unwrap();
    let role = &shared.profile.spans[0].roles[0];
    assert_eq!((role.queue_depth, &role.target_weights), (32, &vec![1, 1]), "the depth is over both files");
    assert_eq!(
        (role.region.to_string().as_str(), shared.files[1].size.unwrap().0),
        ("0..16777216", 16 << 20)
    );
}

#[test]
fn copies_of_a_job_are_roles_where_each_has_a_place_of_its_own() {
    let found = roles("[my job.1]\nfilename=f\nsize=1m\noffset_increment=2m\nnumjobs=3\n");
    let said: Vec<_> = found.iter().map(|role| (role.name.as_str(), role.region.to_string())).collect();
    let expected =
        [("my-job-1", "0..1048576"), ("my-job-1-2", "2097152..3145728"), ("my-job-1-3", "4194304..5242880")];
    assert_eq!(said, expected.map(|(name, region)| (name, region.to_owned())));
    assert_eq!(roles("[a]\nfilename=f\n[a]\nfilename=f\n")[1].name, "a-2");
}

/// A job without I/O became one with: it made a file and wrote it.
#[test]
fn the_engine_is_the_one_that_a_job_names() {
    let engine = |name: &str| read(&format!("[a]\nfilename=f\nioengine={name}\n")).unwrap().engine;
    assert_eq!(
        ["null", "sync", "psync", "libaio"].map(engine),
        [FioEngine::Null, FioEngine::Sync, FioEngine::Sync, FioEngine::Async]
    );
    let windows = read("[a]\nfilename=f\nioengine=windowsaio\niodepth=8\n").unwrap();
    assert!(windows.profile.spans[0].roles[0].queue_depth == 8 && windows.notes[0].contains("ioengine"));
    let alone = read("[a]\niodepth=32\nfilename=f\ndirect=1\n").unwrap();
    assert_eq!((alone.profile.spans[0].roles[0].queue_depth, alone.engine), (1, FioEngine::Sync));
    assert!(alone.notes[0].contains("iodepth"), "{:?}", alone.notes);
    let both = read(
        "[global]\nfilename=f\ndirect=1\nruntime=1\ntime_based\n[a]\nioengine=libaio\n[b]\nioengine=sync\n",
    )
    .unwrap();
    assert!(both.engine == FioEngine::Async && both.notes[0].starts_with("job b:"), "{:?}", both.notes);
}

#[test]
fn what_fio_does_besides_and_is_not_done_here_is_said() {
    for (option, word) in [
        ("rw=write\nend_fsync=1", "end_fsync"),
        ("rw=read\nbuffered=1", "invalidate"),
        ("rw=write\nunlink=1", "unlink"),
        ("rw=write\nsync=1", "sync=1"),
        ("ioengine=io_uring\nhipri", "hipri"),
    ] {
        let read = read(&format!("[a]\nfilename=f\ndirect=1\n{option}\n")).unwrap();
        assert!(read.notes.iter().any(|note| note.contains(word)), "{option}: {:?}", read.notes);
    }
}

#[test]
fn units_are_fios_and_the_one_that_nobody_means_is_refused() {
    let size = |value: &str| {
        let mut job = FioJob::default();
        job.take("offset_increment", Some(value)).map(|_| job.offset_increment)
    };
    assert_eq!(
        (size("4k"), size("1M"), size("2GB"), size("512")),
        (Ok(4096), Ok(1 << 20), Ok(2 << 30), Ok(512))
    );
    assert!(size("4KiB").unwrap_err().to_string().contains("power of 1000"));
    for odd in ["", "k", "-1", "99999999999t", "4.5k"] {
        assert!(size(odd).is_err(), "{odd:?}");
    }
    let mut job = FioJob::default();
    job.take("runtime", Some("2m")).unwrap();
    assert_eq!(job.runtime, Some(Nanos(120_000_000_000)));
}

/// `buffer_pattern=0` is a pattern, `cpus_allowed=0` a processor and `uid=0` a user: they passed as if nothing were asked for.
#[test]
fn only_the_default_of_an_option_passes_where_nothing_here_does_it() {
    for (option, value) in [
        ("buffer_pattern", "0"),
        ("cpus_allowed", "0"),
        ("cpumask", "0"),
        ("numa_cpu_nodes", "0"),
        ("uid", "0"),
        ("gid", "0"),
        ("thinktime_blocks", "0"),
        ("latency_percentile", "0"),
        ("rate_cycle", "0"),
        ("trim_verify_zero", "0"),
        ("read_iolog", "none"),
        ("cgroup", "none"),
        ("ioscheduler", "none"),
        ("verify", "none"),
    ] {
        let said = refused(&format!("[a]\nfilename=f\n{option}={value}\n"));
        assert!(said.contains(option), "{option}={value}: {said}");
    }
    let own = "[a]\nfilename=f\ndirect=1\nnice=0\nflow=0\nlockfile=none\nwrite_hint=none\nexit_what=group\nthinktime=0\n";
    assert!(read(own).unwrap().notes.is_empty());
}

/// The order of lines decided, and a section could not take back what `[global]` said. fio: `bssplit` wins, and compression does.
#[test]
fn options_that_overrule_each_other_do_so_in_any_order_and_section() {
    let of = |text: &str| roles(text).remove(0);
    for text in ["bs=64k\nbssplit=8k/100\n", "bssplit=8k/100\nbs=64k\n"] {
        assert_eq!(of(&format!("[a]\nfilename=f\n{text}")).block_size.to_string(), "8K", "{text}");
    }
    let pct = |text: &str| of(text).compressible_pct.percent().to_string();
    assert_eq!(pct("[global]\nzero_buffers\n[a]\nfilename=f\nzero_buffers=0\n"), "0");
    assert_eq!(pct("[global]\nzero_buffers\n[a]\nfilename=f\n"), "100");
    assert_eq!(pct("[a]\nfilename=f\nbuffer_compress_percentage=30\nzero_buffers\n"), "30");
}

/// fio 3.33 makes `sec.0.0` for a section `[sec]` with `name=other`; a file `other.0.0` was made.
#[test]
fn a_name_within_a_section_names_its_job_and_no_file() {
    let read = read("[sec]\nname=other\nsize=1m\n").unwrap();
    assert_eq!(read.files[0].path.to_str().unwrap(), "sec.0.0");
    assert_eq!(read.profile.spans[0].roles[0].name, "other");
}
