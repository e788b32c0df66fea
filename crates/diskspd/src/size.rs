//! Sizes in DiskSpd's notation.

use thiserror::Error;

const UNITS: [(u64, &str); 4] = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SizeError {
    #[error("write a whole number with at most one of K, M, G, T (powers of 1024) or b (blocks)")]
    Malformed,
    #[error("it is more than 2^64 bytes")]
    TooLarge,
}

/// Parses a size: a decimal integer and at most one suffix in either case. `K`, `M`, `G` and `T` are powers
/// of 1024; `B` is **blocks** of `block_bytes`, not bytes.
pub fn parse_size(text: &str, block_bytes: u64) -> Result<u64, SizeError> {
    let digits_end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, suffix) = text.split_at(digits_end);
    if digits.is_empty() {
        return Err(SizeError::Malformed);
    }
    let factor = match suffix {
        "" => 1,
        "K" | "k" => 1 << 10,
        "M" | "m" => 1 << 20,
        "G" | "g" => 1 << 30,
        "T" | "t" => 1 << 40,
        "B" | "b" => block_bytes,
        _ => return Err(SizeError::Malformed),
    };
    let number: u64 = digits.parse().map_err(|_| SizeError::TooLarge)?;
    number.checked_mul(factor).ok_or(SizeError::TooLarge)
}

/// Formats a size in the largest unit that it reaches: `64KiB`, `1.95MiB`; below 1 KiB the bare number of
/// bytes.
pub fn show_size(bytes: u64) -> String {
    match UNITS.iter().find(|(unit, _)| bytes >= *unit) {
        None => bytes.to_string(),
        Some((unit, name)) if bytes.is_multiple_of(*unit) => format!("{}{name}", bytes / unit),
        Some((unit, name)) => format!("{:.2}{name}", bytes as f64 / *unit as f64),
    }
}

/// The same in a column: the number in 6 places, then the unit.
pub fn show_size_aligned(bytes: u64) -> String {
    match UNITS.iter().find(|(unit, _)| bytes >= *unit) {
        None => format!("{bytes:6}   "),
        Some((unit, name)) if bytes.is_multiple_of(*unit) => format!("{:6}{name}", bytes / unit),
        Some((unit, name)) => format!("{:6.2}{name}", bytes as f64 / *unit as f64),
    }
}

/// A size that can be typed: with the largest suffix that divides it.
pub fn format_size(bytes: u64) -> String {
    match UNITS.iter().find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit)) {
        None => bytes.to_string(),
        Some((unit, name)) => format!("{}{}", bytes / unit, &name[..1]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_b_means_blocks_and_never_bytes() {
        assert_eq!(parse_size("4b", 65536), Ok(262_144));
        assert_eq!(parse_size("4B", 8192), Ok(32768));
        assert_eq!(parse_size("4k", 8192), Ok(4096));
        assert_eq!(parse_size("1T", 1), Ok(1 << 40));
    }

    #[test]
    fn fractions_hexadecimals_and_long_suffixes_are_no_sizes() {
        for text in ["", "K", "1.5G", "0x10", "4KiB", "4KB", "-1", "+1", " 4K", "4K "] {
            assert_eq!(parse_size(text, 1), Err(SizeError::Malformed), "{text}");
        }
        assert_eq!(parse_size("16777216T", 1), Err(SizeError::TooLarge));
        assert_eq!(parse_size("99999999999999999999", 1), Err(SizeError::TooLarge));
    }

    #[test]
    fn sizes_are_shown_in_the_largest_unit_they_reach() {
        assert_eq!(show_size(512), "512");
        assert_eq!(show_size(65536), "64KiB");
        assert_eq!(show_size(2000 * 1024), "1.95MiB");
        assert_eq!(show_size(4 << 30), "4GiB");
        assert_eq!(show_size_aligned(8192), "     8KiB");
    }

    proptest! {
        #[test]
        fn a_spelled_size_reads_back(bytes: u64) {
            prop_assert_eq!(parse_size(&format_size(bytes), 7), Ok(bytes));
        }

        #[test]
        fn no_text_makes_the_size_reader_panic(text in ".{0,30}", block: u64) {
            let _ = parse_size(&text, block);
        }
    }
}
