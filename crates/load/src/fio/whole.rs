//! A job as a whole: what its options mean together.

use std::path::PathBuf;

use iostall_measure::{ByteCount, Percent, Rate};
use iostall_model::profile::{Access, BlockMix, Bound, Distribution, Region};

use super::error::FioError;
use super::job::{FioEngine, FioJob};

pub(super) struct Whole {
    pub(super) write_pct: Percent,
    pub(super) block: BlockMix,
    pub(super) align: Option<ByteCount>,
    pub(super) random_pct: Option<Percent>,
    pub(super) every_block: bool,
    /// Of one of its `numjobs`.
    pub(super) rate: Option<Rate>,
    /// `None` where it ends by time alone.
    pub(super) passes: Option<u32>,
    pub(super) region: Region,
    /// How long each of its files is if it is made.
    pub(super) made: Option<ByteCount>,
    /// Whether its files must be there already.
    pub(super) must_exist: bool,
    /// What is otherwise than fio does it, a sentence each.
    pub(super) notes: Vec<&'static str>,
}

impl Whole {
    /// Refuses all that cannot be had, each by its name.
    pub(super) fn of(job: &FioJob) -> Result<Self, FioError> {
        let mut errors = Vec::new();
        let mut refuse = |reason| errors.push(FioError::Together { job: job.name.clone(), reason });
        let (reads, writes) = (job.reads(), job.writes());
        let blocks = job.block();
        let block = blocks.one(reads, writes).unwrap_or_else(|| {
            refuse("bs: reads and writes of a role share their sizes; make two jobs of it");
            &blocks.read
        });
        let align = job.align.one(reads, writes).unwrap_or_else(|| {
            refuse("blockalign: reads and writes of a role share it; make two jobs of it");
            &None
        });
        let random_pct = *job.random_pct.one(reads, writes).unwrap_or_else(|| {
            refuse("percentage_random: reads and writes of a role share it; make two jobs of it");
            &100
        });
        if job.only_reads && writes {
            refuse("readonly: it writes");
        }
        let (rate, write_pct) = pace(job).unwrap_or_else(|reason| {
            refuse(reason);
            (None, Percent::ZERO)
        });
        let (region, made) = part(job).unwrap_or_else(|reason| {
            refuse(reason);
            (Region::default(), None)
        });
        FioError::all(errors)?;
        let is_random = job.access == Access::Random;
        let is_alike = random_pct == 100 && block.parts().len() == 1 && align.is_none();
        let has_map = is_random && job.has_random_map && job.distribution == Distribution::Uniform;
        let mut notes = job.notes.clone();
        let mut note = |is_so: bool, said| notes.extend(is_so.then_some(said));
        note(has_map && !is_alike, "blocks may come again before all have come (norandommap is not there)");
        note(job.depth_is_ignored(), "as in fio, one request is in flight whatever iodepth says (ioengine)");
        let buffered = !job.direct && job.engine != FioEngine::Null;
        note(
            buffered && reads && job.invalidates,
            "the page cache is not dropped before it reads (invalidate)",
        );
        note(
            job.by_time && job.runtime.is_none(),
            "it ends with its size, because there is no runtime (time_based)",
        );
        let percent = |pct: u32| Percent::new(f64::from(pct)).unwrap_or(Percent::HUNDRED);
        Ok(Self {
            write_pct,
            block: block.clone(),
            align: align.map(ByteCount).filter(|_| is_random),
            random_pct: (is_random && random_pct < 100).then(|| percent(random_pct)),
            every_block: has_map && is_alike,
            rate,
            passes: (!job.by_time || job.runtime.is_none()).then_some(job.loops),
            region,
            made,
            must_exist: !job.may_make_files || matches!(job.size, Some(Bound::Percent(_))),
            notes,
        })
    }
}

