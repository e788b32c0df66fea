//! A device as one would write it first: lists that are searched. It follows the choices of the real one where several are allowed,
//! and checks that each is allowed.

use std::collections::VecDeque;

use iostall_model::flash::{Collect, FlashSettings, Separation, WriteClass, WritePattern};
use proptest::prelude::*;

use super::settings;
use crate::ftl::Event;
use crate::{Counts, Ftl};

struct Naive {
    settings: FlashSettings,
    /// By block: the logical page in each of its pages, if that is valid.
    blocks: Vec<Vec<Option<u32>>>,
    erases: Vec<u32>,
    /// Written pages of each block.
    written: Vec<usize>,
    free: Vec<u32>,
    full: VecDeque<u32>,
    /// By block: the stream that filled it last.
    filled_by: Vec<usize>,
    open: Vec<Option<u32>>,
    reserve: usize,
    counts: Counts,
    events: VecDeque<Event>,
}

impl Naive {
    fn like(ftl: &Ftl, settings: &FlashSettings) -> Self {
        let count = u32::try_from(ftl.erases.len()).unwrap();
        let pages = settings.pages_per_block as usize;
        Self {
            settings: settings.clone(),
            blocks: (0..count).map(|_| vec![None; pages]).collect(),
            erases: vec![0; count as usize],
            written: vec![0; count as usize],
            free: (0..count).collect(),
            full: VecDeque::new(),
            filled_by: vec![0; count as usize],
            open: vec![None; ftl.frontiers.len()],
            reserve: ftl.reserve,
            counts: Counts::default(),
            events: VecDeque::new(),
        }
    }

    fn class_of(&self, page: u32) -> usize {
        let WritePattern::Classes(classes) = &self.settings.pattern else { return 0 };
        let first = (classes[0].data_share * f64::from(self.settings.user_pages)).round();
        usize::from(f64::from(page) >= first)
    }

    fn stream(&self, page: u32, is_moved: bool) -> usize {
        match self.settings.separation {
            Separation::None => 0,
            Separation::Moved => usize::from(is_moved),
            Separation::Classes => self.class_of(page),
        }
    }

    fn valid(&self, block: u32) -> usize {
        self.blocks[block as usize].iter().flatten().count()
    }

    fn forget(&mut self, page: u32) -> bool {
        let all = self.blocks.iter_mut().flatten();
        let found: Vec<_> = all.filter(|slot| **slot == Some(page)).collect();
        assert!(found.len() <= 1, "page {page} is stored twice");
        let was_live = !found.is_empty();
        for slot in found {
            *slot = None;
        }
        was_live
    }

    fn has_room(&self, stream: usize) -> bool {
        self.open[stream].is_some_and(|block| self.written[block as usize] < self.blocks[0].len())
    }

    fn write(&mut self, page: u32) {
        self.forget(page);
        let stream = self.stream(page, false);
        if !self.has_room(stream) {
            for full in 0..self.open.len() {
                if !self.has_room(full) {
                    self.full.extend(self.open[full].take());
                }
            }
            while !self.has_room(stream) || self.free.len() < self.reserve {
                if self.free.len() > self.reserve {
                    self.open_next(stream);
                } else {
                    self.collect();
                }
            }
        }
        self.store(stream, page);
        self.counts.host_pages += 1;
    }

    fn store(&mut self, stream: usize, page: u32) {
        let block = self.open[stream].unwrap() as usize;
        self.blocks[block][self.written[block]] = Some(page);
        self.written[block] += 1;
    }

    fn open_next(&mut self, stream: usize) {
        let Some(Event::Opened(block)) = self.events.pop_front() else { panic!("opened no block") };
        let least = self.free.iter().map(|free| self.erases[*free as usize]).min().unwrap();
        assert_eq!(self.erases[block as usize], least, "not the least worn free block");
        let before = self.free.len();
        self.free.retain(|free| *free != block);
        assert_eq!(self.free.len() + 1, before);
        self.filled_by[block as usize] = stream;
        self.full.extend(self.open[stream].replace(block));
    }

