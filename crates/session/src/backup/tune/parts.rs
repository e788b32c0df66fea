//! What the source, the CPU and each target can do alone.

use iostall_model::backup::Compression;
use iostall_model::{PartAlone, TunePart};
use iostall_stats::halving::{Alone, limiting};
use iostall_transfer::backup::create::{CreateError, CreateOptions};

use super::axes::Axes;
use super::search::{LOOK_S_MIN, Seen};
use super::tuner::Tuner;
use crate::event::{Event, Observer};

const PART_S_MAX: f64 = 3.0;
/// Bytes of the source that are kept in memory for measuring without it.
const PIECES: u64 = 16;
const PIECE_BYTES: u64 = 4 << 20;
/// A compression is not worth trying if it cannot be faster than this share of another one.
const HOPELESS: f64 = 0.5;

#[derive(Clone, Debug, Default)]
pub(super) struct Parts {
    pub(super) alone: Vec<PartAlone>,
    targets: Vec<f64>,
}

impl Parts {
    /// Measures everything for about `budget_s` seconds. What was measured before an error is kept.
    pub(super) fn measure(
        &mut self,
        tuner: &mut Tuner<'_>,
        axes: &Axes,
        budget_s: f64,
        observer: &dyn Observer,
    ) -> Result<(), CreateError> {
        let targets = tuner.request.targets.len();
        let together = usize::from(targets > 1);
        let count = 1 + axes.compressions.len() + targets + together;
        let seconds = (budget_s / count as f64).clamp(LOOK_S_MIN, PART_S_MAX);
        let whole = CreateOptions { targets: Vec::new(), ..tuner.as_given() };
        // Neither the source nor a target waits for encryption.
        let plain = CreateOptions { compression: Compression::None, lock: None, ..tuner.as_given() };
        let add = |parts: &mut Self, part: TunePart, name: String, seen: Seen| {
            let bytes_per_s = match part {
                TunePart::Target | TunePart::Targets => stored_rate(&seen),
                TunePart::Source | TunePart::Cpu => seen.bytes_per_s.unwrap_or_default(),
            };
            let stored_share = (part == TunePart::Cpu).then(|| stored_share(&seen)).flatten();
            let alone = PartAlone { part, name, bytes_per_s, stored_share };
            observer.on(&Event::PartMeasured(&alone));
            parts.alone.push(alone);
            bytes_per_s
        };
        let to_null = CreateOptions { targets: Vec::new(), ..plain.clone() };
        let seen = tuner.trial(&to_null, None, seconds)?;
        add(self, TunePart::Source, String::new(), seen);
        let memory = tuner.sample.load(pieces(tuner), usize::try_from(PIECE_BYTES).unwrap_or(1 << 22))?;
        for compression in &axes.compressions {
            let options = CreateOptions { compression: *compression, ..whole.clone() };
            let seen = tuner.trial(&options, Some(&memory), seconds)?;
            add(self, TunePart::Cpu, compression.to_string(), seen);
        }
        // One frame a transfer, so that the requests are as large as those of a backup.
        let large = tuner.default.transfer_bytes;
        let plain = CreateOptions { frame_bytes: Some(large), transfer_bytes: Some(large), ..plain };
        let request = tuner.request;
        for target in &request.targets {
            let options = CreateOptions { targets: vec![target.clone()], ..plain.clone() };
            let seen = tuner.trial(&options, Some(&memory), seconds)?;
            let rate = add(self, TunePart::Target, target.display().to_string(), seen);
            self.targets.push(rate);
        }
        if together > 0 {
            let seen = tuner.trial(&plain, Some(&memory), seconds)?;
            add(self, TunePart::Targets, String::new(), seen);
        }
        Ok(())
    }

