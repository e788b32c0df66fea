//! What is known of a drive, a line a fact.

use iostall_model::drive::{Converted, CountedBytes, Endurance};

use super::units::{bytes, rate};
use crate::fact::Fact;
use crate::format::{count, shown};

pub(super) fn of(one: &Endurance) -> Vec<Fact> {
    let (drive, wear) = (&one.drive, &one.wear);
    let mut facts = Vec::new();
    let mut add =
        |label: &str, value: Option<String>| facts.extend(value.map(|value| Fact::new(label, value)));
    add("family", drive.family.as_deref().map(shown));
    add("firmware", drive.firmware.as_deref().map(shown));
    add("capacity", drive.capacity_bytes.map(|capacity| bytes(Some(capacity as f64))));
    add("powered on", wear.power_on_hours.map(|hours| format!("{} hours", count(hours))));
    add("written by hosts", wear.host.as_ref().map(counted));
    add("written to the flash", wear.nand.as_ref().map(counted));
    let amplification = one.write_amplification.as_ref();
    add("write amplification", amplification.map(|found| format!("{:.2}, {}", found.value, found.basis)));
    add("used", wear.used.as_ref().map(|used| format!("{} %, {}", used.percent, shown(&used.origin))));
    add("spare", spare(one));
    add("blocks erased", wear.erase_cycles.map(|cycles| format!("{} times in the mean", count(cycles))));
    add("media errors", wear.media_errors.map(count));
    let expected = one.expected.as_ref();
    add("expected writes", expected.map(|found| format!("{}, {}", rate(Some(found.value)), found.basis)));
    add("over its life", one.rates.life.map(|life| rate(Some(life))));
    add("busiest day", one.rates.peak_day.map(|peak| rate(Some(peak))));
    add(
        "implied by its percentage",
        one.implied_bytes.map(|[likely, least, most]| {
            format!("{} in all ({} to {})", bytes(Some(likely)), bytes(Some(least)), bytes(Some(most)))
        }),
    );
    if let Some(rating) = &one.rating {
        let workload =
            rating.workload.as_ref().map(|words| format!(", for {}", shown(words))).unwrap_or_default();
        add("rating from", Some(format!("{}{workload}", shown(&rating.origin))));
    }
    facts.extend(one.converted.iter().flat_map(spellings));
    facts
}

pub(super) fn spellings(converted: &Converted) -> Vec<Fact> {
    let years = format!("over {} years of 365 days", converted.years);
    let mut facts = vec![
        Fact::new("rated", format!("{} {years}", bytes(Some(converted.written_bytes)))),
        Fact::new("rated a day", rate(Some(converted.bytes_per_day))),
    ];
    facts.extend(
        converted
            .drive_writes_per_day
            .map(|drives| Fact::new("rated drive writes a day", format!("{drives:.3}"))),
    );
    facts
}

fn counted(counted: &CountedBytes) -> String {
    format!("{}, {}", bytes(Some(counted.bytes as f64)), shown(&counted.origin))
}

fn spare(one: &Endurance) -> Option<String> {
    let left = one.wear.spare_percent?;
    // Drives that count no spare blocks report 0 of 0.
    match one.wear.spare_threshold_percent {
        Some(0) if left == 0 => None,
        Some(threshold) => Some(format!("{left} %, and it warns at {threshold} %")),
        None => Some(format!("{left} %")),
    }
}
