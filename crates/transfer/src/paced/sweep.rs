//! What a paced run shows: the best burst size, the buffer that a source needs, and where the speed changed.

use iostall_model::kinds::SweetSpot;
use iostall_model::paced::{ChangePoint, MethodOutcome, Pace, PacedInterval, WriteMethod};
use iostall_stats::permutation::shift;
use iostall_stats::summary::median;

/// A peak write time above this multiple of the usual one counts as a jump.
const JUMP_FACTOR: f64 = 4.0;

pub fn sweet_spots(steps: &[MethodOutcome]) -> Vec<SweetSpot> {
    let mut spots = Vec::new();
    for method in WriteMethod::ALL {
        let of_method: Vec<&MethodOutcome> = steps.iter().filter(|step| step.method == method).collect();
        if of_method.len() > 1 {
            let best = sweet_spot(&of_method).and_then(|index| of_method.get(index));
            spots.push(SweetSpot { method, packets_per_burst: best.map(|step| step.pace.packets_per_burst) });
        }
    }
    spots
}

/// Index of the step with the highest throughput before the peak write time jumps or the pace is lost.
///
/// The steps use one method with an increasing number of packets per burst. A jump is a peak of more than
/// four times the median of the peaks before it, per packet of the burst that waits for it. `None` if the
/// first step already lost its pace, or there is none.
fn sweet_spot(steps: &[&MethodOutcome]) -> Option<usize> {
    let mut peaks: Vec<f64> = Vec::new();
    let mut best: Option<(usize, f64)> = None;
    for (index, step) in steps.iter().enumerate() {
        let peak_ns = step.write_ns.max()? as f64;
        let jumped = median(&peaks).is_some_and(|usual_ns| peak_ns > usual_ns * JUMP_FACTOR);
        if jumped || step.failed.is_some() || step.kept_pace() == Some(false) {
            break;
        }
        peaks.push(peak_ns);
        let speed = step.bytes_per_second()?;
        if best.is_none_or(|(_, highest)| speed > highest) {
            best = Some((index, speed));
        }
    }
    best.map(|(index, _)| index)
}

/// Tracks what has arrived and what has been written.
///
/// The source produces evenly, one burst per period, and hands over the first burst when writing begins. A
/// byte is held until its write has completed, so the backlog peaks just before a write completes.
#[derive(Clone, Copy, Debug)]
pub struct Backlog {
    pace: Pace,
    /// What the source will produce in total, bytes; `None` if it does not end.
    total_bytes: Option<u64>,
    largest_bytes: u64,
}

impl Backlog {
    pub fn new(pace: Pace, total_bytes: Option<u64>) -> Self {
        Self { pace, total_bytes, largest_bytes: 0 }
    }

    /// Records a write that completed `since_start_ns` after the first burst; `written_bytes` were written
    /// before it.
    pub fn note(&mut self, since_start_ns: u64, written_bytes: u64) {
        let Some(bytes_per_second) = self.pace.bytes_per_second() else { return };
        let first = self.pace.burst_bytes();
        let since = bytes_per_second * (since_start_ns as f64 / 1e9);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
        let produced = first.saturating_add(since as u64).min(self.total_bytes.unwrap_or(u64::MAX));
        self.largest_bytes = self.largest_bytes.max(produced.saturating_sub(written_bytes));
    }

    /// The largest backlog, bytes; `None` without a pause, when the source can wait.
    pub fn largest_bytes(&self) -> Option<u64> {
        self.pace.bytes_per_second().map(|_| self.largest_bytes)
    }
}

/// Fewest intervals on each side of a change; fewer are an episode, not a level.
const SIDE_MIN: usize = 3;
/// A change must have a lower p-value than this.
const P_VALUE_MAX: f64 = 0.01;
/// A smaller factor is of no interest, however significant.
const FACTOR_MIN: f64 = 1.25;

