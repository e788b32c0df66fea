//! What the stripes, the CPU and the destination can do alone.

use iostall_model::{PartAlone, TunePart};
use iostall_stats::halving::{Alone, limiting};
use iostall_transfer::backup::create::Trial;
use iostall_transfer::backup::restore::RestoreError;

use super::tuner::Tuner;
use crate::backup::tune::search::LOOK_S_MIN;
use crate::event::{Event, Observer};

const PART_S_MAX: f64 = 3.0;
const LOADED_BYTES: u64 = 64 << 20;
const SOURCE: &str = "source";
const CPU: &str = "CPU";
const TARGET: &str = "target";

#[derive(Clone, Debug, Default)]
pub(super) struct Parts {
    pub(super) alone: Vec<PartAlone>,
}

impl Parts {
    /// Measures everything for about `budget_s` seconds. What was measured before an error is kept.
    pub(super) fn measure(
        &mut self,
        tuner: &mut Tuner<'_>,
        budget_s: f64,
        observer: &dyn Observer,
    ) -> Result<(), RestoreError> {
        let seconds = (budget_s / 3.0).clamp(LOOK_S_MIN, PART_S_MAX);
        let mut add = |part: TunePart, name: String, seen: Trial, stored_share: Option<f64>| {
            let alone = PartAlone { part, name, bytes_per_s: seen.bytes_per_s, stored_share };
            observer.on(&Event::PartMeasured(&alone));
            self.alone.push(alone);
        };
        let from = tuner.next_place();
        let choice = tuner.default.choice();
        let seen = tuner.sample.read_alone(choice, from, seconds, &tuner.cancel)?;
        add(TunePart::Source, "the stripes".to_owned(), seen, None);
        let memory = tuner.request.memory_bytes.map_or(LOADED_BYTES, |memory| memory / 4);
        let mut loaded = tuner.sample.load(memory.min(LOADED_BYTES))?;
        let workers = tuner.default.workers;
        let seen = tuner.sample.decode_alone(&mut loaded, workers, seconds, &tuner.cancel)?;
        let compression = tuner.set.manifest.settings.compression.to_string();
        add(TunePart::Cpu, compression, seen, Some(tuner.sample.stored_share()));
        let place = &tuner.request.place;
        let limit = tuner.limit(seconds);
        let seen = tuner.sample.write_alone(place, &loaded, choice, limit, &tuner.cancel)?;
        add(TunePart::Target, place.display().to_string(), seen, None);
        Ok(())
    }

    /// Which part limits a restore that writes `whole` bytes of content a second, of which this share is stored.
    pub(super) fn limit(&self, whole: f64, stored_share: f64) -> Option<TunePart> {
        let bounds: Vec<Alone> = self
            .alone
            .iter()
            .map(|one| match one.part {
                TunePart::Source => Alone { name: SOURCE, rate: one.bytes_per_s / stored_share.max(1e-6) },
                TunePart::Cpu => Alone { name: CPU, rate: one.bytes_per_s },
                TunePart::Target | TunePart::Targets => Alone { name: TARGET, rate: one.bytes_per_s },
            })
            .filter(|one| one.rate > 0.0)
            .collect();
        match limiting(whole, &bounds)?.name {
            SOURCE => Some(TunePart::Source),
            CPU => Some(TunePart::Cpu),
            _ => Some(TunePart::Target),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: f64 = 1_048_576.0;

    /// The story: a restore was slow, faster disks were bought for the backups, and it was as slow as before.
    #[test]
    fn what_limits_is_the_slowest_part_in_bytes_of_the_content() {
        let part = |part, mib: f64| PartAlone {
            part,
            name: String::new(),
            bytes_per_s: mib * MIB,
            stored_share: None,
        };
        let alone =
            vec![part(TunePart::Source, 500.0), part(TunePart::Cpu, 1_500.0), part(TunePart::Target, 900.0)];
        let parts = Parts { alone };
        assert_eq!(parts.limit(880.0 * MIB, 0.4), Some(TunePart::Target));
        assert_eq!(parts.limit(490.0 * MIB, 1.0), Some(TunePart::Source));
        assert_eq!(parts.limit(300.0 * MIB, 0.4), None, "none of them");
        let no_wait = Parts { alone: vec![part(TunePart::Source, 9_000.0), part(TunePart::Cpu, 1_500.0)] };
        assert_eq!(no_wait.limit(1_400.0 * MIB, 0.4), Some(TunePart::Cpu));
    }
}
