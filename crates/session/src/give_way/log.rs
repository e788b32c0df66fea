//! What a transfer that gives way did, as it is stored with the run.

use iostall_model::give_way::{Decision, GiveWay, KeptFigure, Why};

use super::figure::Figure;

/// Beyond this many decisions, every second of those that only follow one another is left out.
const DECISIONS_MAX: usize = 1_000;
/// A rate that changed by less is not worth a line.
const CHANGE_MIN: f64 = 1.25;

#[derive(Debug, Default)]
pub(super) struct Log {
    gave_way: GiveWay,
    begun_ns: u64,
    seen_ns: u64,
}

#[derive(Debug)]
pub(super) struct Found {
    pub(super) why: Option<Why>,
    pub(super) wait_ns: Option<f64>,
    pub(super) bytes_per_s: f64,
    pub(super) in_flight_max: u32,
    pub(super) is_at_floor: bool,
    pub(super) reason: Option<String>,
}

impl Log {
    pub(super) fn new(source: &str, figures: &[Figure], floor_bytes_per_s: u64, now_ns: u64) -> Self {
        let kept = figures.iter().map(|figure| KeptFigure {
            requirement: figure.requirement().to_owned(),
            ..KeptFigure::default()
        });
        let gave_way = GiveWay {
            source: source.to_owned(),
            kept: kept.collect(),
            floor_bytes_per_s,
            ..GiveWay::default()
        };
        Self { gave_way, begun_ns: now_ns, seen_ns: now_ns }
    }

    /// Records what each figure was in a reading that took `took_ns`: what users waited for an operation, and how many
    /// operations there were.
    pub(super) fn read(&mut self, waits: &[Option<(f64, u64)>], took_ns: u64) {
        let log = &mut self.gave_way;
        log.readings += 1;
        for (kept, wait) in log.kept.iter_mut().zip(waits) {
            if let Some((wait_ns, operations)) = wait {
                kept.wait_ns.record_many(whole(*wait_ns), *operations);
            }
        }
        self.took(took_ns);
    }

    pub(super) fn failed(&mut self, took_ns: u64) {
        self.gave_way.failed_readings += 1;
        self.took(took_ns);
    }

    fn took(&mut self, took_ns: u64) {
        self.gave_way.reading_ns_sum += took_ns;
        self.gave_way.reading_ns_max = self.gave_way.reading_ns_max.max(took_ns);
    }

    pub(super) fn set_interval(&mut self, interval_ns: u64) {
        self.gave_way.interval_ns = interval_ns;
    }

    /// Returns the decision, if it is worth keeping.
    pub(super) fn found(&mut self, now_ns: u64, found: Found) -> Option<&Decision> {
        let passed_ns = now_ns.saturating_sub(std::mem::replace(&mut self.seen_ns, now_ns));
        let log = &mut self.gave_way;
        log.governed_ns += passed_ns;
        if found.is_at_floor {
            log.floor_ns += passed_ns;
        }
        match found.why {
            Some(Why::Silent) => log.silent_ns += passed_ns,
            Some(Why::Missed) => log.missed_at_floor_ns += passed_ns,
            _ => {}
        }
        let decision = Decision {
            at_ns: now_ns.saturating_sub(self.begun_ns),
            why: found.why?,
            wait_ns: found.wait_ns.map(whole),
            bytes_per_s: whole(found.bytes_per_s),
            in_flight_max: found.in_flight_max,
            reason: found.reason,
        };
        if self.gave_way.decisions.last().is_some_and(|last| is_alike(last, &decision)) {
            return None;
        }
        self.gave_way.decisions.push(decision);
        self.thin_out();
        self.gave_way.decisions.last()
    }

    /// A night of small steps must not fill the memory: what begins a new direction stays.
    fn thin_out(&mut self) {
        let decisions = &mut self.gave_way.decisions;
        if decisions.len() <= DECISIONS_MAX {
            return;
        }
        let before = decisions.len();
        let mut previous = None;
        let mut is_second = false;
        decisions.retain(|decision| {
            let continues = previous == Some(decision.why);
            previous = Some(decision.why);
            is_second = continues && !is_second;
            !is_second
        });
        if decisions.len() > DECISIONS_MAX {
            // Directions alone are too many: the oldest go, except how it began.
            decisions.drain(1..=DECISIONS_MAX / 2);
        }
        self.gave_way.decisions_left_out += (before - decisions.len()) as u64;
    }

    pub(super) fn gave_way(&self) -> GiveWay {
        self.gave_way.clone()
    }
}

fn is_alike(last: &Decision, now: &Decision) -> bool {
    let (low, high) = (last.bytes_per_s.min(now.bytes_per_s), last.bytes_per_s.max(now.bytes_per_s));
    last.why == now.why && high as f64 <= low as f64 * CHANGE_MIN
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
fn whole(value: f64) -> u64 {
    value.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log() -> Log {
        let required = ["commit.p95<5ms".parse().unwrap()];
        Log::new("postgres://x", &Figure::of_requirements(&required).unwrap(), 4 << 20, 1_000)
    }

    fn found(why: Option<Why>, bytes_per_s: f64) -> Found {
        Found { why, wait_ns: None, bytes_per_s, in_flight_max: 1, is_at_floor: false, reason: None }
    }

    #[test]
    fn small_steps_in_one_direction_are_one_decision() {
        let mut log = log();
        for (step, rate) in [100.0, 104.0, 110.0, 130.0, 131.0].into_iter().enumerate() {
            log.found(2_000 + step as u64, found(Some(Why::Faster), rate));
        }
        log.found(3_000, found(None, 131.0));
        log.found(4_000, found(Some(Why::Slower), 130.0));
        let rates: Vec<u64> = log.gave_way().decisions.iter().map(|decision| decision.bytes_per_s).collect();
        assert_eq!(rates, [100, 130, 130]);
        assert_eq!(log.gave_way().governed_ns, 3_000);
    }

    #[test]
    fn a_whole_night_has_a_bounded_number_of_decisions_and_says_how_many_are_left_out() {
        for alternates in [false, true] {
            let mut log = log();
            let mut rate = 1e6;
            for step in 0..50_000_u64 {
                rate = if rate > 1e9 { 1e6 } else { rate * 1.3 };
                let why = if alternates && step.is_multiple_of(2) { Why::Slower } else { Why::Faster };
                log.found(step * 1_000, found(Some(why), rate));
            }
            let gave_way = log.gave_way();
            assert!(gave_way.decisions.len() <= DECISIONS_MAX);
            assert_eq!(gave_way.decisions.len() as u64 + gave_way.decisions_left_out, 50_000);
            assert!(gave_way.decisions.windows(2).all(|pair| pair[0].at_ns <= pair[1].at_ns));
        }
    }

    #[test]
    fn each_commit_of_a_reading_counts_with_the_reading_s_mean() {
        let mut log = log();
        log.read(&[Some((1e6, 10))], 5);
        log.read(&[None], 9);
        log.failed(2);
        let gave_way = log.gave_way();
        assert_eq!(gave_way.kept[0].wait_ns.count(), 10);
        assert_eq!(gave_way.kept[0].wait_ns.max(), Some(1_000_000));
        assert_eq!((gave_way.readings, gave_way.failed_readings), (2, 1));
        assert_eq!((gave_way.reading_ns_max, gave_way.reading_ns_sum), (9, 16));
    }
}
