//! Regions of roles whose file is no longer shared.

use std::collections::BTreeSet;

use iostall_measure::Percent;
use iostall_model::profile::{Bound, Region};
use iostall_model::{Profile, RoleProfile, SpanProfile};

/// Gives roles that have a file of their own what other roles would have used of it.
///
/// A profile that is made for one file cuts it into parts, such as 90 % for data and the rest for the log. `bound` are the names
/// of targets that have files of their own. Where that takes roles apart, the parts of those that are elsewhere are cut out
/// of the file, and what is left is all of it: the log begins at the start of its file and uses the whole. Parts that no role
/// uses stay unused, and bounds in bytes stay what they are.
pub fn give_own_files(profile: &mut Profile, bound: &[&str]) {
    for span in &mut profile.spans {
        let regions: Vec<Region> = span.roles.iter().map(|role| without_others(role, span, bound)).collect();
        for (role, region) in span.roles.iter_mut().zip(regions) {
            role.region = region;
        }
    }
}

/// The files of a role: the bound names among its targets; of none, the files that nobody named.
fn files<'a>(role: &'a RoleProfile, bound: &[&str]) -> BTreeSet<&'a str> {
    role.targets.iter().map(String::as_str).filter(|name| bound.contains(name)).collect()
}

/// The region of `role` on a file without the parts of the roles that are on other files.
fn without_others(role: &RoleProfile, span: &SpanProfile, bound: &[&str]) -> Region {
    let here = files(role, bound);
    let shares = span
        .roles
        .iter()
        .map(|other| (files(other, bound).is_disjoint(&here) && files(other, bound) != here, other));
    let elsewhere: Vec<(f64, f64)> = shares
        .filter(|(is_elsewhere, _)| *is_elsewhere)
        .filter_map(|(_, other)| percent_range(other.region))
        .collect();
    let mine = percent_range(role.region);
    let overlaps = |(start, end): (f64, f64)| {
        elsewhere.iter().any(|(other_start, other_end)| start < *other_end && *other_start < end)
    };
    // Parts that overlap were never cut out of one file.
    match mine {
        Some(mine) if !elsewhere.is_empty() && !overlaps(mine) => {
            let taken = |upto: f64| covered(&elsewhere, upto);
            let left = 100.0 - taken(100.0);
            let bound = |at: f64| {
                Percent::new(((at - taken(at)) / left * 100.0).clamp(0.0, 100.0)).map(Bound::Percent)
            };
            match (bound(mine.0), bound(mine.1)) {
                (Ok(start), Ok(end)) => Region { start, end: Some(end) },
                _ => role.region,
            }
        }
        _ => role.region,
    }
}

/// How much of the first `upto` percent the ranges cover together.
fn covered(ranges: &[(f64, f64)], upto: f64) -> f64 {
    let mut sorted = ranges.to_vec();
    sorted.sort_by(|left, right| left.0.total_cmp(&right.0));
    let (mut sum, mut end) = (0.0, 0.0_f64);
    for (start, stop) in sorted {
        let (start, stop) = (start.max(end), stop.min(upto));
        sum += (stop - start).max(0.0);
        end = end.max(stop);
    }
    sum
}

/// Start and end in percent; `None` where a bound is in bytes.
fn percent_range(region: Region) -> Option<(f64, f64)> {
    let percent = |bound| match bound {
        Bound::Percent(share) => Some(share.percent()),
        Bound::Bytes(bytes) => (bytes.bytes() == 0).then_some(0.0),
    };
    Some((percent(region.start)?, region.end.map_or(Some(100.0), percent)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::preset;

    fn regions(name: &str, bound: &[&str]) -> Vec<(String, String)> {
        let mut profile = preset(name).unwrap();
        give_own_files(&mut profile, bound);
        profile.spans[0].roles.iter().map(|role| (role.name.clone(), role.region.to_string())).collect()
    }

    fn of<'a>(regions: &'a [(String, String)], role: &str) -> &'a str {
        &regions.iter().find(|(name, _)| name == role).unwrap().1
    }

    /// The story: `--preset postgres --target log=/wal/t.dat` wrote the last 10 % of the log's file only.
    #[test]
    fn a_log_on_a_file_of_its_own_uses_all_of_it_from_its_start() {
        let apart = regions("postgres", &["log"]);
        assert_eq!((of(&apart, "wal"), of(&apart, "data")), ("0%..100%", "0%..100%"));
        let both = regions("postgres", &["data", "log"]);
        assert_eq!((of(&both, "wal"), of(&both, "data")), ("0%..100%", "0%..100%"));
        let shared = regions("postgres", &[]);
        assert_eq!((of(&shared, "wal"), of(&shared, "data")), ("90%..100%", "0%..90%"));
    }

    #[test]
    fn roles_that_stay_together_keep_their_parts_of_what_is_left() {
        let apart = regions("mariadb", &["log"]);
        let [data, doublewrite] = ["data", "doublewrite"].map(|role| of(&apart, role).to_owned());
        assert!(data.starts_with("0%..88.8") && doublewrite.ends_with("..100%"), "{data} {doublewrite}");
        assert_eq!(data.split("..").nth(1), doublewrite.split("..").next());
    }

    #[test]
    fn a_part_that_nobody_uses_and_a_profile_of_one_role_stay_as_they_are() {
        let mut profile = preset("random-read").unwrap();
        profile.spans[0].roles[0].region = "0%..10%".parse().unwrap();
        give_own_files(&mut profile, &["data"]);
        assert_eq!(profile.spans[0].roles[0].region.to_string(), "0%..10%", "a short stroke");
        let mut bytes = preset("postgres").unwrap();
        bytes.spans[0].roles[1].region = "1G..2G".parse().unwrap();
        let before = bytes.spans[0].roles[1].region;
        give_own_files(&mut bytes, &["log"]);
        assert_eq!(bytes.spans[0].roles[1].region, before);
    }
}
