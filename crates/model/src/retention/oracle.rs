//! The same rules once more, written as their definitions and with a calendar of its own, against random calendars.

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::{Kept, Period, Proof, Rules, reasons};

const CALENDARS: u64 = 10_000;

/// SplitMix64: every calendar can be drawn again from its number.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn one_in(&mut self, tries: u64) -> bool {
        self.below(tries) == 0
    }
}

/// Clocks that are set at two, at midnight and a minute after it, by an hour and by half of one, in both hemispheres.
const ZONES: [&str; 9] = [
    "UTC0",
    "CET-1CEST,M3.5.0,M10.5.0/3",
    "EST5EDT,M3.2.0,M11.1.0",
    "NST3:30NDT,M4.1.0/0:01,M10.5.0/0:01",
    "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
    "<-03>3<-02>,M10.3.0/0,M2.3.0/0",
    "IST-5:30",
    "<+1245>-12:45<+1345>,M9.5.0/2:45,M4.1.0/3:45",
    "<+14>-14",
];

/// Days since 1970 as year, month and day (Howard Hinnant's arithmetic).
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

fn number(period: Period, at: Timestamp, zone: &TimeZone) -> (i64, i64) {
    let offset = i64::from(zone.to_offset(at).seconds());
    let local = at.as_second() + offset;
    let days = local.div_euclid(86_400);
    let (year, month, _) = civil(days);
    match period {
        Period::Hour => (local.div_euclid(3_600), offset),
        Period::Day => (days, 0),
        // The first of January 1970 was a Thursday.
        Period::Week => ((days + 3).div_euclid(7), 0),
        Period::Month => (year * 12 + month, 0),
        Period::Year => (year, 0),
    }
}

/// Whether the rules keep `set`, by their definition alone.
fn is_kept(sets: &[Kept], set: &Kept, rules: &Rules, now: Timestamp, zone: &TimeZone) -> bool {
    if set.at > now {
        return true;
    }
    let same: Vec<&Kept> = sets.iter().filter(|one| one.source == set.source && one.at <= now).collect();
    let good: Vec<&Kept> = same.iter().copied().filter(|one| can_be_restored(sets, one, 0)).collect();
    if good.is_empty() {
        return true;
    }
    if !good.iter().any(|one| one.id == set.id) {
        return false;
    }
    let is_newer = |one: &Kept, other: &Kept| (one.at, &one.id) > (other.at, &other.id);
    let newer: Vec<&Kept> = good.iter().copied().filter(|one| is_newer(one, set)).collect();
    let trusted = |one: &Kept| is_trusted(sets, one, 0);
    let is_last_of = |proof: Proof| {
        set.proof >= proof && trusted(set) && newer.iter().all(|one| one.proof < proof || !trusted(one))
    };
    let is_last_good =
        if good.iter().any(|one| trusted(one)) { is_last_of(Proof::Damaged) } else { newer.is_empty() };
    let is_last_proven = |proof: Proof| {
        if good.iter().any(|one| one.proof >= proof && trusted(one)) {
            is_last_of(proof)
        } else {
            set.proof >= proof && newer.iter().all(|one| one.proof < proof)
        }
    };
    let is_proven = is_last_proven(Proof::Verified) || is_last_proven(Proof::Drilled);
    let newest = good.iter().copied().fold(set, |one, other| if is_newer(other, one) { other } else { one });
    let from = rules.within.map(|within| within.before(newest.at, zone).unwrap());
    newer.len() < rules.last as usize
        || is_last_good
        || is_proven
        || from.is_some_and(|from| set.at >= from)
        || Period::ALL.into_iter().any(|period| {
            let own = number(period, set.at, zone);
            let others: BTreeSet<_> = newer.iter().map(|one| number(period, one.at, zone)).collect();
            !others.contains(&own) && others.len() < rules.of(period) as usize
        })
}

fn can_be_restored(sets: &[Kept], set: &Kept, steps: usize) -> bool {
    let base = || set.base.as_ref().map(|base| sets.iter().find(|one| one.id == *base));
    steps <= sets.len()
        && set.proof != Proof::Damaged
        && match base() {
            None => true,
            Some(None) => false,
            Some(Some(base)) => can_be_restored(sets, base, steps + 1),
        }
}

fn is_trusted(sets: &[Kept], set: &Kept, steps: usize) -> bool {
    let base = set.base.as_ref().and_then(|base| sets.iter().find(|one| one.id == *base));
    (steps == 0 && set.proof == Proof::Drilled)
        || (!set.is_doubted && base.is_none_or(|base| is_trusted_base(sets, base, steps + 1)))
}

