//! Chooses the engine.

use iostall_engine::SimDevice;
use iostall_engine::uring::{UringConfig, UringEngine};
use iostall_load::EngineKind;
use iostall_measure::Unavailable;

use crate::error::SessionError;
use crate::event::{Event, Observer};

#[derive(Clone, Debug)]
pub enum EngineChoice {
    /// io_uring if the kernel allows it, otherwise threads.
    Auto,
    /// io_uring, or fail.
    Uring,
    Psync,
    /// No I/O: measures the limit of the generator.
    Null,
    /// A simulated device in simulated time.
    Simulated(SimDevice),
}

#[derive(Clone, Debug)]
pub(crate) struct ChosenEngine {
    pub(crate) kind: EngineKind,
    /// Why io_uring is not used although wanted.
    pub(crate) fallback: Option<Unavailable>,
}

impl EngineChoice {
    /// Chooses io_uring if wanted and allowed; otherwise threads with the cause, if any engine will do.
    pub(crate) fn choose(self, observer: &dyn Observer) -> Result<ChosenEngine, SessionError> {
        let without_ring = |kind| Ok(ChosenEngine { kind, fallback: None });
        let is_auto = matches!(self, Self::Auto);
        match self {
            Self::Psync => return without_ring(EngineKind::Psync),
            Self::Null => return without_ring(EngineKind::Null),
            Self::Simulated(device) => return without_ring(EngineKind::Sim(device)),
            Self::Auto | Self::Uring => {}
        }
        match UringEngine::new(&UringConfig { capacity: 1, files: &[], buffers: None }) {
            Ok(_ring) => without_ring(EngineKind::Uring),
            Err(error) if is_auto => {
                observer.on(&Event::EngineFallback { cause: &error });
                Ok(ChosenEngine { kind: EngineKind::Psync, fallback: Some(error.without_ring()) })
            }
            Err(error) => Err(SessionError::EngineUnavailable(error)),
        }
    }
}