/// The rate of both directions together, and the share of writes. fio's rate is one for each direction: reads and writes come
/// as often as it says, whatever `rwmixread` is.
fn pace(job: &FioJob) -> Result<(Option<Rate>, Percent), &'static str> {
    let share = |pct: f64| Percent::new(pct).unwrap_or(Percent::ZERO);
    let mixed = share(f64::from(job.kind_pct.unwrap_or(job.mix_pct)));
    let together = |read: f64, write: f64| (read + write, share(write / (read + write) * 100.0));
    let both = |bytes: Option<Rate>, iops: Option<Rate>| match (bytes, iops) {
        (Some(_), Some(_)) => Err("rate, rate_iops: fio takes one of them, not both; leave one out"),
        (bytes, iops) => Ok(bytes.or(iops)),
    };
    let (read, write) =
        (both(job.rate.read, job.rate_iops.read)?, both(job.rate.write, job.rate_iops.write)?);
    match (job.reads(), job.writes(), read, write) {
        (true, true, None, None) => Ok((None, mixed)),
        (true, true, Some(Rate::Iops(read)), Some(Rate::Iops(write))) => {
            let (sum, share) = together(read, write);
            Ok((Some(Rate::Iops(sum)), share))
        }
        (true, true, Some(Rate::BytesPerSecond(read)), Some(Rate::BytesPerSecond(write))) => {
            let (sum, share) = together(read, write);
            Ok((Some(Rate::BytesPerSecond(sum)), share))
        }
        (true, true, ..) => Err("rate: it holds for reads or for writes alone; make two jobs of it"),
        (false, true, _, rate) | (_, _, rate, _) => Ok((rate, mixed)),
    }
}

/// The part of each file that it uses, and how long a file is made for it.
fn part(job: &FioJob) -> Result<(Region, Option<ByteCount>), &'static str> {
    let files = u64::from(file_count(job));
    if job.offset_increment > 0 && matches!(job.offset, Bound::Percent(_)) {
        return Err("offset_increment: it needs an offset in bytes");
    }
    if let (Some(file), Bound::Bytes(start)) = (job.file_size, job.offset) {
        if job.offset_increment > 0 {
            return Err("filesize: it is not read with offset_increment; write size");
        }
        if start.bytes() >= file {
            return Err("offset: it lies behind filesize");
        }
    }
    let of_file = match (job.file_size, job.size) {
        (Some(file), Some(Bound::Bytes(all))) if file.saturating_mul(files) != all.bytes() => {
            return Err("filesize: a part of each file that is not size is not read; write one of them");
        }
        (Some(_), Some(Bound::Percent(_))) => return Err("filesize: write it without size"),
        (Some(file), _) => Some(Bound::Bytes(ByteCount(file))),
        (None, Some(Bound::Bytes(all))) => Some(Bound::Bytes(ByteCount(all.bytes() / files))),
        (None, share) => share,
    };
    let (end, made) = match (job.offset, of_file) {
        (_, None) => (None, None),
        (Bound::Bytes(start), Some(Bound::Bytes(length))) => {
            // A size of the file ends it; a size of the work begins at the offset.
            let from = if job.file_size.is_some() { 0 } else { start.bytes() };
            let end = ByteCount(from.saturating_add(length.bytes()));
            (Some(Bound::Bytes(end)), Some(end))
        }
        (start, Some(Bound::Percent(length))) => {
            let start = match start {
                Bound::Percent(start) => start.percent(),
                Bound::Bytes(ByteCount(0)) => 0.0,
                Bound::Bytes(_) if length == Percent::HUNDRED => 100.0,
                Bound::Bytes(_) => return Err("size: a share of the file needs an offset that is one, too"),
            };
            let end = Percent::new((start + length.percent()).min(100.0)).unwrap_or(Percent::HUNDRED);
            ((end < Percent::HUNDRED).then_some(Bound::Percent(end)), None)
        }
        (Bound::Percent(_), Some(Bound::Bytes(_))) => {
            return Err("offset: a share of the file needs a size that is one, too");
        }
    };
    Ok((Region { start: job.offset, end }, made))
}

/// Files of one of its `numjobs`.
pub(super) fn file_count(job: &FioJob) -> u32 {
    match u32::try_from(job.files.len()) {
        Ok(named) if named > 0 => named,
        _ => job.file_count.unwrap_or(1),
    }
}

/// Where copy `number` of `job` works. Without a name each has files of its own.
pub(super) fn paths(job: &FioJob, number: u32) -> Vec<PathBuf> {
    let stem = job.section.as_ref().unwrap_or(&job.name);
    let own = || (0..file_count(job)).map(|file| format!("{stem}.{number}.{file}")).collect();
    let names: Vec<String> = if job.files.is_empty() { own() } else { job.files.clone() };
    // An absolute name is below the directory, too.
    let placed = |name: String| match &job.directory {
        Some(directory) => PathBuf::from(format!("{directory}/{name}")),
        None => PathBuf::from(name),
    };
    names.into_iter().map(placed).collect()
}
