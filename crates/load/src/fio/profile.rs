//! Jobs into a profile: those that run together are the roles of a span, `stonewall` begins the next one.

use std::path::PathBuf;

use iostall_measure::{ByteCount, Caching, Durability, Nanos, Percent, Rate};
use iostall_model::Profile;
use iostall_model::profile::{Access, Bound, Region, RoleProfile, SpanProfile};

use super::error::FioError;
use super::job::FioJob;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FioFile {
    pub name: String,
    pub path: PathBuf,
    /// Where the last of its jobs ends that say so: a file that is made has this size.
    pub size: Option<ByteCount>,
}

/// How long a span is where no job has a `runtime`: fio goes on until `size` is done.
const DURATION_NS: u64 = 30_000_000_000;

pub(super) fn to_profile(name: &str, jobs: &[FioJob]) -> Result<(Profile, Vec<FioFile>), FioError> {
    let mut spans: Vec<Vec<&FioJob>> = Vec::new();
    for job in jobs {
        match spans.last_mut() {
            Some(together) if !job.waits => together.push(job),
            _ => spans.push(vec![job]),
        }
    }
    let mut files: Vec<FioFile> = Vec::new();
    let mut profile = Profile {
        name: name.to_owned(),
        description: "As asked in fio's words.".to_owned(),
        seed: jobs.first().map_or(0, |job| job.seed),
        spans: Vec::new(),
    };
    for together in &spans {
        let of_job = |job: &&FioJob| role(job, &mut files);
        let roles = together.iter().map(of_job).collect::<Result<Vec<_>, _>>()?;
        profile.spans.push(span(together, roles)?);
    }
    Ok((profile, files))
}

fn span(jobs: &[&FioJob], roles: Vec<RoleProfile>) -> Result<SpanProfile, FioError> {
    let together = |job: &FioJob, reason| Err(FioError::Together { job: job.name.clone(), reason });
    let Some(first) = jobs.first() else { return Err(FioError::NoJobs) };
    if let Some(other) = jobs.iter().find(|job| (job.runtime, job.ramp) != (first.runtime, first.ramp)) {
        return together(
            other,
            "jobs that run together have one runtime and one ramp_time; give it stonewall, or theirs",
        );
    }
    let mut names: Vec<&str> = roles.iter().map(|role| role.name.as_str()).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        let again = jobs.iter().rev().find(|job| job.name == pair[0]).unwrap_or(first);
        return together(again, "another job of this name runs beside it; give it another one");
    }
    Ok(SpanProfile {
        warmup: first.ramp,
        duration: first.runtime.unwrap_or(Nanos(DURATION_NS)),
        cooldown: Nanos(0),
        interval: SpanProfile::default_interval(),
        worker_series: false,
        roles,
    })
}

fn role(job: &FioJob, files: &mut Vec<FioFile>) -> Result<RoleProfile, FioError> {
    let targets = targets(job, files)?;
    let sequential = job.access == Access::Sequential;
    let share = |pct: u32| Percent::new(f64::from(pct)).unwrap_or(Percent::ZERO);
    let rate = job.rate.map(|rate| match rate {
        Rate::Iops(iops) => Rate::Iops(iops * f64::from(job.jobs)),
        Rate::BytesPerSecond(bytes) => Rate::BytesPerSecond(bytes * f64::from(job.jobs)),
    });
    Ok(RoleProfile {
        name: job.name.clone(),
        region: Region {
            start: Bound::Bytes(ByteCount(job.offset)),
            end: job.size.map(|size| Bound::Bytes(ByteCount(job.offset.saturating_add(size)))),
        },
        block_size: job.block.clone(),
        write_pct: share(job.write_pct()),
        access: job.access,
        random_pct: job.random_pct.map(share),
        distribution: job.distribution.clone(),
        align: job.align.filter(|_| !sequential).map(ByteCount),
        stride: None,
        shared_sequence: false,
        // fio's jobs all begin at the start of the file.
        worker_offset: sequential.then_some(ByteCount(0)),
        queue_depth: job.depth(),
        workers: job.jobs,
        rate,
        arrivals: job.arrivals,
        caching: if job.direct { Caching::Direct } else { Caching::Buffered },
        durability: if job.write_through { Durability::WriteThrough } else { Durability::None },
        sync: job.sync,
        burst: None,
        compressible_pct: share(job.compressible_pct),
        write_data: None,
        every_block: false,
        passes: None,
        apart: false,
        sequence_per_request: false,
        // A job's depth is over all its files.
        target_weights: if targets.len() > 1 { vec![1; targets.len()] } else { Vec::new() },
        targets,
        batch: None,
        batch_wait: None,
        pin: None,
        thresholds: None,
    })
}

/// The names by which the role asks for the files of `job`, which are put into `files` once each.
fn targets(job: &FioJob, files: &mut Vec<FioFile>) -> Result<Vec<String>, FioError> {
    let mut names = Vec::new();
    for path in paths(job)? {
        let size = job.size.map(|size| ByteCount(job.offset.saturating_add(size)));
        let known = files.iter_mut().find(|file| file.path == path);
        let name = if let Some(file) = known {
            file.size = file.size.max(size);
            file.name.clone()
        } else {
            let name = format!("file{}", files.len() + 1);
            files.push(FioFile { name: name.clone(), path, size });
            name
        };
        names.push(name);
    }
    Ok(names)
}

/// Where `job` works. Without a name each job of fio's has a file of its own.
pub(super) fn paths(job: &FioJob) -> Result<Vec<PathBuf>, FioError> {
    let directory = job.directory.as_deref().map(PathBuf::from).unwrap_or_default();
    if job.files.is_empty() && job.jobs > 1 {
        return Err(FioError::Together {
            job: job.name.clone(),
            reason: "without filename each of its numjobs has a file of its own; name one that they share, or several: filename=/data/a:/data/b",
        });
    }
    if job.files.is_empty() {
        return Ok(vec![directory.join(format!("{}.0.0", job.name))]);
    }
    Ok(job.files.iter().map(|file| directory.join(file)).collect())
}
