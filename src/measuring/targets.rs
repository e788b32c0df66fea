//! The targets of a run: checked, made where they are not there, opened, described.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use iostall_engine::files::{FileNow, PathNow, UnfinishedFile};
use iostall_engine::guard::{
    FreeSpaceError, GrantReason, HeaderKind, Refusal, WriteConsent, WriteGrant, check_free_space,
    check_write, hold_for_reading, made_by_iostall, mark_made_by_iostall,
};
use iostall_engine::open::{OpenOptions, open_target};
use iostall_engine::target_facts;
use iostall_host as host;
use iostall_load::prepare::{PrepareError, SIZE_ALIGN, write_range};
use iostall_load::{EngineKind, LoadTarget};
use iostall_measure::platform::{Target, TargetKind};
use iostall_measure::{ByteCount, Caching};
use iostall_model::{Profile, RoleProfile};

use super::hold::{Hold, is_ours};
use super::{Interrupted, Session};
use crate::cli::TargetBinding;
use crate::failure::hinted;
use iostall_session::names::{check_named_once, is_named};

/// Name of the file that is made where none is named.
pub(crate) const SCRATCH_NAME: &str = "iostall-scratch.dat";
/// What is loaded where `paths` are named: they, or else the scratch file.
pub(crate) fn named_or_scratch(paths: &[PathBuf]) -> Vec<PathBuf> {
    if paths.is_empty() { vec![PathBuf::from(SCRATCH_NAME)] } else { paths.to_vec() }
}

/// A scratch file is no larger than this, so that the first run does not keep anybody waiting.
const SCRATCH_BYTES_MAX: u64 = 4 << 30;
/// Size of a file that is made where no size is given.
const DEFAULT_SIZE: ByteCount = ByteCount(1 << 30);

/// One target, ready.
struct Ready {
    load: LoadTarget,
    /// How much of it each span uses; spans beyond the last use what `load` says.
    span_bytes: Vec<u64>,
    facts: Target,
    hold: Hold,
}

/// All targets of a run. The scratch file, where there is one, goes with this value.
pub(crate) struct Targets {
    ready: Vec<Ready>,
}

/// What the user asked to load.
pub(crate) struct TargetRequest {
    /// Files and devices without a name. Neither these nor bindings: a scratch file in the working directory.
    pub(crate) paths: Vec<PathBuf>,
    /// Files and devices that roles ask for by name.
    pub(crate) bindings: Vec<TargetBinding>,
    /// Sizes of bound files that have some of their own, by name.
    pub(crate) sizes: Vec<(String, OwnSize)>,
    /// Size of a file that is made; of an existing target, how much of it is used.
    pub(crate) size: Option<ByteCount>,
    /// What may be overwritten.
    pub(crate) consent: WriteConsent,
}

/// The size of one target, for itself alone.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnSize {
    /// A file is made in this size, and one of ours made as large.
    pub(crate) made: Option<ByteCount>,
    /// How much of it each span uses; `None`: as much as was found. Spans beyond the last use all.
    pub(crate) in_spans: Vec<Option<ByteCount>>,
}

/// A target as named.
struct Named {
    name: Option<String>,
    path: PathBuf,
    /// Size of its own, where it has one.
    own: Option<OwnSize>,
    roles_write: bool,
    buffered: bool,
    /// Named by nobody: made for this run, and removed after it.
    is_scratch: bool,
}

impl Targets {
    /// Checks, makes and describes what the command line names.
    pub(super) fn prepare(
        request: &TargetRequest,
        profile: &Profile,
        session: &Session<'_>,
    ) -> anyhow::Result<Self> {
        if session.engine == EngineKind::Null {
            return Ok(Self::synthetic(request));
        }
        let named = name_targets(request, profile)?;
        check_named_once(named.iter().map(|target| target.path.as_path()))?;
        let mut size = request.size;
        if size.is_none() && named.iter().any(|target| target.is_scratch) {
            size = Some(scratch_size()?);
        }
        let maker = Maker { session, seed: profile.seed, consent: &request.consent, size };
        let ready = named.into_iter().map(|target| maker.prepare(target)).collect::<anyhow::Result<_>>()?;
        Ok(Self { ready })
    }

