//! A line of bars: latency over time at a glance.

use crate::format::duration;

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII_BARS: [char; 8] = ['_', '.', ':', '-', '=', '+', '*', '#'];

/// The latency of each interval as at most `room` bars (each the worst of its intervals), and the range. An
/// interval without completions is a gap. `None` if fewer than two intervals have a value.
pub(crate) fn line(values: &[Option<u64>], room: usize, unicode: bool) -> Option<String> {
    let known = || values.iter().copied().flatten();
    let (low, high) = (known().min()?, known().max()?);
    if known().count() < 2 || room == 0 {
        return None;
    }
    let each = values.len().div_ceil(room);
    let bars: String = values
        .chunks(each)
        .map(|chunk| match chunk.iter().copied().flatten().max() {
            None => ' ',
            Some(value) => bar(value, high, unicode),
        })
        .collect();
    Some(format!("{bars}  {} to {}", duration(low as f64), duration(high as f64)))
}

/// Bars start at zero, so that twice the height is twice the latency.
pub(super) fn bar(value: u64, high: u64, unicode: bool) -> char {
    let eighths = u128::from(value) * 8 / u128::from(high.max(1));
    let step = usize::try_from(eighths).unwrap_or(7).min(7);
    if unicode { BARS[step] } else { ASCII_BARS[step] }
}

pub(super) fn ascii_bar(bar: char) -> Option<char> {
    BARS.iter().position(|one| *one == bar).map(|step| ASCII_BARS[step])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(p99: &[u64]) -> Vec<Option<u64>> {
        p99.iter().map(|ns| (*ns > 0).then_some(*ns)).collect()
    }

    #[test]
    fn bars_stand_on_zero_and_a_stalled_second_is_a_gap() {
        let line = line(&series(&[1_000_000, 2_000_000, 0, 4_000_000]), 40, true).unwrap();
        assert_eq!(line, "▃▅ █  1.00 ms to 4.00 ms");
    }

    #[test]
    fn a_long_run_is_squeezed_and_its_worst_second_is_kept() {
        let mut values = vec![1_000_u64; 100];
        values[57] = 8_000;
        let line = line(&series(&values), 10, true).unwrap();
        assert_eq!(line.chars().take(10).filter(|bar| *bar == '█').count(), 1);
    }

    #[test]
    fn one_second_is_no_line() {
        assert_eq!(line(&series(&[5]), 10, true), None);
        assert_eq!(line(&[], 10, true), None);
    }
}
