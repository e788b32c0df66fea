//! `iostall drive qualify` on a simulated flash drive behind a real block device: fresh, the cliff, and the steady state that theory
//! gives.

use iostall_flash::theory::{NandTimes, greedy};
use iostall_flash::{FlashBuild, FlashDevice};
use iostall_model::flash::{Collect, FlashCare, FlashSettings, Separation, WritePattern};

use crate::rig::{Medium, Personality, Rig};
use crate::support::{Workspace, at_length, until};

const PAGES_PER_BLOCK: u32 = 8;
const BLOCKS: u32 = 1024;
const PAGE_BYTES: u32 = 4096;
/// The proportions of a real drive, and so slow that the machine always has the next request ready.
const TIMES: NandTimes = NandTimes { read_us: 60.0, program_us: 600.0, erase_us: 3000.0 };

fn drive(alpha: f64) -> FlashBuild {
    FlashBuild {
        settings: FlashSettings {
            page_bytes: PAGE_BYTES,
            pages_per_block: PAGES_PER_BLOCK,
            user_pages: BLOCKS * PAGES_PER_BLOCK,
            alpha,
            collect: Collect::Greedy,
            separation: Separation::None,
            pattern: WritePattern::Uniform,
            trim_share: 0.0,
            care: FlashCare::default(),
            seed: 17,
        },
        planes: 1,
        channels: 1,
        times: TIMES,
        transfer_us: 0.0,
        idle_us: None,
    }
}

/// A data sheet's figure was that of the fresh drive. Here the figure of the steady drive is known beforehand.
fn falls_to_the_analytic_steady_state(alpha: f64) {
    let here = Workspace::new();
    let build = drive(alpha);
    let mut model = FlashDevice::new(&build).unwrap();
    model.fill().unwrap();
    let size = build.settings.user_bytes();
    let medium = Medium::new(Personality::Uncached, size, 1);
    let what = "write saturation of a simulated drive";
    let Some(rig) = Rig::new(&here, what, medium, Some(Box::new(model))) else { return };
    let device = rig.name();
    let refused = here.run(&["drive", "qualify", "--test", "saturation", device]).expect_status(2);
    assert!(refused.stderr.contains(&format!("--overwrite {device}")), "{}", refused.stderr);
    let words = ["drive", "qualify", "--test", "saturation", "--cell", "2s", "--rounds", "100000"];
    let few = ["--workers", "1", "--queue-depth", "32", "--json", "o.json", "--overwrite", device, device];
    here.run(&[&words[..], &few].concat()).expect_status(0);
    let run = here.json("o.json");
    let qualify = &run["qualify"];
    let rounds = qualify["rounds"].as_array().unwrap();
    let rate = |rounds: &[serde_json::Value]| {
        let of = |name: &str| {
            let repeat = |round: &serde_json::Value| round["points"][0]["repeats"][0][name].as_f64().unwrap();
            rounds.iter().map(repeat).sum::<f64>()
        };
        of("count") / of("measured_ns") * 1e9
    };
    let per_second = |amplification| 1e6 / TIMES.write_us(amplification, PAGES_PER_BLOCK);
    let theory = per_second(greedy(alpha, PAGES_PER_BLOCK));
    // Until then the spare area was used up, and the rate settled.
    let is_before = |round: &&serde_json::Value| round["written_bytes"].as_u64().unwrap() <= size * 3 / 2;
    let steady = rate(&rounds[rounds.iter().filter(is_before).count()..]);
    assert!((steady / theory - 1.0).abs() < 0.05, "{alpha}: {steady} for {theory}");
    // The first sample had spare area left.
    let fresh = rate(&rounds[..1]);
    assert!(fresh > steady * 1.2, "{alpha}: {fresh} before {steady}");
    // And where the machine had time, the verdict is the same figure.
    if qualify["stopped"] == "steady" {
        let number = |name: &str| usize::try_from(qualify["steady"][name].as_u64().unwrap()).unwrap();
        let mean = rate(&rounds[number("first") - 1..number("last")]);
        assert!((mean / theory - 1.0).abs() < 0.05, "{alpha}: {mean} for {theory}");
    } else {
        assert_eq!(run["summary"]["state"], "not-steady", "{alpha}");
    }
}

#[test]
fn a_saturated_drive_falls_to_the_rate_that_its_spare_area_allows() {
    falls_to_the_analytic_steady_state(1.28);
    if at_length() {
        falls_to_the_analytic_steady_state(1.12);
        falls_to_the_analytic_steady_state(1.5);
    }
}

/// A test that panicked left a loop device and a mount, and the next ones found none free.
#[test]
fn a_rig_is_gone_after_a_panic() {
    let here = Workspace::new();
    let medium = Medium::new(Personality::Honest, 1 << 20, 1);
    let Some(rig) = Rig::new(&here, "rigs of tests that panic", medium, None) else { return };
    let device = rig.name().to_owned();
    let place = here.path("rig/drive");
    assert_eq!(Rig::attached(&device), Some(place.clone()));
    let panicked = std::thread::spawn(move || {
        let _rig = rig;
        std::panic::resume_unwind(Box::new("on purpose"));
    });
    assert!(panicked.join().is_err());
    until("a detached device", || (Rig::attached(&device) != Some(place.clone())).then_some(()));
    assert!(!place.exists(), "it is still mounted");
}
