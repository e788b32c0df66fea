//! Which backups are kept: grandfather, father, son. A pure function of the backups and the rules.

#[cfg(test)]
mod oracle;
mod rotation;
mod rules;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

pub(crate) use self::rotation::Rotation;
pub use self::rules::{Rules, Within, WithinError};
pub use rules::Period;

/// What is known about a backup, the least first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Proof {
    Damaged,
    #[default]
    Unproven,
    /// Every frame of it was read back and was as written.
    Verified,
    /// It was restored, and the database started from it.
    Drilled,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub id: String,
    /// What it is a backup of. Rules count the backups of each source for themselves.
    pub source: String,
    pub at: Timestamp,
    /// The backup that it cannot be restored without.
    pub base: Option<String>,
    pub proof: Proof,
    /// It was made with a caution about its content, such as pages with a wrong checksum.
    pub is_doubted: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    Last,
    NewestOf(Period),
    Within,
    /// The newest that is not known to be damaged, and whose content nothing content_warnings.
    LastGood,
    /// The newest of these whose content was read back.
    LastVerified,
    /// The newest that a database was started from.
    LastDrilled,
    NothingBetter,
    /// Its time is in the future, so that nothing can be said about its age.
    InTheFuture,
    /// A kept backup cannot be restored without it.
    BaseOf(String),
    LockedUntil(Timestamp),
    /// Its store keeps it until somebody takes the hold away.
    LegalHold,
}

/// Why each of `sets` is kept, in their order. No reason: it may be deleted.
pub fn reasons(sets: &[Kept], rules: &Rules, now: Timestamp, zone: &TimeZone) -> Vec<BTreeSet<Reason>> {
    let mut reasons = vec![BTreeSet::new(); sets.len()];
    let mut sources: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, set) in sets.iter().enumerate() {
        sources.entry(&set.source).or_default().push(index);
    }
    for indexes in sources.values_mut() {
        // Newest first. The id decides between equal times, so that the same files always give the same answer.
        indexes.sort_by_key(|&index| std::cmp::Reverse((sets[index].at, &sets[index].id)));
        of_source(sets, indexes, rules, now, zone, &mut reasons);
    }
    keep_bases(sets, &mut reasons);
    reasons
}

fn of_source(
    sets: &[Kept],
    indexes: &[usize],
    rules: &Rules,
    now: Timestamp,
    zone: &TimeZone,
    reasons: &mut [BTreeSet<Reason>],
) {
    let is_good = |index: usize| is_good(sets, index);
    let (future, past): (Vec<usize>, Vec<usize>) = indexes.iter().partition(|&&index| sets[index].at > now);
    // A clock that was wrong once must not push the real backups out of the rules.
    for index in future {
        reasons[index].insert(Reason::InTheFuture);
    }
    let good: Vec<usize> = past.iter().copied().filter(|&index| is_good(index)).collect();
    let Some(&newest) = good.first() else {
        // A damaged backup may still give back most of its files.
        for index in past {
            reasons[index].insert(Reason::NothingBetter);
        }
        return;
    };
    // What was read with wrong pages counts for the rules, but the last one without them stays as well.
    let trusted: Vec<usize> = good.iter().copied().filter(|&index| is_trusted(sets, index)).collect();
    match trusted.first() {
        Some(&index) => reasons[index].insert(Reason::LastGood),
        None => reasons[newest].insert(Reason::NothingBetter),
    };
    for (proof, reason) in [(Proof::Verified, Reason::LastVerified), (Proof::Drilled, Reason::LastDrilled)] {
        // Where none is beyond doubt, one that was proved is better than nothing.
        if let Some(&index) = trusted.iter().chain(&good).find(|&&index| sets[index].proof >= proof) {
            reasons[index].insert(reason);
        }
    }
    for &index in good.iter().take(rules.last as usize) {
        reasons[index].insert(Reason::Last);
    }
    // Counted from the newest backup and not from now: where backups have stopped, none grows too old.
    if let Some(from) = rules.within.and_then(|within| within.before(sets[newest].at, zone)) {
        for &index in good.iter().filter(|&&index| sets[index].at >= from) {
            reasons[index].insert(Reason::Within);
        }
    }
    for period in Period::ALL {
        let mut seen = BTreeSet::new();
        for &index in &good {
            if seen.len() >= rules.of(period) as usize {
                break;
            }
            if seen.insert(period.key(sets[index].at, zone)) {
                reasons[index].insert(Reason::NewestOf(period));
            }
        }
    }
}

