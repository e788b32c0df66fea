//! A search in progress, and the load of its probes.

use iostall_measure::{BlockSize, Caching, Durability, Percent};
use iostall_model::limits::LimitsPlan;
use iostall_model::profile::{Access, BlockMix};
use iostall_model::{LimitsOutcome, RoleProfile};

use super::budget::Budget;
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
