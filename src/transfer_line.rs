//! The live line of what moves data.

use iostall_measure::ByteCount;
use iostall_measure::foreign::shown;
use iostall_model::transfer::LimitSide;
use iostall_session::event::Speed;
use iostall_transfer::progress::ProgressNow;

/// File and phase, rates, time left, requests in flight, which side is the limit.
pub(crate) fn text(now: &ProgressNow, speed: Speed) -> String {
    let (current, average) = (speed.bytes_per_s_now, speed.bytes_per_s_mean);
    let left = now.bytes_total.saturating_sub(now.bytes_done);
    let mut parts = Vec::new();
    let name = now.file.path.file_name().unwrap_or_default().to_string_lossy();
    let of_file = now.file.bytes_done as f64 / (now.file.bytes_total as f64).max(1.0) * 100.0;
    parts.push(format!("{} {} {:.0} %", now.file.phase, shown(&name), of_file.min(100.0)));
    if now.files_total > 1 {
        parts.push(format!("file {} of {}", (now.files_done + 1).min(now.files_total), now.files_total));
    }
    parts.push(format!("{:.0} MB/s now, {:.0} on average", current / 1e6, average / 1e6));
    if average > 0.0 {
        parts.push(format!("{} left, {:.0} s", ByteCount(left), left as f64 / average));
    }
    if now.reads_in_flight + now.writes_in_flight > 0 {
        parts.push(format!("{} reads {} writes in flight", now.reads_in_flight, now.writes_in_flight));
    }
    if let Some(limit) = now.buffer_time.limit() {
        parts.push(format!("limit: {}", LimitSide::name(limit)));
    }
    parts.join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// UBCopy's progress jumped to 100 % at once, or divided by zero.
    #[test]
    fn the_live_line_tells_rates_and_what_is_left_and_survives_an_empty_file() {
        let empty = text(&ProgressNow::default(), Speed { bytes_per_s_now: 0.0, bytes_per_s_mean: 0.0 });
        assert!(empty.contains("0 MB/s now") && !empty.contains("NaN") && !empty.contains("inf"), "{empty}");
        let mut now = ProgressNow { bytes_total: 1_000_000_000, files_total: 1, ..ProgressNow::default() };
        now.bytes_done = 400_000_000;
        let text = text(&now, Speed { bytes_per_s_now: 2e8, bytes_per_s_mean: 2e8 });
        assert!(text.contains("200 MB/s now, 200 on average"), "{text}");
        assert!(text.contains("572.20 MiB left, 3 s"), "{text}");
    }
}
