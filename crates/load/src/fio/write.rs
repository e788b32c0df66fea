//! A profile as a job file of fio's.

use std::fmt::Write as _;

use iostall_measure::{Caching, Durability, Percent, Rate, SyncCall};
use iostall_model::Profile;
use iostall_model::profile::{Access, Arrivals, Bound, Distribution, RoleProfile, SpanProfile};
use thiserror::Error;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("fio has no equal of {setting} in role {role:?}")]
pub struct NotInFio {
    pub role: String,
    /// As a profile calls it.
    pub setting: &'static str,
}

/// `profile` as a job file. Its roles work on the file that the variable `FILE` names where fio is started.
pub fn write_jobs(profile: &Profile) -> Result<String, NotInFio> {
    let mut text = format!(
        "; {}: {}\n; FILE=/data/t.dat SIZE=8g fio {}.fio\n\n[global]\nioengine=io_uring\nfilename=${{FILE}}\nsize=${{SIZE}}\ntime_based\n\
         group_reporting\nrefill_buffers\nnorandommap\nrandseed={}\n",
        profile.name, profile.description, profile.name, profile.seed
    );
    for (number, span) in profile.spans.iter().enumerate() {
        for (place, role) in span.roles.iter().enumerate() {
            let suffix = if number > 0 { format!("-{}", number + 1) } else { String::new() };
            // Writing to a string cannot fail.
            let _ = write!(text, "\n[{}{suffix}]\n", role.name);
            if number > 0 && place == 0 {
                text.push_str("stonewall\n");
            }
            for (option, value) in options(span, role)? {
                let _ = writeln!(text, "{option}={value}");
            }
        }
    }
    Ok(text)
}

fn options(span: &SpanProfile, role: &RoleProfile) -> Result<Vec<(&'static str, String)>, NotInFio> {
    if let Some(setting) = unknown_to_fio(role) {
        return Err(NotInFio { role: role.name.clone(), setting });
    }
    let mut options = Vec::new();
    let mut put =
        |given: bool, option, value: &dyn Fn() -> String| options.extend(given.then(|| (option, value())));
    let (reads, writes) = (role.write_pct < Percent::HUNDRED, role.write_pct > Percent::ZERO);
    put(true, "rw", &|| kind(role.access, reads, writes).to_owned());
    put(reads && writes, "rwmixwrite", &|| role.write_pct.percent().to_string());
    let parts = role.block_size.parts();
    put(parts.len() == 1, "bs", &|| role.block_size.largest().bytes().to_string());
    put(parts.len() > 1, "bssplit", &|| split(role));
    put(true, "iodepth", &|| role.queue_depth.to_string());
    put(true, "numjobs", &|| role.workers.to_string());
    put(true, "direct", &|| u8::from(role.caching == Caching::Direct).to_string());
    put(role.durability == Durability::WriteThrough, "sync", &|| "dsync".to_owned());
    if let Some(sync) = role.sync {
        let option = if sync.call == SyncCall::Fsync { "fsync" } else { "fdatasync" };
        put(true, option, &|| sync.every.to_string());
    }
    let workers = f64::from(role.workers.max(1));
    match role.rate {
        Some(Rate::Iops(iops)) => put(true, "rate_iops", &|| format!("{:.0}", iops / workers)),
        Some(Rate::BytesPerSecond(bytes)) => put(true, "rate", &|| format!("{:.0}", bytes / workers)),
        None => {}
    }
    put(role.rate.is_some() && role.arrivals == Arrivals::Poisson, "rate_process", &|| "poisson".to_owned());
    put(role.random_pct.is_some(), "percentage_random", &|| {
        role.random_pct.unwrap_or(Percent::HUNDRED).percent().to_string()
    });
    put(role.distribution != Distribution::Uniform, "random_distribution", &|| {
        distribution(&role.distribution)
    });
    put(role.align.is_some(), "blockalign", &|| role.align.map_or(0, |align| align.0).to_string());
    let start = role.region.start;
    put(start.offset_in(u64::MAX) > 0, "offset", &|| bound(start));
    if let Some(end) = role.region.end {
        put(true, "size", &|| length(start, end));
    }
    put(role.compressible_pct > Percent::ZERO, "buffer_compress_percentage", &|| {
        role.compressible_pct.percent().to_string()
    });
    if let Some(pin) = role.pin.as_ref().filter(|pin| !pin.is_empty()) {
        put(true, "cpus_allowed_policy", &|| "split".to_owned());
        put(true, "cpus_allowed", &|| pin.iter().map(u32::to_string).collect::<Vec<_>>().join(","));
    }
    put(span.warmup.0 > 0, "ramp_time", &|| format!("{}ms", span.warmup.0 / 1_000_000));
    put(true, "runtime", &|| format!("{}ms", span.duration.0 / 1_000_000));
    Ok(options)
}

