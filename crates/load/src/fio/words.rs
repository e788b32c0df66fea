//! A job as a line of `iostall load`.

use std::path::Path;

use iostall_measure::foreign::shell_path;
use iostall_measure::{Nanos, Rate};
use iostall_model::profile::{Access, Arrivals, Distribution};

use super::error::FioError;
use super::job::FioJob;
use super::profile::paths;

/// The options of `iostall load` that ask for `job`, fio's defaults included, without their hyphens.
pub fn to_options(job: &FioJob) -> Vec<(&'static str, String)> {
    let mut options = Vec::new();
    let mut option = |given: bool, name: &'static str, value: &dyn Fn() -> String| {
        if given {
            options.push((name, value()));
        }
    };
    let random_pct = job.random_pct.filter(|share| *share < 100 && job.access == Access::Random);
    let size = job.size.unwrap_or(0);
    option(true, "access", &|| job.access.name().to_owned());
    option(true, "write-pct", &|| job.write_pct().to_string());
    option(random_pct.is_some(), "random-pct", &|| random_pct.unwrap_or(100).to_string());
    option(job.distribution != Distribution::Uniform, "distribution", &|| job.distribution.to_string());
    option(true, "block-size", &|| job.block.to_string());
    option(true, "queue-depth", &|| job.depth().to_string());
    option(true, "workers", &|| job.jobs.to_string());
    option(true, "caching", &|| if job.direct { "direct" } else { "buffered" }.to_owned());
    option(job.write_through, "durability", &|| "write-through".to_owned());
    option(job.sync.is_some(), "sync-every", &|| job.sync.map_or(0, |sync| sync.every).to_string());
    option(job.rate.is_some(), "rate", &|| job.rate.map(|rate| rate_of(rate, job.jobs)).unwrap_or_default());
    option(job.rate.is_some() && job.arrivals == Arrivals::Poisson, "arrivals", &|| "poisson".to_owned());
    option(job.compressible_pct > 0, "compressible-pct", &|| job.compressible_pct.to_string());
    option(true, "warmup", &|| seconds(job.ramp));
    option(job.runtime.is_some(), "duration", &|| seconds(job.runtime.unwrap_or(Nanos(0))));
    option(job.offset > 0, "region", &|| {
        let end = job.size.map(|size| (job.offset + size).to_string()).unwrap_or_default();
        format!("{}..{end}", job.offset)
    });
    option(size > 0, "size", &|| bytes(size + job.offset));
    option(job.seed > 0, "seed", &|| job.seed.to_string());
    option(job.no_io, "engine", &|| "null".to_owned());
    let output = job.output.as_ref().filter(|_| job.json);
    option(output.is_some(), "json", &|| output.map(|path| shell_path(Path::new(path))).unwrap_or_default());
    options
}

/// The words behind `iostall load` that ask for `job`, its files at the end. Each is fit for a shell.
pub fn to_words(job: &FioJob) -> Result<Vec<String>, FioError> {
    if job.files.len() > 1 {
        return Err(FioError::Together {
            job: job.name.clone(),
            reason: "its depth is over all its files, and on the command line it is for each; put the job into a file and give that to --fio",
        });
    }
    let options = to_options(job).into_iter().flat_map(|(name, value)| [format!("--{name}"), value]);
    let paths = paths(job)?;
    Ok(options.chain(paths.iter().map(|path| shell_path(path))).collect())
}

/// fio's is that of one job, ours that of all.
fn rate_of(rate: Rate, jobs: u32) -> String {
    match rate {
        Rate::Iops(iops) => format!("{}", iops * f64::from(jobs)),
        Rate::BytesPerSecond(bytes) => format!("{}B/s", bytes * f64::from(jobs)),
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
