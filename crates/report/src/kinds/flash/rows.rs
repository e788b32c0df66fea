//! A row for each tenth of a fill, for spreadsheets, and the figures for scripts.

use iostall_model::FlashOutcome;
use iostall_model::kinds::FlashLife;
use serde::Serialize;

use crate::report::Series;

const HEADER: [&str; 5] = ["fills", "host_pages", "moved_pages", "erased_blocks", "write_amplification"];

pub(super) fn series(flash: &FlashOutcome) -> Series<'_> {
    let rows = flash.tenths.iter().enumerate().map(|(number, tenth)| {
        vec![
            ((number + 1) as f64 / 10.0).into(),
            tenth.host_pages.into(),
            tenth.moved_pages.into(),
            tenth.erased_blocks.into(),
            tenth.write_amplification().into(),
        ]
    });
    Series { header: &HEADER, rows: Box::new(rows) }
}

/// The figures for scripts; such a run has no spans.
#[derive(Serialize)]
pub(super) struct FlashSummary {
    spans: [(); 0],
    write_amplification: Option<f64>,
    spare: f64,
    iops_ratio: Option<f64>,
    wear_spread: Option<f64>,
    written_bytes_max: Option<f64>,
    life_days: Option<f64>,
    host_pages_per_s: Option<f64>,
    memory_bytes_per_page: f64,
}

impl FlashSummary {
    pub(super) fn of(flash: &FlashOutcome) -> Self {
        let host: u64 = flash.tenths.iter().map(|tenth| tenth.host_pages).sum();
        let user_pages = f64::from(flash.settings.user_pages);
        Self {
            spans: [],
            write_amplification: flash.write_amplification.map(|found| found.mean),
            spare: flash.settings.spare(),
            iops_ratio: flash.iops_ratio,
            wear_spread: flash.wear.spread(),
            written_bytes_max: flash.life.map(|life| life.written_bytes),
            life_days: flash.life.as_ref().and_then(FlashLife::days),
            host_pages_per_s: (flash.elapsed_ns > 0)
                .then(|| (host as f64 + user_pages) / (flash.elapsed_ns as f64 / 1e9)),
            memory_bytes_per_page: flash.memory_bytes as f64 / user_pages.max(1.0),
        }
    }
}
