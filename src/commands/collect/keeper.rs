//! What a collector reads, into the store; and through times in which the store cannot be written.
//!
//! A collector runs for months and its disk may be full for a night. What is sampled then is lost, but not that it was:
//! it is a gap, with the store's own reason, as soon as there is room.

use std::collections::{HashMap, HashSet};

use iostall_model::{Gap, Sample};
use iostall_store::{History, Retention, SourceId, SqliteHistory, StoreError};
use jiff::Timestamp;

use crate::printer::Printer;
use crate::store::with_hint;

/// The store, and what was already said.
pub(super) struct Keeper {
    pub(super) store: SqliteHistory,
    /// How many samples were stored.
    pub(super) samples: u64,
    said: HashSet<(SourceId, String)>,
    /// By source: beats of which nothing could be stored.
    lost: HashMap<SourceId, Gap>,
    /// What the store says while it cannot be written.
    trouble: Option<String>,
}

impl Keeper {
    pub(super) fn new(store: SqliteHistory) -> Self {
        Self { store, samples: 0, said: HashSet::new(), lost: HashMap::new(), trouble: None }
    }

    pub(super) fn add_source(&mut self, name: &str) -> anyhow::Result<SourceId> {
        Ok(self.store.source(name).map_err(with_hint)?.id)
    }

    /// Says each warning of a sample the first time.
    pub(super) fn say_warnings(&mut self, source: SourceId, sample: &Sample, printer: &Printer) {
        for warning in &sample.warnings {
            if self.said.insert((source, warning.message.clone())) {
                let said = format!("warning: {}", warning.message);
                match &warning.hint {
                    Some(hint) => printer.advise(&said, hint),
                    None => printer.note(&said),
                }
            }
        }
    }

    /// Keeps a sample.
    pub(super) fn sample(
        &mut self,
        source: SourceId,
        sample: Sample,
        printer: &Printer,
    ) -> anyhow::Result<()> {
        self.say_warnings(source, &sample, printer);
        let at = sample.taken.utc;
        let kept = self.with_lost(source).and_then(|()| self.store.add_sample(source, sample));
        self.samples += u64::from(kept.is_ok());
        let reason = |error: &StoreError| format!("the sample could not be stored: {error}");
        self.or_lost(kept, source, |error| Gap { at, missed: 1, reason: reason(error) }, printer)
    }

    /// Keeps a gap.
    pub(super) fn gap(&mut self, source: SourceId, gap: Gap, printer: &Printer) -> anyhow::Result<()> {
        let kept = self.with_lost(source).and_then(|()| self.store.add_gap(source, &gap));
        self.or_lost(kept, source, |_| gap, printer)
    }

    /// Deletes what is too old. Where that cannot be done now, it is done the next time.
    pub(super) fn forget(
        &mut self,
        retention: &Retention,
        now: Timestamp,
        printer: &Printer,
    ) -> anyhow::Result<()> {
        match self.store.forget(retention, now) {
            Err(error) if error.may_pass() => self.say(error, printer),
            done => return done.map_err(with_hint),
        }
        Ok(())
    }

    /// Keeps first what could not be kept before.
    fn with_lost(&mut self, source: SourceId) -> Result<(), StoreError> {
        if let Some(gap) = self.lost.get(&source) {
            self.store.add_gap(source, gap)?;
            self.lost.remove(&source);
        }
        Ok(())
    }

    /// Remembers what was not kept, if the trouble may pass.
    fn or_lost(
        &mut self,
        kept: Result<(), StoreError>,
        source: SourceId,
        gap: impl FnOnce(&StoreError) -> Gap,
        printer: &Printer,
    ) -> anyhow::Result<()> {
        match kept {
            Ok(()) => {
                if self.trouble.take().is_some() {
                    printer.note(&format!("the store {} can be written again", self.store.path().display()));
                }
                Ok(())
            }
            Err(error) if error.may_pass() => {
                let gap = gap(&error);
                let missed = gap.missed;
                let lost = self.lost.entry(source).or_insert(Gap { missed: 0, ..gap });
                lost.missed = lost.missed.saturating_add(missed);
                self.say(error, printer);
                Ok(())
            }
            Err(error) => Err(with_hint(error)),
        }
    }

    /// Says what is wrong, once.
    fn say(&mut self, error: StoreError, printer: &Printer) {
        let message = error.to_string();
        if self.trouble.as_ref() != Some(&message) {
            printer.error(&with_hint(error).context("samples are lost until the store can be written again"));
            self.trouble = Some(message);
        }
    }
}
