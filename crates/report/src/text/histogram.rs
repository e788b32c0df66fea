//! Bars of requests by their latency: one line for each role, with one scale under all of them.

use iostall_measure::Nanos;

use super::spark;
use super::style::{Style, pad_right, width};
use crate::judgement::Judgement;
use crate::section::LatencyBars;

/// Fewer bars show no shape.
const BARS_MIN: usize = 16;
/// With fewer requests to a bar, neighbouring bars differ by accident.
const REQUESTS_PER_BAR: u64 = 8;
const BARS_OF_FEW: usize = 24;
/// Buckets of a histogram per octave; with a bar for each of them, neighbouring bars would have none or two in turn.
const BUCKETS_PER_BAR: f64 = 2.0;
const BUCKETS_PER_OCTAVE: f64 = 128.0;
/// A scale is at least as wide as from 1 to this.
const RATIO_MIN: f64 = 1.2;

/// The lines for `all`; none if nothing completed, or if the terminal is too narrow.
pub(crate) fn lines(all: &[LatencyBars], style: Style, columns: usize, unicode: bool) -> Vec<String> {
    let names = all.iter().map(|one| width(&one.name)).max().unwrap_or(0);
    let room = columns.saturating_sub(names + 4);
    let Some(scale) = Scale::of(all, room) else { return Vec::new() };
    let mut lines: Vec<String> = Vec::new();
    for one in all.iter().filter(|one| !one.buckets.is_empty()) {
        lines.push(format!("  {}  {}", pad_right(&one.name, names), scale.bars(one, style, unicode)));
    }
    lines.push(format!("  {}  {}", pad_right("", names), style.dim(&scale.labels())));
    lines
}

/// Latencies on a logarithmic scale.
struct Scale {
    low_ns: f64,
    high_ns: f64,
    bars: usize,
}

