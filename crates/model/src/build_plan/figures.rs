//! Figures of a build, each with its formula.

use iostall_measure::number::number;

use super::demand::{
    Demand, Drive, drives_for_iops, drives_for_rate, drives_for_size, operations_per_request,
};
use super::level::RaidLevel;
use super::plan::{BuildRequest, Figure, GB, PlannedArray, shown};
use super::risk::risks;
use crate::drive::RaidShare;

const DAY_S: f64 = 86_400.0;
const MB: f64 = 1e6;
const TB: f64 = 1e12;

pub(super) fn array_figures(
    request: &BuildRequest,
    demand: &Demand,
    level: RaidLevel,
    drives: u64,
) -> Vec<Figure> {
    let drive = &request.drive;
    let mut figures = counts(drive, demand, level);
    figures.extend(capacity(drive, demand, level, drives));
    figures.extend(risks(drive, level, drives));
    figures.extend(wear(request, demand, level, drives));
    figures
}

fn counts(drive: &Drive, demand: &Demand, level: RaidLevel) -> Vec<Figure> {
    let without = match level {
        RaidLevel::R0 => "",
        RaidLevel::R1 | RaidLevel::R10 => ", twice",
        RaidLevel::R5 => ", + 1 for parity",
        RaidLevel::R6 => ", + 2 for parity",
    };
    let mut figures = vec![Figure::new(
        "drives for the size",
        drives_for_size(demand, level, drive),
        "drives",
        format!(
            "{} GB / {} GB, rounded up{without}",
            shown(demand.size.bytes() as f64 / GB),
            shown(drive.size.bytes() as f64 / GB)
        ),
    )];
    if demand.iops > 0.0 {
        figures.push(Figure::new(
            "drives for the requests",
            drives_for_iops(demand, level, drive),
            "drives",
            format!(
                "{} IOPS × {} / {} IOPS a drive, rounded up",
                shown(demand.iops),
                operations(demand, level),
                shown(drive.iops)
            ),
        ));
    }
    if demand.sequential_bytes_per_s > 0.0 {
        figures.push(Figure::new(
            "drives for the sequential rate",
            drives_for_rate(demand, level, drive),
            "drives",
            format!(
                "{} MB/s / {} MB/s a drive, rounded up{without}",
                shown(demand.sequential_bytes_per_s / MB),
                shown(drive.bytes_per_s / MB)
            ),
        ));
    }
    figures
}

fn operations(demand: &Demand, level: RaidLevel) -> String {
    let writes = demand.writes.fraction();
    format!("({} + {} × {})", shown(1.0 - writes), shown(writes), level.write_penalty())
}

fn capacity(drive: &Drive, demand: &Demand, level: RaidLevel, drives: u64) -> Vec<Figure> {
    let (count, size_gb) = (drives as f64, drive.size.bytes() as f64 / GB);
    let with_data = drives.saturating_sub(level.redundant(drives)) as f64;
    let (writes, penalty) = (demand.writes.fraction(), f64::from(level.write_penalty()));
    let reads = 1.0 - writes;
    let raw = count * drive.iops;
    let host_iops = raw / operations_per_request(demand, level);
    let averaged = raw * reads + raw * writes / penalty;
    let high = number(((averaged / host_iops - 1.0) * 100.0).max(0.0));
    let n = shown;
    let mut figures = vec![
        Figure::new(
            "usable size",
            with_data * size_gb,
            "GB",
            format!("({drives} − {}) drives × {} GB", level.redundant(drives), n(size_gb)),
        ),
        Figure::new(
            "random requests",
            host_iops,
            "IOPS",
            format!("{drives} drives × {} IOPS / {}", n(drive.iops), operations(demand, level)),
        ),
        Figure::new(
            "the same as often published",
            averaged,
            "IOPS",
            format!(
                "{} × {} + {} × {} / {penalty}: it averages rates, and is {high} % too high",
                n(raw),
                n(reads),
                n(raw),
                n(writes)
            ),
        ),
        Figure::new(
            "sequential rate",
            with_data * drive.bytes_per_s / MB,
            "MB/s",
            format!(
                "({drives} − {}) drives × {} MB/s, whole stripes",
                level.redundant(drives),
                n(drive.bytes_per_s / MB)
            ),
        ),
    ];
    if demand.iops > 0.0 {
        figures.push(Figure::new(
            "busy",
            demand.iops / host_iops * 100.0,
            "%",
            format!("{} IOPS / {} IOPS", n(demand.iops), n(host_iops)),
        ));
        figures.push(Figure::new(
            "requests in flight",
            demand.iops * drive.latency_ms / 1e3,
            "requests",
            format!("{} IOPS × {} ms (Little's law)", n(demand.iops), n(drive.latency_ms)),
        ));
    }
    figures
}

