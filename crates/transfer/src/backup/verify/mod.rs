//! Checks a set without restoring it: every frame, or only headers, indexes and ends.

mod headers;
mod stage;

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use iostall_model::backup::FileEntry;

use self::headers::check_headers;
use self::stage::{Checked, HeaderHashes, Part, VerifyStage};
use super::codec::Decoder;
use super::format::{FrameKind, IndexRecord};
use super::read::{
    Damage, OpenSet, ReadChoice, ReadError, ReadShape, Run, RunSource, StripeRead, add_reads, blocks_of,
    entry_of, run_job, runs,
};
use super::restore::check_names;
use crate::buffers::BufferSet;
use crate::pipeline::{Job, OrderedStage, PipelineError, Stage, StageWorkers};
use crate::progress::{Progress, StripeCounter};
use crate::rate::RateLimit;

pub use stage::{BaseVerified, Verified};

/// Files with missing content that are listed one by one; beyond, they are counted.
const FILES_LISTED: usize = 100;
/// Ranges of a relation's blocks that are listed for each of them.
const GAPS_LISTED: usize = 8;

#[derive(Clone, Copy, Debug, Default)]
pub struct VerifyOptions<'a> {
    /// Reads only headers, indexes and ends: whether all frames are there, not whether their content is.
    pub headers_only: bool,
    pub rate: Option<&'a RateLimit>,
}

pub fn verify(
    set: &OpenSet,
    options: &VerifyOptions<'_>,
    progress: &Progress,
) -> Result<Verified, ReadError> {
    let mut found = Verified {
        files: set.manifest.files.len() as u64,
        damage: set.damage.iter().chain(&set.chain.damage).cloned().collect(),
        ..Verified::default()
    };
    if let Err(error) = check_names(&set.manifest) {
        found.damage.push(Damage::of_file(None, &set.manifest_path, error.to_string()));
    }
    let records = check_headers(set, options.headers_only, progress, &mut found);
    found.frames = records.iter().map(|records| records.len() as u64).sum();
    let parts = parts(set, records);
    for part in &parts[1..] {
        let frames = part.records.iter().flatten().filter(|record| part.needs(record)).count() as u64;
        found.frames += frames;
        found.bases.push(BaseVerified { set: part.holder().manifest.set, frames });
    }
    if !options.headers_only {
        let counters = progress.count_stripes(parts.iter().map(|part| part.stripes.len()).sum());
        found.stripes = vec![StripeRead::default(); counters.len()];
        Verifying { set, parts: &parts, options, progress, counters }.run(&mut found)?;
    }
    if set.is_in_parts() {
        for (_, base) in set.chain.there() {
            add_base(&mut found, base, options, progress)?;
        }
    }
    found.was_cancelled = progress.is_cancelled();
    found.damage.sort_by_key(|damage| (damage.stripe.is_none(), damage.stripe, damage.offset));
    found.damage.dedup_by(|one, other| {
        one.stripe.is_some() && (one.stripe, one.offset) == (other.stripe, other.offset)
    });
    Ok(found)
}

fn add_base(
    found: &mut Verified,
    base: &OpenSet,
    options: &VerifyOptions<'_>,
    progress: &Progress,
) -> Result<(), ReadError> {
    let set = base.manifest.set;
    let of_base = verify(base, options, progress)?;
    found.frames += of_base.frames;
    found.good_frames += of_base.good_frames;
    found.bytes += of_base.bytes;
    found.stored_bytes += of_base.stored_bytes;
    found.stripes.extend(of_base.stripes);
    found.bases.push(BaseVerified { set, frames: of_base.frames });
    found.damage.extend(of_base.damage.into_iter().map(|damage| damage.in_base(set)));
    Ok(())
}

fn parts(set: &OpenSet, records: Vec<Vec<IndexRecord>>) -> Vec<Part<'_>> {
    let of_number = |number| set.all_stripes().filter(move |one| one.number == number).collect::<Vec<_>>();
    let own = Part { set, stripes: of_number(0), records, number: 0 };
    let bases = set.chain.there().filter(|_| !set.is_in_parts()).map(|(number, _)| {
        let stripes = of_number(number);
        let records = stripes.iter().map(|one| one.open.records().to_vec()).collect();
        Part { set, stripes, records, number }
    });
    std::iter::once(own).chain(bases).collect()
}

struct Verifying<'v> {
    set: &'v OpenSet,
    parts: &'v [Part<'v>],
    options: &'v VerifyOptions<'v>,
    progress: &'v Progress,
    counters: Vec<StripeCounter>,
}

