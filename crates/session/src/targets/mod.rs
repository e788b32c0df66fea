//! The targets of a run: checked, created if missing, opened, described.

mod hold;
mod make;
mod named;

use std::path::PathBuf;

use iostall_engine::SimDevice;
use iostall_engine::files::{FileNow, PathNow, discard, punch_hole};
use iostall_engine::nvme::{Erase, EraseError, Erased, erase};
use iostall_load::LoadTarget;
use iostall_measure::platform::{Target, TargetKind};
use iostall_measure::{ByteCount, Clock};
use iostall_model::Profile;
use iostall_model::qualify::Purged;

use crate::error::SessionError;
use crate::machine::device_names;
use crate::names::check_named_once;
use hold::Hold;
use make::{DEFAULT_SIZE, Making, Ready, scratch_size};
use named::{Named, name_targets};

pub use iostall_engine::guard::{WriteConsent, made_by_iostall};
pub(crate) use make::Maker;
pub use named::{OwnSize, SCRATCH_NAME, TargetBinding, TargetRequest, named_or_scratch};

/// The block at the start of a file that says that iostall made it.
const MARK_BYTES: u64 = 4096;

/// All targets of a run. A scratch file is removed when this is dropped.
pub struct Targets {
    ready: Vec<Ready>,
}

impl Targets {
    pub(crate) fn prepare(
        request: &TargetRequest,
        profile: &Profile,
        maker: &Maker<'_>,
    ) -> Result<Self, SessionError> {
        let named = name_targets(request, profile)?;
        check_named_once(named.iter().map(|target| target.path.as_path()))?;
        let mut size = request.size;
        if size.is_none() && named.iter().any(|target| target.is_scratch) {
            size = Some(scratch_size()?);
        }
        let making = Making { maker, seed: profile.seed, consent: &request.consent, size };
        let prepare = |target: Named| -> Result<Ready, SessionError> {
            let is_default = || {
                let has_default =
                    target.path.metadata().is_ok_and(|found| found.len() == DEFAULT_SIZE.bytes());
                has_default && made_by_iostall(&target.path).unwrap_or(false)
            };
            let is_chosen = request.size.is_none() && target.own.is_none();
            let size_chosen = is_chosen && (!target.path.exists() || is_default());
            Ok(Ready { size_chosen, ..making.prepare(target)? })
        };
        let ready = named.into_iter().map(prepare).collect::<Result<_, _>>()?;
        Ok(Self { ready })
    }

    /// Synthetic targets for the null engine, which opens nothing: one for each name that roles use, or one
    /// for all.
    pub(crate) fn synthetic(request: &TargetRequest) -> Self {
        let stand_in = |name: Option<String>, path: PathBuf, size: Option<ByteCount>| {
            let size_bytes = size.or(request.size).unwrap_or(DEFAULT_SIZE).bytes();
            let facts = Target::new(&path, TargetKind::Synthetic, size_bytes);
            let hold = Hold::nothing(&path);
            let first_header = hold.first_header();
            let load = LoadTarget { name, path: path.clone(), open_path: path, size_bytes, first_header };
            Ready { load, span_bytes: Vec::new(), facts, hold, size_chosen: false }
        };
        let made = |of: Option<&String>| {
            request.sizes.iter().find(|(name, _)| name.as_ref() == of).and_then(|(_, own)| own.made)
        };
        let bound = request.bindings.iter().map(|binding| {
            stand_in(Some(binding.name.clone()), binding.path.clone(), made(Some(&binding.name)))
        });
        let mut ready: Vec<Ready> = bound.collect();
        if ready.is_empty() || !request.paths.is_empty() {
            ready.push(stand_in(None, PathBuf::from("null"), made(None)));
        }
        Self { ready }
    }

    /// The files of a simulated device, assigned in order to the requested names; without any, all of them.
    pub(crate) fn simulated(request: &TargetRequest, device: &SimDevice) -> Self {
        let bound = request.bindings.iter().map(|binding| (Some(binding.name.clone()), binding.path.clone()));
        let plain = request.paths.iter().map(|path| (None, path.clone()));
        let sizes = device.file_sizes_bytes();
        let mut named: Vec<(Option<String>, PathBuf)> = plain.chain(bound).collect();
        if named.is_empty() {
            named = (0..sizes.len()).map(|file| (None, PathBuf::from(format!("simulated-{file}")))).collect();
        }
        let ready = |((name, path), whole_bytes): ((Option<String>, PathBuf), &u64)| {
            let size_bytes = request.size.map_or(*whole_bytes, |size| size.bytes().min(*whole_bytes));
            let facts = Target::new(&path, TargetKind::Synthetic, size_bytes);
            let hold = Hold::nothing(&path);
            let first_header = hold.first_header();
            let load = LoadTarget { name, path: path.clone(), open_path: path, size_bytes, first_header };
            Ready { load, span_bytes: Vec::new(), facts, hold, size_chosen: false }
        };
        Self { ready: named.into_iter().zip(&sizes).map(ready).collect() }
    }

