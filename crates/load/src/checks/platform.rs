//! Checks of the environment: caches, in-memory file systems, holes, limits, a busy device.

use iostall_measure::platform::{Target, TargetKind};
use iostall_measure::{ByteCount, Caching, Op, Percent};
use iostall_model::profile::{Profile, RoleProfile, WriteData};
use iostall_model::{Warning, WarningCode};

use super::Evidence;
use super::flush::too_fast;
use super::machine::devices;

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Warning> {
    let profile = &evidence.outcome.profile;
    let mut warnings = Vec::new();
    warnings.extend(page_cache(profile));
    for (index, target) in evidence.targets.iter().enumerate() {
        if target.kind == TargetKind::Synthetic {
            continue;
        }
        warnings.extend(memory_file_system(target));
        warnings.extend(direct_refused(target));
        warnings.extend(never_written(target));
        // A size that iostall chose itself is not the user's mistake.
        if !evidence.sizes_chosen.get(index).is_some_and(|chosen| *chosen) {
            warnings.extend(small(target, used_bytes(evidence, index, target), evidence.host.memory_bytes));
        }
    }
    warnings.extend(compressible(profile));
    warnings.extend(devices(evidence.busy_before));
    warnings.extend(sync_too_fast(evidence));
    warnings.extend(limits(evidence));
    warnings
}

fn roles(profile: &Profile) -> impl Iterator<Item = &RoleProfile> {
    profile.spans.iter().flat_map(|span| &span.roles)
}

fn page_cache(profile: &Profile) -> Option<Warning> {
    // After a sync of each write nothing of it is in the cache alone.
    let is_synced = |role: &RoleProfile| {
        role.write_pct >= Percent::HUNDRED && role.sync.as_ref().is_some_and(|sync| sync.every == 1)
    };
    let buffered: Vec<&str> = roles(profile)
        .filter(|role| role.caching == Caching::Buffered && !is_synced(role))
        .map(|role| role.name.as_str())
        .collect();
    (!buffered.is_empty()).then(|| {
        Warning::new(
            WarningCode::PageCache,
            "requests went through the page cache: reads may not have reached the device, and writes may not have reached it yet",
        )
        .about(buffered.join(", "))
        .hint("use --caching direct to measure the storage")
    })
}

fn is_memory(target: &Target) -> bool {
    target.file_system.as_ref().is_some_and(|fs| matches!(fs.kind.as_str(), "tmpfs" | "ramfs" | "devtmpfs"))
}

pub fn memory_file_system(target: &Target) -> Option<Warning> {
    is_memory(target).then(|| {
        Warning::new(WarningCode::MemoryFileSystem, "this file system is in memory: no device was measured")
            .about(target.path.display().to_string())
            .hint("name a file on the storage to be measured")
    })
}

fn direct_refused(target: &Target) -> Option<Warning> {
    let direct = target.direct.as_ref()?;
    (!direct.granted && !is_memory(target)).then(|| {
        let reason = direct.reason.as_deref().unwrap_or("the file system does not say why");
        Warning::new(WarningCode::DirectRefused, format!("direct I/O was requested but is unavailable: {reason}"))
            .about(target.path.display().to_string())
            .hint("requests may have been served from the page cache: use a file system with direct I/O, or the device itself")
    })
}

fn never_written(target: &Target) -> Option<Warning> {
    let path = target.path.display().to_string();
    if let Some(unwritten) = target.unwritten_bytes.filter(|bytes| *bytes > 0) {
        return Some(
            Warning::new(
                WarningCode::TargetUnwritten,
                format!(
                    "{} of {} were never written: reading them does not reach the device",
                    ByteCount(unwritten),
                    ByteCount(target.size_bytes)
                ),
            )
            .about(path)
            .hint("let iostall create the file (--size), or fill it first"),
        );
    }
    let allocated = target.allocated_bytes?;
    (allocated < target.size_bytes && !is_memory(target)).then(|| {
        Warning::new(
            WarningCode::TargetSparse,
            format!(
                "{} of {} are holes: reading them does not reach the device",
                ByteCount(target.size_bytes - allocated),
                ByteCount(target.size_bytes)
            ),
        )
        .about(path)
        .hint("let iostall create the file (--size), or fill it first")
    })
}

/// How much of target `index` the run used, between the lowest and the highest bound of its roles.
fn used_bytes(evidence: &Evidence<'_>, index: usize, target: &Target) -> u64 {
    let given = evidence.outcome.spans.iter().filter_map(|span| span.target_bytes.get(index).copied());
    let given = given.max().unwrap_or(target.size_bytes);
    let ranges = || roles(&evidence.outcome.profile).map(|role| role.region.range_in(given));
    let start = ranges().map(|(start, _)| start).min().unwrap_or(0);
    let end = ranges().map(|(_, end)| end).max().unwrap_or(given);
    end.saturating_sub(start)
}

fn small(target: &Target, used_bytes: u64, memory_bytes: u64) -> Option<Warning> {
    let part =
        if used_bytes < target.size_bytes { "the part of the target that was used" } else { "the target" };
    (used_bytes < memory_bytes && !is_memory(target)).then(|| {
        Warning::new(
            WarningCode::TargetSmall,
            format!(
                "{part} ({}) is smaller than memory ({}): a cache in the host, the array or the device may hold all of it",
                ByteCount(used_bytes),
                ByteCount(memory_bytes)
            ),
        )
        .about(target.path.display().to_string())
        .hint("use a --size larger than the largest cache on the path")
    })
}

/// Whether the data can be compressed or deduplicated: zeros, or the bytes 0 to 255 repeated.
fn can_shrink(role: &RoleProfile) -> bool {
    role.compressible_pct > Percent::ZERO || role.write_data == Some(WriteData::Ramp)
}

fn compressible(profile: &Profile) -> Option<Warning> {
    let names: Vec<&str> = roles(profile)
        .filter(|role| role.writes() && can_shrink(role))
        .map(|role| role.name.as_str())
        .collect();
    (!names.is_empty()).then(|| {
        Warning::new(
            WarningCode::CompressibleData,
            "written data can be compressed: a device or array with compression will look faster than it is with incompressible data",
        )
        .about(names.join(", "))
    })
}

fn sync_too_fast(evidence: &Evidence<'_>) -> Vec<Warning> {
    let medians = evidence.outcome.spans.iter().flat_map(|span| &span.roles).filter_map(|role| {
        Some((&role.name, role.op(Op::Sync)?.service_ns.value_at(iostall_measure::Percentile::P50)?))
    });
    let of_role = |(name, median_ns): (&String, u64)| {
        let mut devices = evidence.targets.iter().map(|target| target.device.as_ref());
        let found = devices.find_map(|device| too_fast(evidence.host, device, median_ns));
        found.map(|warning| warning.about(name))
    };
    medians.filter_map(of_role).collect()
}

fn limits(evidence: &Evidence<'_>) -> Option<Warning> {
    let limits = &evidence.host.cgroup;
    let mut words = limits.io.clone();
    words.extend(limits.cpus.map(|cpus| format!("{cpus} processors")));
    words.extend(limits.memory_bytes.map(|bytes| format!("{} of memory", ByteCount(bytes))));
    (!words.is_empty()).then(|| {
        Warning::new(
            WarningCode::CgroupLimit,
            format!("a control group limits this process: {}", words.join("; ")),
        )
        .hint("the results may reflect this limit and not the storage")
    })
}
