//! Rates in bytes a second, as they are typed.

use iostall_measure::ByteCount;

/// A rate without a unit is accepted from here on, as bytes a second.
const BARE_RATE_MIN: u64 = 1 << 20;

/// `200MB/s` or `200MB`. A bare number is refused where it is more likely to mean megabytes than bytes: a copy at 200 bytes a
/// second would look like one that hangs.
pub(in crate::cli) fn bytes_per_second(text: &str) -> Result<u64, String> {
    let size: ByteCount = text.trim_end_matches("/s").parse().map_err(|_| {
        format!("{text:?} is not a rate: write bytes a second with a unit, such as 200MB/s or 1GiB/s")
    })?;
    let has_unit = text.contains(|c: char| c.is_ascii_alphabetic() && c != 's');
    match size.bytes() {
        0 => Err("a rate of 0 would never end".to_owned()),
        1..BARE_RATE_MIN if !has_unit => {
            let number = text.trim_end_matches("/s");
            Err(format!("{number} has no unit: write {number}MB/s, or {number}B/s for bytes a second"))
        }
        bytes => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_has_a_unit_unless_it_is_a_large_number_of_bytes() {
        assert_eq!(bytes_per_second("200MB/s"), Ok(200_000_000));
        assert_eq!(bytes_per_second("10KB/s"), Ok(10_000));
        assert_eq!(bytes_per_second("200B/s"), Ok(200));
        assert_eq!(bytes_per_second("209715200"), Ok(209_715_200));
        for text in ["200", "200/s", "1048575"] {
            let refused = bytes_per_second(text).unwrap_err();
            assert!(refused.contains("MB/s") && refused.contains("B/s for bytes"), "{refused}");
        }
        assert!(bytes_per_second("0").is_err() && bytes_per_second("fast").is_err());
    }
}
