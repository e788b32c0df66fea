use iostall_measure::{Caching, Nanos, Rate};
use iostall_model::profile::{Access, Arrivals};

use super::*;
use crate::{check, preset, presets};

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
rate_iops=500
rate_process=poisson

[log]
rw=write
bs=4k
fdatasync=1
filename=/log/t.dat
size=1g

[backup]
stonewall
rw=read
bs=1m
iodepth=8
";

/// Somebody has job files, and would have had to write each of them again.
#[test]
fn a_job_file_becomes_a_profile_with_the_files_that_it_names() {
    let read = read_jobs("night", NIGHT).unwrap();
    check(&read.profile).unwrap();
    let [together, after] = read.profile.spans.as_slice() else { panic!("{:?}", read.profile) };
    assert_eq!((together.duration, together.warmup), (Nanos(60_000_000_000), Nanos(0)));
    let [data, log] = together.roles.as_slice() else { panic!("{together:?}") };
    assert_eq!((data.access, data.queue_depth, data.workers), (Access::Random, 16, 4));
    assert_eq!((data.write_pct.percent(), data.block_size.to_string()), (30.0, "8K".to_owned()));
    assert_eq!(
        (data.rate, data.arrivals),
        (Some(Rate::Iops(2000.0)), Arrivals::Poisson),
        "fio's rate is that of a job"
    );
    assert_eq!((log.access, log.sync.unwrap().every, log.caching), (Access::Sequential, 1, Caching::Direct));
    assert_eq!((after.roles[0].name.as_str(), after.roles[0].queue_depth), ("backup", 8));
    let files: Vec<_> =
        read.files.iter().map(|file| (file.path.to_str().unwrap(), file.size.unwrap().0 >> 30)).collect();
    assert_eq!(files, [("/data/t.dat", 10), ("/log/t.dat", 1)]);
    assert_eq!(
        (&data.targets, &log.targets, &after.roles[0].targets),
        (&vec!["file1".into()], &vec!["file2".into()], &data.targets)
    );
    assert!(read.notes.is_empty(), "{:?}", read.notes);
}

/// What a job may touch was the largest size of all jobs on its file.
#[test]
fn the_region_of_a_job_is_from_its_offset_as_long_as_its_size() {
    let jobs = "[global]\nfilename=f\n[a]\nsize=8m\n[b]\noffset=8m\nsize=32m\n[c]\nstonewall\noffset=1m\n[d]\nstonewall\n";
    let read = read_jobs("x", jobs).unwrap();
    let roles = read.profile.spans.iter().flat_map(|span| &span.roles);
    let regions: Vec<String> = roles.map(|role| role.region.to_string()).collect();
    assert_eq!(regions, ["0..8388608", "8388608..41943040", "1048576..", "all"]);
    assert_eq!(read.files[0].size.unwrap().0, 40 << 20);
}

#[test]
fn what_cannot_be_expressed_is_refused_by_name() {
    let error = |text: &str| read_jobs("x", text).unwrap_err().to_string();
    for (text, part) in [
        ("[a]\nverify=crc32c\n", "job \"a\": fio's verify has no equal here"),
        ("[a]\nioengine=rbd\n", "ioengine"),
        ("[a]\nbs=4q\n", "bs=4q"),
        ("[a]\nbs\n", "a value must follow"),
        ("[a]\nnonsense=1\n", "nonsense is no option"),
        ("[a]\nnumjobs=4\n", "a file of its own"),
        ("[a]\nfilename=f\nruntime=10\n[b]\nfilename=f\nruntime=20\n", "job \"b\": jobs that run together"),
        ("[a]\nfilename=f\n[a]\nfilename=f\n", "another job of this name"),
        ("rw=read\n", "line 1: an option stands below"),
        ("[a\n", "line 1: a section ends"),
        ("[global]\nrw=read\n", "no job in it"),
        ("", "no job in it"),
    ] {
        assert!(error(text).contains(part), "{text:?}: {}", error(text));
    }
}

#[test]
fn fios_own_engine_keeps_one_request_in_flight_and_that_is_said() {
    let read = read_jobs("x", "[a]\niodepth=32\nfilename=f\n").unwrap();
    assert_eq!(read.profile.spans[0].roles[0].queue_depth, 1);
    assert!(
        read.notes[0].contains("one request in flight") && read.notes[1].contains("30 s"),
        "{:?}",
        read.notes
    );
    let shared = read_jobs("x", "[a]\nioengine=libaio\niodepth=32\nfilename=f:g\nruntime=1\n").unwrap();
    let role = &shared.profile.spans[0].roles[0];
    assert_eq!((role.queue_depth, &role.target_weights), (32, &vec![1, 1]), "the depth is over both files");
}

#[test]
fn every_preset_goes_out_as_a_job_file_and_comes_back() {
    for known in presets() {
        let profile = preset(known.name).unwrap();
        let text = match write_jobs(&profile) {
            Ok(text) => text,
            Err(error) => {
                assert!(!error.setting.is_empty());
                continue;
            }
        };
        let text = text.replace("${FILE}", "/data/t.dat").replace("${SIZE}", "8g");
        let plain: String =
            text.lines().filter(|line| !line.contains('%')).flat_map(|line| [line, "\n"]).collect();
        let back =
            read_jobs(known.name, &plain).unwrap_or_else(|error| panic!("{}: {error}\n{text}", known.name));
        assert_eq!(back.profile.spans.len(), profile.spans.len(), "{}", known.name);
        for (before, after) in profile.spans.iter().zip(&back.profile.spans) {
            assert_eq!((before.warmup, before.duration), (after.warmup, after.duration));
            for (before, after) in before.roles.iter().zip(&after.roles) {
                let of = |role: &iostall_model::RoleProfile| {
                    (
                        role.access,
                        role.write_pct,
                        role.queue_depth,
                        role.workers,
                        role.sync,
                        role.caching,
                        role.durability,
                    )
                };
                assert_eq!(of(before), of(after), "{}:\n{text}", known.name);
                assert_eq!(before.rate, after.rate, "{}", known.name);
            }
        }
    }
    let mut striding = preset("random-read").unwrap();
    striding.spans[0].roles[0].shared_sequence = true;
    assert_eq!(write_jobs(&striding).unwrap_err().setting, "shared-sequence");
}

#[test]
fn units_are_fios_and_the_one_that_nobody_means_is_refused() {
    let size = |value: &str| {
        let mut job = FioJob::default();
        job.take("size", Some(value)).map(|_| job.size.unwrap_or(0))
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