impl Verifying<'_> {
    fn run(&self, found: &mut Verified) -> Result<(), ReadError> {
        let shape = ReadShape::of(self.set, false, ReadChoice::default()).limited(self.options.rate);
        let mut buffers =
            shape.buffers().map_err(ReadError::system("map buffers for", Path::new("a check")))?;
        let runs_of = |part: &Part<'_>| {
            let stripes = part.stripes.iter().zip(&part.records);
            let stripes = stripes.map(|(one, records)| (&one.open.stripe, &records[..]));
            runs(stripes, &shape, |_, record| part.needs(record), |_, _| true)
        };
        let all: Vec<Vec<Run>> = self.parts.iter().map(runs_of).collect();
        self.progress.add_total(0, all.iter().flatten().map(|run| u64::from(run.length)).sum());
        let mut checked = Checked::default();
        let mut first_stripe = 0;
        for (part, runs) in self.parts.iter().zip(all) {
            let places = first_stripe..first_stripe + part.stripes.len();
            first_stripe = places.end;
            let reading = Reading {
                part,
                shape,
                options: self.options,
                progress: self.progress,
                counters: &self.counters[places.clone()],
            };
            reading.run(runs, &mut buffers, &mut found.stripes[places], &mut checked)?;
        }
        found.good_frames = checked.good_frames;
        found.bytes = checked.bytes;
        found.stored_bytes = checked.stored_bytes;
        found.damage.append(&mut checked.damage);
        if self.progress.is_cancelled() {
            return Ok(());
        }
        self.check_extents(found);
        self.check_coverage(&checked.covered, found);
        Ok(())
    }

    fn records(&self) -> &[Vec<IndexRecord>] {
        self.parts.first().map_or(&[], |own| &own.records)
    }

    /// Two frames of one place of a file: what should be in one of them is missing.
    fn check_extents(&self, found: &mut Verified) {
        let data = self.records().iter().enumerate().flat_map(|(stripe, records)| {
            records.iter().filter(|record| record.kind == FrameKind::Data).map(move |record| (stripe, record))
        });
        let mut all: Vec<_> = data.collect();
        all.sort_by_key(|(_, record)| (record.file, record.offset));
        for pair in all.windows(2) {
            let ((_, one), (stripe, other)) = (pair[0], pair[1]);
            let end = one.offset.saturating_add(one.plain_length.into());
            if one.file == other.file && other.offset < end {
                let stripe = &self.set.stripes[stripe].stripe;
                let message = "the frame lies over another frame of its file";
                let manifest = &self.set.manifest;
                found.damage.push(Damage::of_frame(stripe.number(), &stripe.path, other, manifest, message));
            }
        }
    }

    /// Which blocks of a relation of PostgreSQL are lost with `missing` bytes of its file, in words; nothing if that cannot be
    /// told from the places of the frames that are there.
    fn lost_blocks(&self, entry: &FileEntry, missing: u64) -> String {
        // What is in other sets is no gap.
        if !self.set.manifest.bases.is_empty() {
            return String::new();
        }
        let of_file = |record: &&IndexRecord| record.kind == FrameKind::Data && record.file == entry.number;
        let mut there: Vec<(u64, u64)> = self
            .records()
            .iter()
            .flatten()
            .filter(of_file)
            .map(|record| (record.offset, record.offset.saturating_add(record.plain_length.into())))
            .collect();
        there.sort_unstable();
        let mut gaps = Vec::new();
        let mut at = 0;
        for (from, to) in there.into_iter().chain([(entry.size_bytes, entry.size_bytes)]) {
            if from > at {
                gaps.push((at, from - at));
            }
            at = at.max(to);
        }
        // A hole, or a part of the file in a bundle, looks like a gap, too.
        if gaps.iter().map(|(_, length)| length).sum::<u64>() != missing {
            return String::new();
        }
        let words = |(offset, length): &(u64, u64)| blocks_of(&self.set.manifest, entry, *offset, *length);
        let blocks: Vec<String> = gaps.iter().take(GAPS_LISTED).filter_map(words).collect();
        let more = if gaps.len() > GAPS_LISTED { " and more" } else { "" };
        if blocks.is_empty() { String::new() } else { format!("; lost: {}{more}", blocks.join(", ")) }
    }

    /// Files of which not all was found, whether in good frames or in damaged ones that are already listed.
    fn check_coverage(&self, covered: &HashMap<u64, u64>, found: &mut Verified) {
        let Self { set, .. } = *self;
        let path = &set.manifest_path;
        // What a base that is not there would have had is no damage of this set.
        let base = set.chain.damage.iter().find_map(|damage| damage.base);
        let base = base.filter(|_| found.damage.iter().all(|damage| damage.base.is_some()));
        // With a stripe or a base, what was on it is missing. Without that, somebody has taken content out of the set.
        let is_missing = set.damage.iter().chain(&set.chain.damage).any(|damage| damage.is_missing);
        let mut not_listed = 0u64;
        let mut listed = 0;
        for entry in &set.manifest.files {
            let there = covered.get(&entry.number).copied().unwrap_or(0);
            if there == entry.data_bytes {
                continue;
            }
            if listed == FILES_LISTED {
                not_listed += 1;
                continue;
            }
            listed += 1;
            let message = if there < entry.data_bytes {
                let missing = entry.data_bytes - there;
                let lost = self.lost_blocks(entry, missing);
                format!("{missing} of its {} bytes are in no good frame{lost}", entry.data_bytes)
            } else {
                format!("the set has {there} bytes of it, and it has {}", entry.data_bytes)
            };
            found.damage.push(Damage {
                file: Some(entry.name.to_string()),
                file_bytes: entry.data_bytes.saturating_sub(there),
                is_missing: is_missing && there < entry.data_bytes,
                base,
                ..Damage::of_file(None, path, message)
            });
        }
        if not_listed > 0 {
            let message = format!("{not_listed} more files are not whole");
            found.damage.push(Damage { base, is_missing, ..Damage::of_file(None, path, message) });
        }
        if let Some(number) = covered.keys().find(|number| entry_of(&set.manifest, **number).is_none()) {
            let message = format!("the stripes have a file {number} that the manifest does not name");
            found.damage.push(Damage::of_file(None, path, message));
        }
    }
}

