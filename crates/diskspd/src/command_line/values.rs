//! Numbers in options.

use super::scan::{CommandLineError, Switch};
use crate::profile::Throughput;
use crate::size::parse_size;

/// The digits at the start of `value`, and their length. DiskSpd reads counts this way.
fn leading_number(value: &str) -> (&str, usize) {
    let end = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    (&value[..end], end)
}

/// A count or a number of seconds. Like DiskSpd, drops letters after the digits, but with a warning.
pub(super) fn count_u32(switch: &Switch, warnings: &mut Vec<String>) -> Result<u32, CommandLineError> {
    let (digits, end) = leading_number(&switch.value);
    if digits.is_empty() {
        return Err(switch.bad("a whole number must follow the letter, without a blank"));
    }
    if end < switch.value.len() {
        warnings.push(format!(
            "'{}' is read as -{}{digits}: '{}' is not part of the number",
            switch.word,
            switch.letter,
            &switch.value[end..]
        ));
    }
    digits.parse().map_err(|_| switch.bad(format!("the number must be below {}", u64::from(u32::MAX) + 1)))
}

/// The same, at least 1.
pub(super) fn positive_u32(switch: &Switch, warnings: &mut Vec<String>) -> Result<u32, CommandLineError> {
    match count_u32(switch, warnings)? {
        0 => Err(switch.bad("the number must be at least 1")),
        number => Ok(number),
    }
}

/// `-z`: a negative seed is reinterpreted as unsigned 32 bits, as in DiskSpd. Unlike counts it accepts no
/// suffix.
pub(super) fn seed(switch: &Switch) -> Result<u32, CommandLineError> {
    let negative = switch.value.strip_prefix('-');
    let digits = negative.or_else(|| switch.value.strip_prefix('+')).unwrap_or(&switch.value);
    let is_whole = digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.parse::<u32>().ok().filter(|_| is_whole);
    let number = number.ok_or_else(|| switch.bad("the seed is a whole number of 32 bits"))?;
    Ok(if negative.is_some() { number.wrapping_neg() } else { number })
}

pub(super) fn size(switch: &Switch, text: &str, block_bytes: u32) -> Result<u64, CommandLineError> {
    parse_size(text, u64::from(block_bytes)).map_err(|error| switch.bad(error.to_string()))
}

/// `-b`: the suffix `b` (blocks) is rejected, because a block size cannot be in blocks.
pub(super) fn block_size(switch: &Switch) -> Result<u32, CommandLineError> {
    if switch.value.ends_with(['b', 'B']) {
        return Err(switch.bad("the block size cannot be given in blocks; use K, M or G"));
    }
    let bytes = size(switch, &switch.value, 1)?;
    match u32::try_from(bytes) {
        Ok(bytes) if bytes > 0 => Ok(bytes),
        _ => Err(switch.bad("the block size must be from 1 byte to below 4G")),
    }
}

pub(super) fn experiment_flags(switch: &Switch) -> Result<u32, CommandLineError> {
    switch.value.parse().map_err(|_| switch.bad("a bit mask must follow, as a whole number"))
}

/// `-g`: bytes per millisecond, or requests per second with `i`. Fractions are our extension.
pub(super) fn throughput(switch: &Switch) -> Result<Throughput, CommandLineError> {
    let (number, kind): (_, fn(f64) -> Throughput) = match switch.value.strip_suffix('i') {
        Some(number) => (number, Throughput::Iops),
        None => (switch.value.as_str(), Throughput::BytesPerMs),
    };
    let plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    match number.parse::<f64>() {
        Ok(rate) if plain && rate > 0.0 && rate.is_finite() => Ok(kind(rate)),
        _ => Err(switch
            .bad("write bytes a millisecond (-g1024) or requests a second with an i (-g1000i), above 0")),
    }
}
