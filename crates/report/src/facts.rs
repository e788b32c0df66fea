//! Settings and environment of a run in words: labels and values for the head of every report.

use std::path::Path;

use iostall_measure::foreign::shell_word;
use iostall_measure::platform::{CgroupLimits, Device, DirectIo, FileSystem, Host, Target, TargetKind};
use iostall_measure::{Caching, Durability, Percent, Rate, SyncCall, as_typed};
use iostall_model::Run;
use iostall_model::outcome::{EngineUse, RoleOutcome};
use iostall_model::profile::{Access, Arrivals, Distribution, Region, RoleProfile, SpanProfile};

use crate::format::{bytes, count, number, shown};
use crate::report::Report;
use crate::section::Fact;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// The essentials for a DBA.
    Brief,
    Full,
}

/// Joins the parts that are present with middle dots.
fn join(parts: impl IntoIterator<Item = Option<String>>) -> String {
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}

/// A path as text on one line, with invalid UTF-8 replaced.
pub fn path(path: &Path) -> String {
    shown(&path.to_string_lossy())
}

/// The command line in a form that can be typed in a shell.
pub fn command_line(run: &Run) -> String {
    run.command_line.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}

pub fn ran_on(report: &Report<'_>, detail: Detail) -> Vec<Fact> {
    let run = report.run;
    let mut facts = vec![Fact::new("host", host(&run.host, detail))];
    let limits = cgroup(&run.host.cgroup);
    if !limits.is_empty() {
        facts.push(Fact::new("limits", limits));
    }
    for (index, target_here) in run.targets.iter().enumerate() {
        let opened = report.opens_one_way.then(|| direct(target_here.direct.as_ref(), target_here.kind));
        facts.push(Fact::new("target", target(target_here, opened, run.used_bytes(index), detail)));
    }
    // Targets often share a device; list each one once.
    let mut listed: Vec<&Device> = Vec::new();
    for top in run.targets.iter().filter_map(|target| target.device.as_ref()) {
        if !listed.contains(&top) {
            listed.push(top);
            facts.extend(devices(top, detail).into_iter().map(|text| Fact::new("device", text)));
        }
    }
    let mut engines: Vec<&EngineUse> = Vec::new();
    for engine in run.body.outcome().engines().into_iter().filter(|engine| !engine.name.is_empty()) {
        if !engines.contains(&engine) {
            engines.push(engine);
        }
    }
    facts.extend(engines.into_iter().map(|used| Fact::new("engine", engine(used))));
    facts
}

fn host(host: &Host, detail: Detail) -> String {
    // `uname` puts name and release first; the build information after them is long.
    let kernel: Vec<&str> = host.kernel.split_whitespace().collect();
    let kernel = match detail {
        Detail::Brief => kernel.iter().take(2).copied().collect::<Vec<_>>().join(" "),
        Detail::Full => kernel.join(" "),
    };
    let full = |text: Option<String>| if detail == Detail::Full { text } else { None };
    let plural = |many: Option<u32>, word: &str| {
        many.map(|many| format!("{many} {word}{}", if many == 1 { "" } else { "s" }))
    };
    let cpus = match &host.cpu_model {
        Some(model) => format!("{} × {}", host.cpu_count, shown(model)),
        None => format!("{} CPUs", host.cpu_count),
    };
    join([
        Some(shown(&host.hostname)),
        Some(shown(&kernel)),
        Some(cpus),
        full(plural(host.core_count, "core")),
        full(plural(host.socket_count, "socket")),
        full(plural(host.node_count, "NUMA node")),
        Some(format!("{} memory", bytes(host.memory_bytes))),
        host.cpu_governor.as_ref().map(|governor| format!("governor {}", shown(governor))),
        host.hypervisor.as_ref().map(|name| format!("under {}", shown(name))),
    ])
}

fn cgroup(limits: &CgroupLimits) -> String {
    let io = limits.io.iter().map(|limit| Some(format!("I/O {}", shown(limit))));
    let memory = limits.memory_bytes.map(|limit| format!("memory {}", bytes(limit)));
    let cpus = limits.cpus.map(|cpus| format!("{} CPUs", number(cpus)));
    join([memory, cpus].into_iter().chain(io))
}

