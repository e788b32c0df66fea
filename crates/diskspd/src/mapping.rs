//! Converts a DiskSpd profile for our engine.
//!
//! Each DiskSpd target becomes a role with its own workers, in DiskSpd's order, so that worker numbers are
//! DiskSpd's thread numbers. A thread pool (`-F`) becomes one role over all targets.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::PathBuf;

use iostall_measure::{BlockSize, ByteCount, Caching, Durability, Nanos, Percent, Rate};
use iostall_model::profile as model;
use thiserror::Error;

use super::files::FilePlan;
use super::profile::{
    Access, CacheMode, DiskspdProfile, DiskspdTarget, DiskspdTimeSpan, Throughput, WriteBuffer,
};
use super::unsupported::Unsupported;

#[derive(Clone, Debug, PartialEq)]
pub struct MappedProfile {
    pub profile: model::Profile,
    /// The run's targets, each path once, in order of first use.
    pub targets: Vec<MappedTarget>,
    /// Small differences from what was requested, as sentences for the user.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappedTarget {
    /// `target1`, `target2`, ….
    pub name: String,
    pub file: FilePlan,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MappingError {
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Refused(Vec<Unsupported>),
    #[error(
        "'{path}': in a thread pool (-F) all targets must have the same settings but for path and weight; give targets that differ threads of their own (-t)"
    )]
    PoolDiffers {
        /// The first target that differs.
        path: String,
    },
    /// A repeated target in a pool, whose result rows could not be distinguished.
    #[error(
        "'{path}' is there twice in a thread pool (-F); name each target once, with more outstanding requests (-o), or in an XML profile with a larger <Weight>"
    )]
    PoolRepeats { path: String },
    /// Pool threads are bound to targets.
    #[error(
        "'{path}': threads of a pool cannot be bound to targets (ThreadTargets); give the targets threads of their own (-t)"
    )]
    ThreadTargets { path: String },
    #[error("'{path}': {what} cannot be {value}")]
    Number { path: String, what: &'static str, value: u64 },
}

/// Converts a profile in which [`super::validate()`] finds no error.
pub fn to_profile(profile: &DiskspdProfile) -> Result<MappedProfile, MappingError> {
    let refused: Vec<_> = Unsupported::all_in(profile).into_iter().filter(Unsupported::is_refused).collect();
    if !refused.is_empty() {
        return Err(MappingError::Refused(refused));
    }
    let targets: Vec<MappedTarget> = FilePlan::all_of(profile)
        .into_iter()
        .zip(1_u32..)
        .map(|(file, number)| MappedTarget { name: format!("target{number}"), file })
        .collect();
    let mut notes = Vec::new();
    let seed = profile.time_spans.first().map_or(0, |span| span.seed);
    if profile.time_spans.iter().any(|span| span.seed != seed) {
        notes.push(format!("the time spans have different seeds: the first one's, {seed}, is used for all"));
    }
    let mut spans = Vec::new();
    for span in &profile.time_spans {
        spans.push(model::SpanProfile {
            warmup: seconds(span.warmup_s),
            duration: seconds(span.duration_s),
            cooldown: seconds(span.cooldown_s),
            interval: Nanos(u64::from(span.bucket_ms.max(1)) * 1_000_000),
            worker_series: span.iops_stdev,
            roles: map_roles(span, &targets, &mut notes)?,
        });
    }
    let profile = model::Profile {
        name: "diskspd".to_owned(),
        description: "As asked in DiskSpd's words.".to_owned(),
        seed: u64::from(seed),
        spans,
    };
    Ok(MappedProfile { profile, targets, notes: super::validate::each_once(notes) })
}

fn seconds(seconds: u32) -> Nanos {
    Nanos(u64::from(seconds) * 1_000_000_000)
}

fn map_roles(
    span: &DiskspdTimeSpan,
    targets: &[MappedTarget],
    notes: &mut Vec<String>,
) -> Result<Vec<model::RoleProfile>, MappingError> {
    if let Some(bound) = span.targets.iter().find(|target| !target.thread_targets.is_empty()) {
        return Err(MappingError::ThreadTargets { path: bound.path.clone() });
    }
    let name_of = |target: &DiskspdTarget| {
        let known = targets.iter().find(|known| known.file.path == target.path);
        known.map(|known| known.name.clone()).unwrap_or_default()
    };
    if span.thread_count == 0 {
        let mut roles = Vec::new();
        for (place, target) in span.targets.iter().enumerate() {
            let role = map_role(span, target, 1, notes)?;
            roles.push(model::RoleProfile {
                name: format!("target{}", place + 1),
                targets: vec![name_of(target)],
                ..role
            });
        }
        return Ok(roles);
    }
    let Some(first) = span.targets.first() else { return Ok(Vec::new()) };
    let alike = |target: &&DiskspdTarget| {
        let as_first = DiskspdTarget { path: first.path.clone(), weight: first.weight, ..(*target).clone() };
        as_first != *first
    };
    if let Some(other) = span.targets.iter().find(alike) {
        return Err(MappingError::PoolDiffers { path: other.path.clone() });
    }
    let mut paths = BTreeSet::new();
    if let Some(again) = span.targets.iter().find(|target| !paths.insert(&target.path)) {
        return Err(MappingError::PoolRepeats { path: again.path.clone() });
    }
    let role = map_role(span, first, span.targets.len(), notes)?;
    let drawn = span.request_count > 0;
    Ok(vec![model::RoleProfile {
        name: "pool".to_owned(),
        targets: span.targets.iter().map(name_of).collect(),
        queue_depth: if drawn { span.request_count } else { role.queue_depth },
        target_weights: if drawn { span.targets.iter().map(|it| it.weight).collect() } else { Vec::new() },
        ..role
    }])
}

