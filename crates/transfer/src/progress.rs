//! Progress of a running transfer, and its cancellation.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use iostall_model::transfer::{BufferTime, TransferPoint};

/// Length of the first points of a series, nanoseconds.
const POINT_NS: u64 = 100_000_000;
/// Beyond this many points, two become one.
const POINTS_MAX: usize = 600;

/// Shared between everything that works on one transfer and its display.
#[derive(Debug, Default)]
pub struct Progress {
    cancel: Arc<AtomicBool>,
    bytes_total: AtomicU64,
    bytes_done: AtomicU64,
    files_total: AtomicU64,
    files_done: AtomicU64,
    reads_in_flight: AtomicU64,
    writes_in_flight: AtomicU64,
    file: Mutex<FileProgress>,
    series: Mutex<Series>,
    buffer_time: Mutex<BufferTime>,
    stripes: Mutex<Vec<StripeCounter>>,
}

/// Bytes that a stripe of a backup has taken or given so far.
pub(crate) type StripeCounter = Arc<AtomicU64>;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileProgress {
    pub path: PathBuf,
    pub bytes_total: u64,
    /// Including holes.
    pub bytes_done: u64,
    /// The current step: `copying`, `reading back`, …
    pub phase: &'static str,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgressNow {
    pub bytes_total: u64,
    pub bytes_done: u64,
    pub files_total: u64,
    pub files_done: u64,
    pub reads_in_flight: u64,
    pub writes_in_flight: u64,
    pub file: FileProgress,
    pub buffer_time: BufferTime,
    /// Bytes of each stripe of a backup; none for anything else.
    pub stripes: Vec<u64>,
}

fn open<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // After a panic the numbers are only for display.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Progress {
    pub fn new(cancel: Arc<AtomicBool>) -> Self {
        Self { cancel, ..Self::default() }
    }

    pub fn cancel_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.cancel)
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    pub fn add_total(&self, files: u64, bytes: u64) {
        self.files_total.fetch_add(files, Ordering::Relaxed);
        self.bytes_total.fetch_add(bytes, Ordering::Relaxed);
    }

    pub fn begin_file(&self, path: &Path, bytes_total: u64, phase: &'static str) {
        *open(&self.file) = FileProgress { path: path.to_owned(), bytes_total, bytes_done: 0, phase };
    }

    pub fn end_file(&self) {
        self.files_done.fetch_add(1, Ordering::Relaxed);
    }

    /// Bytes of the current file are done: written, left as a hole, or read if nothing is written.
    pub fn add_done(&self, bytes: u64) {
        self.bytes_done.fetch_add(bytes, Ordering::Relaxed);
        open(&self.file).bytes_done += bytes;
    }

    pub fn note_moved(&self, now_ns: u64, read_bytes: u64, written_bytes: u64) {
        open(&self.series).note(now_ns, read_bytes, written_bytes);
    }

    pub fn set_in_flight(&self, reads: u32, writes: u32) {
        self.reads_in_flight.store(reads.into(), Ordering::Relaxed);
        self.writes_in_flight.store(writes.into(), Ordering::Relaxed);
    }

    pub fn add_buffer_time(&self, time: &BufferTime) {
        open(&self.buffer_time).add(time);
    }

    pub(crate) fn count_stripes(&self, stripes: usize) -> Vec<StripeCounter> {
        let counters: Vec<StripeCounter> = (0..stripes).map(|_| Arc::default()).collect();
        open(&self.stripes).clone_from(&counters);
        counters
    }

    pub fn now(&self) -> ProgressNow {
        ProgressNow {
            bytes_total: self.bytes_total.load(Ordering::Relaxed),
            bytes_done: self.bytes_done.load(Ordering::Relaxed),
            files_total: self.files_total.load(Ordering::Relaxed),
            files_done: self.files_done.load(Ordering::Relaxed),
            reads_in_flight: self.reads_in_flight.load(Ordering::Relaxed),
            writes_in_flight: self.writes_in_flight.load(Ordering::Relaxed),
            file: open(&self.file).clone(),
            buffer_time: *open(&self.buffer_time),
            stripes: open(&self.stripes).iter().map(|bytes| bytes.load(Ordering::Relaxed)).collect(),
        }
    }

    pub fn series(&self) -> Vec<TransferPoint> {
        open(&self.series).points.clone()
    }
}

