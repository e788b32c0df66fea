//! A flash device that is simulated under a pattern of writes.

mod profile;
mod writes;

use std::ops::ControlFlow;
use std::path::PathBuf;

use iostall_flash::theory::{NandTimes, lifetime_bytes};
use iostall_flash::{FlashError, Steady, closed_forms, spare_for, steady};
use iostall_measure::Clock;
use iostall_model::flash::{Collect, FlashCare, FlashSettings, Separation, WritePattern};
use iostall_model::kinds::{FlashLife, Nand, SpareFor};
use iostall_model::{FlashOutcome, Profile, Run, RunBody};

use crate::error::{SessionError, UseCaseError};
use crate::event::{Event, RunProgress};
use crate::recorder::Ended;
use crate::session::Session;

/// Pages that are simulated of a larger device: amplification depends on the shape of its blocks and not on its size.
const PAGES_ENOUGH: u32 = 1 << 20;
/// At least so many blocks, because one is a part of the spare area.
const BLOCKS_ENOUGH: u32 = 2000;

#[derive(Clone, Debug, PartialEq)]
pub struct FlashRequest {
    pub device_bytes: u64,
    pub page_bytes: u32,
    /// A multiple of `page_bytes`.
    pub block_bytes: u64,
    /// Physical over user pages.
    pub alpha: f64,
    pub collect: Collect,
    pub separation: Separation,
    /// What is written, unless `writes` says it.
    pub pattern: WritePattern,
    /// A file with the writes, one a line: `offset,length`. They are repeated, and every page is simulated.
    pub writes: Option<PathBuf>,
    pub profile: Option<(String, Profile)>,
    pub trim_share: f64,
    /// What the device does beside garbage collection.
    pub care: FlashCare,
    pub seed: u64,
    pub fills: u32,
    pub is_whole: bool,
    /// Find the spare area for this amplification, and simulate that.
    pub wanted: Option<f64>,
    pub nand: Nand,
    pub daily_bytes: Option<u64>,
    pub name: String,
}

pub fn flash(request: &FlashRequest, session: &Session<'_>) -> Result<Run, SessionError> {
    let recorder = session.recorder();
    let mut settings = settings_of(request)?;
    let (sequence, name) = match (&request.writes, &request.profile) {
        (Some(path), _) => (writes::pages(path, &settings)?, path.display().to_string()),
        (None, Some((name, profile))) => (profile::pages(profile, &settings)?, name.clone()),
        (None, None) => (Vec::new(), String::new()),
    };
    if !sequence.is_empty() {
        settings.pattern = WritePattern::Sequence { name, writes: sequence.len() as u64 };
    }
    let progress = Progress { session, started_ns: session.clock().now_ns() };
    let mut found = None;
    if let Some(wanted) = request.wanted {
        found = spare_for(&settings, &sequence, wanted, &mut |done| progress.on("searching", done))
            .map_err(failed)?;
        settings.alpha = 1.0 + found.ok_or(SessionError::Interrupted)?.spare.mean;
    }
    let started_ns = session.clock().now_ns();
    let progress = Progress { session, started_ns };
    let steady = steady(&settings, &sequence, request.fills, &mut |done| progress.on("simulating", done));
    session.observer().on(&Event::ProgressEnded);
    let steady = steady.map_err(failed)?;
    if steady.tenths.is_empty() && session.stopped() {
        return Err(SessionError::Interrupted);
    }
    let elapsed_ns = session.clock().now_ns() - started_ns;
    let outcome = outcome(request, settings, steady, found, elapsed_ns);
    Ok(recorder.finish(Ended {
        name: request.name.clone(),
        targets: Vec::new(),
        warnings: Vec::new(),
        interrupted: session.interrupted(),
        body: RunBody::Flash(Box::new(outcome)),
    }))
}

