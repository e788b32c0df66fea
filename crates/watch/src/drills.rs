//! The drills of backups that the store has, for rules about them.

use iostall_model::DrillOutcome;
use iostall_model::alert::GoodDrill;
use iostall_store::{RunNumber, Stored};
use jiff::{SignedDuration, Timestamp};

pub(crate) const KIND: &str = "backup-drill";
const EVERY: SignedDuration = SignedDuration::from_secs(5);

#[derive(Debug, Default)]
pub(crate) struct Drills {
    good: Vec<GoodDrill>,
    read: Option<RunNumber>,
    next: Option<Timestamp>,
}

impl Drills {
    pub(crate) fn is_due(&mut self, now: Timestamp) -> bool {
        // A clock that was set back must not stop it for that long.
        let is_due = self.next.is_none_or(|next| now >= next || next.duration_since(now) > EVERY);
        if is_due {
            self.next = now.checked_add(EVERY).ok();
        }
        is_due
    }

    pub(crate) fn read(&self) -> Option<RunNumber> {
        self.read
    }

    /// Takes up what was stored since. Gives all good ones.
    pub(crate) fn add(&mut self, stored: &[Stored]) -> Vec<GoodDrill> {
        for Stored { number, run } in stored {
            self.read = self.read.max(Some(*number));
            let Some(outcome) = run.body.as_kind::<DrillOutcome>() else { continue };
            if outcome.is_good() && !run.interrupted {
                let (source, set) = (outcome.source.clone(), outcome.set.clone());
                self.good.push(GoodDrill { source, set, at: run.ended_utc });
            }
        }
        self.good.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_store_is_asked_every_few_seconds_whatever_the_clock_does() {
        let mut drills = Drills::default();
        let at = |second: i64| Timestamp::from_second(1_700_000_000 + second).unwrap();
        assert!(drills.is_due(at(0)));
        assert!(!drills.is_due(at(4)));
        assert!(drills.is_due(at(5)));
        assert!(drills.is_due(at(-3600)), "the clock was set back");
    }
}
