//! A load on the simulated flash device, in its time: what a drive does when it is written for long is seen by any load.

use iostall_engine::guard::WriteConsent;
use iostall_engine::sim::SimFile;
use iostall_engine::{SimConfig, SimDevice};
use iostall_flash::theory::{NandTimes, greedy};
use iostall_flash::{FlashBuild, FlashDevice};
use iostall_load::parse_profile;
use iostall_load::window::StopToken;
use iostall_measure::clock::NoRealSleep;
use iostall_measure::{Durability, ManualClock, RunClock};
use iostall_model::LoadOutcome;
use iostall_model::flash::{Collect, FlashCare, FlashSettings, Separation, WritePattern};
use iostall_session::load::{LoadRequest, load};
use iostall_session::recorder::Program;
use iostall_session::targets::TargetRequest;
use iostall_session::{Dependencies, EngineChoice, Session};

const PAGES: u32 = 16_000;
const PLANES: u32 = 4;

fn build(alpha: f64) -> FlashBuild {
    FlashBuild {
        settings: FlashSettings {
            page_bytes: 4096,
            pages_per_block: 64,
            user_pages: PAGES,
            alpha,
            collect: Collect::Greedy,
            separation: Separation::None,
            pattern: WritePattern::Uniform,
            trim_share: 0.0,
            care: FlashCare::default(),
            seed: 1,
        },
        planes: PLANES,
        channels: 2,
        times: NandTimes::TYPICAL,
        transfer_us: 10.0,
        idle_us: None,
    }
}

/// Writes of each second of a load of random writes, 16 in flight, on a full device.
fn writes_per_s(alpha: f64) -> Vec<u64> {
    let mut model = FlashDevice::new(&build(alpha)).unwrap();
    model.fill().unwrap();
    let size_bytes = u64::from(PAGES) * 4096;
    let file = SimFile { size_bytes, durability: Durability::WriteThrough, ..SimFile::default() };
    let config = SimConfig { seed: 7, files: vec![file], ..SimConfig::default() };
    let device = SimDevice::with_model(config, Box::new(model), ManualClock::new());
    let role = "block-size = '4K'\nwrite-pct = 100\nqueue-depth = 16\n";
    let times = "warmup = '0s'\nduration = '40s'\n";
    let profile =
        parse_profile(&format!("name = 'p'\n{times}[[role]]\nname = 'data'\n{role}"), "test").unwrap();
    let targets = TargetRequest::of_paths(Vec::new(), None, WriteConsent::none());
    let request = LoadRequest { targets, profile, asked: None, name: "flash".to_owned() };
    let (stop, _guard) = (StopToken::default(), NoRealSleep::on_this_thread());
    let clock = RunClock::Manual(device.clock().clone());
    let given = Dependencies { program: Program::default(), clock, stop: &stop, observer: &() };
    let session = Session::begin(EngineChoice::Simulated(device.clone()), given).unwrap();
    let run = load(request, &session).unwrap();
    let role = &run.body.as_kind::<LoadOutcome>().unwrap().spans[0].roles[0];
    role.series.iter().map(|point| point.ops.iter().map(|ops| ops.count).sum()).collect()
}

/// A drive with 7 % spare area and one with 28 % begin alike. The one falls off the cliff after a tenth of a fill, the other later
/// and less deep.
#[test]
fn a_load_sees_the_cliff_and_what_the_spare_area_is_worth() {
    let (little, much) = (writes_per_s(1.07), writes_per_s(1.28));
    let steady = |counts: &[u64]| counts[30..].iter().sum::<u64>() as f64 / counts[30..].len() as f64;
    let formula =
        |amplification: f64| f64::from(PLANES) / NandTimes::TYPICAL.write_us(amplification, 64) * 1e6;
    let fresh = much[0] as f64;
    assert!(fresh > formula(1.0) * 0.7 && fresh < formula(1.0) * 1.05, "{fresh} for {}", formula(1.0));
    for (counts, alpha) in [(&little, 1.07), (&much, 1.28)] {
        let (found, most) = (steady(counts), formula(greedy(alpha, 64)));
        // Planes that collect hold up the others.
        assert!(found < most * 1.1 && found > most * 0.4, "alpha {alpha}: {found} for {most}: {counts:?}");
    }
    assert!(steady(&much) > steady(&little) * 2.0, "{} {}", steady(&much), steady(&little));
}
