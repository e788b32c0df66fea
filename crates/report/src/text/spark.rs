//! A line of bars: how latency went over time, at a glance.

use iostall_model::outcome::IntervalPoint;

use crate::format::duration;

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII_BARS: [char; 8] = ['_', '.', ':', '-', '=', '+', '*', '#'];

/// The p99 of each interval (the worst of its operations), squeezed into at most `room` bars by taking the
/// worst of those that share one, and the range it moved in. An interval in which nothing completed is a
/// gap. `None` where fewer than two intervals have a value.
pub(crate) fn p99_line(series: &[IntervalPoint], room: usize, unicode: bool) -> Option<String> {
    let values: Vec<Option<u64>> =
        series.iter().map(|point| point.ops.iter().map(|op| op.latency_ns_p99).max()).collect();
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

/// Bars stand on zero, so that twice the height is twice the latency.
fn bar(value: u64, high: u64, unicode: bool) -> char {
    let eighths = u128::from(value) * 8 / u128::from(high.max(1));
    let step = usize::try_from(eighths).unwrap_or(7).min(7);
    if unicode { BARS[step] } else { ASCII_BARS[step] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostall_measure::Op;
    use iostall_model::outcome::IntervalOp;

    fn series(p99: &[u64]) -> Vec<IntervalPoint> {
        let point = |index: usize, ns: u64| IntervalPoint {
            start_ns: index as u64 * 1_000_000_000,
            length_ns: 1_000_000_000,
            ops: if ns == 0 {
                Vec::new()
            } else {
                vec![IntervalOp {
                    op: Op::Read,
                    count: 1,
                    bytes: 1,
                    latency_ns_mean: 1.0,
                    latency_ns_p50: ns,
                    latency_ns_p99: ns,
                    latency_ns_max: ns,
                }]
            },
        };
        p99.iter().enumerate().map(|(index, ns)| point(index, *ns)).collect()
    }

    #[test]
    fn bars_stand_on_zero_and_a_stalled_second_is_a_gap() {
        let line = p99_line(&series(&[1_000_000, 2_000_000, 0, 4_000_000]), 40, true).unwrap();
        assert_eq!(line, "▃▅ █  1.00 ms to 4.00 ms");
    }

    #[test]
    fn a_long_run_is_squeezed_and_its_worst_second_is_kept() {
        let mut values = vec![1_000_u64; 100];
        values[57] = 8_000;
        let line = p99_line(&series(&values), 10, true).unwrap();
        assert_eq!(line.chars().take(10).filter(|bar| *bar == '█').count(), 1);
    }

    #[test]
    fn one_second_is_no_line() {
        assert_eq!(p99_line(&series(&[5]), 10, true), None);
        assert_eq!(p99_line(&[], 10, true), None);
    }
}
