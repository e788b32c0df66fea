//! Words of the report.

use iostall_measure::{BlockSize, Percent};
use iostall_model::QualifyOutcome;
use iostall_model::claim::{Claim, Denial};
use iostall_model::device::Link;
use iostall_model::qualify::{Deviation, Disturbance, Figure, QualifyScale, Stopped};
use iostall_session::analysis::qualify::Check;

use crate::format::{bytes, count, duration, number, percent, shown};
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

pub(super) fn figure_name(figure: Figure) -> &'static str {
    match figure {
        Figure::Iops => "IOPS",
        Figure::MbPerS => "MB/s",
        Figure::LatencyMs => "mean ms",
    }
}

pub(super) fn required(check: Check) -> &'static str {
    match check {
        Check::Undisturbed => "nothing kept the drive from what it can do: link, heat, errors, resets",
        Check::Criterion => "range within 20 % and slope within 10 % of the average, over five rounds",
        Check::Even => "no round further than 10 % from the average",
        Check::Written => "the active range written at least once",
        Check::AfterTransition => "the window begins after the transition (MSER)",
        Check::Tail => "p99 within half of its average, and no leap of the slowest request",
        Check::Confirmed => "the next five rounds meet it too, within 10 % of the average",
    }
}

pub(super) fn missed(check: Check) -> &'static str {
    match check {
        Check::Undisturbed => "the drive was kept from what it can do",
        Check::Criterion => "range or slope over five rounds is too large",
        Check::Even => "single rounds are further than 10 % from the average",
        Check::Written => "the rounds have not written the active range once",
        Check::AfterTransition => "the window still has a part of the transition",
        Check::Tail => "the slow requests are not as slow in each round",
        Check::Confirmed => "the next five rounds do not confirm it, or were not measured",
    }
}

pub(super) fn stopped(stopped: Stopped) -> &'static str {
    match stopped {
        Stopped::Steady => "a steady state was found and confirmed",
        Stopped::Rounds => "as many rounds as were planned",
        Stopped::WriteLimit => "as much was written as was allowed",
        Stopped::Disturbed => "it no longer changed, but the drive was kept from what it can do",
        Stopped::Interrupted => "interrupted",
    }
}

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

pub(super) fn denial(denial: Denial) -> &'static str {
    match denial {
        Denial::Quick => "a quick run is too short for it",
        Denial::NotSteady => "no steady state was found",
        Denial::Part => "only a part of a device was used, or a file on it",
        Denial::Method => "the deviations below, which each run has",
        Denial::OwnTest => "the specification has no such test",
        Denial::NotMeasured => "it was not measured",
    }
}

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
        Deviation::ShortCells { cell_ns, specified_ns } => too_short(*cell_ns, *specified_ns),
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
        Deviation::InFlight { queue_depth, workers, queue_depth_wanted, workers_wanted } => {
            let setting = setting_of(*queue_depth, *workers);
            let wanted = setting_of(*queue_depth_wanted, *workers_wanted);
            format!("Requests in flight: {setting}, where {wanted} is recommended.")
        }
        Deviation::DeeperThanQueue { in_flight, queue } => format!(
            "Up to {in_flight} requests in flight, where the kernel's queue of the device takes {queue}: the others wait before it."
        ),
        Deviation::FewerBursts { bursts, specified } => {
            format!("{bursts} bursts of writes with each pause, where {specified} are specified.")
        }
        Deviation::OwnTest => {
            "The specification has no such test; loops and criterion are its own as far as they fit.".to_owned()
        }
        Deviation::CacheByWriteThrough => {
            "The write cache was not switched: writes with O_DSYNC, which must be durable, stand for a drive without one."
                .to_owned()
        }
        Deviation::PartOfDevice { used_bytes, device_bytes } => short_stroked(*used_bytes, *device_bytes),
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
        Deviation::Disturbed { by } => disturbance(by),
        Deviation::Interrupted { before_round, idle_ns } => format!(
            "Interrupted before round {}, with the drive idle for {}.",
            count((*before_round).into()),
            duration(*idle_ns as f64)
        ),
    }
}

fn disturbance(by: &Disturbance) -> String {
    let times = |value: u64| if value == 1 { "once".to_owned() } else { format!("{} times", count(value)) };
    match by {
        Disturbance::LinkBelowBest { link } => format!("Its link is below its best: {}.", link_words(link)),
        Disturbance::LinkFell { link } => {
            format!("Its link fell below its best meanwhile; at the end it was {}.", link_words(link))
        }
        Disturbance::Throttled { times: value } => {
            format!("The drive slowed down because of heat, {}: cool it, and test it again.", times(*value))
        }
        Disturbance::TooHot { minutes } => {
            format!("The drive was above its own limit of temperature for {} minutes.", count(*minutes))
        }
        Disturbance::MediaErrors { count: value } => {
            format!("The drive lost data, {}: replace it.", times(*value))
        }
        Disturbance::RequestErrors { count: value } => {
            format!("Requests failed or timed out, {}, as the kernel counts them.", times(*value))
        }
        Disturbance::Reset { count: value } => {
            format!(
                "The kernel's log names resets or time-outs of the drive, {}: see `dmesg`.",
                times(*value)
            )
        }
    }
}

/// `2 of 4 lanes, 8 of 16 GT/s each`.
fn link_words(link: &Link) -> String {
    let of = |now: Option<u32>, best: Option<u32>, shown: &dyn Fn(u32) -> String| {
        now.map(|now| match best.filter(|best| *best != now) {
            Some(best) => format!("{} of {}", shown(now), shown(best)),
            None => shown(now),
        })
    };
    let lanes = of(link.lanes, link.lanes_max, &|lanes| lanes.to_string());
    let speed = of(link.lane_mt_per_s, link.lane_mt_per_s_max, &|speed| number(f64::from(speed) / 1e3));
    let lanes = lanes.map(|lanes| format!("{lanes} lanes"));
    let speed = speed.map(|speed| format!("{speed} GT/s each"));
    [lanes, speed].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn short_stroked(used_bytes: u64, device_bytes: u64) -> String {
    let share = percent(used_bytes as f64 / device_bytes.max(1) as f64);
    let (used, whole) = (bytes(used_bytes), bytes(device_bytes));
    format!("Active range {used} of {whole} ({share}): short-stroked, which makes a drive faster.")
}

fn too_short(cell_ns: u64, specified_ns: u64) -> String {
    let is_minute = specified_ns == 60_000_000_000;
    let specified = if is_minute { "a minute".to_owned() } else { duration(specified_ns as f64) };
    format!("A measurement takes {}, where {specified} is specified.", duration(cell_ns as f64))
}
