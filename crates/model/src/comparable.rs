//! Finds differences between two runs that make them hard to compare.

use iostall_measure::{Caching, Durability, Percent};

use crate::{Profile, RoleProfile, Run, WarningCode};

/// Target sizes within this share count as equal.
const SIZE_SHARE: f64 = 0.01;

pub fn differences(first: &Run, second: &Run) -> Vec<String> {
    let mut differences = Vec::new();
    if first.body.kind() != second.body.kind() {
        differences.push(format!("one is a {}, the other a {}", first.body.kind(), second.body.kind()));
    }
    for (run, word) in [(first, "first"), (second, "second")] {
        if run.interrupted {
            differences.push(format!("the {word} was interrupted before its end"));
        }
        let busy = run.warnings.iter().find(|warning| warning.code == WarningCode::DeviceBusy);
        differences.extend(
            busy.map(|warning| format!("before the {word}, the device was busy: {}", warning.message)),
        );
        if run.warnings.iter().any(|warning| warning.code == WarningCode::IoErrors) {
            differences.push(format!("requests of the {word} failed"));
        }
    }
    differences.extend(sizes(first, second));
    differences.extend(firmware(first, second));
    let differs =
        |what: &str, one: String, other: String| (one != other).then(|| format!("{what}: {one} and {other}"));
    let (ours, theirs) = (engines(first), engines(second));
    // Commits by sync method use system calls of their own.
    if !ours.is_empty() && !theirs.is_empty() {
        differences.extend(differs("they ran on different engines", ours, theirs));
    }
    let (ours, theirs) = (first.body.outcome().profile(), second.body.outcome().profile());
    if let (Some(ours), Some(theirs)) = (ours, theirs) {
        for (ours, theirs) in roles(ours).zip(roles(theirs)) {
            differences.extend(role_differences(ours, theirs));
        }
        if roles(ours).count() != roles(theirs).count() {
            differences.push("they have different numbers of roles".to_owned());
        }
    }
    differences
}

fn roles(profile: &Profile) -> impl Iterator<Item = &RoleProfile> {
    profile.spans.iter().flat_map(|span| &span.roles)
}

fn engines(run: &Run) -> String {
    let mut names: Vec<&str> =
        run.body.outcome().engines().iter().map(|engine| engine.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}

fn sizes(first: &Run, second: &Run) -> Option<String> {
    let used = |run: &Run| (0..run.targets.len()).map(|index| run.used_bytes(index)).sum::<u64>();
    let (ours, theirs) = (used(first), used(second));
    let apart = ours.abs_diff(theirs) as f64 > ours.max(theirs) as f64 * SIZE_SHARE;
    apart.then(|| {
        format!(
            "the parts of their targets that were used have different sizes: {} and {}",
            iostall_measure::ByteCount(ours),
            iostall_measure::ByteCount(theirs)
        )
    })
}

/// One and the same drive with other firmware is another drive, as far as its speed goes.
fn firmware(first: &Run, second: &Run) -> Vec<String> {
    let devices = first.devices.iter().zip(&second.devices);
    let known = devices.filter_map(|(ours, theirs)| ours.as_ref().zip(theirs.as_ref()));
    let same = known.filter(|(ours, theirs)| ours.key().is_some() && ours.key() == theirs.key());
    let changed = same.filter_map(|(ours, theirs)| {
        let (one, other) = ours.firmware.as_ref().zip(theirs.firmware.as_ref())?;
        let name = iostall_measure::foreign::shown(ours.model.as_deref().unwrap_or(&ours.kernel_name));
        let (one, other) = (iostall_measure::foreign::shown(one), iostall_measure::foreign::shown(other));
        (one != other).then(|| format!("the firmware of {name} was another: {one} and {other}"))
    });
    changed.collect()
}

fn caching(role: &RoleProfile) -> &'static str {
    match role.caching {
        Caching::Direct => "direct",
        Caching::Buffered => "buffered",
    }
}

fn durability(role: &RoleProfile) -> &'static str {
    match role.durability {
        Durability::None => "none",
        Durability::WriteThrough => "write-through",
    }
}

fn role_differences(ours: &RoleProfile, theirs: &RoleProfile) -> Vec<String> {
    let subject =
        if ours.name == theirs.name { ours.name.clone() } else { format!("{}, {}", ours.name, theirs.name) };
    let rate = |role: &RoleProfile| role.rate.map_or("closed loop".to_owned(), |rate| rate.to_string());
    let jumps = |role: &RoleProfile| role.random_pct.unwrap_or(Percent::HUNDRED).to_string();
    let compared: [(&str, String, String); 11] = [
        ("block sizes", ours.block_size.in_words(), theirs.block_size.in_words()),
        ("shares of writes", ours.write_pct.to_string(), theirs.write_pct.to_string()),
        ("access", ours.access.name().to_owned(), theirs.access.name().to_owned()),
        ("regions", ours.region.to_string(), theirs.region.to_string()),
        ("shares of jumps", jumps(ours), jumps(theirs)),
        ("distributions", ours.distribution.to_string(), theirs.distribution.to_string()),
        ("caching", caching(ours).to_owned(), caching(theirs).to_owned()),
        ("durability", durability(ours).to_owned(), durability(theirs).to_owned()),
        ("rates", rate(ours), rate(theirs)),
        ("queue depths", ours.queue_depth.to_string(), theirs.queue_depth.to_string()),
        ("workers", ours.workers.to_string(), theirs.workers.to_string()),
    ];
    let differing = compared.into_iter().filter(|(_, ours, theirs)| ours != theirs);
    differing
        .map(|(what, ours, theirs)| format!("{subject}: different {what}: {ours} and {theirs}"))
        .collect()
}
