//! The simulated drives of these tests, and how they are qualified.

use std::path::PathBuf;

use iostall_engine::guard::WriteConsent;
use iostall_engine::sim::{DeviceModel, SimFile};
use iostall_engine::{SimConfig, SimDevice};
use iostall_flash::theory::NandTimes;
use iostall_flash::{FlashBuild, FlashDevice};
use iostall_load::window::StopToken;
use iostall_measure::clock::NoRealSleep;
use iostall_measure::{Durability, ManualClock, Nanos, RunClock};
use iostall_model::flash::{Collect, FlashCare, FlashSettings, Separation, WritePattern};
use iostall_model::qualify::{QualifyPlan, QualifyScale, QualifyTest};
use iostall_model::{QualifyOutcome, Run};
use iostall_session::qualify::{QualifyRequest, QualifyStores, plan_of, qualify};
use iostall_session::recorder::Program;
use iostall_session::{Dependencies, EngineChoice, Observer, Session, SessionError};

pub(crate) const MS_NS: u64 = 1_000_000;
pub(crate) const PAGES_PER_BLOCK: u32 = 64;

/// A drive of one plane with `blocks` blocks, which has the speed that the formulas give. `is_full`: every page was written once.
pub(crate) fn drive(alpha: f64, blocks: u32, is_full: bool) -> SimDevice {
    drive_with(NandTimes::TYPICAL, alpha, blocks, is_full)
}

pub(crate) fn drive_with(times: NandTimes, alpha: f64, blocks: u32, is_full: bool) -> SimDevice {
    flash(&FlashBuild { times, ..build(alpha, blocks) }, is_full)
}

/// One plane with `blocks` blocks.
pub(crate) fn build(alpha: f64, blocks: u32) -> FlashBuild {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers of a test")]
    let user_pages = (f64::from(blocks * PAGES_PER_BLOCK) / alpha).round() as u32;
    let settings = FlashSettings {
        page_bytes: 4096,
        pages_per_block: PAGES_PER_BLOCK,
        user_pages,
        alpha,
        collect: Collect::Greedy,
        separation: Separation::None,
        pattern: WritePattern::Uniform,
        trim_share: 0.0,
        care: FlashCare::default(),
        seed: 1,
    };
    let (planes, channels) = (1, 1);
    FlashBuild { settings, planes, channels, times: NandTimes::TYPICAL, transfer_us: 1.0, idle_us: None }
}

pub(crate) fn flash(build: &FlashBuild, is_full: bool) -> SimDevice {
    let mut model = FlashDevice::new(build).unwrap();
    if is_full {
        model.fill().unwrap();
    }
    device(build.settings.user_bytes(), Box::new(model))
}

/// A drive of `size_bytes` that answers as `model` says.
pub(crate) fn device(size_bytes: u64, model: Box<dyn DeviceModel>) -> SimDevice {
    let file = SimFile { size_bytes, durability: Durability::WriteThrough, ..SimFile::default() };
    let config = SimConfig { seed: 7, files: vec![file], ..SimConfig::default() };
    SimDevice::with_model(config, model, ManualClock::new())
}

pub(crate) fn request(test: QualifyTest, scale: QualifyScale, cell_ms: u64) -> QualifyRequest {
    let plan = plan_of(test, scale);
    QualifyRequest {
        target: PathBuf::from("drive"),
        consent: WriteConsent::none(),
        plan: QualifyPlan { queue_depth: 4, workers: 1, cell: Nanos(cell_ms * MS_NS), ..plan },
        rated_bytes: None,
        name: "q".to_owned(),
    }
}

pub(crate) fn on(
    device: &SimDevice,
    request: QualifyRequest,
    stores: QualifyStores<'_>,
    stop: &StopToken,
    observer: &dyn Observer,
) -> Result<Run, SessionError> {
    let _guard = NoRealSleep::on_this_thread();
    let clock = RunClock::Manual(device.clock().clone());
    let given = Dependencies { program: Program::default(), clock, stop, observer };
    let session = Session::begin(EngineChoice::Simulated(device.clone()), given).unwrap();
    qualify(request, stores, &session)
}

pub(crate) fn alone(device: &SimDevice, request: QualifyRequest) -> QualifyOutcome {
    let run = on(device, request, QualifyStores::default(), &StopToken::default(), &()).unwrap();
    run.body.as_kind::<QualifyOutcome>().unwrap().clone()
}
