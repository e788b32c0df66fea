//! Paced writes: each method at each pace, on a growing file.

mod file;
mod methods;
mod pace;

use iostall_host::MemoryGroup;
use iostall_measure::ByteCount;
use iostall_model::paced::MethodOutcome;
use iostall_model::{PacedOutcome, Run, RunBody, Warning, WarningCode};
use iostall_transfer::paced::sweet_spots;

use crate::error::SessionError;
use crate::event::Observer;
use crate::machine::MachineWatch;
use crate::transfer::{Transfer, target};
use file::PacedFile;
use methods::Methods;

pub use pace::{PaceError, PaceRequest, PacedRequest, paces};

pub struct PacedWrite<'a> {
    request: &'a PacedRequest,
    file: PacedFile,
    /// Limits the memory of the process while it exists.
    _group: Option<MemoryGroup>,
}

impl<'a> PacedWrite<'a> {
    pub fn prepare(request: &'a PacedRequest, observer: &dyn Observer) -> Result<Self, SessionError> {
        let group = request.memory_limit.map(|limit| enter_group(limit.bytes())).transpose()?;
        let write = Self { request, file: PacedFile::prepare(request)?, _group: group };
        match methods::check(request, &write.file) {
            Ok(()) => Ok(write),
            Err(error) => {
                write.give_up(observer);
                Err(error)
            }
        }
    }

    /// Removes a new file, unless it is to be kept.
    pub fn give_up(self, observer: &dyn Observer) {
        // Failing to remove the file must not lose the measurements.
        if !self.request.keep {
            self.file.give_back(observer);
        }
    }

    pub fn write(self, transfer: Transfer, observer: &dyn Observer) -> Result<Run, SessionError> {
        let (request, file) = (self.request, &self.file);
        let rate = transfer.rate();
        let rate = rate.as_deref();
        let before: Vec<_> = target(&request.file).into_iter().collect();
        let watch = MachineWatch::begin(&before, transfer.clock());
        let methods = transfer
            .work(observer, |progress| Methods { request, file, progress, observer, rate }.write_all());
        let of_machine = watch.warnings();
        let (gave_way, of_giving_way) = transfer.gave_way();
        let facts = target(&request.file);
        let replaced = self.file.replaced();
        self.give_up(observer);
        let outcome = PacedOutcome {
            sweet_spots: sweet_spots(&methods),
            interval_bytes: request.interval.bytes(),
            total_bytes: request.total_bytes,
            memory_limit_bytes: request.memory_limit.map(ByteCount::bytes),
            methods,
            gave_way,
        };
        if let Some(failure) = nothing_written(&outcome) {
            return Err(failure);
        }
        let name = request.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let warnings =
            warnings(&outcome, replaced).into_iter().chain(of_giving_way).chain(of_machine).collect();
        Ok(transfer.finish(name, facts.into_iter().collect(), warnings, RunBody::Write(outcome)))
    }
}

fn enter_group(limit_bytes: u64) -> Result<MemoryGroup, SessionError> {
    MemoryGroup::enter(limit_bytes).map_err(|source| SessionError::MemoryLimit { limit_bytes, source })
}

fn nothing_written(outcome: &PacedOutcome) -> Option<SessionError> {
    let cause =
        |method: &MethodOutcome| Some(format!("{}: {}", method.method.name(), method.failed.as_ref()?));
    let causes: Vec<String> = outcome.methods.iter().filter_map(cause).collect();
    let nothing = outcome.methods.iter().all(|method| method.bytes == 0);
    (nothing && !causes.is_empty()).then(|| SessionError::NothingWritten { causes: causes.join("; ") })
}

fn warnings(outcome: &PacedOutcome, replaced: Option<Warning>) -> Vec<Warning> {
    let refused = outcome.methods.iter().filter_map(|method| {
        let reason = method.refused.as_ref()?;
        Some(Warning::new(WarningCode::DirectRefused, reason.clone()).about(method.method.name()))
    });
    replaced.into_iter().chain(refused).collect()
}
