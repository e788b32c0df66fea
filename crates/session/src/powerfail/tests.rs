//! Writers on a simulated device whose power fails.

use std::path::PathBuf;

use iostall_engine::guard::WriteConsent;
use iostall_engine::sim::{Faults, SimConfig, SimFile};
use iostall_engine::{FileIndex, SimDevice};
use iostall_load::EngineKind;
use iostall_measure::{BlockSize, ByteCount, ManualClock};
use iostall_model::powerfail::{Finding, Primitive};

use super::inspect::inspect;
use super::log::Logged;
use super::write::{WriteRequest, Writer};
use crate::targets::{TargetRequest, Targets};

const SIZE: u64 = 1 << 20;

/// Cuts the power after `flushes`, with the last write of all in the cache alone.
fn cut(primitive: Primitive, faults: Faults, flushes: u64, seed: u64) -> Vec<Finding> {
    let file = SimFile { size_bytes: SIZE, ..SimFile::default() };
    let config = SimConfig { seed, files: vec![file], faults, ..SimConfig::default() };
    let device = SimDevice::new(config, ManualClock::new());
    let request = WriteRequest {
        target: PathBuf::from("simulated"),
        consent: WriteConsent::none(),
        size: ByteCount(SIZE),
        block: BlockSize::new(16_384).unwrap(),
        primitive,
        writes_per_flush: 4,
        witness: String::new(),
        duration: None,
    };
    let asked = TargetRequest::of_paths(vec![request.target.clone()], None, WriteConsent::none());
    let targets = Targets::simulated(&asked, &device);
    let mut writer = Writer::new(&request, &targets, &EngineKind::Sim(device.clone())).unwrap();
    let flushes = (0..flushes).map(|_| writer.group().unwrap()).collect();
    let logged = Logged { run: writer.run.clone(), flushes, is_ended: false };
    let left = device.crash(seed);
    let image = &left[usize::from(FileIndex(0).0)];
    let cut = inspect(&logged, &mut |offset, block| {
        assert_eq!(image.read(offset, block), block.len());
        Ok(())
    });
    cut.findings()
}

/// The kernel turns FUA into a flush on most devices, so no real one here can ignore it.
#[test]
fn a_device_that_ignores_fua_is_found_and_an_honest_one_is_not_accused() {
    let lying = Faults { ignores_write_through: true, ..Faults::default() };
    let found = (0..50).any(|seed| {
        let findings = cut(Primitive::RwfDsync, lying.clone(), 20, seed);
        findings.contains(&Finding::Lost)
    });
    assert!(found, "not found in 50 cuts");
    for seed in 0..500 {
        let findings = cut(Primitive::RwfDsync, Faults::default(), 20, seed);
        assert_eq!(findings, [], "seed {seed}");
        // A flush reaches what FUA does not.
        let findings = cut(Primitive::Fdatasync, lying.clone(), 20, seed);
        assert!(findings.iter().all(|finding| !finding.is_loss()), "seed {seed}: {findings:?}");
    }
}