    /// Stand-ins for the null engine, which opens nothing: one for each name that roles ask for, or one for all.
    fn synthetic(request: &TargetRequest) -> Self {
        let stand_in = |name: Option<String>, path: PathBuf, size: Option<ByteCount>| {
            let size_bytes = size.or(request.size).unwrap_or(DEFAULT_SIZE).bytes();
            let facts = Target::new(&path, TargetKind::Synthetic, size_bytes);
            let hold = Hold::nothing(&path);
            let first_header = hold.first_header();
            let load = LoadTarget { name, path: path.clone(), open_path: path, size_bytes, first_header };
            Ready { load, span_bytes: Vec::new(), facts, hold }
        };
        let bound = request.bindings.iter().map(|binding| {
            let own = request.sizes.iter().find(|(name, _)| *name == binding.name);
            stand_in(Some(binding.name.clone()), binding.path.clone(), own.and_then(|(_, own)| own.made))
        });
        let mut ready: Vec<Ready> = bound.collect();
        if ready.is_empty() || !request.paths.is_empty() {
            ready.push(stand_in(None, PathBuf::from("null"), None));
        }
        Self { ready }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.ready.len()
    }

    /// How much of each is used, from its start.
    pub(crate) fn used_bytes(&self) -> Vec<u64> {
        self.ready.iter().map(|ready| ready.load.size_bytes).collect()
    }

    /// For the runner, in span `index` of the profile.
    pub(super) fn for_span(&self, index: usize) -> Vec<LoadTarget> {
        let of_span = |ready: &Ready| LoadTarget {
            size_bytes: ready.span_bytes.get(index).copied().unwrap_or(ready.load.size_bytes),
            ..ready.load.clone()
        };
        self.ready.iter().map(of_span).collect()
    }

    /// What they are, for the run's record.
    pub(super) fn facts(&self) -> Vec<Target> {
        self.ready.iter().map(|ready| ready.facts.clone()).collect()
    }

    /// Names of the block devices under them, each once, the lowest layers included.
    pub(super) fn devices(&self) -> Vec<String> {
        fn collect(device: &iostall_measure::platform::Device, names: &mut Vec<String>) {
            if !names.contains(&device.name) {
                names.push(device.name.clone());
            }
            device.below.iter().for_each(|below| collect(below, names));
        }
        let mut names = Vec::new();
        self.ready
            .iter()
            .filter_map(|ready| ready.facts.device.as_ref())
            .for_each(|device| collect(device, &mut names));
        names
    }

    /// Their sizes now.
    pub(super) fn sizes_now(&self) -> Vec<Option<u64>> {
        let size = |ready: &Ready| match ready.facts.kind {
            TargetKind::File => ready.hold.now().map(|now| now.size_bytes),
            TargetKind::BlockDevice | TargetKind::Synthetic => Some(ready.facts.size_bytes),
        };
        self.ready.iter().map(size).collect()
    }

    /// Looks whether the files are still what they were. Cheap enough for every tick of a run.
    pub(super) fn look(&self) {
        self.ready.iter().for_each(|ready| ready.hold.look());
    }

    /// What the path of each leads to now.
    pub(super) fn paths_now(&self) -> Vec<PathNow> {
        self.ready.iter().map(|ready| ready.hold.path_now()).collect()
    }

    /// The least that was seen of each file.
    pub(super) fn least_seen(&self) -> Vec<Option<FileNow>> {
        self.ready.iter().map(|ready| ready.hold.least_seen()).collect()
    }
}

