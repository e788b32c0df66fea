//! Tables of write amplification that were made by an independent simulation and checked against the published formulas.

use iostall_model::flash::{Collect, FlashSettings, Separation, WriteClass, WritePattern};

use super::{assert_near, settings, steady};
use crate::Simulation;
use crate::theory;

/// As a formula, and simulated.
type Both = (f64, f64);

type UniformRow = (f64, f64, f64, [Both; 4], f64);
type SkewedRow = (f64, f64, f64, Both, f64, f64, Both);
type TrimmedRow = (f64, Both, [Both; 2]);

/// alpha; Agarwal and Marrow; FIFO; greedy with 32, 64, 128 and 256 pages a block as a mean field and as a simulation of 512k pages;
/// FIFO as a simulation with 64.
#[rustfmt::skip]
const UNIFORM: [UniformRow; 12] = [
    (1.03, 17.17, 17.337, [(11.609, 11.588), (13.857, 13.812), (15.355, 15.251), (16.270, 16.027)], 17.271),
    (1.05, 10.50, 10.672, [(8.090, 8.084), (9.196, 9.181), (9.877, 9.840), (10.259, 10.168)], 10.646),
    (1.07, 7.643, 7.817, [(6.347, 6.343), (7.010, 6.998), (7.392, 7.367), (7.597, 7.550)], 7.803),
    (1.0737, 7.284, 7.459, [(6.144, 6.139), (6.733, 6.724), (7.068, 7.050), (7.258, 7.212)], 7.445),
    (1.10, 5.500, 5.678, [(4.899, 4.895), (5.247, 5.243), (5.453, 5.442), (5.562, 5.538)], 5.670),
    (1.12, 4.667, 4.846, [(4.271, 4.271), (4.531, 4.528), (4.683, 4.674), (4.763, 4.746)], 4.842),
    (1.20, 3.000, 3.188, [(2.930, 2.929), (3.053, 3.052), (3.119, 3.116), (3.153, 3.147)], 3.185),
    (1.28, 2.286, 2.481, [(2.330, 2.330), (2.403, 2.402), (2.441, 2.440), (2.461, 2.458)], 2.481),
    (1.30, 2.167, 2.364, [(2.229, 2.228), (2.293, 2.293), (2.328, 2.326), (2.346, 2.343)], 2.363),
    (1.3743, 1.836, 2.040, [(1.942, 1.943), (1.989, 1.989), (2.014, 2.014), (2.027, 2.025)], 2.040),
    (1.50, 1.500, 1.716, [(1.649, 1.649), (1.681, 1.681), (1.698, 1.698), (1.707, 1.706)], 1.715),
    (2.00, 1.000, 1.255, [(1.223, 1.223), (1.239, 1.239), (1.247, 1.247), (1.251, 1.250)], 1.255),
];

const PAGES: [u32; 4] = [32, 64, 128, 256];

#[test]
fn the_closed_forms_give_the_table() {
    for (alpha, agarwal, fifo, greedy, _) in UNIFORM {
        assert_near(theory::agarwal_marrow(alpha), agarwal, 4e-4, "Agarwal and Marrow");
        assert_near(theory::fifo(alpha), fifo, 4e-4, "FIFO");
        for (pages, (model, _)) in PAGES.into_iter().zip(greedy) {
            assert_near(theory::greedy(alpha, pages), model, 4e-4, &format!("greedy {alpha} {pages}"));
            // The shorter form is good for large blocks and enough spare area.
            let error = if pages >= 128 && alpha >= 1.05 { 1e-3 } else { 0.03 };
            assert_near(theory::greedy_desnoyers(alpha, pages), model, error, "Desnoyers");
        }
    }
}

#[test]
fn the_closed_forms_give_the_published_anchors() {
    assert_near(theory::agarwal_marrow(1.3), 2.1667, 1e-4, "Agarwal and Marrow");
    assert_near(theory::fifo(1.3), 2.3642, 1e-4, "Xiang and Kurkoski");
    assert_near(theory::greedy(1.3, 512), 2.355, 3e-4, "greedy, large blocks");
    let classes = two_classes(0.1420, 0.7258);
    assert_near(theory::fifo_classes(1.0914, &classes), 6.589, 3e-4, "Desnoyers' hot and cold");
    // One random block is collected as it comes, and of many the best is that of greedy collection.
    assert_near(theory::choices(1.28, 64, 1), 1.28 / 0.28, 1e-9, "one choice");
    for alpha in [1.07, 1.28, 1.5] {
        assert_near(theory::choices(alpha, 64, 1000), theory::greedy(alpha, 64), 0.01, "many choices");
        let few = theory::choices(alpha, 64, 2);
        assert!(few > theory::choices(alpha, 64, 10) && few < alpha / (alpha - 1.0), "{alpha}: {few}");
    }
    assert!((theory::greedy(10.7, 128) - 1.0).abs() < 1e-9);
}

