//! How fast an open loop goes against what its profile asks: a number that can be changed while it runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A factor on the rates of all open loops of a span: 1 is what was asked for. Its copies are one and the same.
#[derive(Clone, Debug)]
pub struct Speed(Arc<AtomicU64>);

impl Default for Speed {
    fn default() -> Self {
        Self(Arc::new(AtomicU64::new(1.0_f64.to_bits())))
    }
}

impl Speed {
    /// Changes the factor from now on. Values not above 0 are ignored, because the next request would never be due.
    pub fn set(&self, factor: f64) {
        if factor.is_finite() && factor > 0.0 {
            self.0.store(factor.to_bits(), Ordering::Relaxed);
        }
    }

    #[inline]
    pub fn factor(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }
}