fn target(target: &Target, opened: Option<String>, used_bytes: u64, detail: Detail) -> String {
    let kind = match target.kind {
        TargetKind::File => "file",
        TargetKind::BlockDevice => "block device",
        TargetKind::Synthetic => "synthetic, no storage",
    };
    let made = if target.made_by_iostall { ", made by iostall" } else { "" };
    let allocated = target.allocated_bytes.filter(|allocated| *allocated < target.size_bytes);
    let unwritten = target.unwritten_bytes.filter(|unwritten| *unwritten > 0);
    join([
        Some(path(&target.path)),
        Some(format!("{} {kind}{made}", as_typed(target.size_bytes as f64))),
        (used_bytes < target.size_bytes).then(|| format!("the first {} used", as_typed(used_bytes as f64))),
        allocated.map(|allocated| format!("{} allocated", bytes(allocated))),
        unwritten.map(|unwritten| format!("{} never written", bytes(unwritten))),
        target.file_system.as_ref().map(|system| file_system(system, detail)),
        target.device.as_ref().map(|device| format!("device {}", shown(&device.name))),
        opened,
    ])
}

fn file_system(system: &FileSystem, detail: Detail) -> String {
    let place = format!("{} on {}", shown(&system.kind), path(&system.mount_point));
    match detail {
        Detail::Brief => place,
        Detail::Full => format!(
            "{place} ({}; {}), {} blocks, {} of {} free",
            shown(&system.source),
            shown(&system.options),
            bytes(system.block_bytes),
            bytes(system.free_bytes),
            bytes(system.total_bytes)
        ),
    }
}

fn direct(direct: Option<&DirectIo>, kind: TargetKind) -> String {
    match direct {
        None if kind == TargetKind::Synthetic => String::new(),
        None => "buffered".to_owned(),
        Some(DirectIo { granted: true, offset_align: Some(align), .. }) => {
            format!("direct, aligned to {}", bytes(u64::from(*align)))
        }
        Some(DirectIo { granted: true, .. }) => "direct".to_owned(),
        Some(DirectIo { reason: Some(reason), .. }) => format!("direct refused: {}", shown(reason)),
        Some(_) => "direct refused".to_owned(),
    }
}

fn devices(top: &Device, detail: Detail) -> Vec<String> {
    let mut lines = vec![device(top, detail)];
    for below in &top.below {
        lines.extend(devices(below, detail).into_iter().map(|line| format!("└ {line}")));
    }
    lines
}

fn device(device: &Device, detail: Detail) -> String {
    let full = |text: Option<String>| if detail == Detail::Full { text } else { None };
    let sectors = device.logical_sector_bytes.map(|logical| match device.physical_sector_bytes {
        Some(physical) => format!("sectors {logical} B logical, {physical} B physical"),
        None => format!("sectors {logical} B logical"),
    });
    let media = device.rotational.map(|spins| if spins { "rotational" } else { "not rotational" }.to_owned());
    join([
        Some(shown(&device.name)),
        device.model.as_ref().map(|model| shown(model.trim())),
        full(device.serial.as_ref().map(|serial| format!("serial {}", shown(serial)))),
        full(device.firmware.as_ref().map(|firmware| format!("firmware {}", shown(firmware)))),
        device.size_bytes.map(bytes),
        media,
        device.scheduler.as_ref().map(|scheduler| format!("scheduler {}", shown(scheduler))),
        device.write_cache.as_ref().map(|cache| format!("write cache {}", shown(cache))),
        full(device.fua.map(|fua| if fua { "takes FUA" } else { "no FUA" }.to_owned())),
        sectors,
        full(device.max_request_bytes.map(|largest| format!("requests up to {}", bytes(largest)))),
        full(device.max_segments.map(|segments| format!("{segments} segments"))),
        full(device.queue_requests.map(|requests| format!("queue of {requests}"))),
        full(device.numa_node.map(|node| format!("NUMA node {node}"))),
    ])
}

fn engine(engine: &EngineUse) -> String {
    let list = |words: &[String]| words.iter().map(|word| shown(word)).collect::<Vec<_>>().join(", ");
    let refused: Vec<String> = engine.refused.iter().map(ToString::to_string).collect();
    let granted = match engine.features.as_slice() {
        [] => shown(&engine.name),
        features => format!("{}: {}", shown(&engine.name), list(features)),
    };
    let refused = (!refused.is_empty()).then(|| format!("refused: {}", list(&refused)));
    join([Some(granted), refused])
}

