//! Jobs into a profile: those that run together are the roles of a span, `stonewall` begins the next one.

use std::path::PathBuf;

use iostall_measure::{ByteCount, Caching, Durability, Nanos, Percent, Rate};
use iostall_model::Profile;
use iostall_model::profile::{Access, Bound, RoleProfile, SpanProfile};

use super::error::FioError;
use super::job::{FioEngine, FioJob, PLACES_MAX};
use super::whole::{Whole, file_count, paths};

#[derive(Clone, Debug, PartialEq)]
pub struct FioProfile {
    pub profile: Profile,
    pub files: Vec<FioFile>,
    pub engine: FioEngine,
    /// What is otherwise than fio does it, a sentence each.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FioFile {
    pub name: String,
    pub path: PathBuf,
    /// Where the last of its jobs ends that say so: a file that is made has this size.
    pub size: Option<ByteCount>,
    /// Whether a job refuses to make it.
    pub must_exist: bool,
}

/// A span that ends with its sizes ends by time at last.
const DURATION_NS: u64 = 86_400_000_000_000;

pub(super) fn to_profile(name: &str, jobs: &[FioJob]) -> Result<FioProfile, FioError> {
    let mut errors = Vec::new();
    check_count(jobs)?;
    let spans = together(jobs, &mut errors);
    let (engine, mixed) = engine(jobs, &mut errors);
    let mut made = FioProfile {
        profile: Profile {
            name: name.to_owned(),
            description: format!("Read from the job file {name} of fio's."),
            seed: jobs.first().map_or(0, |job| job.seed),
            spans: Vec::new(),
        },
        files: Vec::new(),
        engine,
        notes: Vec::new(),
    };
    let mut notes = Notes(mixed.into_iter().collect());
    for jobs in &spans {
        let mut roles = Vec::new();
        for job in jobs {
            match Whole::of(job) {
                Ok(whole) => {
                    errors.extend(otherwise(job, &whole));
                    notes.of(job, &whole.notes);
                    roles.extend(roles_of(job, &whole, &mut made.files));
                }
                Err(error) => errors.push(error),
            }
        }
        give_names(&mut roles);
        if jobs.len() > 1 && roles.iter().any(|role| role.passes.is_some()) {
            if let Some(job) = jobs.iter().find(|job| job.ends_others) {
                let reason = "exitall: the others go on when one has ended with its size";
                errors.push(FioError::Together { job: job.name.clone(), reason });
            }
            for job in jobs {
                notes.of(job, &[LAST_ENDS]);
            }
        }
        made.profile.spans.push(span(jobs, roles, &mut errors));
    }
    FioError::all(errors)?;
    made.notes = notes.sentences();
    Ok(made)
}

/// What a role would do at another time or place than fio's job.
fn otherwise(job: &FioJob, whole: &Whole) -> Vec<FioError> {
    let turns = (job.takes_turns && file_count(job) > 1).then_some(
        "file_service_type: fio takes turns among its files, and here each request draws one; write file_service_type=random, or a job for each file",
    );
    let mixed = (whole.passes.is_some() && whole.block.parts().len() > 1).then_some(
        "bssplit: it would end with a count of requests and not with its size; write time_based and a runtime",
    );
    let error = |reason| FioError::Together { job: job.name.clone(), reason };
    turns.into_iter().chain(mixed).map(error).collect()
}

fn check_count(jobs: &[FioJob]) -> Result<(), FioError> {
    let mut places = 0;
    for job in jobs {
        places += u64::from(copies(job)) * u64::from(file_count(job));
        if places > PLACES_MAX as u64 {
            let reason = "nrfiles, numjobs: no more than 1,000 files and jobs are run";
            return Err(FioError::Together { job: job.name.clone(), reason });
        }
    }
    Ok(())
}

/// How many of its `numjobs` have files or offsets of their own; else all work in one place.
fn copies(job: &FioJob) -> u32 {
    if job.files.is_empty() || job.offset_increment > 0 { job.jobs } else { 1 }
}

const LAST_ENDS: &str =
    "rates are over the time until the last of those that run together has ended with its size";