fn outcome(
    request: &FlashRequest,
    settings: FlashSettings,
    steady: Steady,
    spare_for: Option<SpareFor>,
    elapsed_ns: u64,
) -> FlashOutcome {
    let write_amplification = steady.write_amplification();
    let mean = write_amplification.map(|between| between.mean);
    let Nand { read_us, program_us, erase_us, cycles } = request.nand;
    let times = NandTimes { read_us, program_us, erase_us };
    let life = mean.zip(cycles).map(|(mean, cycles)| FlashLife {
        written_bytes: lifetime_bytes(
            cycles as f64,
            request.device_bytes as f64 * settings.good_alpha(),
            mean,
            steady.wear.spread().unwrap_or(1.0),
        ),
        daily_bytes: request.daily_bytes,
    });
    FlashOutcome {
        device_bytes: request.device_bytes,
        memory_bytes: steady.memory_bytes,
        elapsed_ns,
        tenths_left_out: u32::try_from(steady.left_out).unwrap_or(u32::MAX),
        tenths: steady.tenths,
        write_amplification,
        closed_forms: closed_forms(&settings),
        wear: steady.wear,
        upkeep: (!settings.care.is_none()).then_some(steady.upkeep),
        nand: request.nand,
        // What a cache takes is programmed in other cells, of which the times say nothing.
        iops_ratio: mean
            .filter(|_| settings.care.slc_share <= 0.0)
            .map(|mean| times.iops_ratio(mean, settings.pages_per_block)),
        life,
        spare_for,
        settings,
    }
}

fn settings_of(request: &FlashRequest) -> Result<FlashSettings, SessionError> {
    let page_bytes = request.page_bytes.max(1);
    let per_block = request.block_bytes / u64::from(page_bytes);
    if per_block > 0 && !request.block_bytes.is_multiple_of(u64::from(page_bytes)) {
        let (block_bytes, page_bytes) = (request.block_bytes, page_bytes.into());
        return Err(failed(FlashError::Block { block_bytes, page_bytes }));
    }
    let user_pages = request.device_bytes / u64::from(page_bytes);
    let too_large = || failed(FlashError::TooLarge { user_pages, alpha: request.alpha });
    let pages_per_block = u32::try_from(per_block).map_err(|_| too_large())?;
    let enough = u64::from(PAGES_ENOUGH.max(BLOCKS_ENOUGH.saturating_mul(pages_per_block)));
    let has_places = request.writes.is_some()
        || request.profile.as_ref().is_some_and(|(_, profile)| profile::has_fixed_regions(profile));
    let simulated = if request.is_whole || has_places { user_pages } else { user_pages.min(enough) };
    Ok(FlashSettings {
        page_bytes,
        pages_per_block,
        user_pages: u32::try_from(simulated).map_err(|_| too_large())?,
        alpha: request.alpha,
        collect: request.collect,
        separation: request.separation,
        pattern: request.pattern.clone(),
        trim_share: request.trim_share,
        care: request.care,
        seed: request.seed,
    })
}

fn failed(error: FlashError) -> SessionError {
    let hint = match &error {
        FlashError::Geometry { .. } | FlashError::Block { .. } => {
            "--size, --page and --block set them: a block holds a whole number of pages"
        }
        FlashError::Alpha { .. } => "--spare 7% is usual for clients, 28% for servers",
        FlashError::TooLarge { .. } => {
            "a larger --page makes fewer of them; without --whole a part is simulated"
        }
        FlashError::TrimShare { .. } => "--trim 20% trims one page for four that are written",
        FlashError::Care { .. } => {
            "--bad 2% is the most that factories allow; --grown-bad 0.001% ends one block in 100,000 erases"
        }
        FlashError::WornOut { .. } => "give more --spare, fewer --fills, or a smaller --grown-bad",
        FlashError::Pattern { .. } => "--hot 10:90 writes a tenth of the data with 90 % of the writes",
        FlashError::Wanted { .. } | FlashError::OutOfReach { .. } => {
            "--want-wa 2 is half the endurance; sequential writes need no spare area"
        }
        FlashError::Full => "give more spare area, or simulate more blocks",
    };
    SessionError::OfUseCase(UseCaseError::new(error, Some(hint.to_owned())))
}

struct Progress<'a> {
    session: &'a Session<'a>,
    started_ns: u64,
}

impl Progress<'_> {
    fn on(&self, doing: &'static str, done: f64) -> ControlFlow<()> {
        let elapsed_ns = self.session.clock().now_ns() - self.started_ns;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts saturate")]
        let left_ns = (done > 0.0).then(|| (elapsed_ns as f64 * (1.0 / done - 1.0)).max(0.0) as u64);
        let whole = RunProgress::new(elapsed_ns, left_ns);
        self.session.observer().on(&Event::SimulationProgress { doing, done, whole });
        if self.session.stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