    fn collect(&mut self) {
        let Some(Event::Collected(block)) = self.events.pop_front() else { panic!("collected no block") };
        // Which class gives up a block is the device's choice; of its own blocks it gives the right one.
        let is_apart = self.settings.separation == Separation::Classes;
        let stream = |full: u32| if is_apart { self.filled_by[full as usize] } else { 0 };
        let mut of_pool = self.full.iter().copied().filter(|full| stream(*full) == stream(block));
        match self.settings.collect {
            Collect::Greedy => {
                let fewest = of_pool.map(|full| self.valid(full)).min().unwrap();
                assert_eq!(self.valid(block), fewest, "not the block with the fewest valid pages");
            }
            Collect::Fifo => assert_eq!(of_pool.next(), Some(block), "not the oldest block"),
            Collect::Choices(_) => assert!(self.full.contains(&block), "not a full block"),
        }
        self.full.retain(|full| *full != block);
        let pages: Vec<u32> = self.blocks[block as usize].iter().flatten().copied().collect();
        self.counts.moved_pages += pages.len() as u64;
        self.blocks[block as usize].fill(None);
        for page in pages {
            let stream = self.stream(page, true);
            if !self.has_room(stream) {
                self.open_next(stream);
            }
            self.store(stream, page);
        }
        self.written[block as usize] = 0;
        self.erases[block as usize] += 1;
        self.counts.erased_blocks += 1;
        self.free.push(block);
    }

    fn trim(&mut self, page: u32) {
        self.counts.trimmed_pages += u64::from(self.forget(page));
    }
}

fn small() -> impl Strategy<Value = FlashSettings> {
    let collect =
        prop_oneof![Just(Collect::Greedy), Just(Collect::Fifo), (1u32..5).prop_map(Collect::Choices)];
    let separation = prop_oneof![Just(Separation::None), Just(Separation::Moved), Just(Separation::Classes)];
    let geometry = (1u32..12, 4u32..20, 1.05f64..2.0);
    (geometry, collect, separation, any::<u64>()).prop_map(
        |((pages, blocks, alpha), collect, separation, seed)| {
            let classes = [(0.3, 0.8), (0.7, 0.2)];
            let class = |(data_share, write_share)| WriteClass { data_share, write_share };
            let pattern = WritePattern::Classes(classes.map(class).to_vec());
            FlashSettings { collect, separation, pattern, seed, ..settings(alpha, pages, blocks) }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Every page is where the naive device has it, after every request, and everything that is counted is equal.
    #[test]
    fn a_small_device_does_what_the_naive_one_does(
        settings in small(),
        requests in prop::collection::vec((any::<u32>(), 0u8..10), 1..400),
    ) {
        let mut ftl = Ftl::new(&settings).unwrap();
        let mut naive = Naive::like(&ftl, &settings);
        for (number, kind) in requests {
            let page = number % settings.user_pages;
            if kind == 0 {
                ftl.trim(page);
                naive.trim(page);
            } else {
                ftl.write_all(&[page]).unwrap();
                naive.events.extend(ftl.events.drain(..));
                naive.write(page);
            }
            prop_assert!(naive.events.is_empty());
            prop_assert_eq!(ftl.counts(), naive.counts);
            prop_assert_eq!(&ftl.erases, &naive.erases);
            let stored: Vec<Option<u32>> = naive.blocks.iter().flatten().copied().collect();
            let of_ftl = ftl.logical_of.iter().map(|page| (*page != crate::ftl::UNMAPPED).then_some(*page));
            prop_assert_eq!(of_ftl.collect::<Vec<_>>(), stored);
            prop_assert_eq!(ftl.live_pages() as usize, naive.blocks.iter().flatten().flatten().count());
        }
    }

    #[test]
    fn more_spare_area_never_amplifies_more(alpha in 1.04f64..1.6, more in 1.04f64..1.3, b in 16u32..65, fifo: bool) {
        let collect = if fifo { Collect::Fifo } else { Collect::Greedy };
        let of = |alpha| super::steady(&FlashSettings { collect, ..settings(alpha, b, 300) }, 8);
        let (little, much) = (of(alpha), of(alpha * more));
        prop_assert!(much < little, "{alpha}: {little}, with {more} times the area {much}");
    }
}
