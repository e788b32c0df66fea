//! Numbers as fio writes them.

use iostall_measure::Nanos;

use super::error::FioError;

pub(super) fn wrong(option: &str, value: &str, wanted: &'static str) -> FioError {
    FioError::Value { option: option.to_owned(), value: value.to_owned(), wanted }
}

/// Digits and what is behind them, in lower case.
fn split(value: &str) -> (&str, String) {
    let value = value.trim();
    let end = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    (&value[..end], value[end..].trim().to_ascii_lowercase())
}

/// A size: `k`, `m`, `g`, `t` are powers of 1024. `Ki` is 1000 to fio, which nobody means.
pub(super) fn size(option: &str, value: &str) -> Result<u64, FioError> {
    const WANTED: &str = "write bytes, or a whole number with k, m, g or t (powers of 1024)";
    let (digits, unit) = split(value);
    let number: u64 = digits.parse().map_err(|_| wrong(option, value, WANTED))?;
    let power = match unit.as_str() {
        "" | "b" => 0,
        "k" | "kb" => 1,
        "m" | "mb" => 2,
        "g" | "gb" => 3,
        "t" | "tb" => 4,
        "ki" | "kib" | "mi" | "mib" | "gi" | "gib" | "ti" | "tib" => {
            return Err(wrong(option, value, "fio takes this unit for a power of 1000: write k, m, g or t"));
        }
        _ => return Err(wrong(option, value, WANTED)),
    };
    number.checked_mul(1 << (10 * power)).ok_or_else(|| wrong(option, value, WANTED))
}

pub(super) fn time(option: &str, value: &str, unit_ns: u64) -> Result<Nanos, FioError> {
    const WANTED: &str = "write a whole number, with d, h, m, s, ms or us";
    let (digits, unit) = split(value);
    let number: u64 = digits.parse().map_err(|_| wrong(option, value, WANTED))?;
    let unit_ns = match unit.as_str() {
        "" => unit_ns,
        "d" => 86_400_000_000_000,
        "h" => 3_600_000_000_000,
        "m" => 60_000_000_000,
        "s" => 1_000_000_000,
        "ms" | "msec" => 1_000_000,
        "us" | "usec" => 1_000,
        _ => return Err(wrong(option, value, WANTED)),
    };
    number.checked_mul(unit_ns).map(Nanos).ok_or_else(|| wrong(option, value, WANTED))
}

pub(super) fn count(option: &str, value: &str, least: u32) -> Result<u32, FioError> {
    const WANTED: &str = "write a whole number that fits";
    let number = u32::try_from(size(option, value)?).map_err(|_| wrong(option, value, WANTED))?;
    if number < least { Err(wrong(option, value, WANTED)) } else { Ok(number) }
}

pub(super) fn percent(option: &str, value: &str) -> Result<u32, FioError> {
    let number = value.trim().trim_end_matches('%').parse::<u32>().ok().filter(|number| *number <= 100);
    number.ok_or_else(|| wrong(option, value, "write 0 to 100"))
}

/// A flag: nothing behind it is yes.
pub(super) fn flag(option: &str, value: Option<&str>) -> Result<bool, FioError> {
    match value.map(str::trim) {
        None | Some("" | "1" | "true" | "yes") => Ok(true),
        Some("0" | "false" | "no") => Ok(false),
        Some(other) => Err(wrong(option, other, "write 0 or 1")),
    }
}
