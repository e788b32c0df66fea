//! The settings of a restore that a search varies.

use iostall_transfer::backup::read::ReadChoice;
use iostall_transfer::backup::restore::RestoreShape;

use crate::backup::tune::grid::Grid;

const DEPTHS: [u32; 6] = [1, 2, 4, 8, 16, 32];
const TRANSFER_BYTES: [u32; 5] = [256 << 10, 1 << 20, 2 << 20, 4 << 20, 8 << 20];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) depth: u32,
    pub(super) transfer_bytes: u32,
    pub(super) workers: u32,
}

impl Setting {
    pub(super) fn of(shape: &RestoreShape) -> Self {
        let RestoreShape { depth, transfer_bytes, workers, .. } = *shape;
        Self { depth, transfer_bytes, workers }
    }

    pub(super) fn choice(&self) -> ReadChoice {
        ReadChoice {
            depth: Some(self.depth),
            workers: Some(self.workers),
            transfer_bytes: Some(self.transfer_bytes),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Axes {
    depths: Vec<u32>,
    transfer_bytes: Vec<u32>,
    workers: Vec<u32>,
}

impl Axes {
    /// What is open beside `given`, around the settings of a restore that nobody has tuned. Requests are made of whole frames.
    pub(super) fn new(given: &ReadChoice, default: &Setting, frame_bytes: u32) -> Self {
        let is_whole = |bytes: &u32| bytes.is_multiple_of(frame_bytes.max(1));
        let transfers = TRANSFER_BYTES.into_iter().filter(is_whole).chain([frame_bytes]);
        let usual = default.workers;
        let workers = [1, usual.div_ceil(2), usual.saturating_mul(2)];
        Self {
            depths: open(given.depth, DEPTHS, default.depth),
            transfer_bytes: open(given.transfer_bytes, transfers, default.transfer_bytes),
            workers: open(given.workers, workers, usual),
        }
    }

    /// All settings whose buffers take at most `memory_max` bytes, as [`Grid::new`] has it.
    pub(super) fn grid(
        &self,
        default: &Setting,
        memory_max: u64,
        shape_of: &dyn Fn(&Setting) -> RestoreShape,
    ) -> Option<Grid<Setting>> {
        let lengths = [self.depths.len(), self.transfer_bytes.len(), self.workers.len()];
        let setting_of = |places: &[usize]| Setting {
            depth: self.depths[places[0]],
            transfer_bytes: self.transfer_bytes[places[1]],
            workers: self.workers[places[2]],
        };
        // What a restore would make something else of is no setting of its own.
        let memory_of = |setting: &Setting| {
            let shape = shape_of(setting);
            (Setting::of(&shape) == *setting).then_some(shape.memory_bytes)
        };
        Grid::new(&lengths, &setting_of, default, memory_max, &memory_of)
    }
}

/// The usual value alone if one was given, which it is then; or else some values and the usual one.
fn open(given: Option<u32>, values: impl IntoIterator<Item = u32>, usual: u32) -> Vec<u32> {
    if given.is_some() {
        return vec![usual];
    }
    let mut all: Vec<u32> = values.into_iter().chain([usual]).collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: Setting = Setting { depth: 8, transfer_bytes: 4 << 20, workers: 2 };

    fn shape(setting: &Setting) -> RestoreShape {
        let Setting { depth, transfer_bytes, workers } = *setting;
        let buffer_count = 2 * depth + 2 * workers + 1;
        let memory_bytes = u64::from(buffer_count) * u64::from(transfer_bytes);
        RestoreShape { depth, workers, transfer_bytes, buffer_count, memory_bytes }
    }

    #[test]
    fn what_was_given_is_kept_and_the_rest_is_open_in_whole_frames() {
        let open = Axes::new(&ReadChoice::default(), &USUAL, 1 << 20);
        assert_eq!(open.depths, DEPTHS);
        assert_eq!(open.transfer_bytes, [1 << 20, 2 << 20, 4 << 20, 8 << 20]);
        assert_eq!(open.workers, [1, 2, 4]);
        let grid = open.grid(&USUAL, u64::MAX, &shape).unwrap();
        assert_eq!((grid.settings.len(), grid.settings[grid.default]), (6 * 4 * 3, USUAL));
        let given = ReadChoice { depth: Some(5), workers: Some(3), transfer_bytes: None };
        let usual = Setting { depth: 5, workers: 3, ..USUAL };
        let kept = Axes::new(&given, &usual, 16 << 20);
        assert_eq!((&kept.depths[..], &kept.workers[..]), (&[5][..], &[3][..]));
        assert_eq!(
            kept.transfer_bytes,
            [4 << 20, 16 << 20],
            "no smaller than a frame, but for the usual one"
        );
    }

    /// The story: 32 requests of 8 MiB in each direction were fastest, and took the memory that the server was to start in.
    #[test]
    fn what_takes_too_much_memory_is_left_out_and_so_is_what_a_restore_makes_something_else_of() {
        let axes = Axes::new(&ReadChoice::default(), &USUAL, 1 << 20);
        let grid = axes.grid(&USUAL, 100 << 20, &shape).unwrap();
        assert!(grid.memory.iter().all(|bytes| *bytes <= 100 << 20));
        assert_eq!(grid.settings.len() as u64 + grid.over_memory(), 6 * 4 * 3);
        assert!(grid.is_at_memory_limit(grid.default));
        assert!(axes.grid(&USUAL, 1 << 20, &shape).is_none(), "not even the default fits");
        let at_most_four =
            |setting: &Setting| shape(&Setting { workers: setting.workers.min(2), ..*setting });
        let grid = axes.grid(&USUAL, u64::MAX, &at_most_four).unwrap();
        assert_eq!(grid.settings.len(), 6 * 4 * 2);
    }
}
