//! Pressure stall information: for how long tasks waited for I/O.

use iostall_model::{Counter, Counters, Kind, Row, Scope, Subject, Warning, WarningCode};

/// The row of one `io.pressure` file: microseconds since boot or since the group was made.
pub(super) fn row(text: &str, name: &str) -> Option<Row> {
    let mut counters = Counters::new();
    for line in text.lines() {
        let mut words = line.split(' ');
        let counter = match words.next()? {
            "some" => Counter::WaitSome,
            "full" => Counter::WaitFull,
            _ => continue,
        };
        let total = words.find_map(|word| word.strip_prefix("total="))?;
        counters.set(counter, total.parse().ok()?);
    }
    let subject = Subject {
        kind: Kind::LinuxPressure,
        scope: Scope::Source,
        name: name.to_owned(),
        identity: name.to_owned(),
        volume: None,
    };
    (!counters.is_empty()).then_some(Row { subject, counters, age_ms: None })
}

/// Said when the kernel does not count it.
pub(super) fn not_counted() -> Warning {
    Warning::new(
        WarningCode::NotCounted,
        "this kernel keeps no pressure stall information: how long tasks waited for I/O is not known",
    )
    .hint("boot with psi=1 on a kernel of version 4.20 or later")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_totals_are_kept_because_averages_cannot_be_summed() {
        let text = "some avg10=0.13 avg60=0.08 avg300=0.12 total=9127822\n\
                    full avg10=0.00 avg60=0.00 avg300=0.08 total=8150379\n";
        let row = row(text, "host").unwrap();
        assert_eq!(row.counters.get(Counter::WaitSome), Some(9_127_822));
        assert_eq!(row.counters.get(Counter::WaitFull), Some(8_150_379));
        assert!(super::row("nonsense", "host").is_none());
    }
}