/// A beginning is not called fast before it is this many times as fast as what follows: in pieces as short as a beginning is, the
/// speed of writing varies much.
const DECAY_MIN: f64 = 2.0;

/// A fast beginning that is over before it fills [`SIDE_MIN`] intervals, as at a memory limit; `pieces` are the same writing cut finer.
pub(super) fn find_decay(pieces: &[PacedInterval], seed: u64) -> Option<ChangePoint> {
    find_change(pieces, seed)
        .filter(|change| change.before_bytes_per_second >= change.after_bytes_per_second * DECAY_MIN)
}

/// The one change of level that explains the intervals' speed best, if it is clear and large.
///
/// Levels are means of the logarithm of bytes per second of writing time, so that a drop from 4 to 2 GB/s
/// weighs as much as one from 400 to 200 MB/s. `seed` makes the permutation test repeatable.
pub fn find_change(intervals: &[PacedInterval], seed: u64) -> Option<ChangePoint> {
    let logs: Vec<f64> =
        intervals.iter().filter_map(PacedInterval::writing_bytes_per_second).map(f64::ln).collect();
    if logs.len() != intervals.len() {
        return None;
    }
    let found = shift(&logs, SIDE_MIN, FACTOR_MIN.ln(), seed)?;
    (found.p_value <= P_VALUE_MAX).then(|| ChangePoint {
        at_bytes: intervals[found.at - 1].end_bytes,
        before_bytes_per_second: found.before.exp(),
        after_bytes_per_second: found.after.exp(),
        p_value: found.p_value,
    })
}

#[cfg(test)]
mod tests {
    use iostall_measure::Histogram;
    use iostall_model::paced::{Pace, WriteMethod};
    use rand_core::{Rng as _, SeedableRng as _};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn step(megabytes_per_second: u64, peak_ms: u64, late_bursts: u64) -> MethodOutcome {
        let mut write_ns = Histogram::new();
        write_ns.record(peak_ms * 1_000_000);
        let pace = Pace { packet_bytes: 819_200, packets_per_burst: 1, period_ns: 50_000_000, delay_ns: 0 };
        MethodOutcome {
            bytes: megabytes_per_second * 1_000_000,
            elapsed_ns: 1_000_000_000,
            write_ns,
            bursts: 1000,
            late_bursts,
            ..MethodOutcome::new(WriteMethod::Direct, pace)
        }
    }

    #[test]
    fn it_is_the_last_step_before_the_peak_jumps() {
        // The published result: 125 MB/s at 16 ms, then several hundred ms.
        let steps = [step(40, 12, 0), step(80, 15, 0), step(125, 16, 0), step(140, 350, 0), step(150, 17, 0)];
        let steps: Vec<_> = steps.iter().collect();
        assert_eq!(sweet_spot(&steps), Some(2));
    }

    #[test]
    fn a_step_that_loses_its_pace_is_beyond_it() {
        let steps = [step(40, 12, 0), step(80, 15, 500), step(90, 15, 0)];
        let steps: Vec<_> = steps.iter().collect();
        assert_eq!(sweet_spot(&steps), Some(0));
        assert_eq!(sweet_spot(&steps[1..]), None);
        assert_eq!(sweet_spot(&[]), None);
        let full = MethodOutcome { failed: Some("the file system is full".into()), ..step(200, 1, 0) };
        assert_eq!(sweet_spot(&[&step(40, 12, 0), &full, &step(300, 1, 0)]), Some(0));
    }

    #[test]
    fn each_method_of_a_sweep_has_its_own_and_a_method_with_one_pace_has_none() {
        let mut steps = vec![step(40, 12, 0), step(80, 15, 0), step(100, 400, 0)];
        for (packets, step) in (1..).zip(&mut steps) {
            step.pace.packets_per_burst = packets;
        }
        let buffered = MethodOutcome { method: WriteMethod::Buffered, ..step(10, 1, 0) };
        steps.push(buffered);
        let spots = sweet_spots(&steps);
        assert_eq!(spots, [SweetSpot { method: WriteMethod::Direct, packets_per_burst: Some(2) }]);
        steps[0].late_bursts = 500;
        assert_eq!(sweet_spots(&steps)[0].packets_per_burst, None);
    }