fn is_good(sets: &[Kept], index: usize) -> bool {
    all_of_chain(sets, index, |set| set.proof != Proof::Damaged)
}

/// Whoever has seen a database start from it, and its pages checked, need not mind what was said when it was made.
fn is_trusted(sets: &[Kept], index: usize) -> bool {
    sets[index].proof == Proof::Drilled || all_of_chain(sets, index, |set| !set.is_doubted)
}

/// Whether a set and all that it is based on are there, and are so.
fn all_of_chain(sets: &[Kept], index: usize, is_so: impl Fn(&Kept) -> bool) -> bool {
    let mut current = index;
    // As many steps as there are sets: a circle, which only a damaged manifest can have, ends here.
    for _ in 0..=sets.len() {
        if !is_so(&sets[current]) {
            return false;
        }
        let Some(base) = &sets[current].base else { return true };
        let Some(found) = sets.iter().position(|set| set.id == *base) else { return false };
        current = found;
    }
    false
}

fn keep_bases(sets: &[Kept], reasons: &mut [BTreeSet<Reason>]) {
    let index_of: BTreeMap<&str, usize> =
        sets.iter().enumerate().map(|(index, set)| (set.id.as_str(), index)).collect();
    let mut open: Vec<usize> = (0..sets.len()).filter(|&index| !reasons[index].is_empty()).collect();
    while let Some(index) = open.pop() {
        let base = sets[index].base.as_deref().and_then(|base| index_of.get(base));
        if let Some(&base) = base {
            let is_new = reasons[base].is_empty();
            reasons[base].insert(Reason::BaseOf(sets[index].id.clone()));
            open.extend(is_new.then_some(base));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(id: &str, at: &str) -> Kept {
        let at = at.parse().expect("a time");
        let (base, proof, is_doubted) = (None, Proof::Unproven, false);
        Kept { id: id.into(), source: "shop".into(), at, base, proof, is_doubted }
    }

    fn kept(sets: &[Kept], rules: &Rules) -> Vec<String> {
        let now = "2026-11-30T00:00:00Z".parse().unwrap();
        let reasons = reasons(sets, rules, now, &TimeZone::UTC);
        let kept = sets.iter().zip(&reasons).filter(|(_, reasons)| !reasons.is_empty());
        kept.map(|(set, _)| set.id.clone()).collect()
    }

    fn nights() -> Vec<Kept> {
        (1..=20).map(|day| set(&format!("n{day:02}"), &format!("2026-11-{day:02}T02:00:00Z"))).collect()
    }

    #[test]
    fn the_newest_of_each_day_week_and_month_is_kept() {
        let daily = kept(&nights(), &Rules { daily: 3, ..Rules::default() });
        assert_eq!(daily, ["n18", "n19", "n20"]);
        let weekly = kept(&nights(), &Rules { weekly: 3, ..Rules::default() });
        assert_eq!(weekly, ["n08", "n15", "n20"], "weeks end on Sunday, the 8th and the 15th");
        let both = kept(&nights(), &Rules { daily: 1, monthly: 2, last: 2, ..Rules::default() });
        assert_eq!(both, ["n19", "n20"]);
        let within = kept(&nights(), &Rules { within: Some("5d".parse().unwrap()), ..Rules::default() });
        assert_eq!(within, ["n15", "n16", "n17", "n18", "n19", "n20"]);
    }

    /// The story: the newest three were kept, all three were damaged, and the last good one had just been deleted.
    #[test]
    fn the_last_good_one_and_the_last_that_was_proven_are_never_given_up() {
        let mut sets = nights();
        for set in sets.iter_mut().skip(17) {
            set.proof = Proof::Damaged;
        }
        sets[3].proof = Proof::Drilled;
        sets[5].proof = Proof::Verified;
        assert_eq!(kept(&sets, &Rules { last: 1, ..Rules::default() }), ["n04", "n06", "n17"]);
        assert_eq!(kept(&sets, &Rules::default()), ["n04", "n06", "n17"]);
        for set in &mut sets {
            set.proof = Proof::Damaged;
        }
        assert_eq!(kept(&sets, &Rules { last: 1, ..Rules::default() }).len(), 20, "nothing better is there");
    }

    /// The story: a page went bad on disk. The backups after that had it too, each was "the last good one", and the only one that had the
    /// page whole was deleted.
    #[test]
    fn the_last_one_without_a_doubt_is_kept_beside_newer_ones_with_one() {
        let mut sets = nights();
        for set in sets.iter_mut().skip(15) {
            (set.is_doubted, set.proof) = (true, Proof::Verified);
        }
        let last = Rules { last: 1, ..Rules::default() };
        assert_eq!(kept(&sets, &last), ["n15", "n20"]);
        sets[17].proof = Proof::Drilled;
        assert_eq!(kept(&sets, &last), ["n18", "n20"], "a database has started from it");
        // An increment on one with a doubt has it too.
        (sets[17].proof, sets[19].is_doubted, sets[19].base) = (Proof::Verified, false, Some("n19".into()));
        assert_eq!(kept(&sets, &last), ["n15", "n19", "n20"]);
        for set in &mut sets {
            set.is_doubted = true;
        }
        assert_eq!(kept(&sets, &last), ["n19", "n20"], "nothing is better than the newest");
    }

    /// The story: a server started with its clock in 2036, and `--keep-within 30d` found every other backup too old.
    #[test]
    fn a_backup_from_the_future_displaces_none() {
        let mut sets = nights();
        sets.push(set("future", "2036-01-01T00:00:00Z"));
        let kept = kept(&sets, &Rules { last: 1, within: Some("2d".parse().unwrap()), ..Rules::default() });
        assert_eq!(kept, ["n18", "n19", "n20", "future"]);
    }

    /// The story: the increments of the week were kept, and the full backup under them was older than a week.
    #[test]
    fn what_a_kept_increment_is_based_on_is_kept() {
        let mut sets = nights();
        sets[19].base = Some("n11".into());
        sets[10].base = Some("n02".into());
        assert_eq!(kept(&sets, &Rules { last: 1, ..Rules::default() }), ["n02", "n11", "n20"]);
        // An increment on a damaged or lost base cannot be restored, so it is not the last good one.
        sets[1].proof = Proof::Damaged;
        assert_eq!(kept(&sets, &Rules { last: 1, ..Rules::default() }), ["n19"]);
        sets[1].base = Some("n20".into());
        sets[1].proof = Proof::Unproven;
        assert_eq!(kept(&sets, &Rules { last: 1, ..Rules::default() }), ["n19"], "a circle");
    }

    #[test]
    fn each_source_is_counted_for_itself() {
        let mut sets = nights();
        for set in sets.iter_mut().take(10) {
            set.source = "crm".into();
        }
        assert_eq!(kept(&sets, &Rules { last: 1, ..Rules::default() }), ["n10", "n20"]);
    }

    #[test]
    fn of_two_backups_of_the_same_second_the_same_one_is_kept_whatever_their_order() {
        let mut sets = vec![set("a", "2026-11-01T02:00:00Z"), set("b", "2026-11-01T02:00:00Z")];
        assert_eq!(kept(&sets, &Rules { daily: 5, ..Rules::default() }), ["b"]);
        sets.reverse();
        assert_eq!(kept(&sets, &Rules { daily: 5, ..Rules::default() }), ["b"]);
    }
}
