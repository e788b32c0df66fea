//! What the loss of a drive means for an array.

use super::demand::Drive;
use super::level::RaidLevel;
use super::plan::{Figure, GB, shown};

const YEAR_H: f64 = 8_760.0;
const BITS: f64 = 8.0;

pub(super) fn risks(drive: &Drive, level: RaidLevel, drives: u64) -> Vec<Figure> {
    let n = shown;
    let (count, bytes) = (drives as f64, drive.size.bytes() as f64);
    let failures = count * YEAR_H / drive.mtbf_h;
    let mut figures = vec![
        Figure::new(
            "failure rate of a drive",
            -(-YEAR_H / drive.mtbf_h).exp_m1() * 100.0,
            "% a year",
            format!("1 − e^(−{YEAR_H} h / {} h between failures)", n(drive.mtbf_h)),
        ),
        Figure::new(
            "failures a year",
            failures,
            "drives",
            format!("{drives} drives × {YEAR_H} h / {} h", n(drive.mtbf_h)),
        ),
    ];
    let Some(read) = level.read_to_rebuild(drives) else {
        let formula = format!("{} failures a year, each of which loses the array", n(failures));
        figures.push(Figure::new("losses of the array a year", failures, "", formula));
        return figures;
    };
    let hours = bytes / drive.rebuild_bytes_per_s / 3_600.0;
    figures.push(Figure::new(
        "time to rebuild a drive",
        hours,
        "h",
        format!("{} GB / {} MB/s", n(bytes / GB), n(drive.rebuild_bytes_per_s / 1e6)),
    ));
    let unreadable = -(read as f64 * bytes * BITS * (-drive.errors_per_bit).ln_1p()).exp_m1();
    figures.push(Figure::new(
        "risk of an unreadable sector in a rebuild",
        unreadable * 100.0,
        "%",
        format!("1 − (1 − {:e})^({read} drives × {} GB × 8)", drive.errors_per_bit, n(bytes / GB)),
    ));
    // Of a mirror only the other half may not fail.
    let others = if matches!(level, RaidLevel::R1 | RaidLevel::R10) { 1.0 } else { count - 1.0 };
    let fails = |others: f64| -(-others * hours / drive.mtbf_h).exp_m1();
    let second = fails(others);
    figures.push(Figure::new(
        "risk of a second failure in a rebuild",
        second * 100.0,
        "%",
        format!("1 − e^(−{} drives × {} h / {} h)", n(others), n(hours), n(drive.mtbf_h)),
    ));
    figures.push(losses(level, failures, second, fails(count - 2.0), unreadable));
    figures
}

/// What is lost in a year, in the mean: with two parities only if two failures come together.
fn losses(level: RaidLevel, failures: f64, second: f64, third: f64, unreadable: f64) -> Figure {
    let n = shown;
    let either = |failure: f64| 1.0 - (1.0 - failure) * (1.0 - unreadable);
    let percent = |share: f64| n(share * 100.0);
    let (value, formula) = if level == RaidLevel::R6 {
        (
            failures * second * either(third),
            format!(
                "{} failures × {} % second × (1 − (1 − {} % third) × (1 − {} % unreadable))",
                n(failures),
                percent(second),
                percent(third),
                percent(unreadable)
            ),
        )
    } else {
        (
            failures * either(second),
            format!(
                "{} failures × (1 − (1 − {} % second) × (1 − {} % unreadable))",
                n(failures),
                percent(second),
                percent(unreadable)
            ),
        )
    };
    Figure::new("losses of data a year", value, "", formula)
}
