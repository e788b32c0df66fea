//! What a paced write is to do, and its paces: a burst and a pause, the rate of a line, or several bursts to try.

use std::path::PathBuf;

use iostall_measure::{ByteCount, Nanos};
use iostall_model::paced::{Pace, WriteMethod};
use thiserror::Error;

/// The pause between bursts where only a rate is asked for, nanoseconds.
const PERIOD_NS: u64 = 50_000_000;
/// What packets past the page cache must be multiples of, bytes.
const DIRECT_ALIGN: u32 = 4096;
/// Bytes of the smallest packet, which has a header, and of the largest.
const PACKET_BYTES: std::ops::RangeInclusive<u32> = 8..=1 << 30;

#[derive(Clone, Debug)]
pub struct PaceRequest {
    pub packet: ByteCount,
    pub burst: u32,
    /// From the start of one burst to that of the next; `None`: no pause.
    pub period: Option<Nanos>,
    /// From the end of one burst to the start of the next, in place of the period.
    pub delay: Option<Nanos>,
    /// Bytes a second, in place of the burst.
    pub rate: Option<f64>,
    /// Numbers of packets a burst to try, in place of the burst.
    pub sweep: Vec<u32>,
}

#[derive(Debug, Error)]
pub enum PaceError {
    #[error("--packet {packet}: a packet has 8 bytes to 1 GiB")]
    PacketSize { packet: ByteCount },
    #[error(
        "--packet {packet_bytes}: past the page cache a packet must be a multiple of {DIRECT_ALIGN} bytes"
    )]
    Alignment { packet_bytes: u32 },
    /// Nothing that a burst could be told by.
    #[error("--sweep without a pause: bursts of any size are then the same")]
    SweepWithoutPause,
    #[error("--interval {interval}: an interval is at least one packet")]
    Interval { interval: ByteCount, packet_bytes: u32 },
}

impl PaceError {
    pub fn hint(&self) -> String {
        match self {
            Self::PacketSize { .. } => "--packet 800K is the usual one".to_owned(),
            Self::Alignment { packet_bytes } => {
                let next = packet_bytes.next_multiple_of(DIRECT_ALIGN);
                format!("--packet {next} is the next one, or --methods buffered")
            }
            Self::SweepWithoutPause => {
                "give --period 50ms, or --delay 50ms for a pause after each burst".to_owned()
            }
            Self::Interval { packet_bytes, .. } => {
                format!("a packet has {packet_bytes} bytes: give at least those")
            }
        }
    }
}

/// The paces that are tried, checked against the methods and the length of an interval.
pub fn paces(
    request: &PaceRequest,
    methods: &[WriteMethod],
    interval: ByteCount,
) -> Result<Vec<Pace>, PaceError> {
    let packet = request.packet;
    let packet_bytes = u32::try_from(packet.bytes()).ok().filter(|bytes| PACKET_BYTES.contains(bytes));
    let packet_bytes = packet_bytes.ok_or(PaceError::PacketSize { packet })?;
    let is_direct = methods.iter().any(|method| *method != WriteMethod::Buffered);
    if is_direct && !packet_bytes.is_multiple_of(DIRECT_ALIGN) {
        return Err(PaceError::Alignment { packet_bytes });
    }
    if interval.bytes() < u64::from(packet_bytes) {
        return Err(PaceError::Interval { interval, packet_bytes });
    }
    let period_ns = request.period.map_or(0, Nanos::nanos);
    let delay_ns = request.delay.map_or(0, Nanos::nanos);
    if !request.sweep.is_empty() && period_ns == 0 && delay_ns == 0 {
        return Err(PaceError::SweepWithoutPause);
    }
    let pace = |packets_per_burst| Pace { packet_bytes, packets_per_burst, period_ns, delay_ns };
    Ok(match (request.rate, request.sweep.as_slice()) {
        (Some(rate), _) => vec![of_rate(rate, packet_bytes, period_ns)],
        (None, []) => vec![pace(request.burst)],
        (None, sweep) => sweep.iter().map(|packets| pace(*packets)).collect(),
    })
}

