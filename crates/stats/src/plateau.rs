//! Flat ends of curves: volumes with a limit on IOPS or bandwidth.

/// Throughputs within this range are one level.
const FLAT_SPREAD: f64 = 0.02;
/// A level is called a cap only over at least this many points of a sweep …
const FLAT_POINTS_MIN: usize = 3;
/// … and at least this range of requests in flight.
const FLAT_RANGE_MIN: f64 = 4.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plateau {
    /// Mean throughput, in the unit of the sweep.
    pub level: f64,
    /// Largest minus smallest throughput, relative to the level.
    pub spread: f64,
    pub from_in_flight: f64,
    pub to_in_flight: f64,
}

/// The flat end of a sweep of `(in flight, throughput)` with ascending depth: throughput stays within 2 %
/// over three points and a fourfold range of requests in flight. A saturated device fluctuates and drops; a
/// rate limit does not.
pub fn plateau(points: &[(f64, f64)]) -> Option<Plateau> {
    let mut flat: Option<Plateau> = None;
    for count in FLAT_POINTS_MIN..=points.len() {
        let tail = &points[points.len() - count..];
        let level = tail.iter().map(|point| point.1).sum::<f64>() / count as f64;
        let low = tail.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
        let high = tail.iter().map(|point| point.1).fold(f64::NEG_INFINITY, f64::max);
        let spread = (high - low) / level;
        if level.is_nan() || level <= 0.0 || spread > FLAT_SPREAD {
            break;
        }
        let (from_in_flight, to_in_flight) = (tail[0].0, tail[count - 1].0);
        if to_in_flight >= from_in_flight * FLAT_RANGE_MIN {
            flat = Some(Plateau { level, spread, from_in_flight, to_in_flight });
        }
    }
    flat
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cap {
    /// Requests a second, whatever their size.
    Iops(f64),
    /// MiB a second, whatever the request size.
    MibPerSecond(f64),
}

/// Whether the best rates at several block sizes, as `(bytes, requests a second)`, show one limit: the same
/// IOPS, or the same bandwidth, within 2 % over a fourfold range of sizes.
pub fn cap(best: &[(f64, f64)]) -> Option<Cap> {
    let mut best = best.to_vec();
    best.sort_by(|left, right| left.0.total_cmp(&right.0));
    // Small requests reach an IOPS limit, large ones a bandwidth limit.
    let reversed: Vec<(f64, f64)> = best.iter().rev().map(|(bytes, iops)| (1.0 / bytes, *iops)).collect();
    let bandwidth: Vec<(f64, f64)> =
        best.iter().map(|(bytes, iops)| (*bytes, bytes * iops / 1_048_576.0)).collect();
    plateau(&bandwidth)
        .map(|flat| Cap::MibPerSecond(flat.level))
        .or_else(|| plateau(&reversed).map(|flat| Cap::Iops(flat.level)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_into_a_limit_is_flat_from_where_it_meets_it() {
        let points: Vec<(f64, f64)> = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]
            .into_iter()
            .zip([800.0, 1600.0, 2990.0, 3001.0, 2999.0, 3002.0, 3000.0])
            .collect();
        let flat = plateau(&points).unwrap();
        assert!((flat.level - 2998.4).abs() < 0.1, "{flat:?}");
        assert!((flat.from_in_flight, flat.to_in_flight) == (4.0, 64.0), "{flat:?}");
    }

    #[test]
    fn a_device_that_still_gains_or_sags_has_no_cap() {
        let grid = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
        let of = |xs: [f64; 6]| plateau(&grid.into_iter().zip(xs).collect::<Vec<_>>());
        assert_eq!(of([100.0, 190.0, 350.0, 600.0, 800.0, 900.0]), None);
        assert_eq!(of([100.0, 190.0, 350.0, 400.0, 380.0, 360.0]), None);
        assert_eq!(plateau(&[(16.0, 5.0), (24.0, 5.0), (32.0, 5.0)]), None, "not a fourfold range");
        assert_eq!(plateau(&[]), None);
    }

    #[test]
    fn the_same_iops_at_every_size_is_a_cap_on_iops_and_the_same_mib_one_on_bandwidth() {
        let sizes = [4096.0, 8192.0, 65536.0, 262_144.0];
        let with = |iops: [f64; 4]| cap(&sizes.into_iter().zip(iops).collect::<Vec<_>>());
        assert!(
            matches!(with([3000.0, 3001.0, 2999.0, 500.0]), Some(Cap::Iops(level)) if (level - 3000.0).abs() < 1.0)
        );
        let of_bandwidth = sizes.map(|bytes| 125.0 * 1_048_576.0 / bytes);
        assert!(matches!(with(of_bandwidth), Some(Cap::MibPerSecond(level)) if (level - 125.0).abs() < 1e-6));
        assert_eq!(with([9000.0, 8000.0, 3000.0, 900.0]), None);
    }
}