/// Bytes that each drive is written in a day, and what its rating makes of them.
fn wear(request: &BuildRequest, demand: &Demand, level: RaidLevel, drives: u64) -> Vec<Figure> {
    let Some(rated) = request.drive.rated else { return Vec::new() };
    let share = |full_stripes| {
        let drives = u32::try_from(drives).unwrap_or(u32::MAX);
        RaidShare { level: level.number(), drives, full_stripes }.of_each_drive()
    };
    let writes = demand.iops * demand.writes.fraction();
    let bytes = request.request_bytes.bytes() as f64;
    let (small, whole) = (share(false), share(true));
    let a_day = (writes * bytes * small + demand.sequential_bytes_per_s * whole) * DAY_S;
    if a_day <= 0.0 {
        return Vec::new();
    }
    let n = shown;
    vec![
        Figure::new(
            "written to each drive a day",
            a_day / GB,
            "GB",
            format!(
                "({} writes/s × {} B × {} + {} MB/s × {}) × {DAY_S} s",
                n(writes),
                n(bytes),
                n(small),
                n(demand.sequential_bytes_per_s / MB),
                n(whole)
            ),
        ),
        Figure::new(
            "life by the rating",
            rated.bytes() as f64 / a_day / 365.0,
            "years",
            format!("{} TB / {} GB a day / 365", n(rated.bytes() as f64 / TB), n(a_day / GB)),
        ),
    ]
}

pub(super) fn build_figures(
    request: &BuildRequest,
    arrays: &[PlannedArray],
    hot_spares: u64,
    drives_per_spare: u64,
) -> Vec<Figure> {
    let drive = &request.drive;
    let n = shown;
    let in_arrays: u64 = arrays.iter().map(|array| array.drives).sum();
    let drives = in_arrays + hot_spares;
    let mut figures = vec![requests_of_a_drive(drive)];
    let spares = match request.hot_spares {
        Some(asked) => format!("{asked} as asked for"),
        None => format!("one for each {drives_per_spare} of {in_arrays} drives that are begun"),
    };
    figures.push(Figure::new("hot spares", hot_spares as f64, "drives", spares));
    let all = format!("{in_arrays} in arrays + {hot_spares} that stand by");
    figures.push(Figure::new("drives", drives as f64, "drives", all));
    let Some(price) = drive.price else { return figures };
    let of = |name: &str| -> f64 {
        let all = arrays.iter().flat_map(|array| &array.figures).filter(|figure| figure.name == name);
        all.map(|figure| figure.value).sum()
    };
    let total = price * drives as f64;
    figures.push(Figure::new("cost", total, "", format!("{drives} drives × {}", n(price))));
    for (name, sum, unit) in
        [("cost of an IOPS", of("random requests"), "IOPS"), ("cost of a GB", of("usable size"), "GB usable")]
    {
        figures.push(Figure::new(name, total / sum, "", format!("{} / {} {unit}", n(total), n(sum))));
    }
    if let Some(rated) = drive.rated {
        let rated_tb = rated.bytes() as f64 / TB;
        let formula = format!("{} / {} TB", n(price), n(rated_tb));
        figures.push(Figure::new("cost of a TB written", price / rated_tb, "", formula));
    }
    figures
}

fn requests_of_a_drive(drive: &Drive) -> Figure {
    let formula = match drive.spindle {
        Some(spindle) => format!(
            "1 / ({} ms seek + {} ms for half a turn at {}/min)",
            shown(spindle.seek_ms),
            shown(spindle.half_turn_ms()),
            shown(spindle.turns_per_minute)
        ),
        None => drive.iops_from.clone(),
    };
    Figure::new("random requests of a drive", drive.iops, "IOPS", formula)
}
