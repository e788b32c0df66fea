//! The checks of a stack.

use iostall_measure::ByteCount;
use iostall_model::stack_check::{StackAnswer, StackCheck, StackLayer, StackReport};

/// A beginning that is no multiple of this cuts pages in two on every drive, bytes.
const PAGE: u64 = 4096;
/// Where partitions begin by default, bytes: a multiple of the erase blocks of most drives.
const USUAL_START: u64 = 1 << 20;

pub(super) fn checks(report: &StackReport, erase_block: Option<ByteCount>) -> Vec<StackCheck> {
    let erase_bytes = erase_block
        .map(ByteCount::bytes)
        .or_else(|| report.layers.iter().filter_map(|layer| layer.layout.erase_bytes).max());
    let mut all = vec![trim(report)];
    all.extend(free_space(report));
    all.extend(alignment(report, erase_bytes));
    all.extend(units(report, erase_bytes));
    all
}

fn check(name: &str, answer: StackAnswer, found: String, advice: &str) -> StackCheck {
    StackCheck { name: name.to_owned(), answer, found, advice: advice.to_owned() }
}

/// The layer that stops TRIM although a drive below it takes it; `None` if none does.
fn stops_trim(layers: &[StackLayer]) -> Option<&StackLayer> {
    let takes = |layer: &StackLayer| layer.layout.discard_bytes_max.is_some_and(|bytes| bytes > 0);
    let index = layers.iter().position(takes)?;
    layers[..index].last()
}

fn no_trim(layers: &[StackLayer]) -> StackCheck {
    let Some(layer) = stops_trim(layers) else {
        let found = "no drive below takes it".to_owned();
        let advice = "leave a part of the drives without a partition as spare area, before the first write";
        return check("TRIM", StackAnswer::Caution, found, advice);
    };
    let model = layer.model.as_deref().map(|model| format!(" ({model})")).unwrap_or_default();
    let found = format!("{}{model} passes none on, although drives below take it", layer.device);
    let advice = "an array of parity needs drives that read zeros after TRIM (raid456.devices_handle_discard_safely); dm-crypt needs allow_discards";
    check("TRIM", StackAnswer::Bad, found, advice)
}

fn trim(report: &StackReport) -> StackCheck {
    let name = "TRIM";
    let Some(top) = report.layers.first() else {
        let found = "there is no block device below".to_owned();
        return check(name, StackAnswer::Unknown, found, "look on the server that has the drives");
    };
    match top.layout.discard_bytes_max {
        Some(0) => no_trim(&report.layers),
        Some(bytes) => {
            let found = format!("it gets to the drives, up to {} at once", ByteCount(bytes));
            check(name, StackAnswer::Good, found, trim_of_files(report))
        }
        None => check(name, StackAnswer::Unknown, "the kernel does not say".to_owned(), ""),
    }
}

fn trim_of_files(report: &StackReport) -> &'static str {
    let is_at_once = |options: &str| {
        options.split(',').any(|option| option == "discard" || option.starts_with("discard="))
    };
    match &report.file_system {
        Some(found) if is_at_once(&found.options) => "the file system discards what is deleted, at once",
        Some(_) => "run fstrim weekly (fstrim.timer): the file system is mounted without discard",
        None => "",
    }
}

fn free_space(report: &StackReport) -> Option<StackCheck> {
    let found = report.file_system.as_ref().filter(|found| found.total_bytes > 0)?;
    let passes = report.layers.first()?.layout.discard_bytes_max.is_some_and(|bytes| bytes > 0);
    let used = found.total_bytes.saturating_sub(found.free_bytes).max(1);
    let (free, total) = (ByteCount(found.free_bytes), ByteCount(found.total_bytes));
    let spare = found.free_bytes as f64 / used as f64 * 100.0;
    let text = format!(
        "{free} of {total} is free: {free} / {} in use = {spare:.0} % of spare area",
        ByteCount(used)
    );
    let name = "free space as spare";
    Some(if passes {
        check(name, StackAnswer::Good, text, "it counts once it is trimmed, and while it stays free")
    } else {
        let advice =
            "without TRIM a drive never learns what is free: it counts for nothing once it was written";
        check(name, StackAnswer::Caution, text, advice)
    })
}

fn alignment(report: &StackReport, erase_bytes: Option<u64>) -> Vec<StackCheck> {
    let name = "alignment";
    let parts: Vec<StackCheck> = report
        .layers
        .iter()
        .filter_map(|layer| {
            let start = layer.layout.start_bytes?;
            let begins = format!("{} begins at byte {start}", layer.device);
            let page = PAGE.max(layer.physical_sector_bytes.unwrap_or(0).into());
            let unit = [layer.layout.optimal_io_bytes, layer.layout.discard_unit_bytes, erase_bytes]
                .into_iter()
                .flatten()
                .max()
                .unwrap_or(USUAL_START)
                .max(page);
            let is_misaligned = layer.layout.misaligned_bytes.is_some_and(|bytes| bytes > 0);
            let remade =
                "make the partition again from 1 MiB on (a multiple of the unit), and restore what was on it";
            Some(if !start.is_multiple_of(page) || is_misaligned {
                let found = format!("{begins}, no multiple of {page}: pages of a database are cut in two");
                check(name, StackAnswer::Bad, found, remade)
            } else if !start.is_multiple_of(unit) {
                let found = format!(
                    "{begins}, no multiple of {}: stripes or erase blocks are cut in two",
                    ByteCount(unit)
                );
                check(name, StackAnswer::Caution, found, remade)
            } else {
                check(name, StackAnswer::Good, format!("{begins}, a multiple of {}", ByteCount(unit)), "")
            })
        })
        .collect();
    if parts.is_empty() && !report.layers.is_empty() {
        return vec![check(name, StackAnswer::Good, "there is no partition".to_owned(), "")];
    }
    parts
}

fn units(report: &StackReport, erase_bytes: Option<u64>) -> Vec<StackCheck> {
    let block = report.file_system.as_ref().map(|found| ("allocation unit", found.block_bytes));
    let chunk = report.layers.iter().find_map(|layer| layer.layout.chunk_bytes);
    let both = [block, chunk.map(|bytes| ("chunk of the array", bytes))];
    both.into_iter()
        .flatten()
        .filter(|(_, bytes)| *bytes > 0)
        .map(|(name, bytes)| {
            let size = ByteCount(bytes);
            let Some(erase) = erase_bytes.filter(|erase| *erase > 0) else {
                let advice = "--erase-block says what the drives erase at once, if their maker does";
                let found = format!("{size}; the drives do not say what they erase at once");
                return check(name, StackAnswer::Unknown, found, advice);
            };
            let found = format!("{size}, and the drives erase {} at once", ByteCount(erase));
            if erase.is_multiple_of(bytes) || bytes.is_multiple_of(erase) {
                check(name, StackAnswer::Good, format!("{found}: one divides the other"), "")
            } else {
                let advice = "take a unit that divides the erase block, or a multiple of it";
                check(name, StackAnswer::Caution, format!("{found}: neither divides the other"), advice)
            }
        })
        .collect()
}
