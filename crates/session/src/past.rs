//! Earlier runs of the same thing: the one place that looks back at them.

use std::path::PathBuf;

use iostall_host::System;
use iostall_measure::ByteCount;
use iostall_measure::foreign::shown;
use iostall_measure::platform::{Host, Target};
use iostall_model::{Outcome, Run, TargetIdentity};
use iostall_store::{Filter, Selector, Store, StoreError};
use thiserror::Error;

use crate::error::{SessionError, UseCaseError};
use crate::event::Event;
use crate::session::Session;
use crate::target_identity::target_identity_of;
use crate::targets::named_or_scratch;

/// As many of the newest runs of a kind are looked at.
const LOOK_BACK: u32 = 200;

/// The targets of a run that is about to begin, and the machine that it runs on.
pub(crate) struct Subject<'a> {
    session: &'a Session<'a>,
    /// As typed.
    paths: Vec<PathBuf>,
    identities: Vec<Option<TargetIdentity>>,
    host: Host,
}

pub(crate) struct Earlier<T> {
    pub(crate) number: u32,
    pub(crate) run: Run,
    pub(crate) outcome: T,
}

/// Runs that were not considered, though they may have been meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PassedOver {
    /// Of a newer iostall, or damaged.
    unreadable: u32,
    /// Of a target that is called the same.
    others: u32,
}

impl PassedOver {
    fn in_words(self) -> Option<String> {
        let plural = |count: u32| if count == 1 { "run" } else { "runs" };
        let unreadable = (self.unreadable > 0).then(|| {
            let count = self.unreadable;
            format!("{count} earlier {} cannot be read by this iostall", plural(count))
        });
        let others = (self.others > 0).then(|| {
            let count = self.others;
            format!(
                "{count} earlier {} of a target with this name {} of another file, device or machine, or cannot be told from one",
                plural(count),
                if count == 1 { "is" } else { "are" }
            )
        });
        let both: Vec<String> = unreadable.into_iter().chain(others).collect();
        (!both.is_empty()).then(|| format!("passed over: {}", both.join("; ")))
    }
}

#[derive(Debug, Error)]
enum ResumeError {
    #[error("there is no interrupted {what} of {targets} with these settings to resume{passed}")]
    Nothing { what: &'static str, targets: String, passed: String },
    #[error(
        "the newest {what} of {targets} with these settings, run {number}, is complete: nothing is left to do"
    )]
    Complete { what: &'static str, targets: String, number: u32 },
    #[error(
        "run {number} cannot be resumed: the {what} was {then} and is {now}, and these must not be mixed"
    )]
    Differs { number: u32, what: String, then: String, now: String },
}

impl From<ResumeError> for SessionError {
    fn from(error: ResumeError) -> Self {
        let hint = "`iostall runs` lists the stored runs; leave out --resume to start a new one";
        Self::OfUseCase(UseCaseError::new(error, Some(hint.to_owned())))
    }
}

impl<'a> Subject<'a> {
    /// Without a path it is the scratch file.
    pub(crate) fn new(session: &'a Session<'a>, paths: &[PathBuf]) -> Self {
        let paths = named_or_scratch(paths);
        let is_stored = session.engine().opens_files();
        let identities = paths.iter().map(|path| target_identity_of(path, is_stored)).collect();
        Self { session, paths, identities, host: System::here().host() }
    }

    pub(crate) fn is_of(&self, run: &Run) -> bool {
        run.is_of(&self.host, &self.identities)
    }

    fn shown(&self) -> String {
        let paths = self.paths.iter().map(|path| shown(&path.to_string_lossy()));
        paths.collect::<Vec<_>>().join(", ")
    }

