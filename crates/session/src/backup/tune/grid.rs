//! The settings among which a search finds the best.

use iostall_model::backup::{BackupSettings, Compression};
use iostall_stats::halving::neighbours;

/// Numbers of stripes that are tried, besides all that were named.
const STRIPES: [usize; 12] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];
const TRANSFER_BYTES: [u32; 4] = [1 << 20, 2 << 20, 4 << 20, 8 << 20];
const FRAME_BYTES: [u32; 2] = [256 << 10, 1 << 20];
/// From the least work to the most.
const COMPRESSIONS: [Compression; 4] =
    [Compression::None, Compression::Lz4, Compression::Zstd(1), Compression::Zstd(3)];

/// One setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    /// How many of the targets, the fastest first; 0 for `null:`.
    pub(super) stripes: usize,
    pub(super) buffers: u32,
    pub(super) transfer_bytes: u32,
    pub(super) frame_bytes: u32,
    pub(super) compression: Compression,
}

impl Setting {
    /// Whether it differs from another in one respect only.
    fn is_next_to(&self, other: &Self) -> bool {
        let differs = [
            self.stripes != other.stripes,
            self.buffers != other.buffers,
            self.transfer_bytes != other.transfer_bytes,
            self.frame_bytes != other.frame_bytes,
            self.compression != other.compression,
        ];
        differs.iter().filter(|differs| **differs).count() == 1
    }
}

/// What the user has chosen; what is `None` is open.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Given {
    pub(super) compression: Option<Compression>,
    pub(super) frame_bytes: Option<u32>,
    pub(super) transfer_bytes: Option<u32>,
    pub(super) buffers: Option<u32>,
}

/// The values of each setting, ascending.
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

    /// The setting with this number, the last axis fastest.
    fn setting(&self, number: usize) -> Setting {
        let mut rest = number;
        let mut places = [0; 5];
        for (place, length) in places.iter_mut().zip(self.lengths()).rev() {
            *place = rest % length;
            rest /= length;
        }
        Setting {
            stripes: self.stripes[places[0]],
            buffers: self.buffers[places[1]],
            transfer_bytes: self.transfer_bytes[places[2]],
            frame_bytes: self.frame_bytes[places[3]],
            compression: self.compressions[places[4]],
        }
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

/// The settings that can be tried.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    pub(super) settings: Vec<Setting>,
    /// Bytes of the buffers of each.
    pub(super) memory: Vec<u64>,
    /// Which of them differ by one step.
    pub(super) neighbours: Vec<Vec<usize>>,
    /// The place of the setting without tuning.
    pub(super) default: usize,
    over_memory: Vec<Setting>,
}

impl Grid {
    /// All settings whose buffers take at most `memory_max` bytes. `memory_of` is `None` for a setting that makes no sense, such
    /// as a transfer smaller than a frame. `None` if the default is not among them.
    pub(super) fn new(
        axes: &Axes,
        default: &Setting,
        memory_max: u64,
        memory_of: &dyn Fn(&Setting) -> Option<u64>,
    ) -> Option<Self> {
        let lengths = axes.lengths();
        let (mut points, mut settings, mut memory, mut over_memory) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for point in 0..lengths.iter().product() {
            let setting = axes.setting(point);
            match memory_of(&setting) {
                Some(bytes) if bytes <= memory_max => {
                    points.push(point);
                    settings.push(setting);
                    memory.push(bytes);
                }
                Some(_) => over_memory.push(setting),
                None => {}
            }
        }
        let default = settings.iter().position(|setting| setting == default)?;
        Some(Self { neighbours: neighbours(&lengths, &points), settings, memory, default, over_memory })
    }

    /// How many settings take too much memory.
    pub(super) fn over_memory(&self) -> u64 {
        self.over_memory.len() as u64
    }

    /// Whether the next step from a setting takes too much memory.
    pub(super) fn is_at_memory_limit(&self, number: usize) -> bool {
        self.over_memory.iter().any(|over| over.is_next_to(&self.settings[number]))
    }
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
        let open = Grid::new(&Axes::new(&Given::default(), &default()), &USUAL, u64::MAX, &memory).unwrap();
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
        let kept = Grid::new(&Axes::new(&given, &default()), &usual, u64::MAX, &memory).unwrap();
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
        let all = Grid::new(&axes, &USUAL, u64::MAX, &memory).unwrap();
        let cap = 100 << 20;
        let grid = Grid::new(&axes, &USUAL, cap, &memory).unwrap();
        assert!(grid.memory.iter().all(|bytes| *bytes <= cap));
        assert_eq!(grid.settings.len() as u64 + grid.over_memory(), all.settings.len() as u64);
        assert!(grid.is_at_memory_limit(grid.default), "40 buffers of 4 MiB are too many");
        let small = Setting { buffers: 10, transfer_bytes: 1 << 20, ..USUAL };
        let small = grid.settings.iter().position(|setting| *setting == small).unwrap();
        assert!(!grid.is_at_memory_limit(small));
        assert!(Grid::new(&axes, &USUAL, 1 << 20, &memory).is_none(), "not even the default fits");
    }
}
