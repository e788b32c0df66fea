//! The answer of a search for settings in one sentence.

use iostall_model::{BackupTuneOutcome, TuneAnswer, TuneLimit, TunedSetting};

use crate::format::{bytes, maybe_throughput, percent, shown};

pub(super) fn answer(tune: &BackupTuneOutcome) -> String {
    let rate = |setting: Option<&TunedSetting>| maybe_throughput(setting.and_then(|one| one.bytes_per_s));
    let parts = match (&tune.answer, tune.best()) {
        (TuneAnswer::Better { ratio }, Some(best)) => vec![
            Some(format!("{}: {} {}", in_words(tune, best), rate(Some(best)), of_what(tune))),
            Some(format!("{} as fast as the defaults", times(ratio))),
            room(tune, best),
        ],
        (TuneAnswer::NoDifference { ratio }, best) => vec![
            Some(format!("no difference: keep the defaults, {} {}", rate(best), of_what(tune))),
            Some(format!("the best other setting is {} as fast", times(ratio))),
        ],
        (TuneAnswer::NothingOpen, best) => {
            vec![Some(format!("every setting was given: {} {}", rate(best), of_what(tune)))]
        }
        (TuneAnswer::Undecided | TuneAnswer::Better { .. }, _) => {
            vec![Some("NOT DECIDED: nothing was compared with the defaults, so keep them".to_owned())]
        }
    };
    let limit = tune.limit.map(|limit| match limit {
        TuneLimit::Source if tune.restore.is_some() => "reading the stripes limits",
        TuneLimit::Source => "the source limits",
        TuneLimit::Target if tune.restore.is_some() => "the destination limits",
        TuneLimit::SharedDevice if tune.restore.is_some() => {
            "stripes and destination share a device, which limits"
        }
        TuneLimit::Cpu => "the CPU limits",
        TuneLimit::Target => "the target limits",
        TuneLimit::Network => "the network limits, or the store at its end",
        TuneLimit::Memory => "the memory for buffers limits",
        TuneLimit::SharedDevice => "source and target share a device, which limits",
    });
    parts.into_iter().flatten().chain(limit.map(str::to_owned)).collect::<Vec<_>>().join("; ")
}

fn of_what(tune: &BackupTuneOutcome) -> &'static str {
    if tune.restore.is_some() { "restored" } else { "of the source" }
}

/// `1.24 times (1.18 to 1.31)`.
fn times(ratio: &[f64; 3]) -> String {
    let [low, most_likely, high] = ratio;
    format!("{most_likely:.2} times ({low:.2} to {high:.2})")
}

fn in_words(tune: &BackupTuneOutcome, setting: &TunedSetting) -> String {
    if tune.server.is_some() {
        return options(setting);
    }
    if let (Some(depth), Some(workers)) = (setting.depth, setting.workers) {
        let size = bytes(setting.transfer_bytes.into());
        let requests = if depth == 1 { "request" } else { "requests" };
        let threads = if workers == 1 { "worker" } else { "workers" };
        return format!("{depth} {requests} of up to {size} in flight each way, {workers} {threads}");
    }
    let stripes = match setting.targets.len() {
        0 => String::new(),
        1 => "1 stripe, ".to_owned(),
        many => format!("{many} stripes, "),
    };
    format!(
        "{stripes}{} buffers of {}, frames of {}, compression {}",
        setting.buffer_count,
        bytes(setting.transfer_bytes.into()),
        bytes(setting.frame_bytes.into()),
        shown(&setting.compression),
    )
}

/// In the words of a server's BACKUP. What is left to the server is not among them.
fn options(setting: &TunedSetting) -> String {
    let files = match setting.targets.len() {
        1 => "1 file".to_owned(),
        many => format!("{many} files"),
    };
    let buffers = (setting.buffer_count > 0).then(|| format!("BUFFERCOUNT {}", setting.buffer_count));
    let size = |name: &str, value: u32| (value > 0).then(|| format!("{name} {}", bytes(value.into())));
    let parts = [
        Some(files),
        buffers,
        size("MAXTRANSFERSIZE", setting.transfer_bytes),
        size("BLOCKSIZE", setting.frame_bytes),
        Some(format!("compression {}", shown(&setting.compression))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn room(tune: &BackupTuneOutcome, best: &TunedSetting) -> Option<String> {
    let default = tune.default_setting().filter(|default| default.compression != best.compression)?;
    let (now, then) = (best.stored_share?, default.stored_share?);
    Some(format!("stores {} of the source instead of {}", percent(now), percent(then)))
}
