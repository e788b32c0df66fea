//! Pressure stall information: how long tasks waited for I/O.

use iostall_host::Pressure;
use iostall_model::{Counter, Counters, Kind, Row, Scope, Subject, Warning, WarningCode};

/// The row of one `io.pressure` file: microseconds since boot or since the group was created.
pub(super) fn row(pressure: Pressure, name: &str) -> Option<Row> {
    let counters = Counters::new()
        .with_opt(Counter::WaitSome, pressure.some_us)
        .with_opt(Counter::WaitFull, pressure.full_us);
    let subject = Subject {
        kind: Kind::LinuxPressure,
        scope: Scope::Source,
        name: name.to_owned(),
        identity: name.to_owned(),
        volume: None,
    };
    (!counters.is_empty()).then_some(Row { subject, counters, age_ms: None })
}

pub(super) fn not_counted() -> Warning {
    Warning::new(
        WarningCode::NotCounted,
        "this kernel has no pressure stall information: how long tasks waited for I/O is unknown",
    )
    .hint("boot with psi=1 on a kernel of version 4.20 or later")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_counted_is_absent_and_not_0() {
        let row = row(Pressure { some_us: Some(9), full_us: None }, "host").unwrap();
        assert_eq!(
            (row.counters.get(Counter::WaitSome), row.counters.get(Counter::WaitFull)),
            (Some(9), None)
        );
        assert!(super::row(Pressure::default(), "host").is_none());
    }
}