    /// Discards what is used of the first target: on a device, or as holes in a file that iostall made, but for the block that says so.
    pub(crate) fn discard(&self) -> Result<Purged, SessionError> {
        let Some(ready) = self.ready.first() else { return Ok(Purged::None) };
        let path = || ready.load.path.clone();
        let Some(grant) = ready.hold.grant() else { return Err(SessionError::CannotPurge { path: path() }) };
        let (is_done, purged) = match ready.facts.kind {
            TargetKind::BlockDevice => {
                (discard(grant.file(), &(0..ready.load.size_bytes))?, Purged::Discarded)
            }
            TargetKind::File if hold::is_ours(grant) => {
                (punch_hole(grant.file(), &(MARK_BYTES..ready.load.size_bytes))?, Purged::Punched)
            }
            TargetKind::File | TargetKind::Synthetic => (false, Purged::None),
        };
        if is_done { Ok(purged) } else { Err(SessionError::CannotPurge { path: path() }) }
    }

    /// Erases the NVMe drive that the first target is, all of it. `go_on` hears which part is done, and says whether to go on waiting.
    pub(crate) fn erase(
        &self,
        how: Erase,
        clock: &impl Clock,
        go_on: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Purged, SessionError> {
        let Some(ready) = self.ready.first() else { return Ok(Purged::None) };
        let refused = |cause| SessionError::NotErased { path: ready.load.path.clone(), cause };
        let is_disk = ready.facts.device.as_ref().is_some_and(|device| device.below.is_empty());
        let Some(grant) =
            ready.hold.grant().filter(|_| is_disk && ready.facts.kind == TargetKind::BlockDevice)
        else {
            return Err(refused(EraseError::NotNvme));
        };
        match erase(grant.file(), how, clock, go_on) {
            Ok(Erased::UserData) => Ok(Purged::Formatted),
            Ok(Erased::Blocks) => Ok(Purged::BlocksErased),
            Ok(Erased::Key) => Ok(Purged::KeyErased),
            Err(cause) => Err(refused(cause)),
        }
    }

    pub fn count(&self) -> usize {
        self.ready.len()
    }

    pub fn used_bytes(&self) -> Vec<u64> {
        self.ready.iter().map(|ready| ready.load.size_bytes).collect()
    }

    pub(crate) fn for_span(&self, index: usize) -> Vec<LoadTarget> {
        let of_span = |ready: &Ready| LoadTarget {
            size_bytes: ready.span_bytes.get(index).copied().unwrap_or(ready.load.size_bytes),
            ..ready.load.clone()
        };
        self.ready.iter().map(of_span).collect()
    }

    pub(crate) fn facts(&self) -> Vec<Target> {
        self.ready.iter().map(|ready| ready.facts.clone()).collect()
    }

    /// Distinct names of the block devices under them, including the lowest layers.
    pub(crate) fn devices(&self) -> Vec<String> {
        device_names(self.ready.iter().map(|ready| &ready.facts))
    }

    /// Whether each was made for this run with a size that nobody asked for.
    pub(crate) fn sizes_chosen(&self) -> Vec<bool> {
        self.ready.iter().map(|ready| ready.size_chosen).collect()
    }

    pub(crate) fn sizes_now(&self) -> Vec<Option<u64>> {
        let size = |ready: &Ready| match ready.facts.kind {
            TargetKind::File => ready.hold.now().map(|now| now.size_bytes),
            TargetKind::BlockDevice | TargetKind::Synthetic => Some(ready.facts.size_bytes),
        };
        self.ready.iter().map(size).collect()
    }

    /// Checks whether the files are unchanged. Cheap enough for every tick of a run.
    pub(crate) fn look(&self) {
        self.ready.iter().for_each(|ready| ready.hold.look());
    }

    pub(crate) fn paths_now(&self) -> Vec<PathNow> {
        self.ready.iter().map(|ready| ready.hold.path_now()).collect()
    }

    pub(crate) fn least_seen(&self) -> Vec<Option<FileNow>> {
        self.ready.iter().map(|ready| ready.hold.least_seen()).collect()
    }
}
