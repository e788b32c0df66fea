//! Ticks of the wall clock, so that sources and hosts are sampled together and hours begin with a sample.

/// The tick after `now_ns` (since the epoch, UTC): a whole number of intervals. `last_ns` is the last sampled
/// tick, which is not repeated if the clock was set back a little.
pub(super) fn next_tick_ns(now_ns: u64, interval_ns: u64, last_ns: Option<u64>) -> u64 {
    let next = (now_ns / interval_ns + 1) * interval_ns;
    if last_ns == Some(next) { next + interval_ns } else { next }
}

/// How many ticks between `last_ns` and `next_ns` were missed.
pub(super) fn ticks_missed(last_ns: u64, next_ns: u64, interval_ns: u64) -> u64 {
    (next_ns.saturating_sub(last_ns) / interval_ns).saturating_sub(1)
}

/// After how many ticks a source is retried that has failed `failures` times in a row: one, two, four and so
/// on, limited by `longest_ns`, and at least one.
pub(super) fn ticks_until_retry(failures: u32, interval_ns: u64, longest_ns: u64) -> u64 {
    let most = (longest_ns / interval_ns.max(1)).max(1);
    1_u64.checked_shl(failures.saturating_sub(1)).map_or(most, |ticks| ticks.min(most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND_NS: u64 = 1_000_000_000;

    #[test]
    fn a_tick_is_a_round_time_whenever_one_starts() {
        let noon = 1_780_000_000 / 60 * 60 * SECOND_NS;
        assert_eq!(next_tick_ns(noon + 1, 60 * SECOND_NS, None), noon + 60 * SECOND_NS);
        assert_eq!(next_tick_ns(noon, 60 * SECOND_NS, None), noon + 60 * SECOND_NS);
    }

    #[test]
    fn a_long_reading_misses_ticks_and_they_are_counted() {
        assert_eq!(ticks_missed(10, 11, 1), 0);
        assert_eq!(ticks_missed(10, 14, 1), 3);
        assert_eq!(ticks_missed(14, 10, 1), 0);
    }

    #[test]
    fn the_pause_between_two_tries_doubles_up_to_five_minutes() {
        let pauses = |interval_s| {
            let pause = |failures| ticks_until_retry(failures, interval_s * SECOND_NS, 300 * SECOND_NS);
            (1..12).map(|failures| pause(failures) * interval_s).collect::<Vec<_>>()
        };
        assert_eq!(pauses(1), [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        assert_eq!(pauses(60), [60, 120, 240, 300, 300, 300, 300, 300, 300, 300, 300]);
        assert_eq!(pauses(3600)[..2], [3600, 3600], "an interval that is longer is long enough");
    }

    proptest! {
        #[test]
        fn a_source_is_never_given_up_and_never_asked_sooner_than_before(
            failures in any::<u32>(), interval_ns in any::<u64>(), longest_ns in any::<u64>(),
        ) {
            let ticks = ticks_until_retry(failures, interval_ns, longest_ns);
            prop_assert!(ticks >= 1 && (ticks == 1 || ticks.saturating_mul(interval_ns) <= longest_ns));
            prop_assert!(ticks_until_retry(failures.saturating_add(1), interval_ns, longest_ns) >= ticks);
        }

        #[test]
        fn however_long_readings_take_ticks_never_drift_and_never_repeat(
            interval_s in 1_u64..4_000, takes in prop::collection::vec(0_u64..20_000_000_000, 1..60),
        ) {
            let interval_ns = interval_s * SECOND_NS;
            let (mut now_ns, mut last) = (1_780_000_000_123_456_789, None);
            for take_ns in takes {
                let tick = next_tick_ns(now_ns, interval_ns, last);
                prop_assert_eq!(tick % interval_ns, 0);
                prop_assert!(tick > now_ns && tick - now_ns <= 2 * interval_ns);
                prop_assert!(last.is_none_or(|last| tick > last));
                last = Some(tick);
                now_ns = tick + take_ns;
            }
        }
    }
}
