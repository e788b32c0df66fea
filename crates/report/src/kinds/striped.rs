//! What the reports of backups, restores and their checks share: the line that DBAs know from BACKUP, the stripes, and damage.

use iostall_model::figures::per_second;
use iostall_model::stripe::{BackupDamage, StripeUse};
use iostall_model::transfer::{BufferTime, LimitSide, TransferPoint};

use crate::format::{NONE, bytes, count, duration, maybe_throughput, number, percent, shown};
use crate::report::{Field, Series};
use crate::section::{Fact, Note};
use crate::table::{Column, Table, TableCell};

const DAMAGE_LISTED: usize = 100;

const HEADER: [&str; 4] = ["start_s", "length_s", "read_bytes", "written_bytes"];

/// `131072 pages (1 GiB) in 2.113 seconds (484.612 MB/sec)`, as BACKUP and RESTORE print it. Their MB are 2^20 bytes, so these
/// are too: whoever compares the two numbers must compare the same unit.
pub(super) fn processed(pages: Option<u64>, amount: u64, elapsed_ns: u64) -> String {
    let what = match pages {
        Some(1) => format!("1 page ({})", bytes(amount)),
        Some(pages) => format!("{pages} pages ({})", bytes(amount)),
        None => format!("{amount} bytes ({})", bytes(amount)),
    };
    let rate = per_second(amount as f64 / 1_048_576.0, elapsed_ns);
    let rate = rate.map_or_else(|| NONE.to_owned(), |rate| format!("{rate:.3}"));
    format!("{what} in {:.3} seconds ({rate} MB/sec)", elapsed_ns as f64 / 1e9)
}

/// `each of 2 stripes 105 MiB/s`: the slowest sets the pace, so the mean would hide it.
pub(super) fn each(stripes: &[StripeUse], elapsed_ns: u64) -> Option<String> {
    let rate = |stripe: &StripeUse| per_second(stripe.bytes as f64, elapsed_ns);
    match stripes {
        [] => None,
        [one] => Some(format!("the stripe {}", maybe_throughput(rate(one)))),
        several => {
            let rates: Vec<f64> = several.iter().filter_map(rate).collect();
            let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
            let most = rates.iter().copied().fold(0.0, f64::max);
            let (least, most) = (number(least / 1_048_576.0), number(most / 1_048_576.0));
            let range = if least == most { most } else { format!("{least} to {most}") };
            Some(format!("each of {} stripes {range} MiB/s", several.len()))
        }
    }
}