/// A single block is a part of the spare area that counts, where there is little.
fn enough_blocks(alpha: f64) -> u32 {
    if alpha < 1.06 { 8000 } else { 2000 }
}

#[test]
fn greedy_collection_gives_the_table_within_1_percent() {
    for (alpha, _, _, greedy, _) in UNIFORM {
        let (model, simulated) = greedy[1];
        let found = steady(&settings(alpha, 64, enough_blocks(alpha)), 16);
        assert_near(found, simulated, 0.01, &format!("simulated {alpha}"));
        assert_near(found, model, 0.01, &format!("mean field {alpha}"));
    }
    for (column, pages, blocks) in [(0, 32, 2000), (2, 128, 2000), (3, 256, 1000)] {
        for (alpha, _, _, greedy, _) in [UNIFORM[2], UNIFORM[5], UNIFORM[7], UNIFORM[11]] {
            let found = steady(&settings(alpha, pages, blocks), 16);
            assert_near(found, greedy[column].1, 0.01, &format!("simulated {alpha}, {pages} pages a block"));
        }
    }
}

#[test]
fn few_blocks_are_as_far_off_as_the_reference_says() {
    for (blocks, wanted, tolerance) in [(2000, 4.516, 0.003), (500, 4.474, 0.005), (200, 4.385, 0.01)] {
        let runs = 4;
        let one = |seed| steady(&FlashSettings { seed, ..settings(1.12, 64, blocks) }, 40);
        let mean = (0..runs).map(one).sum::<f64>() / runs as f64;
        assert_near(mean, wanted, tolerance, &format!("{blocks} blocks"));
        assert_near(mean, 4.531, 0.035, "the mean field");
    }
}

#[test]
fn fifo_collection_gives_the_table_within_1_percent() {
    for (alpha, _, fifo, _, simulated) in UNIFORM {
        let settings = FlashSettings { collect: Collect::Fifo, ..settings(alpha, 64, enough_blocks(alpha)) };
        let found = steady(&settings, 16);
        assert_near(found, simulated, 0.01, &format!("simulated {alpha}"));
        assert_near(found, fifo, 0.01, &format!("formula {alpha}"));
    }
}

#[test]
fn the_best_of_a_few_random_blocks_is_as_good_as_its_mean_field() {
    for (alpha, count) in [(1.07, 4), (1.12, 2), (1.12, 10), (1.28, 3), (1.28, 1)] {
        let settings = FlashSettings { collect: Collect::Choices(count), ..settings(alpha, 32, 2000) };
        let model = theory::choices(alpha, 32, count);
        assert_near(steady(&settings, 20), model, 0.01, &format!("{alpha}, {count} choices"));
    }
}

fn two_classes(data_share: f64, write_share: f64) -> [WriteClass; 2] {
    [
        WriteClass { data_share, write_share },
        WriteClass { data_share: 1.0 - data_share, write_share: 1.0 - write_share },
    ]
}

/// alpha; share of hot data, of its writes; FIFO as a formula and simulated; greedy in one pool; with blocks for what is moved;
/// separated, with the share of the spare area that the hot data gets.
#[rustfmt::skip]
const SKEWED: [SkewedRow; 7] = [
    (1.07, 0.2, 0.8, (8.182, 8.156), 7.371, 7.228, (4.732, 0.53)),
    (1.07, 0.1, 0.9, (8.866, 8.840), 8.118, 7.358, (2.984, 0.56)),
    (1.12, 0.2, 0.8, (5.204, 5.194), 4.890, 4.762, (3.159, 0.53)),
    (1.12, 0.1, 0.9, (5.824, 5.813), 5.565, 4.974, (2.107, 0.50)),
    (1.28, 0.2, 0.8, (2.820, 2.817), 2.748, 2.631, (1.814, 0.50)),
    (1.28, 0.1, 0.9, (3.296, 3.294), 3.235, 2.799, (1.382, 0.47)),
    (1.28, 0.05, 0.95, (3.788, 3.784), 3.660, 2.885, (1.152, 0.42)),
];

