//! Numbers for people: three significant digits, a suitable unit, thousands separators.

use iostall_measure::ByteCount;

pub use iostall_measure::foreign::shown;
pub use iostall_measure::number::{NONE, count, number, throughput};

/// Three significant digits without scientific notation: `1.23`, `12.3`, `123`.
fn three_digits(value: f64) -> String {
    // At these bounds, rounding to fewer decimals would show a fourth digit.
    if value < 9.995 {
        format!("{value:.2}")
    } else if value < 99.95 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

/// A duration in nanoseconds with a suitable unit: `850 ns`, `12.3 µs`, `4.56 ms`, `1.20 s`.
pub fn duration(ns: f64) -> String {
    if !ns.is_finite() {
        return NONE.to_owned();
    }
    match ns {
        // The sum of no numbers is -0.0.
        _ if ns == 0.0 => "0 ns".to_owned(),
        _ if ns < 999.5 => format!("{ns:.0} ns"),
        _ if ns < 999.5e3 => format!("{} µs", three_digits(ns / 1e3)),
        _ if ns < 999.5e6 => format!("{} ms", three_digits(ns / 1e6)),
        _ => format!("{} s", three_digits(ns / 1e9)),
    }
}

/// The unit that all numbers of a column have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TimeUnit {
    name: &'static str,
    ns: f64,
}

const TIME_UNITS: [TimeUnit; 4] = [
    TimeUnit { name: "ns", ns: 1.0 },
    TimeUnit { name: "µs", ns: 1e3 },
    TimeUnit { name: "ms", ns: 1e6 },
    TimeUnit { name: "s", ns: 1e9 },
];
/// The smallest number that still has two digits where three decimals are shown.
const TWO_DIGITS: f64 = 0.01;

impl TimeUnit {
    /// The unit of the longest time, or the next smaller one in which the shortest still has two digits.
    pub(crate) fn of_column(times_ns: impl Iterator<Item = f64> + Clone) -> Self {
        let longest = times_ns.clone().fold(0.0, f64::max);
        let shortest = times_ns.filter(|ns| *ns > 0.0).fold(longest, f64::min);
        let fits = |unit: &&Self| unit.ns * 0.9995 <= longest && shortest >= unit.ns * TWO_DIGITS;
        TIME_UNITS.iter().rev().find(fits).copied().unwrap_or(TIME_UNITS[0])
    }

    /// `ns` in this unit.
    pub(crate) fn shown(self, ns: f64) -> String {
        let value = ns / self.ns;
        let number = match value {
            _ if value <= 0.0 || self == TIME_UNITS[0] => number_of_whole(value),
            _ if value < 0.9995 => format!("{value:.3}"),
            _ if value < 999.5 => three_digits(value),
            _ => number_of_whole(value),
        };
        format!("{number} {}", self.name)
    }
}

/// Without decimals.
fn number_of_whole(value: f64) -> String {
    if value < 1000.0 { format!("{value:.0}") } else { number(value) }
}

pub fn maybe_duration(ns: Option<f64>) -> String {
    ns.map_or_else(|| NONE.to_owned(), duration)
}

pub fn maybe_number(value: Option<f64>) -> String {
    value.map_or_else(|| NONE.to_owned(), number)
}

pub fn maybe_throughput(bytes_per_second: Option<f64>) -> String {
    bytes_per_second.map_or_else(|| NONE.to_owned(), throughput)
}

/// A share as a percentage: `12.3 %`; a small non-zero share is `<0.1 %`.
pub fn percent(fraction: f64) -> String {
    if fraction > 0.0 && fraction < 0.0005 {
        return "<0.1 %".to_owned();
    }
    if fraction.is_finite() { format!("{:.1} %", fraction * 100.0) } else { NONE.to_owned() }
}

/// A mean number of bytes: `8 KiB`, `512.5 B`.
pub fn mean_bytes(bytes: f64) -> String {
    match bytes {
        _ if !bytes.is_finite() => NONE.to_owned(),
        _ if bytes < 1024.0 => format!("{} B", trim_zero(bytes)),
        _ if bytes < 1_048_576.0 => format!("{} KiB", trim_zero(bytes / 1024.0)),
        _ => format!("{} MiB", trim_zero(bytes / 1_048_576.0)),
    }
}

/// A number of bytes with a binary unit.
pub fn bytes(bytes: u64) -> String {
    ByteCount(bytes).to_string()
}

/// One decimal, omitted if it is zero.
fn trim_zero(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// `45,210 IOPS · 353 MiB/s · p99 1.20 ms`; unknown parts are left out.
pub fn rates(iops: f64, mib_per_s: f64, p99_ns: Option<u64>) -> String {
    let p99 = p99_ns.map(|ns| format!(" · p99 {}", duration(ns as f64))).unwrap_or_default();
    format!("{} IOPS · {} MiB/s{p99}", number(iops), number(mib_per_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_three_digits_and_the_unit_that_fits() {
        let expected = [
            (0.0, "0 ns"),
            (999.4, "999 ns"),
            (999.6, "1.00 µs"),
            (12_345.0, "12.3 µs"),
            (999_499.0, "999 µs"),
            (999_600.0, "1.00 ms"),
            (9_996_000.0, "10.0 ms"),
            (1_204_000_000.0, "1.20 s"),
            (f64::NAN, "–"),
        ];
        for (ns, text) in expected {
            assert_eq!(duration(ns), text);
        }
    }

    /// In a column of `46.3 µs`, `1.63 ms` and `354 µs` the longest had the smallest number, and who looked for the worst
    /// overlooked it.
    #[test]
    fn all_times_of_a_column_have_one_unit_in_which_the_shortest_still_has_two_digits() {
        for (times, expected) in [
            (&[46_300.0, 1_630_000.0, 354_000.0][..], &["0.046 ms", "1.63 ms", "0.354 ms"][..]),
            (&[80_400.0, 514_000.0], &["80.4 µs", "514 µs"]),
            (&[5_000.0, 33_100_000.0, 0.0], &["5.00 µs", "33,100 µs", "0 µs"]),
            (&[980.0, 1_960.0], &["0.980 µs", "1.96 µs"]),
            (&[999_600.0], &["1.00 ms"]),
            (&[12_000_000.0, 1_204_000_000.0], &["0.012 s", "1.20 s"]),
            (&[0.0], &["0 ns"]),
            (&[5.0, 9_000.0], &["5 ns", "9,000 ns"]),
        ] {
            let unit = TimeUnit::of_column(times.iter().copied());
            assert_eq!(times.iter().map(|ns| unit.shown(*ns)).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn numbers_have_separators_and_no_false_decimals() {
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(999), "999");
        assert_eq!(number(1_234.6), "1,235");
        assert_eq!(number(999.96), "1,000");
        assert_eq!(number(353.24), "353");
        assert_eq!(number(23.44), "23.4");
        assert_eq!(number(0.5), "0.50");
        assert_eq!(number(0.0), "0");
        assert_eq!(number(f64::INFINITY), "–");
        assert_eq!(mean_bytes(8192.0), "8 KiB");
        assert_eq!(mean_bytes(700.5), "700.5 B");
    }
}
