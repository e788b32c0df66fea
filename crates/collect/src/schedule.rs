//! When to sample: on beats of the wall clock, so that sources and hosts meet and hours begin with a sample.

/// The beat after `now_ns` (since the epoch, UTC): a whole number of intervals. `last_ns` is the beat that was
/// sampled; it is not given twice when the clock was set back a little.
pub fn next_beat_ns(now_ns: u64, interval_ns: u64, last_ns: Option<u64>) -> u64 {
    let next = (now_ns / interval_ns + 1) * interval_ns;
    if last_ns == Some(next) { next + interval_ns } else { next }
}

/// How many beats lie after `last_ns` and before `next_ns`: those that were missed.
pub fn beats_missed(last_ns: u64, next_ns: u64, interval_ns: u64) -> u64 {
    (next_ns.saturating_sub(last_ns) / interval_ns).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND_NS: u64 = 1_000_000_000;

    #[test]
    fn a_beat_is_a_round_time_whenever_one_starts() {
        let noon = 1_780_000_000 / 60 * 60 * SECOND_NS;
        assert_eq!(next_beat_ns(noon + 1, 60 * SECOND_NS, None), noon + 60 * SECOND_NS);
        assert_eq!(next_beat_ns(noon, 60 * SECOND_NS, None), noon + 60 * SECOND_NS);
    }

    #[test]
    fn a_long_reading_misses_beats_and_they_are_counted() {
        assert_eq!(beats_missed(10, 11, 1), 0);
        assert_eq!(beats_missed(10, 14, 1), 3);
        assert_eq!(beats_missed(14, 10, 1), 0);
    }

    proptest! {
        #[test]
        fn however_long_readings_take_beats_never_drift_and_never_repeat(
            interval_s in 1_u64..4_000, takes in prop::collection::vec(0_u64..20_000_000_000, 1..60),
        ) {
            let interval_ns = interval_s * SECOND_NS;
            let (mut now_ns, mut last) = (1_780_000_000_123_456_789, None);
            for take_ns in takes {
                let beat = next_beat_ns(now_ns, interval_ns, last);
                prop_assert_eq!(beat % interval_ns, 0);
                prop_assert!(beat > now_ns && beat - now_ns <= 2 * interval_ns);
                prop_assert!(last.is_none_or(|last| beat > last));
                last = Some(beat);
                now_ns = beat + take_ns;
            }
        }
    }
}
