//! The best burst size of a sweep over packets per burst.

use iostall_model::kinds::SweetSpot;
use iostall_model::paced::{MethodOutcome, WriteMethod};
use iostall_stats::summary::median;

/// A peak write time above this multiple of the usual one counts as a jump.
const JUMP_FACTOR: f64 = 4.0;

/// The sweet spot of each method that was tried at several paces.
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

#[cfg(test)]
mod tests {
    use super::*;
    use iostall_measure::Histogram;
    use iostall_model::paced::{Pace, WriteMethod};

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
}
