//! The plan of one stream: which request comes next.
//!
//! A stream is one worker × one role × one target. Its plan is pure: the same role, place and seed always
//! give the same endless sequence of requests. [`StreamPlan::next`] is called for every request, so it
//! neither allocates, nor locks, nor divides.

mod planned;
mod random;
mod recorded;
mod region;
mod rng;
mod sequence;
#[cfg(test)]
mod tests;
mod zipf;

use std::sync::Arc;

use iostall_measure::Op;
use iostall_model::RoleProfile;
use iostall_model::profile::Access;

pub use planned::{PlanError, Planned, StreamPlace};
pub use region::region_in;
pub use sequence::SharedSequence;

use planned::read_or_write;
use random::{MixedPath, RandomPath};
use recorded::RecordedPath;
use rng::{Bernoulli, SizeMix, StreamRng};
use sequence::{OwnPath, SharedPath};

/// An endless sequence of requests. A clone continues the same sequence from the same point.
#[derive(Clone, Debug)]
pub struct StreamPlan {
    rng: StreamRng,
    sizes: SizeMix,
    writes: Bernoulli,
    path: Path,
}

#[derive(Clone, Debug)]
enum Path {
    Random(RandomPath),
    Mixed(MixedPath),
    Own(OwnPath),
    /// Of reads, and of writes.
    Apart(Box<[OwnPath; 2]>),
    Shared(SharedPath),
    Recorded(RecordedPath),
}

impl StreamPlan {
    /// The plan of the stream at `place`. `shared` is the sequence that all workers of a role with
    /// `shared-sequence` use on one target; other roles pass `None`.
    ///
    /// The role must have passed [`crate::profile::check`]. What can still fail depends on the target: a
    /// block that does not fit, or a size that is not a multiple of the device's sectors.
    ///
    /// # Panics
    /// If the role needs a shared sequence and gets none, or if `place.worker_index` is not below
    /// `place.workers`: the caller's fault.
    pub fn new(
        role: &RoleProfile,
        place: StreamPlace,
        shared: Option<Arc<SharedSequence>>,
    ) -> Result<Self, PlanError> {
        assert!(place.worker_index < place.workers, "a worker counts from 0 among the workers of its role");
        let span = region::usable(role, &place)?;
        let path = match role.access {
            Access::Random => {
                let random = RandomPath::new(role, span, &place);
                match role.random_pct {
                    Some(share) if share.percent() < 100.0 => {
                        Path::Mixed(MixedPath::new(random, Bernoulli::new(share), span))
                    }
                    _ => Path::Random(random),
                }
            }
            Access::Sequential if role.shared_sequence => {
                let shared = shared.expect("a role with a shared sequence is planned with one");
                Path::Shared(SharedPath::new(role, span, shared))
            }
            Access::Sequential => {
                let own = OwnPath::new(role, &place, span)?;
                if role.apart { Path::Apart(Box::new([own.clone(), own])) } else { Path::Own(own) }
            }
        };
        Ok(Self {
            rng: StreamRng::new(place.seed, place.stream_number),
            sizes: SizeMix::new(&role.block_size),
            writes: Bernoulli::new(role.write_pct),
            path,
        })
    }

    /// The plan of the stream at `place` that makes recorded `requests` again, in place of what the role's access would draw.
    pub fn recorded(
        role: &RoleProfile,
        place: StreamPlace,
        requests: Arc<[Planned]>,
    ) -> Result<Self, PlanError> {
        Ok(Self {
            rng: StreamRng::new(place.seed, place.stream_number),
            sizes: SizeMix::new(&role.block_size),
            writes: Bernoulli::new(role.write_pct),
            path: Path::Recorded(RecordedPath::new(role, &place, requests)?),
        })
    }

    /// The next request. Measured at 4 ns for uniform random, 10 ns with a mix of sizes and writes, 33 to 44
    /// ns with a Zipf distribution.
    #[inline]
    #[expect(
        clippy::should_implement_trait,
        reason = "the sequence never ends, so an Option would only cost"
    )]
    pub fn next(&mut self) -> Planned {
        let size_index = self.sizes.pick(&mut self.rng);
        let length = self.sizes.bytes(size_index);
        let offset = match &mut self.path {
            Path::Random(path) => path.next(size_index, &mut self.rng),
            Path::Mixed(path) => return path.next(size_index, length, self.writes, &mut self.rng),
            Path::Own(path) => path.next(length),
            Path::Apart(paths) => {
                let op = read_or_write(self.writes, &mut self.rng);
                return Planned { op, offset: paths[usize::from(op == Op::Write)].next(length), length };
            }
            Path::Shared(path) => path.next(length),
            Path::Recorded(path) => return path.next(),
        };
        Planned { op: read_or_write(self.writes, &mut self.rng), offset, length }
    }
}