pub(super) fn limit_name(side: LimitSide, to: &'static str) -> &'static str {
    match side {
        LimitSide::Source => "source",
        LimitSide::Target => to,
        LimitSide::Hash => "CPU",
        LimitSide::Rate => "--limit",
        LimitSide::Both => "source and target alike",
    }
}

/// Which resource limits, with the shares it was found by.
pub(super) fn limit_fact(time: &BufferTime, to: &'static str) -> Option<Fact> {
    let limit = time.limit()?;
    let busy_ns = (time.reading_ns + time.hashing_ns + time.writing_ns).max(1) as f64;
    let share = |part_ns: u64| percent(part_ns as f64 / busy_ns);
    let value = format!(
        "{} (buffers: {} of their time reading, {} in workers, {} writing)",
        limit_name(limit, to),
        share(time.reading_ns),
        share(time.hashing_ns),
        share(time.writing_ns),
    );
    Some(Fact::new("limit", value))
}

pub(super) fn cpu(user_ns: u64, system_ns: u64, amount: u64) -> Fact {
    let (user, system) = (duration(user_ns as f64), duration(system_ns as f64));
    // Below that, the start of the process would dominate.
    let value = if amount >= 64 << 20 {
        let seconds = (user_ns + system_ns) as f64 / 1e9 / (amount as f64 / 1_073_741_824.0);
        format!("{seconds:.2} s a GiB (user {user}, kernel {system})")
    } else {
        format!("user {user}, kernel {system}")
    };
    Fact::new("processor", value)
}

/// One line a stripe: a slow one is seen at once.
pub(super) fn stripes(stripes: &[StripeUse], elapsed_ns: u64) -> Option<Table> {
    if stripes.is_empty() {
        return None;
    }
    let mut table = Table::new(
        "Stripes",
        vec![
            Column::numbers("stripe"),
            Column::words("file"),
            Column::numbers("size"),
            Column::numbers("frames").droppable(1),
            Column::numbers("throughput"),
            Column::numbers("busy").droppable(2),
        ],
    );
    for (index, stripe) in stripes.iter().enumerate() {
        let busy = match (stripe.busy_ns, elapsed_ns) {
            (0, _) | (_, 0) => NONE.to_owned(),
            (busy_ns, elapsed_ns) => percent(busy_ns as f64 / elapsed_ns as f64),
        };
        table.row(vec![
            TableCell::from((index + 1).to_string()),
            TableCell::from(shown(&stripe.path)),
            TableCell::from(bytes(stripe.bytes)),
            TableCell::from(count(stripe.frames)),
            TableCell::from(maybe_throughput(per_second(stripe.bytes as f64, elapsed_ns))),
            TableCell::from(busy),
        ]);
    }
    Some(table)
}

/// One sentence for each damaged place: stripe, frame, where, and whose content it is.
pub(super) fn damage(damage: &[BackupDamage]) -> Vec<Note> {
    let mut notes: Vec<Note> =
        damage.iter().take(DAMAGE_LISTED).map(|one| Note::bad(sentence(one))).collect();
    let more = damage.len().saturating_sub(DAMAGE_LISTED) as u64;
    if more > 0 {
        notes.push(Note::bad(format!("DAMAGED: {} more places, which JSON lists.", count(more))));
    }
    notes
}

fn sentence(damage: &BackupDamage) -> String {
    let stripe = damage.stripe.map(|number| format!("stripe {number}, ")).unwrap_or_default();
    let word = if damage.is_missing { "MISSING" } else { "DAMAGED" };
    let mut text = format!("{word} {stripe}{}", shown(&damage.path));
    if let Some(frame) = damage.frame {
        text.push_str(&format!(", frame {frame}"));
    }
    if let Some(offset) = damage.offset {
        text.push_str(&format!(", at byte {offset}"));
    }
    text.push_str(&format!(": {}", shown(&damage.message)));
    if let Some(file) = &damage.file {
        let file = shown(file);
        text.push_str(&match (damage.file_offset, damage.file_bytes) {
            (None, _) => format!(" ({file})"),
            (Some(from), 0) => format!(" (holds {file} from byte {from})"),
            (Some(from), length) => format!(" (holds {file}, bytes {from} to {})", from + length - 1),
        });
    }
    text
}

pub(super) fn series(points: &[TransferPoint]) -> Series<'_> {
    let row = |point: &TransferPoint| -> Vec<Field<'_>> {
        let (start_s, length_s) = (point.start_ns as f64 / 1e9, point.length_ns as f64 / 1e9);
        vec![start_s.into(), length_s.into(), point.read_bytes.into(), point.written_bytes.into()]
    };
    Series { header: &HEADER, rows: Box::new(points.iter().map(row)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The story: SQL Server printed 46.326 MB/sec for 24330 pages in 4.103 seconds. Counted in MB of 10^6 bytes, ours would
    /// have looked five percent faster for the same work.
    #[test]
    fn the_line_has_the_form_and_the_unit_that_backup_prints() {
        let pages = 24_330;
        let line = processed(Some(pages), pages * 8192, 4_103_000_000);
        assert_eq!(line, "24330 pages (190.08 MiB) in 4.103 seconds (46.327 MB/sec)");
        assert_eq!(processed(None, 10, 0), "10 bytes (10 B) in 0.000 seconds (– MB/sec)");
    }

    /// The story: three stripes took 200 MiB/s and the fourth 20; the mean said 155.
    #[test]
    fn a_slow_stripe_is_seen_in_the_line() {
        let stripe = |bytes| StripeUse { bytes, ..StripeUse::default() };
        let second = 1_000_000_000;
        assert_eq!(
            each(&[stripe(200 << 20), stripe(20 << 20)], second).as_deref(),
            Some("each of 2 stripes 20.0 to 200 MiB/s")
        );
        assert_eq!(each(&[stripe(5 << 20); 1], second).as_deref(), Some("the stripe 5.00 MiB/s"));
        assert_eq!(each(&vec![stripe(5 << 20); 3], second).as_deref(), Some("each of 3 stripes 5.00 MiB/s"));
        assert_eq!(each(&[], second), None);
    }

    #[test]
    fn a_damaged_frame_is_named_with_its_stripe_and_with_the_file_whose_content_it_holds() {
        let damaged = BackupDamage {
            base: None,
            stripe: Some(2),
            path: "/b2/shop.iob".into(),
            frame: Some(17),
            offset: Some(8192),
            file: Some("base/16384/2619".into()),
            file_offset: Some(1 << 20),
            file_bytes: 8192,
            is_missing: false,
            message: "the stored bytes have another checksum".into(),
        };
        assert_eq!(
            damage(&[damaged])[0].text,
            "DAMAGED stripe 2, /b2/shop.iob, frame 17, at byte 8192: the stored bytes have another checksum \
             (holds base/16384/2619, bytes 1048576 to 1056767)"
        );
        let many = vec![BackupDamage::default(); 103];
        assert!(damage(&many).last().unwrap().text.starts_with("DAMAGED: 3 more"));
    }
}