    pub(super) fn fastest_first(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.targets.len()).collect();
        order.sort_by(|one, other| self.targets[*other].total_cmp(&self.targets[*one]));
        order
    }

    fn rate_of(&self, part: TunePart, name: &str) -> Option<&PartAlone> {
        self.alone.iter().find(|alone| alone.part == part && alone.name == name)
    }

    fn rate_of_targets(&self, places: &[usize]) -> Option<f64> {
        if places.is_empty() {
            return None;
        }
        let sum = places.iter().filter_map(|at| self.targets.get(*at)).sum();
        let all = places.len() == self.targets.len();
        let together = self.rate_of(TunePart::Targets, "").filter(|_| all);
        Some(together.map_or(sum, |together| together.bytes_per_s))
    }

    /// What each part allows for a compression, in bytes of the source a second.
    fn bounds(&self, compression: &str, places: &[usize], stored_share: Option<f64>) -> Vec<Alone> {
        let cpu = self.rate_of(TunePart::Cpu, compression);
        let share = stored_share.or_else(|| cpu?.stored_share).unwrap_or(1.0).max(1e-6);
        let source = self.rate_of(TunePart::Source, "").map(|alone| alone.bytes_per_s);
        let target = self.rate_of_targets(places).map(|rate| rate / share);
        let part = |name, rate: Option<f64>| Some(Alone { name, rate: rate.filter(|rate| *rate > 0.0)? });
        let all = [part(SOURCE, source), part(CPU, cpu.map(|cpu| cpu.bytes_per_s)), part(TARGET, target)];
        all.into_iter().flatten().collect()
    }

    /// The axes without compressions that cannot come near the fastest, and a sentence about each of those.
    pub(super) fn worth_trying(&self, axes: &Axes, default: Compression) -> (Axes, Vec<String>) {
        let places: Vec<usize> = (0..self.targets.len()).collect();
        let bound = |compression: &Compression| {
            let bounds = self.bounds(&compression.to_string(), &places, None);
            bounds.into_iter().min_by(|one, other| one.rate.total_cmp(&other.rate))
        };
        let most = axes.compressions.iter().filter_map(bound).map(|bound| bound.rate).fold(0.0, f64::max);
        let (mut kept, mut left_out) = (axes.clone(), Vec::new());
        kept.compressions.retain(|compression| match bound(compression) {
            Some(Alone { name, rate }) if *compression != default && rate < most * HOPELESS => {
                let mib = rate / 1_048_576.0;
                left_out.push(format!("{compression}: the {name} alone allows {mib:.0} MiB/s with it"));
                false
            }
            _ => true,
        });
        (kept, left_out)
    }

    /// Which part limits a backup that moves `whole` bytes of the source a second.
    pub(super) fn limit(
        &self,
        whole: f64,
        compression: &str,
        places: &[usize],
        stored_share: Option<f64>,
    ) -> Option<TunePart> {
        let bounds = self.bounds(compression, places, stored_share);
        match limiting(whole, &bounds)?.name {
            SOURCE => Some(TunePart::Source),
            CPU => Some(TunePart::Cpu),
            _ => Some(TunePart::Target),
        }
    }
}

const SOURCE: &str = "source";
const CPU: &str = "CPU";
const TARGET: &str = "target";

/// As many pieces as a quarter of the memory for buffers has.
fn pieces(tuner: &Tuner<'_>) -> usize {
    let memory = tuner.request.memory_bytes.unwrap_or(u64::MAX);
    usize::try_from((memory / 4 / PIECE_BYTES).clamp(1, PIECES)).unwrap_or(1)
}

fn stored_share(seen: &Seen) -> Option<f64> {
    (seen.source_bytes > 0).then(|| seen.stored_bytes as f64 / seen.source_bytes as f64)
}

fn stored_rate(seen: &Seen) -> f64 {
    seen.bytes_per_s.unwrap_or_default() * stored_share(seen).unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use iostall_model::backup::BackupSettings;

    use super::super::axes::Given;
    use super::*;

    const MIB: f64 = 1_048_576.0;

    fn parts() -> Parts {
        let part = |part, name: &str, mib: f64, stored_share| PartAlone {
            part,
            name: name.to_owned(),
            bytes_per_s: mib * MIB,
            stored_share,
        };
        Parts {
            alone: vec![
                part(TunePart::Source, "", 2_000.0, None),
                part(TunePart::Cpu, "lz4", 1_500.0, Some(0.6)),
                part(TunePart::Cpu, "zstd:1", 600.0, Some(0.4)),
                part(TunePart::Cpu, "zstd:3", 300.0, Some(0.38)),
                part(TunePart::Target, "/b1/a", 100.0, None),
                part(TunePart::Target, "/b2/a", 900.0, None),
                part(TunePart::Targets, "", 950.0, None),
            ],
            targets: vec![100.0 * MIB, 900.0 * MIB],
        }
    }

    /// "Which resource limits?" was answered by adding stripes until it helped no more.
    #[test]
    fn what_limits_is_the_slowest_part_in_bytes_of_the_source() {
        let parts = parts();
        assert_eq!(parts.fastest_first(), [1, 0]);
        let limit = |whole: f64, how: &str, share| parts.limit(whole * MIB, how, &[0, 1], share);
        assert_eq!(limit(560.0, "zstd:1", Some(0.4)), Some(TunePart::Cpu));
        assert_eq!(limit(900.0, "none", Some(1.0)), Some(TunePart::Target));
        assert_eq!(limit(1_400.0, "lz4", Some(0.5)), Some(TunePart::Cpu));
        assert_eq!(limit(300.0, "none", Some(1.0)), None, "none of them");
        assert_eq!(parts.limit(1_900.0 * MIB, "none", &[], None), Some(TunePart::Source), "to null");
        // The slow one alone.
        assert_eq!(parts.limit(99.0 * MIB, "none", &[0], Some(1.0)), Some(TunePart::Target));
    }

    #[test]
    fn a_compression_that_cannot_win_is_left_out_unless_it_is_the_default() {
        let axes = Axes::new(&Given::default(), &BackupSettings { stripes: 2, ..BackupSettings::default() });
        let (kept, left_out) = parts().worth_trying(&axes, Compression::Zstd(1));
        // lz4 is bounded by the CPU at 1,500; zstd:3 reaches 300.
        assert_eq!(kept.compressions, [Compression::None, Compression::Lz4, Compression::Zstd(1)]);
        assert_eq!(left_out, ["zstd:3: the CPU alone allows 300 MiB/s with it"]);
        let (kept, _) = parts().worth_trying(&axes, Compression::Zstd(3));
        assert!(kept.compressions.contains(&Compression::Zstd(3)), "what a backup has is always compared");
    }
}