/// Throughput over time in at most [`POINTS_MAX`] points of equal length, whatever the length of the
/// transfer.
#[derive(Debug)]
struct Series {
    origin_ns: Option<u64>,
    point_ns: u64,
    points: Vec<TransferPoint>,
}

impl Default for Series {
    fn default() -> Self {
        Self { origin_ns: None, point_ns: POINT_NS, points: Vec::new() }
    }
}

impl Series {
    fn note(&mut self, now_ns: u64, read_bytes: u64, written_bytes: u64) {
        let origin_ns = *self.origin_ns.get_or_insert(now_ns);
        let since_ns = now_ns.saturating_sub(origin_ns);
        while since_ns / self.point_ns >= POINTS_MAX as u64 {
            self.halve();
        }
        while self.points.len() as u64 <= since_ns / self.point_ns {
            let start_ns = self.points.len() as u64 * self.point_ns;
            self.points.push(TransferPoint {
                start_ns,
                length_ns: self.point_ns,
                ..TransferPoint::default()
            });
        }
        // A worker may report late; the data counts for the time it reports.
        let index = usize::try_from(since_ns / self.point_ns).unwrap_or(0);
        self.points[index].read_bytes += read_bytes;
        self.points[index].written_bytes += written_bytes;
    }

    fn halve(&mut self) {
        self.point_ns *= 2;
        let joined = self.points.chunks(2).map(|pair| TransferPoint {
            start_ns: pair[0].start_ns,
            length_ns: self.point_ns,
            read_bytes: pair.iter().map(|point| point.read_bytes).sum(),
            written_bytes: pair.iter().map(|point| point.written_bytes).sum(),
        });
        self.points = joined.collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line of a copy of many files stood at "0 of 12 files" to its end.
    #[test]
    fn files_and_bytes_are_counted_as_they_are_done() {
        let progress = Progress::default();
        progress.add_total(2, 300);
        progress.begin_file(Path::new("a"), 100, "copying");
        progress.add_done(60);
        progress.add_done(40);
        progress.end_file();
        progress.begin_file(Path::new("b"), 200, "reading back");
        progress.add_done(50);
        progress.set_in_flight(3, 4);
        let now = progress.now();
        assert_eq!((now.files_done, now.files_total, now.bytes_done, now.bytes_total), (1, 2, 150, 300));
        let file = FileProgress { path: "b".into(), bytes_total: 200, bytes_done: 50, phase: "reading back" };
        assert_eq!((now.file, now.reads_in_flight, now.writes_in_flight), (file, 3, 4));
    }

    #[test]
    fn moved_data_is_in_the_point_of_its_time() {
        let progress = Progress::default();
        let ms = |ms: u64| 5_000_000_000 + ms * 1_000_000;
        progress.note_moved(ms(0), 10, 0);
        progress.note_moved(ms(99), 20, 5);
        progress.note_moved(ms(250), 40, 7);
        let series = progress.series();
        assert_eq!(series.iter().map(|point| point.read_bytes).collect::<Vec<_>>(), [30, 0, 40]);
        assert_eq!(series.iter().map(|point| point.written_bytes).collect::<Vec<_>>(), [5, 0, 7]);
        assert_eq!(series[2].start_ns, 200_000_000);
    }

    #[test]
    fn a_long_transfer_keeps_its_sums_in_a_bounded_number_of_points() {
        let progress = Progress::default();
        for second in 0..10_000 {
            progress.note_moved(5 + second * 1_000_000_000, 3, 2);
        }
        let points = progress.series();
        assert!(points.len() <= POINTS_MAX, "{}", points.len());
        assert_eq!(points.iter().map(|point| point.read_bytes).sum::<u64>(), 30_000);
        assert_eq!(points.iter().map(|point| point.written_bytes).sum::<u64>(), 20_000);
        assert!(points.windows(2).all(|pair| pair[1].start_ns == pair[0].start_ns + pair[0].length_ns));
    }

    #[test]
    fn a_pause_is_a_point_of_zero_and_not_a_gap() {
        let progress = Progress::default();
        progress.note_moved(0, 1, 1);
        progress.note_moved(350_000_000, 1, 1);
        let read: Vec<_> = progress.series().iter().map(|point| point.read_bytes).collect();
        assert_eq!(read, [1, 0, 0, 1]);
    }
}