fn name_targets(request: &TargetRequest, profile: &Profile) -> anyhow::Result<Vec<Named>> {
    let roles: Vec<&RoleProfile> = profile.spans.iter().flat_map(|span| &span.roles).collect();
    let names: Vec<&String> = request.bindings.iter().map(|binding| &binding.name).collect();
    for binding in &request.bindings {
        if !roles.iter().any(|role| role.targets.contains(&binding.name)) {
            let known: Vec<&str> = roles.iter().flat_map(|role| &role.targets).map(String::as_str).collect();
            let hint = match known.as_slice() {
                [] => "its roles all work on the files named without --target".to_owned(),
                known => format!("its roles ask for: {}", known.join(", ")),
            };
            let error = anyhow::anyhow!(
                "no role of the profile {:?} asks for a target {:?}",
                profile.name,
                binding.name
            );
            return Err(hinted(error, hint));
        }
    }
    let of = |name: Option<&String>, path: &Path| {
        let works_here = |role: &&&RoleProfile| match name {
            Some(name) => role.targets.contains(name),
            None => !role.targets.iter().any(|wanted| names.contains(&wanted)),
        };
        let here: Vec<_> = roles.iter().filter(works_here).collect();
        Named {
            name: name.cloned(),
            path: path.to_owned(),
            own: name.and_then(|name| {
                request.sizes.iter().find(|(sized, _)| sized == name).map(|(_, own)| own.clone())
            }),
            roles_write: here.iter().any(|role| role.writes()),
            buffered: !here.is_empty() && here.iter().all(|role| role.caching == Caching::Buffered),
            is_scratch: false,
        }
    };
    let mut all: Vec<Named> = request.paths.iter().map(|path| of(None, path)).collect();
    all.extend(request.bindings.iter().map(|binding| of(Some(&binding.name), &binding.path)));
    if all.is_empty() {
        all.push(Named { is_scratch: true, ..of(None, Path::new(SCRATCH_NAME)) });
    }
    Ok(all)
}

/// As large as one would like (twice the memory), as the file system has room for, and as one would wait for.
fn scratch_size() -> anyhow::Result<ByteCount> {
    let here = Path::new(".");
    let space = host::file_system_of(here).context("cannot find the file system of this directory")?;
    let wanted = (host::host().memory_bytes * 2).min(space.free_bytes / 10).min(SCRATCH_BYTES_MAX);
    Ok(ByteCount(wanted.next_multiple_of(SIZE_ALIGN).max(64 << 20)))
}

/// Checks, makes and describes one target after the other.
struct Maker<'a> {
    session: &'a Session<'a>,
    seed: u64,
    consent: &'a WriteConsent,
    /// As typed.
    size: Option<ByteCount>,
}

impl Maker<'_> {
    fn prepare(&self, target: Named) -> anyhow::Result<Ready> {
        let size = match &target.own {
            Some(own) => own.made,
            None => self.size,
        };
        let found_bytes =
            fs::metadata(&target.path).ok().filter(fs::Metadata::is_file).map(|file| file.len());
        let too_small = self.is_too_small(&target, found_bytes, size);
        let mut written = None;
        if target.roles_write || too_small || target.is_scratch {
            let grant = check_write(&target.path, self.consent).map_err(|refusal| match refusal {
                Refusal::FileNotNamed { .. } if target.is_scratch => {
                    let error = anyhow::anyhow!("{SCRATCH_NAME} is in the way: iostall did not make it");
                    hinted(error, "name a FILE to load, or run in another directory")
                }
                refusal => refused(refusal),
            })?;
            // From here on a scratch file is removed, whatever fails.
            let hold = Hold::written(grant, target.is_scratch, &target.path);
            if let Some(grant) = hold.grant() {
                let empty = matches!(grant.reason(), GrantReason::Created | GrantReason::Empty);
                if too_small || empty {
                    self.make_file(&target.path, grant, size)?;
                }
            }
            written = Some(hold);
        }
        describe(target, written, size, found_bytes)
    }

    /// Whether a file is to be made, or made larger: one of ours, or one that has a size of its own and that the user has named
    /// as one to overwrite.
    fn is_too_small(&self, target: &Named, found_bytes: Option<u64>, size: Option<ByteCount>) -> bool {
        let Some(found_bytes) = found_bytes else { return fs::metadata(&target.path).is_err() };
        let may_grow = || {
            made_by_iostall(&target.path).unwrap_or(false)
                || target.own.is_some() && is_named(&target.path, &self.consent.overwrite)
        };
        found_bytes < size.map_or(0, ByteCount::bytes) && may_grow()
    }

    /// Writes the file to its size; one that was not there before goes again when that fails.
    fn make_file(&self, shown: &Path, grant: &WriteGrant, size: Option<ByteCount>) -> anyhow::Result<()> {
        let is_new = *grant.reason() == GrantReason::Created;
        let _listed = is_new.then(|| UnfinishedFile::at(grant.path()));
        let made = self.write_file(shown, grant, size);
        if made.is_err() && is_new {
            // What cannot be removed is left marked as ours, or empty.
            drop(grant.remove());
        }
        made
    }

    fn write_file(&self, shown: &Path, grant: &WriteGrant, size: Option<ByteCount>) -> anyhow::Result<()> {
        let wanted = size.unwrap_or(DEFAULT_SIZE).bytes().next_multiple_of(SIZE_ALIGN);
        let found = grant.file().metadata()?.len();
        // What the user has given up is written from its start, so that nothing of it is left.
        let from = if is_ours(grant) { found } else { 0 };
        check_free_space(grant.path().parent().unwrap_or(Path::new(".")), wanted.saturating_sub(found))
            .map_err(|error| match &error {
                FreeSpaceError::TooLittle { fits_bytes, .. } => {
                    let fits = fits_bytes / SIZE_ALIGN * SIZE_ALIGN;
                    hinted(error, format!("a size of {fits} bytes would fit (--size {fits}, -c{fits})"))
                }
                FreeSpaceError::System { .. } => error.into(),
            })?;
        let mut first_header = HeaderKind::Block;
        if is_ours(grant) {
            mark_made_by_iostall(grant.file())
                .with_context(|| format!("cannot mark {} as ours", shown.display()))?;
            first_header = HeaderKind::MadeFile;
        }
        let Session { printer, stop, engine, .. } = self.session;
        printer.note(&format!("making {} ({})", shown.display(), ByteCount(wanted)));
        let mut go_on = |done: u64| {
            let (done, whole) = (ByteCount(from + done), ByteCount(wanted));
            let share = done.bytes() as f64 / wanted as f64;
            printer.progress(share, &format!("making {}  {done} of {whole}", shown.display()));
            !stop.is_raised()
        };
        let written =
            write_range(&grant.open_path(), from, wanted, self.seed, first_header, *engine, &mut go_on);
        printer.clear();
        match written {
            Ok(()) => Ok(()),
            Err(PrepareError::Interrupted) => Err(Interrupted.into()),
            Err(error) => Err(error).with_context(|| format!("cannot make {}", shown.display())),
        }
    }
}

