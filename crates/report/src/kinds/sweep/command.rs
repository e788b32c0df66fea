//! The recommended setting as a DiskSpd command line for the same load on the same part of the same targets.

use iostall_diskspd::{
    Access as DiskspdAccess, CacheMode, DiskspdProfile, DiskspdTarget, DiskspdTimeSpan,
    Distribution as DiskspdDistribution, DistributionRange, SpanKind, WriteBuffer, to_command_line,
};
use iostall_measure::platform::Target;
use iostall_measure::{Caching, Durability, Percent};
use iostall_model::profile::{Access, Distribution, RangeShare};
use iostall_model::{Point, RoleProfile, Run, SweepOutcome};

use crate::facts;

/// Long enough for a first look.
const DURATION_S: u32 = 60;
/// Writes use a buffer of random bytes of this size, because DiskSpd's own pattern is compressible.
const WRITE_BUFFER_BYTES: u64 = 1 << 20;

/// The command line; or what the load needs that DiskSpd does not have.
pub(super) fn diskspd(run: &Run, outcome: &SweepOutcome, point: &Point) -> Result<String, &'static str> {
    let role = outcome.profile.spans.first().and_then(|span| span.roles.first());
    let role = role.ok_or("load without a role")?;
    let several = run.targets.len() > 1;
    let mut targets = Vec::with_capacity(run.targets.len());
    for (index, target) in run.targets.iter().enumerate() {
        let threads_per_file = if several { 1 } else { point.workers };
        targets.push(DiskspdTarget {
            threads_per_file,
            ..target_of(role, point, target, run.used_bytes(index))?
        });
    }
    // Our workers use all targets, which in DiskSpd is a pool.
    let thread_count = if several { point.workers } else { 0 };
    let span = DiskspdTimeSpan {
        duration_s: DURATION_S,
        measure_latency: true,
        thread_count,
        targets,
        ..DiskspdTimeSpan::default()
    };
    let profile = DiskspdProfile { time_spans: vec![span], ..DiskspdProfile::default() };
    let mut words = to_command_line(&profile).ok_or("settings that differ from target to target")?;
    words.truncate(words.len() - run.targets.len());
    words.extend(run.targets.iter().map(|target| facts::path(&target.path)));
    Ok(format!("diskspd {}", words.join(" ")))
}

fn target_of(
    role: &RoleProfile,
    point: &Point,
    target: &Target,
    used_bytes: u64,
) -> Result<DiskspdTarget, &'static str> {
    let [(size, _)] = role.block_size.parts() else { return Err("mixes of sizes") };
    let step = u64::from(size.bytes());
    let (start, end) = role.region.range_in(used_bytes);
    let access = match role.access {
        Access::Random => {
            DiskspdAccess::Random { align_bytes: step, random_pct: 100, distribution: distribution(role)? }
        }
        // Our workers each have a piece of the target; DiskSpd's threads would all read the same one.
        Access::Sequential => {
            DiskspdAccess::Sequential { stride_bytes: step, interlocked: point.workers > 1 }
        }
    };
    let write_pct = whole(role.write_pct).ok_or("shares of writes with decimals")?;
    let random = WriteBuffer::Random { bytes: WRITE_BUFFER_BYTES.max(step), file: None };
    Ok(DiskspdTarget {
        block_bytes: size.bytes(),
        base_bytes: start,
        max_bytes: if end < target.size_bytes { end } else { 0 },
        access,
        request_count: point.queue_depth,
        write_pct,
        write_buffer: if write_pct > 0 { random } else { WriteBuffer::Ramp },
        cache_mode: match role.caching {
            Caching::Direct => CacheMode::NoOsCache,
            Caching::Buffered => CacheMode::Cached,
        },
        write_through: role.durability == Durability::WriteThrough,
        ..DiskspdTarget::new(target.path.to_string_lossy())
    })
}

