//! What must hold beside the limits, and whether it does.

use iostall_model::atomic::{AtomicCondition, AtomicFileSystem, AtomicLayer, AtomicReport};

/// A release of the kernel, major and minor.
type Release = (u32, u32);

/// `RWF_ATOMIC` on devices.
const ON_DEVICES: Release = (6, 11);
/// On ext4 and XFS, one block of the file system.
const ON_FILES: Release = (6, 13);
/// On ext4 and XFS, more than one block.
const ON_BLOCKS: Release = (6, 16);

pub(super) fn conditions(report: &AtomicReport) -> Vec<AtomicCondition> {
    let release = report.kernel.as_deref().and_then(release);
    let mut all = match &report.file_system {
        None => vec![since(ON_DEVICES, "a device takes RWF_ATOMIC", release)],
        Some(file_system) => of_files(file_system, release),
    };
    all.extend(passed_on(report));
    all.extend(report.layers.iter().zip(report.layers.iter().skip(1)).filter_map(|(part, disk)| {
        let start = part.start_bytes?;
        let queue = disk.queue.filter(|queue| queue.units.max_bytes > 0)?;
        // The kernel refuses atomic writes to a partition that begins elsewhere.
        let unit = queue.units.min_bytes.max(queue.boundary_bytes).max(1);
        Some(condition(
            format!("{} begins at a multiple of {unit} bytes of its disk", part.device),
            Some(start.is_multiple_of(unit)),
        ))
    }));
    all.push(condition(
        "a write uses RWF_ATOMIC and O_DIRECT, is a power of two long and aligned to it; any other may be split anywhere",
        None,
    ));
    all
}

/// Whether the uppermost device takes what one below it takes; nothing where no device takes anything.
fn passed_on(report: &AtomicReport) -> Option<AtomicCondition> {
    let max = |layer: &AtomicLayer| layer.queue.map_or(0, |queue| queue.units.max_bytes);
    let mut layers = report.layers.iter().filter(|layer| layer.queue.is_some());
    let top = layers.next()?;
    let best = layers.max_by_key(|layer| max(layer)).filter(|layer| max(layer) > 0)?;
    let text = format!("{} passes on the {} bytes that {} takes untorn", top.device, max(best), best.device);
    Some(condition(text, Some(max(top) >= max(best))))
}

fn of_files(file_system: &AtomicFileSystem, release: Option<Release>) -> Vec<AtomicCondition> {
    let block = file_system.block_bytes;
    match file_system.kind.as_str() {
        "ext4" => vec![
            since(ON_FILES, &format!("ext4 takes RWF_ATOMIC of a block ({block} bytes)"), release),
            since(
                ON_BLOCKS,
                "ext4 takes more than a block, in a file system with clusters (mkfs.ext4 -O bigalloc -C SIZE)",
                release,
            ),
        ],
        "xfs" => vec![
            since(ON_FILES, &format!("XFS takes RWF_ATOMIC of a block ({block} bytes)"), release),
            since(
                ON_BLOCKS,
                "XFS takes more than a block, also where the device does not: it then writes elsewhere first, which costs time",
                release,
            ),
        ],
        "zfs" => vec![condition(
            match file_system.record_bytes {
                Some(record) => format!("ZFS replaces a record of this file ({record} bytes) whole, whoever writes it"),
                None => "ZFS replaces a record whole, whoever writes it: name a file to see the size of its records".to_owned(),
            },
            file_system.record_bytes.map(|_| true),
        )],
        "btrfs" => vec![
            condition("btrfs takes RWF_ATOMIC", Some(false)),
            condition(
                "a write goes elsewhere before it counts (copy on write), although a page may be split over two such writes",
                file_system.is_in_place.map(|is_in_place| !is_in_place),
            ),
        ],
        kind => vec![condition(format!("{kind} takes RWF_ATOMIC"), Some(false))],
    }
}

fn since(wanted: Release, what: &str, here: Option<Release>) -> AtomicCondition {
    condition(format!("{what}: since Linux {}.{}", wanted.0, wanted.1), here.map(|here| here >= wanted))
}

fn condition(text: impl Into<String>, is_met: Option<bool>) -> AtomicCondition {
    AtomicCondition { text: text.into(), is_met }
}

/// `6.18.44-fc` as 6 and 18.
fn release(text: &str) -> Option<Release> {
    let mut numbers = text.split(|character: char| !character.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_compared_as_numbers() {
        assert_eq!(release("6.18.44-fc-v669"), Some((6, 18)));
        assert_eq!(release("5.4"), Some((5, 4)));
        assert!(release("10.1-x") > release("9.99"));
        for odd in ["", "six", "6", "6-rc1x", ".6.1"] {
            assert!(release(odd).is_none_or(|found| found == (6, 0)), "{odd}");
        }
    }
}