#[test]
fn hot_and_cold_data_give_the_table() {
    for (alpha, hot, writes, fifo, one_pool, moved, (separated, hot_spare)) in SKEWED {
        let classes = two_classes(hot, writes);
        assert_near(theory::fifo_classes(alpha, &classes), fifo.0, 4e-4, "FIFO, formula");
        let best = theory::separated(alpha, &classes, |alpha| theory::greedy(alpha, 64));
        assert_near(best.write_amplification, separated, 1e-3, "separated, formula");
        assert!((best.spare_shares[0] - hot_spare).abs() < 0.011, "{best:?} for {hot_spare}");
        let pattern = WritePattern::Classes(classes.to_vec());
        let of = |collect, separation| {
            steady(
                &FlashSettings { collect, separation, pattern: pattern.clone(), ..settings(alpha, 64, 2000) },
                20,
            )
        };
        let what = format!("{alpha} {hot}/{writes}");
        assert_near(of(Collect::Fifo, Separation::None), fifo.1, 0.01, &format!("{what} FIFO"));
        assert_near(of(Collect::Greedy, Separation::None), one_pool, 0.01, &format!("{what} greedy"));
        assert_near(of(Collect::Greedy, Separation::Moved), moved, 0.01, &format!("{what} moved apart"));
        let apart = of(Collect::Greedy, Separation::Classes);
        assert_near(apart, separated, 0.03, &format!("{what} separated"));
    }
}

#[test]
fn the_mix_of_the_endurance_standard_gives_its_formula() {
    let zones = [(0.05, 0.5), (0.15, 0.3), (0.8, 0.2)];
    let classes: Vec<_> =
        zones.map(|(data_share, write_share)| WriteClass { data_share, write_share }).to_vec();
    for (alpha, wanted) in [(1.0737, 8.16), (1.12, 5.51), (1.28, 3.03), (1.374, 2.53)] {
        assert_near(theory::fifo_classes(alpha, &classes), wanted, 2e-3, &format!("{alpha}"));
    }
    let pattern = WritePattern::Classes(classes);
    let simulated = FlashSettings { collect: Collect::Fifo, pattern, ..settings(1.28, 64, 1000) };
    assert_near(steady(&simulated, 20), 3.03, 0.01, "simulated");
}

#[test]
fn zipf_without_separation_gives_the_formula_of_its_classes() {
    let pattern = WritePattern::Zipf { theta: 0.9 };
    let simulated = FlashSettings { collect: Collect::Fifo, pattern, ..settings(1.28, 64, 1000) };
    let classes = theory::zipf_classes(simulated.user_pages, 0.9);
    assert_near(steady(&simulated, 30), theory::fifo_classes(1.28, &classes), 0.01, "Zipf");
}

/// Share of trims; live share as a formula and simulated; write amplification at alpha 1.07 and 1.28, each as a formula and simulated.
#[rustfmt::skip]
const TRIMMED: [TrimmedRow; 5] = [
    (0.05, (0.9474, 0.9472), [(4.264, 4.253), (2.070, 2.070)]),
    (0.10, (0.8889, 0.8887), [(3.013, 3.009), (1.806, 1.805)]),
    (0.20, (0.7500, 0.7500), [(1.838, 1.838), (1.418, 1.417)]),
    (0.30, (0.5714, 0.5710), [(1.301, 1.299), (1.161, 1.160)]),
    (0.40, (0.3333, 0.3324), [(1.040, 1.040), (1.015, 1.015)]),
];

#[test]
fn trims_are_spare_area() {
    for (trim_share, (live, _), amplifications) in TRIMMED {
        assert_near(theory::live_share(trim_share), live, 1e-3, "live share");
        for (alpha, (model, simulated)) in [1.07, 1.28].into_iter().zip(amplifications) {
            let effective = theory::effective_alpha(alpha, theory::live_share(trim_share));
            assert_near(theory::greedy(effective, 64), model, 1e-3, "formula");
            let settings = FlashSettings { trim_share, ..settings(alpha, 64, 2000) };
            let mut simulation = Simulation::new(&settings, &[]).unwrap();
            simulation.fill(0..settings.user_pages).unwrap();
            let fills = u64::from(settings.user_pages) * 10;
            simulation.run(fills).unwrap();
            let found = simulation.run(fills).unwrap().write_amplification().unwrap();
            assert_near(found, simulated, 0.01, &format!("{trim_share} at {alpha}"));
            let share = f64::from(simulation.ftl().live_pages()) / f64::from(settings.user_pages);
            assert!((share - live).abs() < 0.01, "{share} live for {live}");
        }
    }
}

