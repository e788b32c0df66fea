//! What each file of a job has to do: a slow one is seen by how long it is busy, whatever it moves.

use iostall_engine::FileIndex;

use super::job::FileUse;

#[derive(Debug, Default)]
pub(super) struct BusyFiles(Vec<BusyFile>);

#[derive(Clone, Copy, Debug, Default)]
struct BusyFile {
    total: FileUse,
    in_flight: u32,
    since_ns: u64,
}

impl BusyFiles {
    fn file(&mut self, file: FileIndex) -> &mut BusyFile {
        let at = usize::from(file.0);
        if at >= self.0.len() {
            self.0.resize(at + 1, BusyFile::default());
        }
        &mut self.0[at]
    }

    pub(super) fn begin(&mut self, file: FileIndex, now_ns: u64) {
        let file = self.file(file);
        if file.in_flight == 0 {
            file.since_ns = now_ns;
        }
        file.in_flight += 1;
    }

    /// A request has completed, and moved so many bytes.
    pub(super) fn end(&mut self, file: FileIndex, now_ns: u64, bytes: u32) {
        let file = self.file(file);
        file.total.bytes += u64::from(bytes);
        file.in_flight -= 1;
        if file.in_flight == 0 {
            file.total.busy_ns += now_ns.saturating_sub(file.since_ns);
        }
    }

    pub(super) fn into_totals(self) -> Vec<FileUse> {
        self.0.into_iter().map(|file| file.total).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_overlap_count_once_and_pauses_not_at_all() {
        let (mut busy, file) = (BusyFiles::default(), FileIndex(2));
        busy.begin(file, 100);
        busy.begin(file, 150);
        busy.end(file, 200, 10);
        busy.end(file, 300, 20);
        busy.begin(file, 1000);
        busy.end(file, 1050, 5);
        let totals = busy.into_totals();
        assert_eq!(totals, [FileUse::default(), FileUse::default(), FileUse { bytes: 35, busy_ns: 250 }]);
    }
}
