//! Words of the report.

use iostall_measure::{BlockSize, Percent};
use iostall_model::QualifyOutcome;
use iostall_model::claim::{Claim, Denial};
use iostall_model::qualify::{Deviation, QualifyScale, Stopped};
use iostall_session::analysis::qualify::Check;

use crate::format::{bytes, count, duration, percent, shown};
use crate::point::setting_of;

pub(super) fn is_quick(outcome: &QualifyOutcome) -> bool {
    outcome.plan.scale == QualifyScale::Quick
}

/// `12 rounds, 3.4 × the active range written`.
pub(super) fn headline(outcome: &QualifyOutcome) -> String {
    let rounds = outcome.rounds.len();
    let plural = if rounds == 1 { "" } else { "s" };
    let fills = outcome.fills(outcome.written_bytes());
    format!("{rounds} round{plural}, {fills:.1} × the active range written")
}

/// Reads and writes in percent: `35/65`.
pub(super) fn mix(write_pct: Percent) -> String {
    format!("{}/{}", 100.0 - write_pct.percent(), write_pct.percent())
}

/// `0/100 4 KiB`: reads and writes in percent, and the size.
pub(super) fn cell_name(write_pct: Percent, size: BlockSize) -> String {
    format!("{} {size}", mix(write_pct))
}

/// What is required.
pub(super) fn required(check: Check) -> &'static str {
    match check {
        Check::Criterion => "range within 20 % and slope within 10 % of the average, over five rounds",
        Check::Even => "no round further than 10 % from the average",
        Check::Written => "the active range written at least once",
        Check::AfterTransition => "the window begins after the transition (MSER)",
        Check::Tail => "p99 within half of its average, and no leap of the slowest request",
        Check::Confirmed => "the next five rounds meet it too, within 10 % of the average",
    }
}

/// What a run lacks.
pub(super) fn missed(check: Check) -> &'static str {
    match check {
        Check::Criterion => "range or slope over five rounds is too large",
        Check::Even => "single rounds are further than 10 % from the average",
        Check::Written => "the rounds have not written the active range once",
        Check::AfterTransition => "the window still has a part of the transition",
        Check::Tail => "the slow requests are not as slow in each round",
        Check::Confirmed => "the next five rounds do not confirm it, or were not measured",
    }
}

/// Why there are no more rounds.
pub(super) fn stopped(stopped: Stopped) -> &'static str {
    match stopped {
        Stopped::Steady => "a steady state was found and confirmed",
        Stopped::Rounds => "as many rounds as were planned",
        Stopped::WriteLimit => "as much was written as was allowed",
        Stopped::Interrupted => "interrupted",
    }
}

/// What is said, or must not be.
pub(super) fn claim(claim: Claim) -> &'static str {
    match claim {
        Claim::DerivedMethod => {
            "measured with a method derived from SNIA PTS 2.0.2: preconditioning, rounds, steady state over five of them"
        }
        Claim::SteadyState => "figures of the steady state",
        Claim::WholeDevice => "figures of the whole device",
        Claim::SpecifiedTest => "a PTS test",
        Claim::VendorComparison => "comparable with a data sheet",
        Claim::Endurance => "an endurance, or drive writes a day",
    }
}

/// Why not.
pub(super) fn denial(denial: Denial) -> &'static str {
    match denial {
        Denial::Quick => "a quick run is too short for it",
        Denial::NotSteady => "no steady state was found",
        Denial::Part => "only a part of a device was used, or a file on it",
        Denial::Method => "no sanitize before it, and the deviations below",
        Denial::NotMeasured => "it was not measured",
    }
}

/// A deviation, as a sentence.
pub(super) fn deviation(deviation: &Deviation) -> String {
    match deviation {
        Deviation::NotPurged => "Not purged: the drive kept what was written before.".to_owned(),
        Deviation::Discarded => {
            "Purged by discarding (TRIM), which is no secure erase or sanitize.".to_owned()
        }
        Deviation::Punched => {
            "Purged by holes in the file; whether the drive was told depends on the mount option discard or on fstrim."
                .to_owned()
        }
        Deviation::FewerPasses { passes } => {
            format!("Written in order {passes} × before the rounds, where 2 × are specified.")
        }
        Deviation::ShortCells { cell_ns } => {
            format!("A measurement takes {}, where a minute is specified.", duration(*cell_ns as f64))
        }
        Deviation::FewerCells { cells } => {
            format!("{cells} mixes and sizes a round, where 56 are specified.")
        }
        Deviation::SizeLeftOut { bytes: size, align } => format!(
            "Without requests of {}: the target takes multiples of {}.",
            bytes((*size).into()),
            bytes((*align).into())
        ),
        Deviation::WindowsByFill => {
            "A round is what writes a tenth of the active range, where a minute in every thirty is specified.".to_owned()
        }
        Deviation::InFlight { queue_depth, workers } => {
            let setting = setting_of(*queue_depth, *workers);
            format!("Requests in flight: {setting}, where depth 32 × 4 workers is recommended.")
        }
        Deviation::PartOfDevice { used_bytes, device_bytes } => {
            let share = percent(*used_bytes as f64 / (*device_bytes).max(1) as f64);
            format!(
                "Active range {} of {} ({share}): short-stroked, which makes a drive faster.",
                bytes(*used_bytes),
                bytes(*device_bytes)
            )
        }
        Deviation::DeviceUnknown => "The device under the target is not known.".to_owned(),
        Deviation::InFileSystem { name, options } => format!(
            "A file on {} ({}): the file system places its blocks, and other data is beside it.",
            shown(name),
            shown(options)
        ),
        Deviation::RestUnknown { rest_bytes } => format!(
            "The other {} of the device are spare area only where they are discarded, which is not known.",
            bytes(*rest_bytes)
        ),
        Deviation::WriteCache { mode } => format!("The write cache stayed as it was: {}.", shown(mode)),
        Deviation::WriteCacheUnknown => "The state of the write cache is not known.".to_owned(),
        Deviation::Virtual { hypervisor } => format!(
            "A virtual machine ({}): the device may be virtual, and shared with others.",
            shown(hypervisor)
        ),
        Deviation::Interrupted { before_round, idle_ns } => format!(
            "Interrupted before round {}, with the drive idle for {}.",
            count((*before_round).into()),
            duration(*idle_ns as f64)
        ),
    }
}