    const PACE: Pace = Pace { packet_bytes: 1000, packets_per_burst: 2, period_ns: 1_000_000, delay_ns: 0 };

    #[test]
    fn instant_writes_need_room_for_one_burst() {
        let mut backlog = Backlog::new(PACE, None);
        for packet in 0..10u64 {
            backlog.note(packet / 2 * 1_000_000, packet * 1000);
        }
        assert_eq!(backlog.largest_bytes(), Some(2000));
    }

    #[test]
    fn a_stall_adds_what_arrives_during_it() {
        let mut backlog = Backlog::new(PACE, None);
        backlog.note(0, 0);
        // The second write stalls for 10 periods: 20,000 bytes arrive while the earlier ones are held.
        backlog.note(10_000_000, 1000);
        assert_eq!(backlog.largest_bytes(), Some(2000 + 20_000 - 1000));
    }

    #[test]
    fn a_source_that_has_ended_produces_no_more() {
        let mut backlog = Backlog::new(PACE, Some(5000));
        backlog.note(1_000_000_000, 1000);
        assert_eq!(backlog.largest_bytes(), Some(4000));
    }

    fn intervals(speeds: impl IntoIterator<Item = f64>) -> Vec<PacedInterval> {
        (1u32..)
            .zip(speeds)
            .map(|(number, bytes_per_second)| PacedInterval {
                end_bytes: u64::from(number) * 100_000_000,
                bytes: 100_000_000,
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a test")]
                writing_ns: (1e17 / bytes_per_second) as u64,
                ..PacedInterval::default()
            })
            .collect()
    }

    /// Seeded noise of up to a fifth on each side.
    fn noisy(level: f64, seed: u64, count: usize) -> Vec<f64> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        (0..count).map(|_| level * (0.8 + 0.4 * (random.next_u64() % 1000) as f64 / 1000.0)).collect()
    }

    #[test]
    fn a_fall_is_found_where_it_is() {
        for seed in 0..20 {
            let speeds = noisy(4e9, seed, 12).into_iter().chain(noisy(4e8, seed + 100, 30));
            let change = find_change(&intervals(speeds), seed).unwrap();
            assert_eq!(change.at_bytes, 1_200_000_000, "seed {seed}");
            assert!(change.before_bytes_per_second > 3e9 && change.after_bytes_per_second < 6e8);
        }
    }

    #[test]
    fn a_flat_line_with_noise_has_no_change() {
        let found = (0..50).filter(|seed| find_change(&intervals(noisy(1.7e9, *seed, 40)), *seed).is_some());
        assert_eq!(found.count(), 0);
    }

    #[test]
    fn one_bad_interval_is_an_episode_and_not_a_change() {
        let mut speeds = noisy(1e9, 1, 40);
        speeds[20] = 1e7;
        assert_eq!(find_change(&intervals(speeds), 1), None);
    }

    #[test]
    fn a_beginning_that_is_twice_as_fast_is_a_decay_and_noise_is_none() {
        for seed in 0..20 {
            let speeds = noisy(2e9, seed, 8).into_iter().chain(noisy(4.5e8, seed + 100, 110));
            assert_eq!(find_decay(&intervals(speeds), seed).unwrap().at_bytes, 800_000_000, "seed {seed}");
            assert_eq!(find_decay(&intervals(noisy(5e8, seed, 120)), seed), None);
        }
    }

    #[test]
    fn too_few_intervals_say_nothing() {
        assert_eq!(find_change(&intervals([4e9, 4e9, 1e8, 1e8]), 1), None);
        assert_eq!(find_change(&[], 1), None);
    }
}