struct Reading<'v> {
    part: &'v Part<'v>,
    shape: ReadShape,
    options: &'v VerifyOptions<'v>,
    progress: &'v Progress,
    counters: &'v [StripeCounter],
}

impl Reading<'_> {
    fn run(
        &self,
        mut left: Vec<Run>,
        buffers: &mut BufferSet,
        stripes: &mut [StripeRead],
        checked: &mut Checked,
    ) -> Result<(), ReadError> {
        let Self { part, shape, .. } = *self;
        let holder = part.holder();
        // Not all headers of a base pass here.
        let mut hashes = (part.number == 0).then(|| HeaderHashes::new(holder, &part.records));
        while !left.is_empty() && !self.progress.is_cancelled() {
            let done: Vec<AtomicBool> = left.iter().map(|_| AtomicBool::new(false)).collect();
            let mut stages = (0..shape.workers)
                .map(|_| {
                    let decoder = Decoder::new(holder.manifest.set, holder.keys.as_ref())?;
                    Ok(VerifyStage::new(part, &left, &done, decoder))
                })
                .collect::<Result<Vec<_>, ReadError>>()?;
            let workers = StageWorkers::any_order(stages.iter_mut().map(|stage| stage as &mut dyn Stage));
            let first = hashes.as_mut().map(|hashes| {
                hashes.begin(&left);
                StageWorkers::in_order(hashes as &mut dyn OrderedStage).on_caller()
            });
            let (handles, aligns): (Vec<_>, Vec<_>) =
                part.stripes.iter().map(|one| one.open.stripe.handle()).unzip();
            let mut source = RunSource::new(&left, self.counters);
            let job = Job {
                source: &mut source,
                stages: first.into_iter().chain([workers]).collect(),
                sinks: Vec::new(),
                aligns: &aligns,
                reads_max: shape.depth,
                rate: self.options.rate,
                progress: self.progress,
            };
            let ended = run_job(job, &handles, buffers)?;
            for stage in stages {
                checked.add(stage.into_checked());
            }
            match ended {
                Ok(moved) => add_reads(stripes, &std::mem::take(&mut left), &moved),
                Err(PipelineError::Cancelled) => left.clear(),
                Err(PipelineError::Read { file, offset, cause, .. }) => {
                    // The rest is checked all the same; what was read is not read again.
                    hashes = None;
                    let is_bad = |run: &Run| run.stripe == usize::from(file.0) && run.holds(offset);
                    let bad = left.iter().filter(|run| is_bad(run));
                    bad.for_each(|run| checked.unreadable(part, run, offset, cause));
                    left = left
                        .iter()
                        .zip(&done)
                        .filter(|(run, done)| !is_bad(run) && !done.load(Ordering::Relaxed))
                        .map(|(run, _)| *run)
                        .collect();
                }
                Err(other) => return Err(ReadError::Pipeline(other)),
            }
        }
        if let Some(hashes) = hashes.filter(|_| !self.progress.is_cancelled()) {
            checked.damage.extend(hashes.wrong());
        }
        Ok(())
    }
}
