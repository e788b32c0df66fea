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
        _ if ns < 999.5 => format!("{ns:.0} ns"),
        _ if ns < 999.5e3 => format!("{} µs", three_digits(ns / 1e3)),
        _ if ns < 999.5e6 => format!("{} ms", three_digits(ns / 1e6)),
        _ => format!("{} s", three_digits(ns / 1e9)),
    }
}

/// [`duration`] of an optional value.
pub fn maybe_duration(ns: Option<f64>) -> String {
    ns.map_or_else(|| NONE.to_owned(), duration)
}

/// [`number`] of an optional value.
pub fn maybe_number(value: Option<f64>) -> String {
    value.map_or_else(|| NONE.to_owned(), number)
}

/// [`throughput`] of an optional value.
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
