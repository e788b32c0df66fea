//! What a search may still take: time and bytes.

use iostall_model::limits::{LimitsEnd, LimitsPlan};

#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    whole_ns: u64,
    whole_bytes: u64,
    end_ns: u64,
    left_bytes: u64,
}

impl Budget {
    pub(super) fn new(plan: &LimitsPlan, now_ns: u64) -> Self {
        let (whole_ns, whole_bytes) = (plan.time_limit.0, plan.byte_limit.bytes());
        Self { whole_ns, whole_bytes, end_ns: now_ns.saturating_add(whole_ns), left_bytes: whole_bytes }
    }

    pub(super) fn whole_s(&self) -> f64 {
        self.whole_ns as f64 / 1e9
    }

    pub(super) fn left_ns(&self, now_ns: u64) -> u64 {
        self.end_ns.saturating_sub(now_ns)
    }

    pub(super) fn bytes(&self, share: f64) -> u64 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts saturate")]
        let bytes = (self.whole_bytes as f64 * share) as u64;
        bytes.min(self.left_bytes)
    }

    pub(super) fn spend(&mut self, bytes: u64) {
        self.left_bytes = self.left_bytes.saturating_sub(bytes);
    }

    /// Which of the two is used up for requests of `size` bytes.
    pub(super) fn is_over(&self, now_ns: u64, size: u32) -> Option<LimitsEnd> {
        if self.left_bytes < u64::from(size) {
            Some(LimitsEnd::Bytes)
        } else {
            (self.left_ns(now_ns) == 0).then_some(LimitsEnd::Time)
        }
    }
}
