//! The numbers of a pair: those of a report that can be compared.

use iostall_watch::windows::{Group, Pair, Presence, Values};

use crate::watch::columns::{Figures, NUMBERS, Number};

const COMPARED: [&str; 12] = [
    "reads_per_s",
    "writes_per_s",
    "read_mib_per_s",
    "write_mib_per_s",
    "stall_ms_per_read",
    "stall_ms_per_write",
    "stall_ms_per_io",
    "stall_ms_per_s",
    "syncs_per_s",
    "stall_ms_per_sync",
    "io_kib_mean",
    "queue_depth_mean",
];

pub(super) fn compared() -> impl Iterator<Item = &'static Number> {
    NUMBERS.iter().filter(|number| COMPARED.contains(&number.name))
}

pub(super) fn values(pair: &Pair<'_>, number: &Number) -> Values {
    let of = |group: Option<&Group>| (number.value)(&Figures { key: pair.key, group: group? });
    Values { before: of(pair.before), after: of(pair.after) }
}

pub(super) fn word(presence: Presence) -> &'static str {
    match presence {
        Presence::Both => "both",
        Presence::Before => "before",
        Presence::After => "after",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostall_watch::windows::fixture;

    #[test]
    fn what_is_in_one_window_alone_has_no_change() {
        let comparison = fixture::comparison();
        let pairs = comparison.pairs(usize::MAX);
        let gone = pairs.iter().find(|pair| pair.presence() == Presence::Before).unwrap();
        assert!(compared().all(|number| values(gone, number).change().is_none()));
    }
}