/// Sentences, and the jobs that they are about.
struct Notes(Vec<(&'static str, Vec<String>)>);

impl Notes {
    fn of(&mut self, job: &FioJob, said: &[&'static str]) {
        for said in said.iter().copied() {
            let place = self.0.iter().position(|(known, _)| *known == said).unwrap_or(self.0.len());
            if place == self.0.len() {
                self.0.push((said, Vec::new()));
            }
            if !self.0[place].1.contains(&job.name) {
                self.0[place].1.push(job.name.clone());
            }
        }
    }

    fn sentences(self) -> Vec<String> {
        let sentence = |(said, jobs): (&str, Vec<String>)| format!("job {}: {said}", jobs.join(", "));
        self.0.into_iter().map(sentence).collect()
    }
}

fn together<'a>(jobs: &'a [FioJob], errors: &mut Vec<FioError>) -> Vec<Vec<&'a FioJob>> {
    let mut spans: Vec<Vec<&FioJob>> = Vec::new();
    for job in jobs {
        // To wait for the only job of the span before is to wait for all.
        let waits = match (&job.waits_for, spans.last().map(Vec::as_slice)) {
            (Some(other), Some([only])) if only.name == *other => true,
            (Some(_), _) => {
                let reason = "wait_for: write stonewall, which waits for all jobs before";
                errors.push(FioError::Together { job: job.name.clone(), reason });
                false
            }
            (None, _) => job.waits,
        };
        match spans.last_mut() {
            Some(together) if !waits => together.push(job),
            _ => spans.push(vec![job]),
        }
    }
    spans
}

/// A run has one engine.
fn engine(jobs: &[FioJob], errors: &mut Vec<FioError>) -> (FioEngine, Option<(&'static str, Vec<String>)>) {
    let with = |engine| jobs.iter().filter(move |job| job.engine == engine);
    if let (Some(job), true) =
        (with(FioEngine::Null).next(), jobs.iter().any(|job| job.engine != FioEngine::Null))
    {
        let reason = "ioengine: a job without I/O cannot be in one run with others";
        errors.push(FioError::Together { job: job.name.clone(), reason });
    }
    let engine = jobs.first().map_or(FioEngine::Sync, |job| job.engine);
    let said = "its requests go through the engine of the others, one at a time (ioengine)";
    let of_sync: Vec<String> = with(FioEngine::Sync).map(|job| job.name.clone()).collect();
    match with(FioEngine::Async).next() {
        Some(_) => (FioEngine::Async, (!of_sync.is_empty()).then_some((said, of_sync))),
        None => (engine, None),
    }
}

fn span(jobs: &[&FioJob], roles: Vec<RoleProfile>, errors: &mut Vec<FioError>) -> SpanProfile {
    let first = jobs.first().copied();
    let (runtime, ramp) = first.map_or((None, Nanos(0)), |job| (job.runtime, job.ramp));
    if let Some(other) = jobs.iter().find(|job| (job.runtime, job.ramp) != (runtime, ramp)) {
        let reason =
            "jobs that run together have one runtime and one ramp_time; give it stonewall, or theirs";
        errors.push(FioError::Together { job: other.name.clone(), reason });
    }
    SpanProfile {
        warmup: ramp,
        duration: runtime.unwrap_or(Nanos(DURATION_NS)),
        cooldown: Nanos(0),
        interval: SpanProfile::default_interval(),
        worker_series: false,
        roles,
    }
}

/// One role, or one for each of the copies of `job` that work in a place of their own.
fn roles_of(job: &FioJob, whole: &Whole, files: &mut Vec<FioFile>) -> Vec<RoleProfile> {
    if copies(job) == 1 {
        return vec![role(job, whole, targets(job, whole, 0, 0, files), job.jobs, 0)];
    }
    (0..job.jobs)
        .map(|copy| {
            let further = job.offset_increment.saturating_mul(u64::from(copy));
            role(job, whole, targets(job, whole, copy, further, files), 1, further)
        })
        .collect()
}

/// The role of `workers` copies of `job`, `further` bytes behind its place.
fn role(job: &FioJob, whole: &Whole, targets: Vec<String>, workers: u32, further: u64) -> RoleProfile {
    let sequential = job.access == Access::Sequential;
    let mut region = whole.region;
    for bound in [Some(&mut region.start), region.end.as_mut()].into_iter().flatten() {
        if let Bound::Bytes(at) = bound {
            *at = ByteCount(at.bytes().saturating_add(further));
        }
    }
    RoleProfile {
        name: job.name.clone(),
        region,
        block_size: whole.block.clone(),
        write_pct: whole.write_pct,
        access: job.access,
        random_pct: whole.random_pct,
        every_block: whole.every_block,
        passes: whole.passes,
        distribution: job.distribution.clone(),
        align: whole.align,
        stride: None,
        apart: sequential && job.reads() && job.writes(),
        shared_sequence: false,
        // fio's jobs all begin at the start of the file.
        worker_offset: sequential.then_some(ByteCount(0)),
        queue_depth: job.depth(),
        workers,
        rate: whole.rate.map(|rate| of_all(rate, workers)),
        arrivals: job.arrivals,
        caching: if job.direct { Caching::Direct } else { Caching::Buffered },
        durability: if job.write_through { Durability::WriteThrough } else { Durability::None },
        sync: job.sync.filter(|_| job.writes()),
        burst: None,
        compressible_pct: Percent::new(f64::from(job.compressible_pct())).unwrap_or(Percent::ZERO),
        write_data: None,
        sequence_per_request: false,
        // A job's depth is over all its files.
        target_weights: if targets.len() > 1 { vec![1; targets.len()] } else { Vec::new() },
        targets,
        batch: None,
        batch_wait: None,
        pin: None,
        thresholds: None,
    }
}

/// fio's rate is that of one job, ours that of all.
pub(super) fn of_all(rate: Rate, jobs: u32) -> Rate {
    match rate {
        Rate::Iops(iops) => Rate::Iops(iops * f64::from(jobs)),
        Rate::BytesPerSecond(bytes) => Rate::BytesPerSecond(bytes * f64::from(jobs)),
    }
}

/// The names by which a role asks for the files of `job`, which are put into `files` once each.
fn targets(job: &FioJob, whole: &Whole, copy: u32, further: u64, files: &mut Vec<FioFile>) -> Vec<String> {
    let size = whole.made.map(|size| ByteCount(size.bytes().saturating_add(further)));
    let mut names = Vec::new();
    for path in paths(job, copy) {
        let place = files.iter().position(|file| file.path == path).unwrap_or(files.len());
        if place == files.len() {
            let name = format!("file{}", place + 1);
            files.push(FioFile { name, path, size: None, must_exist: false });
        }
        let file = &mut files[place];
        file.size = file.size.max(size);
        file.must_exist |= whole.must_exist;
        names.push(file.name.clone());
    }
    names
}

/// Names of roles are typed (`--role`, `--require`), and are there once in a span.
fn give_names(roles: &mut [RoleProfile]) {
    for place in 0..roles.len() {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
        let name: String = roles[place].name.chars().map(plain).collect();
        let name = if name.is_empty() { "job".to_owned() } else { name };
        let taken = |name: &str| roles[..place].iter().any(|role| role.name == name);
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !taken(name));
        roles[place].name = free.unwrap_or(name);
    }
}