impl Scale {
    fn of(all: &[LatencyBars], room: usize) -> Option<Self> {
        let buckets = || all.iter().flat_map(|one| &one.buckets);
        let low_ns = buckets().map(|(low, _, _)| *low).min()?.max(1) as f64;
        let high_ns = buckets().map(|(_, high, _)| *high).max()? as f64;
        let (low_ns, high_ns) = if high_ns < low_ns * RATIO_MIN {
            (low_ns / RATIO_MIN, low_ns * RATIO_MIN)
        } else {
            (low_ns, high_ns)
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the logarithm of a ratio above one is positive and small"
        )]
        let finest = ((high_ns / low_ns).log2() * BUCKETS_PER_OCTAVE / BUCKETS_PER_BAR) as usize;
        let requests = all.iter().map(|one| one.buckets.iter().map(|(_, _, count)| count).sum::<u64>());
        let smooth = usize::try_from(requests.max().unwrap_or(0) / REQUESTS_PER_BAR).unwrap_or(usize::MAX);
        let bars = room.min(finest.max(BARS_MIN)).min(smooth.max(BARS_OF_FEW));
        (bars >= BARS_MIN).then_some(Self { low_ns, high_ns, bars })
    }

    /// The bar that `ns` belongs to.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of the scale is within 0 and the number of bars"
    )]
    fn place(&self, ns: f64) -> usize {
        let share = (ns.max(self.low_ns) / self.low_ns).ln() / (self.high_ns / self.low_ns).ln();
        ((share * self.bars as f64) as usize).min(self.bars - 1)
    }

    fn middle_ns(&self, bar: usize) -> f64 {
        self.low_ns * (self.high_ns / self.low_ns).powf((bar as f64 + 0.5) / self.bars as f64)
    }

    fn bars(&self, one: &LatencyBars, style: Style, unicode: bool) -> String {
        let mut counts = vec![0_u64; self.bars];
        for (low, high, count) in &one.buckets {
            counts[self.place(f64::midpoint(*low as f64, *high as f64))] += count;
        }
        let most = counts.iter().copied().max().unwrap_or(0);
        let judged = |bar: usize| one.limits.map(|limits| limits.judgement(self.middle_ns(bar)));
        let mut out = String::new();
        let mut pieces: Vec<(Option<Judgement>, String)> = Vec::new();
        for (bar, count) in counts.iter().enumerate() {
            let shape = if *count == 0 { ' ' } else { spark::bar(*count, most, unicode) };
            match pieces.last_mut().filter(|(judgement, _)| *judgement == judged(bar)) {
                Some((_, piece)) => piece.push(shape),
                None => pieces.push((judged(bar), shape.to_string())),
            }
        }
        for (judgement, piece) in pieces {
            out.push_str(&match judgement {
                Some(judgement) => style.severity(judgement.severity(), &piece),
                None => piece,
            });
        }
        out
    }

    /// `|100µs        |1ms         |10ms`, at their places.
    fn labels(&self) -> String {
        let mut line = String::new();
        for step in self.steps() {
            let label = format!("|{}", Nanos(step));
            let place = self.place(step as f64);
            let used = width(&line);
            let is_free = used == 0 || place > used;
            if is_free && place + width(&label) <= self.bars {
                line = format!("{}{label}", pad_right(&line, place));
            }
        }
        line
    }

    /// Round latencies within the scale: powers of ten, and where there are few, 2 and 5 times those too.
    fn steps(&self) -> Vec<u64> {
        let decades = || std::iter::successors(Some(1_u64), |step| step.checked_mul(10));
        let is_inside = |step: &u64| (self.low_ns..=self.high_ns).contains(&(*step as f64));
        let tens: Vec<u64> = decades().filter(is_inside).collect();
        if tens.len() > 2 {
            return tens;
        }
        let finer = decades().flat_map(|ten| [1, 2, 5].map(|times| ten.saturating_mul(times)));
        finer.filter(is_inside).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::TextOptions;
    use super::*;
    use crate::judgement::Limits;

    fn bars(name: &str, latencies_us: &[(u64, u64)]) -> LatencyBars {
        let buckets = latencies_us.iter().map(|(us, count)| (us * 1000, us * 1000 + 7, *count));
        LatencyBars { name: name.into(), buckets: buckets.collect(), limits: None }
    }

    fn plain(all: &[LatencyBars], columns: usize) -> Vec<String> {
        lines(all, Style::new(&TextOptions::default()), columns, true)
    }

    #[test]
    fn roles_share_a_scale_and_the_rarest_request_is_seen() {
        let all = [bars("data", &[(100, 50), (200, 1000), (90_000, 1)]), bars("log", &[(1_000, 5)])];
        let drawn = plain(&all, 80);
        assert_eq!(drawn.len(), 3);
        assert!(drawn[0].ends_with('▁'), "one request of a thousand: {drawn:?}");
        assert!(drawn.iter().all(|line| width(line) <= 80), "{drawn:?}");
        let column = |line: &str, what: char| line.chars().position(|one| one == what);
        let before = drawn[2].split("|1ms").next().unwrap();
        assert_eq!(column(&drawn[1], '█'), Some(before.chars().count()), "{drawn:?}");
        assert!(drawn[2].contains("|100µs") && drawn[2].contains("|10ms"), "{drawn:?}");
    }

    #[test]
    fn the_part_beyond_a_limit_has_its_colour() {
        let limits = Some(Limits { good_ns: 1_000_000, slow_ns: 5_000_000 });
        let all = [LatencyBars { limits, ..bars("log", &[(100, 9), (3_000, 2), (50_000, 1)]) }];
        let options = TextOptions { colour: true, ..TextOptions::default() };
        let drawn = lines(&all, Style::new(&options), 60, true);
        for code in ["[32m", "[33m", "[31m"] {
            assert!(drawn[0].contains(code), "{code}: {drawn:?}");
        }
    }

    #[test]
    fn a_single_latency_has_a_scale_and_no_request_has_none() {
        assert!(!plain(&[bars("a", &[(100, 5)])], 60).is_empty());
        assert!(plain(&[bars("a", &[])], 60).is_empty());
        assert!(plain(&[bars("a", &[(100, 5)])], 18).is_empty());
    }
}