#[test]
fn a_part_of_the_device_has_all_its_spare_area() {
    for (span, wanted) in [(1.0, 7.05), (0.9, 3.20), (0.75, 1.85), (0.5, 1.19), (0.25, 1.01), (0.1, 1.0)] {
        assert_near(theory::greedy(1.0737 / span, 128), wanted, 5e-3, "formula");
        let whole = settings(1.0737, 128, 1000);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a small number"
        )]
        let pages = (f64::from(whole.user_pages) * span) as u32;
        // Trimmed pages are as if the device were smaller with the same physical area.
        let part = FlashSettings { user_pages: pages, alpha: 1.0737 / span, ..whole };
        assert_near(steady(&part, 16), wanted, 0.01, &format!("span {span}"));
    }
}

#[test]
fn data_that_rests_beside_a_span_is_no_spare_area_but_leaves_all_of_it_to_the_span() {
    for (alpha, span) in [(1.07, 0.5), (1.07, 0.25), (1.12, 0.2), (1.28, 0.5)] {
        let class = |data_share, write_share| WriteClass { data_share, write_share };
        let pattern = WritePattern::Classes(vec![class(span, 1.0), class(1.0 - span, 0.0)]);
        let separation = Separation::Classes;
        let settings = FlashSettings { pattern, separation, ..settings(alpha, 64, 4000) };
        let formula = theory::greedy(1.0 + (alpha - 1.0) / span, 64);
        assert_near(steady(&settings, 16), formula, 0.01, &format!("{span} at {alpha}"));
    }
}

/// Write amplification of each tenth of a fill, of random writes after a sequential fill.
#[rustfmt::skip]
const CLIFFS: [(f64, &[f64], f64); 3] = [
    (1.07, &[2.94, 7.24, 6.97, 6.98, 7.00, 7.02], 7.01),
    (1.12, &[1.00, 4.26, 4.62, 4.48, 4.53, 4.51], 4.53),
    (1.28, &[1.00, 1.00, 1.34, 2.81, 2.61, 2.44, 2.36, 2.37, 2.41, 2.42, 2.41, 2.39], 2.40),
];

#[test]
fn the_cliff_comes_when_the_spare_area_is_written_and_overshoots() {
    for (alpha, tenths, steady) in CLIFFS {
        let settings = settings(alpha, 64, 8000);
        let mut simulation = Simulation::new(&settings, &[]).unwrap();
        simulation.fill(0..settings.user_pages).unwrap();
        for (number, wanted) in tenths.iter().enumerate() {
            let counts = simulation.run(u64::from(settings.user_pages) / 10).unwrap();
            let found = counts.write_amplification().unwrap();
            assert_near(found, *wanted, 0.02, &format!("{alpha}, tenth {}", number + 1));
        }
        let counts = simulation.run(u64::from(settings.user_pages) * 2).unwrap();
        assert_near(counts.write_amplification().unwrap(), steady, 0.01, "steady");
    }
}

#[test]
fn speed_and_life_follow_from_the_amplification() {
    let times = theory::NandTimes::TYPICAL;
    assert_near(times.write_us(7.26, 256) / 1000.0, 6.02, 2e-3, "time of a page");
    assert_near(times.write_us(1.0, 256) / 1000.0, 0.765, 1e-3, "sequential");
    assert_near(1.0 / times.iops_ratio(7.26, 256), 7.9, 5e-3, "ratio");
    // Intel's example: 20 GB a day for 5 years on 80 GB, with 1.1 and 1.1, are about 550 cycles.
    let written = 20e9 * 365.0 * 5.0;
    assert_near(theory::lifetime_bytes(552.0, 80e9, 1.1, 1.1), written, 1e-3, "life");
    assert_near(theory::lifetime_bytes(27_375.0, 80e9, 20.0, 3.0), written, 1e-3, "life");
}

#[test]
fn wear_is_even_with_one_pool_of_uniform_writes() {
    for (collect, most) in [(Collect::Greedy, 1.25), (Collect::Fifo, 1.05)] {
        let settings = FlashSettings { collect, ..settings(1.12, 64, 1000) };
        let mut simulation = Simulation::new(&settings, &[]).unwrap();
        simulation.fill(0..settings.user_pages).unwrap();
        simulation.run(u64::from(settings.user_pages) * 30).unwrap();
        let erases = simulation.ftl().erases();
        let mean = erases.iter().map(|count| f64::from(*count)).sum::<f64>() / erases.len() as f64;
        let worst = f64::from(*erases.iter().max().unwrap()) / mean;
        assert!(worst < most, "{collect}: {worst}");
    }
}

#[test]
fn the_inverse_gives_back_what_went_in() {
    for alpha in [1.03, 1.07, 1.28, 2.0] {
        let found = theory::alpha_for(theory::greedy(alpha, 64), |alpha| theory::greedy(alpha, 64)).unwrap();
        assert_near(found, alpha, 1e-6, "alpha");
    }
    assert_eq!(theory::alpha_for(1e9, theory::fifo), None);
}
