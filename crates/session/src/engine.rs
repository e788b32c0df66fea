//! The one choice of an engine.

use iostall_engine::SimDevice;
use iostall_engine::uring::{UringConfig, UringEngine};
use iostall_load::EngineKind;
use iostall_measure::Unavailable;

use crate::error::SessionError;
use crate::event::{Event, Observer};

/// What was asked for.
#[derive(Clone, Debug)]
pub enum EngineChoice {
    /// io_uring where the kernel allows it, else threads.
    Auto,
    /// io_uring or nothing.
    Uring,
    /// Threads.
    Psync,
    /// No I/O at all: the generator's own ceiling.
    Null,
    /// A simulated device, in its own time: no run on it takes any.
    Simulated(SimDevice),
}

/// What is used.
#[derive(Clone, Debug)]
pub(crate) struct ChosenEngine {
    pub(crate) kind: EngineKind,
    /// Why io_uring is not used, where it was wanted.
    pub(crate) fallback: Option<Unavailable>,
}

impl EngineChoice {
    /// io_uring where it is wanted and the kernel allows it; threads instead, with the cause, where anything would do.
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
