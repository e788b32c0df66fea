//! A search in progress, what it may still take, and the load of its probes.

use iostall_measure::{BlockSize, Caching, Durability, Percent};
use iostall_model::limits::{LimitsEnd, LimitsPlan};
use iostall_model::profile::{Access, BlockMix};
use iostall_model::{LimitsOutcome, RoleProfile};

use crate::analysis::limits::PAGE;
use crate::point_runner::PointRunner;
use crate::session::Session;
use crate::targets::Targets;

pub(super) const NAMES: [&str; 2] = ["first", "second"];

pub(super) struct Search<'s> {
    pub(super) session: &'s Session<'s>,
    pub(super) runner: PointRunner<'s>,
    pub(super) targets: &'s Targets,
    pub(super) base: RoleProfile,
    pub(super) budget: Budget,
    pub(super) outcome: LimitsOutcome,
}

pub(super) fn role(base: &RoleProfile, plan: &LimitsPlan, size: BlockSize) -> RoleProfile {
    // Large requests fill a volume with fewer in flight, and a slow one is not left with minutes of them at the end.
    let bytes = u64::from(size.bytes());
    let share = u64::from(plan.queue_depth) * u64::from(PAGE) / bytes.max(u64::from(PAGE));
    let queue_depth = u32::try_from(share).unwrap_or(u32::MAX).max(plan.queue_depth.min(4));
    RoleProfile {
        block_size: BlockMix::single(size),
        access: Access::Random,
        write_pct: if plan.writes { Percent::HUNDRED } else { Percent::ZERO },
        queue_depth,
        workers: plan.workers,
        caching: Caching::Direct,
        durability: Durability::None,
        sync: None,
        ..base.clone()
    }
}

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
