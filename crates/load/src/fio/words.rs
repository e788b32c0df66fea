//! A job as a line of `iostall load`.

use std::path::Path;

use iostall_measure::foreign::shell_path;
use iostall_measure::{ByteCount, Nanos, Rate, SyncCall};
use iostall_model::profile::{Access, Arrivals, Bound, Distribution};

use super::error::FioError;
use super::job::{FioEngine, FioJob};
use super::profile::of_all;
use super::whole::{Whole, paths};

/// The options of `iostall load` that ask for `job`, fio's defaults included, without their hyphens.
pub fn to_options(job: &FioJob) -> Result<Vec<(&'static str, String)>, FioError> {
    Ok(options(job, &Whole::of(job)?))
}

fn options(job: &FioJob, whole: &Whole) -> Vec<(&'static str, String)> {
    let mut options = Vec::new();
    let mut option = |given: bool, name: &'static str, value: &dyn Fn() -> String| {
        if given {
            options.push((name, value()));
        }
    };
    let made = whole.made.unwrap_or(ByteCount(0));
    let rate = whole.rate.map(|rate| of_all(rate, job.jobs));
    option(true, "access", &|| job.access.name().to_owned());
    option(true, "write-pct", &|| whole.write_pct.percent().to_string());
    option(whole.random_pct.is_some(), "random-pct", &|| {
        whole.random_pct.map_or(100.0, iostall_measure::Percent::percent).to_string()
    });
    option(job.distribution != Distribution::Uniform, "distribution", &|| job.distribution.to_string());
    option(true, "block-size", &|| whole.block.to_string());
    option(true, "queue-depth", &|| job.depth().to_string());
    option(true, "workers", &|| job.jobs.to_string());
    option(true, "caching", &|| if job.direct { "direct" } else { "buffered" }.to_owned());
    option(job.write_through, "durability", &|| "write-through".to_owned());
    option(job.sync.is_some(), "sync-every", &|| job.sync.map_or(0, |sync| sync.every).to_string());
    option(rate.is_some(), "rate", &|| rate.map(typed).unwrap_or_default());
    option(rate.is_some() && job.arrivals == Arrivals::Poisson, "arrivals", &|| "poisson".to_owned());
    option(job.compressible_pct() > 0, "compressible-pct", &|| job.compressible_pct().to_string());
    option(true, "warmup", &|| seconds(job.ramp));
    option(job.runtime.is_some(), "duration", &|| seconds(job.runtime.unwrap_or(Nanos(0))));
    let is_part = whole.region.start != Bound::Bytes(ByteCount(0))
        || matches!(whole.region.end, Some(Bound::Percent(_)));
    option(is_part, "region", &|| whole.region.to_string());
    option(made.bytes() > 0, "size", &|| bytes(made.bytes()));
    option(job.seed > 0, "seed", &|| job.seed.to_string());
    match job.engine {
        FioEngine::Sync => option(true, "engine", &|| "psync".to_owned()),
        FioEngine::Null => option(true, "engine", &|| "null".to_owned()),
        FioEngine::Async => {}
    }
    let output = job.output.as_ref().filter(|_| job.json);
    option(output.is_some(), "json", &|| output.map(|path| shell_path(Path::new(path))).unwrap_or_default());
    options
}

/// The words behind `iostall load` that ask for `job`, its files at the end, each fit for a shell; and what is otherwise than fio
/// does it.
pub fn to_words(job: &FioJob) -> Result<(Vec<String>, Vec<&'static str>), FioError> {
    let together = |reason| Err(FioError::Together { job: job.name.clone(), reason });
    let whole = Whole::of(job)?;
    let paths = paths(job, 0);
    let sequential = job.access == Access::Sequential;
    if paths.len() > 1 {
        return together(
            "its depth is over all its files, and on the command line it is for each; put the job into a file and give that to --fio",
        );
    }
    if job.jobs > 1 && job.files.is_empty() {
        return together(
            "without filename each of its numjobs has a file of its own; put the job into a file and give that to --fio",
        );
    }
    if job.jobs > 1 && (sequential || job.offset_increment > 0) {
        return together(
            "on the command line each worker has a piece of the target of its own; put the job into a file and give that to --fio",
        );
    }
    let mut notes = whole.notes.clone();
    let mut note = |is_so: bool, said| notes.extend(is_so.then_some(said));
    note(
        whole.passes.is_some(),
        "it ends by time, not with its size (in a file that is given to --fio it does)",
    );
    note(
        whole.every_block,
        "blocks may come again before all have come (in a file that is given to --fio they do not)",
    );
    note(sequential && job.reads() && job.writes(), "reads and writes share one position");
    note(
        job.sync.is_some_and(|sync| sync.call == SyncCall::Fsync),
        "writes are made durable by fdatasync (fsync)",
    );
    let words = options(job, &whole).into_iter().flat_map(|(name, value)| [format!("--{name}"), value]);
    Ok((words.chain(paths.iter().map(|path| shell_path(path))).collect(), notes))
}

fn typed(rate: Rate) -> String {
    match rate {
        Rate::Iops(iops) => format!("{iops}"),
        Rate::BytesPerSecond(bytes) => format!("{bytes}B/s"),
    }
}

/// Such as `60s` or `1500ms`.
fn seconds(time: Nanos) -> String {
    if time.0 == 0 {
        return "0".to_owned();
    }
    match (time.0.is_multiple_of(1_000_000_000), time.0.is_multiple_of(1_000_000)) {
        (true, _) => format!("{}s", time.0 / 1_000_000_000),
        (false, true) => format!("{}ms", time.0 / 1_000_000),
        (false, false) => format!("{}us", time.0 / 1_000),
    }
}

/// Such as `10G`.
fn bytes(size: u64) -> String {
    let units = [(30, "G"), (20, "M"), (10, "K")];
    let unit = units.iter().find(|(power, _)| size > 0 && size.is_multiple_of(1 << power));
    unit.map_or_else(|| size.to_string(), |(power, letter)| format!("{}{letter}", size >> power))
}