fn distribution(role: &RoleProfile) -> Result<Option<DiskspdDistribution>, &'static str> {
    let (kind, ranges) = match &role.distribution {
        Distribution::Uniform => return Ok(None),
        Distribution::Zipf { .. } => return Err("Zipf distribution"),
        Distribution::Hot { access, region } => {
            let rest = |share: Percent| Percent::new(100.0 - share.percent()).unwrap_or(Percent::ZERO);
            let hot = RangeShare { access: *access, region: *region };
            let cold = RangeShare { access: rest(*access), region: rest(*region) };
            (SpanKind::Percent, [hot, cold].iter().map(range_of_region).collect::<Result<Vec<_>, _>>()?)
        }
        Distribution::Ranges(parts) => {
            (SpanKind::Percent, parts.iter().map(range_of_region).collect::<Result<Vec<_>, _>>()?)
        }
        Distribution::Spans(parts) => {
            let ranges = parts.iter().map(|part| range(part.access, part.length.bytes()));
            (SpanKind::Absolute, ranges.collect::<Result<Vec<_>, _>>()?)
        }
    };
    Ok(Some(DiskspdDistribution { kind, ranges }))
}

fn range(io: Percent, span: u64) -> Result<DistributionRange, &'static str> {
    Ok(DistributionRange { io_pct: whole_share(io)?, span })
}

fn range_of_region(part: &RangeShare) -> Result<DistributionRange, &'static str> {
    range(part.access, u64::from(whole_share(part.region)?))
}

fn whole_share(share: Percent) -> Result<u32, &'static str> {
    whole(share).ok_or("shares of requests with decimals")
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 100")]
fn whole(share: Percent) -> Option<u32> {
    let percent = share.percent();
    ((percent - percent.round()).abs() < 1e-9).then(|| percent.round() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use iostall_model::RunBody;

    /// The command line for the fixture's sweep with another role and number of workers.
    fn command(
        workers: u32,
        change: impl FnOnce(&mut Run, &mut SweepOutcome),
    ) -> Result<String, &'static str> {
        let mut run = fixture::sweep();
        let RunBody::Sweep(outcome) = &run.body else { panic!("no sweep") };
        let mut outcome = (**outcome).clone();
        change(&mut run, &mut outcome);
        run.body = RunBody::Sweep(Box::new(outcome.clone()));
        let point = Point { workers, ..outcome.points[2].clone() };
        diskspd(&run, &outcome, &point)
    }

    fn with_role(workers: u32, change: impl FnOnce(&mut RoleProfile)) -> Result<String, &'static str> {
        command(workers, |_, outcome| change(&mut outcome.profile.spans[0].roles[0]))
    }

    #[test]
    fn the_part_of_the_target_and_the_pattern_are_in_the_command_line() {
        // The command line used the whole target uniformly, ignoring --size, --region and --distribution.
        let path = "/var/lib/db/data.bin";
        let plain = with_role(1, |_| {}).unwrap();
        assert_eq!(plain, format!("diskspd -d60 -L -b8K -o4 -t1 -w0 -Su -r8K {path}"));
        let sized = command(1, |_, outcome| outcome.target_bytes = vec![1 << 30]).unwrap();
        assert!(sized.contains(" -f1G "), "{sized}");
        let region = with_role(1, |role| role.region = "1G..2G".parse().unwrap()).unwrap();
        assert!(region.contains(" -B1G -f2G "), "{region}");
        let hot = with_role(1, |role| role.distribution = "hot:90/10".parse().unwrap()).unwrap();
        assert!(hot.contains(" -rdpct90/10:10/90 "), "{hot}");
        let written = with_role(1, |role| role.write_pct = Percent::HUNDRED).unwrap();
        assert!(written.contains(" -w100 ") && written.contains(" -Z1M "), "{written}");
    }

    #[test]
    fn workers_share_a_sequence_and_are_a_pool_where_there_are_several_targets() {
        let sequential = with_role(2, |role| role.access = Access::Sequential).unwrap();
        assert!(sequential.contains(" -t2 ") && sequential.contains(" -si8K "), "{sequential}");
        let pool =
            command(2, |run, _| run.targets.push(Target { path: "/log".into(), ..run.targets[0].clone() }));
        let pool = pool.unwrap();
        assert!(pool.contains(" -F2 ") && pool.ends_with("/data.bin /log"), "{pool}");
    }

    #[test]
    fn what_diskspd_does_not_have_is_named() {
        let mix = with_role(1, |role| role.block_size = "8K:80,64K:20".parse().unwrap());
        assert_eq!(mix, Err("mixes of sizes"));
        let zipf = with_role(1, |role| role.distribution = "zipf:0.9".parse().unwrap());
        assert_eq!(zipf, Err("Zipf distribution"));
        let share = with_role(1, |role| role.write_pct = Percent::new(12.5).unwrap());
        assert_eq!(share, Err("shares of writes with decimals"));
    }
}