    /// The newest runs of `kind` on it of whose outcome `fits` takes something, `most` at most, the newest first. What was passed over
    /// is said.
    pub(crate) fn earlier<T: Outcome, F>(
        &self,
        store: &dyn Store,
        kind: &str,
        most: usize,
        fits: impl Fn(&T) -> Option<F>,
    ) -> Result<Vec<Earlier<F>>, SessionError> {
        let (found, passed) = self.look_back(store, kind, most, fits)?;
        if let Some(words) = passed.in_words() {
            self.session.observer().on(&Event::MayNotFit { message: &words });
        }
        Ok(found)
    }

    fn look_back<T: Outcome, F>(
        &self,
        store: &dyn Store,
        kind: &str,
        most: usize,
        fits: impl Fn(&T) -> Option<F>,
    ) -> Result<(Vec<Earlier<F>>, PassedOver), SessionError> {
        let filter = Filter { kind: Some(kind.to_owned()), limit: Some(LOOK_BACK), ..Filter::default() };
        let (mut found, mut passed) = (Vec::new(), PassedOver::default());
        for entry in store.list(&filter)? {
            if found.len() == most {
                break;
            }
            let number = entry.number.0;
            let run = match store.get(&Selector::Number(number)) {
                Ok(stored) => stored.run,
                Err(StoreError::Document { .. }) => {
                    passed.unreadable += 1;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let Some(outcome) = run.body.as_kind::<T>().and_then(&fits) else { continue };
            if self.is_of(&run) {
                found.push(Earlier { number, run, outcome });
            } else if run.targets.iter().map(|target| &target.path).eq(&self.paths) {
                passed.others += 1;
            }
        }
        Ok((found, passed))
    }

    /// The newest run of `kind`, `what` in words, that fits. It must be one that was stopped.
    pub(crate) fn to_resume<T: Outcome, F>(
        &self,
        store: &dyn Store,
        (kind, what): (&str, &'static str),
        fits: impl Fn(&T) -> Option<F>,
        is_complete: impl Fn(&Earlier<F>) -> bool,
    ) -> Result<Earlier<F>, SessionError> {
        let (found, passed) = self.look_back(store, kind, 1, fits)?;
        let targets = self.shown();
        let words = passed.in_words();
        let Some(earlier) = found.into_iter().next() else {
            let passed = words.map(|words| format!(" ({words})")).unwrap_or_default();
            return Err(ResumeError::Nothing { what, targets, passed }.into());
        };
        let number = earlier.number;
        if is_complete(&earlier) {
            return Err(ResumeError::Complete { what, targets, number }.into());
        }
        if let Some(words) = words {
            self.session.observer().on(&Event::MayNotFit { message: &words });
        }
        Ok(earlier)
    }
}

impl<T> Earlier<T> {
    /// As a warning calls it.
    pub(crate) fn name(&self) -> String {
        format!("run {}, which this one continues", self.number)
    }

    /// Refuses to mix what was measured on targets of other sizes.
    pub(crate) fn check_sizes(&self, targets: &[Target]) -> Result<(), SessionError> {
        for (then, now) in self.run.targets.iter().zip(targets) {
            let what = format!("size of {}", shown(&now.path.to_string_lossy()));
            self.check_size(what, then.size_bytes, now.size_bytes)?;
        }
        Ok(())
    }

    pub(crate) fn check_size(&self, what: String, then: u64, now: u64) -> Result<(), SessionError> {
        let sizes = [then, now].map(|bytes| ByteCount(bytes).to_string());
        if then == now { Ok(()) } else { self.differs(what, sizes) }
    }

    /// Refuses to mix what two engines measured. `then` is empty if nothing was.
    pub(crate) fn check_engine(&self, then: &str, now: &str) -> Result<(), SessionError> {
        let is_same = then.is_empty() || then == now;
        if is_same { Ok(()) } else { self.differs("engine".to_owned(), [then, now].map(str::to_owned)) }
    }

    fn differs(&self, what: String, [then, now]: [String; 2]) -> Result<(), SessionError> {
        Err(ResumeError::Differs { number: self.number, what, then, now }.into())
    }
}
