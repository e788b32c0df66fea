//! The settings of our own backups that a search varies.

use iostall_model::backup::{BackupSettings, Compression};

use super::grid::Grid;

/// Numbers of stripes that are tried, besides all that were named.
const STRIPES: [usize; 12] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];
const TRANSFER_BYTES: [u32; 4] = [1 << 20, 2 << 20, 4 << 20, 8 << 20];
const FRAME_BYTES: [u32; 2] = [256 << 10, 1 << 20];
/// From the least work to the most.
const COMPRESSIONS: [Compression; 4] =
    [Compression::None, Compression::Lz4, Compression::Zstd(1), Compression::Zstd(3)];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    /// How many of the targets, the fastest first; 0 for `null:`.
    pub(super) stripes: usize,
    pub(super) buffers: u32,
    pub(super) transfer_bytes: u32,
    pub(super) frame_bytes: u32,
    pub(super) compression: Compression,
}

/// What the user has chosen; what is `None` is open.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Given {
    pub(super) compression: Option<Compression>,
    pub(super) frame_bytes: Option<u32>,
    pub(super) transfer_bytes: Option<u32>,
    pub(super) buffers: Option<u32>,
}

#[derive(Clone, Debug)]
pub(super) struct Axes {
    stripes: Vec<usize>,
    buffers: Vec<u32>,
    transfer_bytes: Vec<u32>,
    frame_bytes: Vec<u32>,
    pub(super) compressions: Vec<Compression>,
}

impl Axes {
    /// What is open beside `given`, around the settings of a backup that nobody has tuned.
    pub(super) fn new(given: &Given, default: &BackupSettings) -> Self {
        let all = usize::from(default.stripes);
        let stripes = STRIPES.into_iter().filter(|count| *count < all).chain([all]);
        let usual = default.buffer_count;
        let buffers = match given.buffers {
            Some(buffers) => vec![buffers],
            None => vec![usual / 2, usual, usual * 2, usual * 4],
        };
        Self {
            stripes: stripes.collect(),
            buffers,
            transfer_bytes: open(given.transfer_bytes, &TRANSFER_BYTES, default.transfer_bytes),
            frame_bytes: open(given.frame_bytes, &FRAME_BYTES, default.frame_bytes),
            compressions: given.compression.map_or_else(|| COMPRESSIONS.to_vec(), |given| vec![given]),
        }
    }

    fn lengths(&self) -> [usize; 5] {
        let Self { stripes, buffers, transfer_bytes, frame_bytes, compressions } = self;
        [stripes.len(), buffers.len(), transfer_bytes.len(), frame_bytes.len(), compressions.len()]
    }

    /// All settings whose buffers take at most `memory_max` bytes, as [`Grid::new`] has it.
    pub(super) fn grid(
        &self,
        default: &Setting,
        memory_max: u64,
        memory_of: &dyn Fn(&Setting) -> Option<u64>,
    ) -> Option<Grid<Setting>> {
        let setting_of = |places: &[usize]| Setting {
            stripes: self.stripes[places[0]],
            buffers: self.buffers[places[1]],
            transfer_bytes: self.transfer_bytes[places[2]],
            frame_bytes: self.frame_bytes[places[3]],
            compression: self.compressions[places[4]],
        };
        Grid::new(&self.lengths(), &setting_of, default, memory_max, memory_of)
    }
}

/// What was given, or else some values and the usual one.
fn open(given: Option<u32>, values: &[u32], usual: u32) -> Vec<u32> {
    if let Some(given) = given {
        return vec![given];
    }
    let mut all: Vec<u32> = values.iter().copied().chain([usual]).collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn default() -> BackupSettings {
        BackupSettings {
            stripes: 3,
            buffer_count: 20,
            transfer_bytes: 4 << 20,
            frame_bytes: 1 << 20,
            ..BackupSettings::default()
        }
    }

    fn memory(setting: &Setting) -> Option<u64> {
        let is_sound = setting.transfer_bytes.is_multiple_of(setting.frame_bytes);
        is_sound.then(|| u64::from(setting.buffers) * u64::from(setting.transfer_bytes))
    }

    const USUAL: Setting = Setting {
        stripes: 3,
        buffers: 20,
        transfer_bytes: 4 << 20,
        frame_bytes: 1 << 20,
        compression: Compression::Zstd(1),
    };

    #[test]
    fn what_was_given_is_kept_and_the_rest_is_open() {
        let open = Axes::new(&Given::default(), &default()).grid(&USUAL, u64::MAX, &memory).unwrap();
        assert_eq!(open.settings.len(), 3 * 4 * 4 * 2 * 4);
        assert_eq!(open.settings[open.default], USUAL);
        let given = Given {
            compression: Some(Compression::Lz4),
            frame_bytes: Some(2 << 20),
            transfer_bytes: Some(16 << 20),
            buffers: Some(9),
        };
        let usual = Setting {
            buffers: 9,
            transfer_bytes: 16 << 20,
            frame_bytes: 2 << 20,
            compression: Compression::Lz4,
            ..USUAL
        };
        let kept = Axes::new(&given, &default()).grid(&usual, u64::MAX, &memory).unwrap();
        assert_eq!(kept.settings.iter().map(|setting| setting.stripes).collect::<Vec<_>>(), [1, 2, 3]);
        let null = BackupSettings { stripes: 0, ..default() };
        assert_eq!(Axes::new(&given, &null).stripes, [0]);
        let many = BackupSettings { stripes: 10, ..default() };
        assert_eq!(Axes::new(&given, &many).stripes, [1, 2, 3, 4, 6, 8, 10]);
    }

    /// The story: 80 buffers of 8 MiB were fastest until the server beside them was killed for want of memory.
    #[test]
    fn what_takes_too_much_memory_is_left_out_and_counted() {
        let axes = Axes::new(&Given::default(), &default());
        let all = axes.grid(&USUAL, u64::MAX, &memory).unwrap();
        let cap = 100 << 20;
        let grid = axes.grid(&USUAL, cap, &memory).unwrap();
        assert!(grid.memory.iter().all(|bytes| *bytes <= cap));
        assert_eq!(grid.settings.len() as u64 + grid.over_memory(), all.settings.len() as u64);
        assert!(grid.is_at_memory_limit(grid.default), "40 buffers of 4 MiB are too many");
        let small = Setting { buffers: 10, transfer_bytes: 1 << 20, ..USUAL };
        let small = grid.settings.iter().position(|setting| *setting == small).unwrap();
        assert!(!grid.is_at_memory_limit(small));
        assert!(axes.grid(&USUAL, 1 << 20, &memory).is_none(), "not even the default fits");
    }
}