fn is_trusted_base(sets: &[Kept], set: &Kept, steps: usize) -> bool {
    steps <= sets.len() && is_trusted(sets, set, steps)
}

fn is_base_of_kept(sets: &[Kept], set: &Kept, kept: &[bool]) -> bool {
    let stands_on = |from: &Kept| {
        let mut at = Some(from);
        for _ in 0..=sets.len() {
            at = at.and_then(|one| one.base.as_ref()).and_then(|id| sets.iter().find(|one| one.id == *id));
            if at.is_some_and(|one| one.id == set.id) {
                return true;
            }
        }
        false
    };
    sets.iter().zip(kept).any(|(one, kept)| *kept && stands_on(one))
}

/// Times around leap days, ends of years and the hours in which clocks are set; many of them equal, or a second apart.
fn calendar(random: &mut Random) -> (Vec<Kept>, Rules, Timestamp) {
    // Around the leap days of 2000 and 2024, the turns of years, and spring and autumn of 2026.
    const AROUND: [i64; 7] = [
        951_782_400,
        1_709_164_800,
        1_735_689_600,
        1_774_746_000,
        1_792_890_000,
        1_767_225_600,
        4_107_542_400,
    ];
    let around = AROUND[usize::try_from(random.below(7)).unwrap()];
    let reach = [3_600, 86_400 * 2, 86_400 * 40, 86_400 * 1_200][usize::try_from(random.below(4)).unwrap()];
    let count = random.below(24);
    let mut sets: Vec<Kept> = Vec::new();
    for number in 0..count {
        let drawn = i64::try_from(random.below(2 * reach)).unwrap() - i64::try_from(reach).unwrap();
        let at = Timestamp::from_second(around + drawn).unwrap();
        let at = if random.one_in(6) { sets.last().map_or(at, |set| set.at) } else { at };
        let proof = [Proof::Damaged, Proof::Verified, Proof::Drilled, Proof::Unproven, Proof::Unproven]
            [usize::try_from(random.below(5)).unwrap()];
        let base = random.one_in(3).then(|| format!("s{}", random.below(count + 1)));
        let source = if random.one_in(4) { "crm" } else { "shop" }.to_owned();
        let is_doubted = random.one_in(4);
        sets.push(Kept { id: format!("s{number}"), source, at, base, proof, is_doubted });
    }
    let mut some = |most: u64| {
        if random.one_in(2) { 0 } else { u32::try_from(random.below(most)).unwrap() }
    };
    let mut rules = Rules {
        last: some(4),
        hourly: some(6),
        daily: some(6),
        weekly: some(5),
        monthly: some(5),
        yearly: some(4),
        within: None,
    };
    if random.one_in(3) {
        let unit = ["h", "d", "w", "mo", "y"][usize::try_from(random.below(5)).unwrap()];
        rules.within = Some(format!("{}{unit}", 1 + random.below(5)).parse().unwrap());
    }
    let now = around + if random.one_in(3) { 0 } else { 86_400 * 1_300 };
    (sets, rules, Timestamp::from_second(now).unwrap())
}

#[test]
fn ten_thousand_random_calendars_are_kept_as_the_definition_says() {
    let zones: Vec<TimeZone> = ZONES.iter().map(|zone| TimeZone::posix(zone).unwrap()).collect();
    let mut given_up = 0;
    for seed in 0..CALENDARS {
        let mut random = Random(seed);
        let (sets, rules, now) = calendar(&mut random);
        let zone = &zones[usize::try_from(random.below(zones.len() as u64)).unwrap()];
        let by_rules: Vec<bool> = sets.iter().map(|set| is_kept(&sets, set, &rules, now, zone)).collect();
        let expected: Vec<bool> = sets
            .iter()
            .zip(&by_rules)
            .map(|(set, kept)| *kept || is_base_of_kept(&sets, set, &by_rules))
            .collect();
        let actual: Vec<bool> =
            reasons(&sets, &rules, now, zone).iter().map(|reasons| !reasons.is_empty()).collect();
        assert_eq!(actual, expected, "seed {seed}: {rules:?} at {now} in {zone:?}: {sets:#?}");
        given_up += expected.iter().filter(|kept| !**kept).count();
    }
    assert!(given_up > 10_000, "the rules gave up {given_up} only");
}