fn refused(refusal: Refusal) -> anyhow::Error {
    let hint = refusal.hint();
    hinted(refusal, hint)
}

fn describe(
    target: Named,
    written: Option<Hold>,
    size: Option<ByteCount>,
    found_bytes: Option<u64>,
) -> anyhow::Result<Ready> {
    let granted = written.as_ref().and_then(Hold::grant);
    let path = granted.map_or_else(|| target.path.clone(), WriteGrant::open_path);
    let caching = if target.buffered { Caching::Buffered } else { Caching::Direct };
    let opened = open_target(&path, &OpenOptions { caching, ..OpenOptions::default() })
        .map_err(|error| hinted(error, "name a file or block device that may be read"))?;
    let mut facts = target_facts(&target.path, opened.direct.clone())
        .with_context(|| format!("cannot look at {}", target.path.display()))?;
    facts.size_bytes = opened.size_bytes;
    let size_bytes = size.map_or(opened.size_bytes, |size| size.bytes().min(opened.size_bytes));
    if size_bytes == 0 {
        let error = anyhow::anyhow!("{} is empty: there is nothing to read", target.path.display());
        return Err(hinted(error, "name a file with data, or one that is not there and iostall makes it"));
    }
    let of_span = |bytes: &Option<ByteCount>| {
        let bytes = bytes.map(ByteCount::bytes).or(found_bytes);
        bytes.unwrap_or(opened.size_bytes).min(opened.size_bytes)
    };
    let span_bytes = target.own.iter().flat_map(|own| &own.in_spans).map(of_span).collect();
    let (open_path, hold) = if let Some(hold) = written {
        (path, hold)
    } else {
        let lock = hold_for_reading(&target.path, opened.file()).map_err(refused)?;
        (opened.open_path(), Hold::read(opened, lock, &target.path))
    };
    let first_header = hold.first_header();
    let load = LoadTarget { name: target.name, path: target.path, open_path, size_bytes, first_header };
    Ok(Ready { load, span_bytes, facts, hold })
}