/// The settings of a role like `target` over `target_count` targets; the caller sets the names.
fn map_role(
    span: &DiskspdTimeSpan,
    target: &DiskspdTarget,
    target_count: usize,
    notes: &mut Vec<String>,
) -> Result<model::RoleProfile, MappingError> {
    let number = |what, value| MappingError::Number { path: target.path.clone(), what, value };
    let block = u64::from(target.block_bytes);
    let block_size = BlockSize::new(block).map_err(|_| number("the block size", block))?;
    let share = |pct: u32| Percent::new(f64::from(pct)).map_err(|_| number("a percentage", u64::from(pct)));
    let workers = span.threads_on(target);
    let random_pct = match &target.access {
        Access::Random { random_pct, .. } if *random_pct < 100 => Some(share(*random_pct)?),
        _ => None,
    };
    if random_pct.is_some() && target.access.step_bytes() != block {
        notes.push(format!(
            "'{}': between jumps requests follow one another without a gap, not at the alignment of -r",
            target.path
        ));
    }
    let sequential = !target.access.is_random();
    let own_sequence = sequential && !target.access.is_interlocked();
    let end = (target.max_bytes > 0).then_some(model::Bound::Bytes(ByteCount(target.max_bytes)));
    Ok(model::RoleProfile {
        name: String::new(),
        targets: Vec::new(),
        region: model::Region { start: model::Bound::Bytes(ByteCount(target.base_bytes)), end },
        block_size: model::BlockMix::single(block_size),
        write_pct: share(target.write_pct)?,
        access: if sequential { model::Access::Sequential } else { model::Access::Random },
        random_pct,
        distribution: target
            .access
            .distribution()
            .map_or(Ok(model::Distribution::Uniform), |distribution| {
                distribution.to_model().ok_or_else(|| number("a share of -rd", 0))
            })?,
        align: (!sequential).then_some(ByteCount(target.access.step_bytes())),
        stride: sequential.then_some(ByteCount(target.access.step_bytes())),
        shared_sequence: target.access.is_interlocked(),
        // Always set: by default our workers would divide the target, while DiskSpd's all begin at its start.
        worker_offset: own_sequence.then_some(ByteCount(target.thread_stride_bytes)),
        queue_depth: target.request_count,
        workers,
        rate: target.throughput.map(|limit| map_rate(limit, u64::from(workers) * target_count as u64)),
        arrivals: model::Arrivals::Constant,
        caching: match target.cache_mode {
            CacheMode::NoOsCache | CacheMode::NoLocalCache => Caching::Direct,
            CacheMode::Cached => Caching::Buffered,
        },
        durability: if target.write_through { Durability::WriteThrough } else { Durability::None },
        sync: None,
        burst: map_burst(target, workers, notes),
        compressible_pct: match target.write_buffer {
            WriteBuffer::Zero => Percent::HUNDRED,
            _ => Percent::ZERO,
        },
        write_data: map_write_data(span, target),
        every_block: false,
        passes: None,
        apart: false,
        sequence_per_request: target.parallel_async,
        target_weights: Vec::new(),
        batch: None,
        batch_wait: None,
        thresholds: None,
        pin: (!span.disable_affinity)
            .then(|| span.affinity.iter().map(|cpu| u32::from(cpu.processor)).collect()),
    })
}

/// Converts a limit for each of `streams` (thread × target) to a total. Floats neither wrap nor truncate.
fn map_rate(limit: Throughput, streams: u64) -> Rate {
    match limit {
        Throughput::Iops(iops) => Rate::Iops(iops * streams as f64),
        Throughput::BytesPerMs(bytes) => Rate::BytesPerSecond(bytes * 1000.0 * streams as f64),
    }
}

/// DiskSpd divides a burst among the threads of its target; a rate limit takes precedence.
fn map_burst(target: &DiskspdTarget, workers: u32, notes: &mut Vec<String>) -> Option<model::Burst> {
    let (requests, pause_ms) = (target.burst_size?, target.think_time_ms?);
    if target.throughput.is_some() {
        return None;
    }
    let workers = workers.max(1);
    if requests < workers {
        notes.push(format!(
            "'{}': {workers} threads share bursts of {requests}: each does one request a burst",
            target.path
        ));
    }
    let pause = Nanos(u64::from(pause_ms) * 1_000_000);
    Some(model::Burst { requests: (requests / workers).max(1), pause })
}

/// The write content of a read-only role does not matter.
fn map_write_data(span: &DiskspdTimeSpan, target: &DiskspdTarget) -> Option<model::WriteData> {
    match &target.write_buffer {
        _ if target.write_pct == 0 => None,
        WriteBuffer::Zero => None,
        _ if span.random_write_data => Some(model::WriteData::Fresh),
        WriteBuffer::Ramp => Some(model::WriteData::Ramp),
        WriteBuffer::Random { bytes, file } => {
            Some(model::WriteData::Pool { size: ByteCount(*bytes), file: file.as_ref().map(PathBuf::from) })
        }
    }
}
