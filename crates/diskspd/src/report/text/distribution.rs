//! Distributions of random requests: as requested, and as they turned out.

use std::collections::BTreeSet;

use super::tables::line;
use crate::report::input::TimeSpanResult;
use crate::size::show_size_aligned;
use crate::{DiskspdTarget, EffectiveRange, SpanKind};

/// An offset in a column of sizes.
fn place(bytes: u64) -> String {
    if bytes == 0 { "     0   ".to_owned() } else { show_size_aligned(bytes) }
}

/// The `-rd` list among the target's parameters.
pub(super) fn write_asked(out: &mut String, target: &DiskspdTarget) {
    let Some(distribution) = target.access.distribution() else { return };
    line(out, "\t\tIO Distribution:");
    let mut start = 0_u64;
    for range in &distribution.ranges {
        let end = start.saturating_add(range.span);
        let share = range.io_pct;
        line(
            out,
            match distribution.kind {
                SpanKind::Percent => format!("\t\t   {share:3}% of IO => [{start:2}% - {end:3}%) of target"),
                SpanKind::Absolute if range.span == 0 => {
                    format!("\t\t   {share:3}% of IO => [{} -       end)", place(start))
                }
                SpanKind::Absolute => {
                    format!("\t\t   {share:3}% of IO => [{} - {})", place(start), place(end))
                }
            },
        );
        start = end;
    }
}

/// Threads with the same distribution over a target are shown together.
pub(super) fn write_effective(out: &mut String, result: &TimeSpanResult) {
    let mut groups: Vec<(&str, &[EffectiveRange], BTreeSet<u32>)> = Vec::new();
    for thread in &result.threads {
        for target in thread.targets.iter().filter(|target| !target.distribution.is_empty()) {
            let alike = groups
                .iter_mut()
                .find(|(path, ranges, _)| *path == target.path && *ranges == target.distribution.as_slice());
            match alike {
                Some((_, _, threads)) => {
                    threads.insert(thread.id);
                }
                None => groups.push((&target.path, &target.distribution, BTreeSet::from([thread.id]))),
            }
        }
    }
    if groups.is_empty() {
        return;
    }
    line(out, "\nEffective IO Distributions");
    line(out, "-".repeat(26));
    for (path, ranges, threads) in groups {
        line(out, format!("target: {path} [thread:{}]", format_ranges(&threads)));
        for range in ranges {
            let share = if range.rescaled {
                format!("    {:.1}%", range.io_pct)
            } else {
                format!("   {:3.0}%", range.io_pct)
            };
            line(out, format!("{share} of IO => [{} - {})", place(range.start), place(range.end)));
        }
    }
}

/// Numbers with runs of three and more abbreviated: ` 0 - 3 7`.
fn format_ranges(threads: &BTreeSet<u32>) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for thread in threads {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *thread => *last = *thread,
            _ => runs.push((*thread, *thread)),
        }
    }
    let format = |(first, last): &(u32, u32)| match last - first {
        0 => format!(" {first}"),
        1 => format!(" {first} {last}"),
        _ => format!(" {first} - {last}"),
    };
    runs.iter().map(format).collect()
}
