//! Rates in bytes a second, as they are typed.

use iostall_measure::Throughput;

/// `200MB/s`, `622Mbit/s` or `200MB`.
pub(in crate::cli) fn bytes_per_second(text: &str) -> Result<u64, String> {
    text.parse().map(Throughput::whole_bytes).map_err(|error| error.to_string())
}

/// `200GB/day` or `5MB/s` as bytes a day. A period is needed: a size alone says nothing.
pub(in crate::cli) fn bytes_per_day(text: &str) -> Result<f64, String> {
    if !Throughput::has_period(text) {
        return Err(format!(
            "{text:?} has no period: write bytes and a period, such as 200GB/day, 9GB/h or 5MB/s"
        ));
    }
    text.parse().map(Throughput::bytes_per_day).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::write::line_rate;
    use iostall_measure::Rate;
    use iostall_model::requirement::{Metric, Requirement};

    /// `write --rate 1Gb/s` ran at 602 MiB/s and `1Gbit/s` at 119; `copy --limit` refused the bits that `write` took, and took the
    /// `mb` that `load` refused.
    #[test]
    fn every_option_that_is_a_rate_reads_the_same_spellings() {
        let load = |text: &str| match text.parse() {
            Ok(Rate::BytesPerSecond(bytes)) => Some(bytes),
            _ => None,
        };
        let require = |text: &str| match format!("throughput>{text}").parse() {
            Ok(Requirement::Limit(limit)) if limit.metric == Metric::Throughput => Some(limit.value),
            _ => None,
        };
        let read = |text: &str| {
            [
                load(text),
                bytes_per_second(text).ok().map(|bytes| bytes as f64),
                line_rate(text).ok(),
                require(text),
                bytes_per_day(text).ok().map(|bytes| bytes / 86_400.0),
            ]
        };
        for (text, bytes) in [
            ("200MB/s", 2e8),
            ("10KB/s", 1e4),
            ("200B/s", 200.0),
            ("1MiB/s", 1_048_576.0),
            ("1M/s", 1_048_576.0),
            ("622Mbit/s", 77.75e6),
            ("1Gbit/s", 125e6),
            ("8kbit/s", 1e3),
            ("622Mbits/s", 77.75e6),
        ] {
            for (place, found) in read(text).into_iter().enumerate() {
                assert!(
                    found.is_some_and(|found| (found - bytes).abs() < 0.5),
                    "{text}, option {place}: {found:?}"
                );
            }
        }
        for text in
            ["8Mb/s", "8mb/s", "1Gb/s", "8Mbps", "8mb", "0MB/s", "-1MB/s", "fast/s", "5MB/year", "200/s"]
        {
            let found = read(text);
            assert_eq!(found, [None; 5], "{text}");
        }
        for both in [bytes_per_second("8Mb/s"), bytes_per_second("8mb")] {
            let said = both.unwrap_err();
            assert!(said.contains("Mbit/s") && said.contains("MB/s"), "{said}");
        }
    }

    #[test]
    fn a_rate_has_a_unit_unless_it_is_a_large_number_of_bytes_and_one_of_wear_has_a_period() {
        assert_eq!(bytes_per_second("209715200"), Ok(209_715_200));
        for text in ["200", "1048575"] {
            let refused = bytes_per_second(text).unwrap_err();
            assert!(refused.contains("MB/s") && refused.contains("B/s"), "{refused}");
        }
        let day = |text| bytes_per_day(text).map(|rate| format!("{rate:.0}"));
        assert_eq!(day("200GB/day").unwrap(), "200000000000");
        assert_eq!(day("5MB/s").unwrap(), "432000000000");
        assert_eq!(day("70GiB/w").unwrap(), "10737418240");
        for wrong in ["200GB", "200GB/", "/day", "0GB/day", "200GB/year", "much/day"] {
            assert!(bytes_per_day(wrong).unwrap_err().contains("such as"), "{wrong}");
        }
    }
}