/// Rounds to whole packets in about the requested period, then adjusts the period to match the rate exactly.
fn of_rate(rate: f64, packet_bytes: u32, period_ns: u64) -> Pace {
    let wanted_ns = if period_ns > 0 { period_ns } else { PERIOD_NS };
    let packets = (rate * wanted_ns as f64 / 1e9 / f64::from(packet_bytes)).ceil().clamp(1.0, 1e6);
    let exact_ns = packets * f64::from(packet_bytes) / rate * 1e9;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped, and casts saturate"
    )]
    let (packets_per_burst, period_ns) = (packets as u32, exact_ns.round() as u64);
    Pace { packet_bytes, packets_per_burst, period_ns, delay_ns: 0 }
}

#[derive(Clone, Debug)]
pub struct PacedRequest {
    pub file: PathBuf,
    pub methods: Vec<WriteMethod>,
    pub paces: Vec<Pace>,
    /// Bytes per method and pace; `None`: as many as fit into `duration`.
    pub total_bytes: Option<u64>,
    /// Time limit per method and pace.
    pub duration: Option<Nanos>,
    pub interval: ByteCount,
    /// Memory limit of the process, page cache included.
    pub memory_limit: Option<ByteCount>,
    pub overwrite: Vec<PathBuf>,
    pub keep: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> PaceRequest {
        let (period, delay, rate) = (None, None, None);
        PaceRequest { packet: ByteCount(819_200), burst: 1, period, delay, rate, sweep: Vec::new() }
    }

    /// 622 Mbit/s are 77.75 MB/s: in 50 ms five packets of 800 KiB, at a period that makes it exactly that.
    #[test]
    fn the_rate_of_a_line_is_met_exactly_by_whole_packets() {
        let asked = PaceRequest { rate: Some(77.75e6), ..request() };
        let found = paces(&asked, &[WriteMethod::Direct], ByteCount(1 << 20)).unwrap();
        assert_eq!(found.len(), 1);
        let Pace { packets_per_burst, period_ns, .. } = found[0];
        assert_eq!(packets_per_burst, 5);
        let rate = 5.0 * 819_200.0 / (period_ns as f64 / 1e9);
        assert!((rate / 77.75e6 - 1.0).abs() < 1e-6, "{rate}");
    }

    #[test]
    fn a_sweep_tries_each_burst_at_the_same_period() {
        let asked = PaceRequest { sweep: vec![1, 6, 12], period: Some(Nanos(50_000_000)), ..request() };
        let found = paces(&asked, &[WriteMethod::Buffered], ByteCount(1 << 20)).unwrap();
        let bursts: Vec<(u32, u64)> =
            found.iter().map(|pace| (pace.packets_per_burst, pace.period_ns)).collect();
        assert_eq!(bursts, [(1, 50_000_000), (6, 50_000_000), (12, 50_000_000)]);
        let bare = PaceRequest { sweep: vec![1, 6], ..request() };
        let refused = paces(&bare, &[WriteMethod::Buffered], ByteCount(1 << 20)).unwrap_err();
        assert!(refused.hint().contains("--delay"), "{refused}");
    }

    #[test]
    fn packets_that_cannot_be_written_are_refused_with_the_next_one_that_can() {
        let of = |packet, method| {
            let asked = PaceRequest { packet: ByteCount(packet), ..request() };
            paces(&asked, &[method], ByteCount(4096)).map_err(|error| error.hint())
        };
        assert!(of(1000, WriteMethod::Buffered).is_ok() && of(4096, WriteMethod::Direct).is_ok());
        assert!(of(5000, WriteMethod::Direct).unwrap_err().starts_with("--packet 8192 is the next one"));
        assert!(of(5000, WriteMethod::Buffered).unwrap_err().contains("5000 bytes"));
        assert!(of(7, WriteMethod::Buffered).unwrap_err().contains("800K"));
        assert!(of(2 << 30, WriteMethod::Buffered).unwrap_err().contains("800K"));
    }
}
