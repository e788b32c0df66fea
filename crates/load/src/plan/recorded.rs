//! A recorded sequence of requests in place of a drawn one.

use std::sync::Arc;

use iostall_model::RoleProfile;

use super::{PlanError, Planned, StreamPlace};

/// Requests as they were recorded. The workers of a role take turns on them, and begin again at the end.
#[derive(Clone, Debug)]
pub(super) struct RecordedPath {
    requests: Arc<[Planned]>,
    next: usize,
    step: usize,
}

impl RecordedPath {
    /// The part of worker `place.worker_index`. Every request must fit the role's buffers, the target and its sectors.
    pub(super) fn new(
        role: &RoleProfile,
        place: &StreamPlace,
        requests: Arc<[Planned]>,
    ) -> Result<Self, PlanError> {
        let unfit = |request: &&Planned| !fits(role, place, request);
        let first_unfit = requests.iter().find(unfit).copied();
        if let Some(Planned { offset, length, .. }) = first_unfit {
            return Err(PlanError::Recorded { role: role.name.clone(), offset, length });
        }
        let (next, step) = (place.worker_index as usize, place.workers as usize);
        if next >= requests.len() {
            let (role, requests) = (role.name.clone(), requests.len());
            return Err(PlanError::TooFewRecorded { role, requests, workers: place.workers });
        }
        Ok(Self { requests, next, step })
    }

    #[inline]
    pub(super) fn next(&mut self) -> Planned {
        let planned = self.requests[self.next];
        self.next += self.step;
        if self.next >= self.requests.len() {
            // Back to this worker's first: a lap of all workers then has each request once.
            self.next %= self.step;
        }
        planned
    }
}

fn fits(role: &RoleProfile, place: &StreamPlace, request: &Planned) -> bool {
    let (length, sector) = (u64::from(request.length), u64::from(place.sector_align.max(1)));
    let is_whole = request.offset.is_multiple_of(sector) && length.is_multiple_of(sector) && length > 0;
    let is_inside = request.offset.checked_add(length).is_some_and(|end| end <= place.target_size_bytes);
    let has_buffer = request.length <= role.block_size.largest().bytes();
    let is_allowed = role.writes() || request.op != iostall_measure::Op::Write;
    is_whole && is_inside && has_buffer && is_allowed
}