/// The shape of a role's requests: `8 KiB random, 70 % reads, 30 % writes, direct`.
pub fn role_shape(role: &RoleProfile) -> String {
    let mut parts = vec![format!("{} {}", role.block_size.in_words(), access(role))];
    parts.push(match role.write_pct {
        none if none <= Percent::ZERO => "reads".to_owned(),
        all if all >= Percent::HUNDRED => "writes".to_owned(),
        writes => format!("{} % reads, {} % writes", 100.0 - writes.percent(), writes.percent()),
    });
    if role.access == Access::Random && role.distribution != Distribution::Uniform {
        parts.push(role.distribution.to_string());
    }
    if role.region != Region::default() {
        parts.push(format!("region {}", role.region));
    }
    if role.durability == Durability::WriteThrough {
        parts.push("write-through".to_owned());
    }
    if let Some(rule) = role.sync {
        let call = match rule.call {
            SyncCall::Fdatasync => "fdatasync",
            SyncCall::Fsync => "fsync",
        };
        parts.push(match rule.every {
            1 => format!("{call} after each write"),
            every => format!("{call} after every {every} writes"),
        });
    }
    if role.compressible_pct > Percent::ZERO {
        parts.push(format!("{} compressible", role.compressible_pct));
    }
    parts.push(match role.caching {
        Caching::Direct => "direct".to_owned(),
        Caching::Buffered => "buffered".to_owned(),
    });
    parts.join(", ")
}

fn access(role: &RoleProfile) -> String {
    let kind = match (role.access, role.random_pct) {
        (Access::Random, Some(share)) if share < Percent::HUNDRED => {
            format!("{share} random, else sequential")
        }
        (Access::Random, _) if role.every_block => "random, each block once a pass".to_owned(),
        (Access::Random, _) => "random".to_owned(),
        (Access::Sequential, _) if role.apart => "sequential, reads and writes apart".to_owned(),
        (Access::Sequential, _) => "sequential".to_owned(),
    };
    let align = role.align.map(|align| format!(" at multiples of {align}"));
    let stride = role.stride.map(|stride| format!(" every {stride}"));
    let shared = role.shared_sequence.then(|| ", one sequence for all workers".to_owned());
    let apart = role.worker_offset.map(|offset| format!(", workers {offset} apart"));
    [Some(kind), align, stride, shared, apart].into_iter().flatten().collect()
}

/// The pace of a role: `closed loop, depth 16 × 2 workers` or `open loop at 2,000/s, poisson, …`.
pub fn role_drive(role: &RoleProfile) -> String {
    let workers = match role.workers {
        1 => "1 worker".to_owned(),
        many => format!("{many} workers"),
    };
    let drive = match role.rate {
        None => format!("closed loop, depth {} × {workers}", role.queue_depth),
        Some(rate) => {
            let rate = match rate {
                Rate::Iops(iops) => format!("{}/s", number(iops)),
                Rate::BytesPerSecond(_) => rate.to_string(),
            };
            let arrivals = match role.arrivals {
                Arrivals::Constant => "constant",
                Arrivals::Poisson => "Poisson",
            };
            format!("open loop at {rate}, {arrivals} arrivals, depth limit {} × {workers}", role.queue_depth)
        }
    };
    let bursts = role
        .burst
        .map(|burst| format!(", bursts of {} with {} between", burst.requests, burst.pause))
        .unwrap_or_default();
    let batches = role
        .batch
        .map(|batch| {
            let wait = role.batch_wait.unwrap_or(RoleProfile::BATCH_WAIT);
            format!(", completions in batches of {batch} or {wait}")
        })
        .unwrap_or_default();
    let passes = match role.passes {
        None => String::new(),
        Some(1) => ", once through its region".to_owned(),
        Some(many) => format!(", {many} times through its region"),
    };
    format!("{drive}{bursts}{batches}{passes}")
}

pub fn in_flight(role: &RoleOutcome) -> String {
    let relation = if role.open_loop.is_some() { "limit" } else { "asked" };
    format!("in flight {} (mean), {} {relation}", number(role.depth_mean), count(role.depth_asked))
}

pub fn asked(span: &SpanProfile) -> Vec<Fact> {
    let times = format!("warm-up {}, measured {}, cool-down {}", span.warmup, span.duration, span.cooldown);
    let mut facts = vec![Fact::new("length", times)];
    for role in &span.roles {
        let targets = if role.targets.is_empty() {
            None
        } else {
            Some(format!(
                "targets {}",
                role.targets.iter().map(|name| shown(name)).collect::<Vec<_>>().join(", ")
            ))
        };
        let value = join([Some(role_shape(role)), Some(role_drive(role)), targets]);
        facts.push(Fact::new(shown(&role.name), value));
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn the_part_of_a_target_that_was_used_is_said() {
        let mut run = fixture::run();
        let said = |run: &Run| {
            ran_on(&Report::of(run), Detail::Brief)
                .iter()
                .any(|fact| fact.value.contains("the first 2 GiB used"))
        };
        assert!(!said(&run));
        let load = fixture::load_mut(&mut run);
        load.spans[0].target_bytes = vec![2 << 30, 1 << 30];
        assert!(said(&run));
    }
}