fn unknown_to_fio(role: &RoleProfile) -> Option<&'static str> {
    let mixed_bounds = match (role.region.start, role.region.end) {
        (Bound::Percent(_), Some(Bound::Bytes(_))) => true,
        (Bound::Bytes(start), Some(Bound::Percent(_))) => start.0 > 0,
        _ => false,
    };
    [
        (role.burst.is_some(), "burst"),
        (role.stride.is_some(), "stride"),
        (role.shared_sequence, "shared-sequence"),
        (role.write_data.is_some(), "write-data"),
        (role.sequence_per_request, "sequence-per-request"),
        (!role.target_weights.is_empty(), "target-weights"),
        (mixed_bounds, "region in bytes and percent"),
    ]
    .into_iter()
    .find_map(|(given, setting)| given.then_some(setting))
}

fn kind(access: Access, reads: bool, writes: bool) -> &'static str {
    match (access, reads, writes) {
        (Access::Random, true, false) => "randread",
        (Access::Random, true, true) => "randrw",
        (Access::Random, false, _) => "randwrite",
        (Access::Sequential, true, false) => "read",
        (Access::Sequential, true, true) => "rw",
        (Access::Sequential, false, _) => "write",
    }
}

/// Shares of all sizes, of which fio wants whole percents: the last has what is left.
fn split(role: &RoleProfile) -> String {
    let parts = role.block_size.parts();
    let total: u64 = parts.iter().map(|(_, weight)| u64::from(*weight)).sum();
    let mut left = 100;
    let mut found = Vec::new();
    for (place, (size, weight)) in parts.iter().enumerate() {
        let share = (u64::from(*weight) * 100 / total.max(1)).min(left);
        let share = if place + 1 == parts.len() { left } else { share };
        left -= share;
        found.push(format!("{}/{share}", size.bytes()));
    }
    found.join(":")
}

fn distribution(distribution: &Distribution) -> String {
    let zones = |parts: Vec<String>| format!("zoned:{}", parts.join(":"));
    match distribution {
        Distribution::Uniform => "random".to_owned(),
        Distribution::Zipf { theta } => format!("zipf:{theta}"),
        Distribution::Hot { access, region } => {
            let (access, region) = (access.percent(), region.percent());
            zones(vec![format!("{access}/{region}"), format!("{}/{}", 100.0 - access, 100.0 - region)])
        }
        Distribution::Ranges(ranges) => zones(
            ranges.iter().map(|it| format!("{}/{}", it.access.percent(), it.region.percent())).collect(),
        ),
        Distribution::Spans(spans) => {
            let parts: Vec<String> =
                spans.iter().map(|it| format!("{}/{}", it.access.percent(), it.length.0)).collect();
            format!("zoned_abs:{}", parts.join(":"))
        }
    }
}

fn bound(bound: Bound) -> String {
    match bound {
        Bound::Bytes(bytes) => bytes.0.to_string(),
        Bound::Percent(share) => format!("{}%", share.percent()),
    }
}

fn length(start: Bound, end: Bound) -> String {
    match (start, end) {
        (Bound::Percent(start), Bound::Percent(end)) => format!("{}%", end.percent() - start.percent()),
        (Bound::Bytes(start), Bound::Bytes(end)) => end.0.saturating_sub(start.0).to_string(),
        (_, end) => bound(end),
    }
}
