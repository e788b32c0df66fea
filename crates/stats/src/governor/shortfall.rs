//! Whether a transfer moves a little less than it may.
//!
//! A storage that is used up lets the transfer itself wait, a second or two before users report that they waited. The same is seen where
//! a transfer needs more requests in flight, so it is a hint only.

/// Averaging time, seconds.
const AVERAGING_S: f64 = 0.6;
/// What is short of the rate by less than this share is no shortfall; a request more or less in the averaging time counts extra.
const TOLERANCE: f64 = 0.06;
/// What is shorter than this is a pause of the transfer, and not the storage's: a rate grows by a few percent at a time.
const PAUSE: f64 = 0.5;

/// Averages of what a transfer might move and of what it moved, bytes a second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shortfall {
    allowed: f64,
    moved: f64,
}

impl Shortfall {
    /// For so many seconds `rate` was allowed, and `moved` bytes a second were moved.
    pub(super) fn note(&mut self, seconds: f64, rate: f64, moved: f64) {
        let weight = 1.0 - (-seconds / AVERAGING_S).exp();
        self.allowed += (rate - self.allowed) * weight;
        self.moved += (moved - self.moved) * weight;
    }

    /// What was moved, bytes a second, if that was a little less than allowed. Requests have at most `request_bytes`.
    pub(super) fn carried(&self, request_bytes: f64) -> Option<f64> {
        let request = request_bytes / (self.allowed * AVERAGING_S).max(1.0);
        let is_short = (PAUSE..1.0 - TOLERANCE - request).contains(&(self.moved / self.allowed.max(1.0)));
        is_short.then_some(self.moved)
    }

    pub(super) fn restart(&mut self, rate: f64) {
        (self.allowed, self.moved) = (rate, rate);
    }
}
