//! The pages that the host writes.

use iostall_model::flash::{WriteClass, WritePattern};

use crate::error::FlashError;
use crate::number::index;
use crate::random::{Stream, threshold};
use crate::zipf::Zipf;

#[derive(Debug)]
pub struct Pages {
    shape: Shape,
    end: u32,
    rng: Stream,
}

#[derive(Debug)]
enum Shape {
    Uniform,
    Sequential { next: u32 },
    Classes(Vec<Class>),
    Zipf(Zipf),
    Sequence { pages: Vec<u32>, next: usize },
}

#[derive(Clone, Copy, Debug)]
struct Class {
    /// Random bits below this, and not below that of the class before, are for this class.
    bits_below: u64,
    first_page: u32,
    length: u32,
}

impl Pages {
    /// The pages of `pattern` on a device of `user_pages`. `sequence` are those of a sequence, each below `user_pages`.
    pub fn new(
        pattern: &WritePattern,
        user_pages: u32,
        seed: u64,
        sequence: &[u32],
    ) -> Result<Self, FlashError> {
        let shape = match pattern {
            WritePattern::Uniform => Shape::Uniform,
            WritePattern::Sequential => Shape::Sequential { next: 0 },
            WritePattern::Classes(classes) => Shape::Classes(checked(classes, user_pages)?),
            WritePattern::Zipf { theta } if *theta > 0.0 && *theta <= 10.0 => {
                Shape::Zipf(Zipf::new(user_pages, *theta))
            }
            WritePattern::Zipf { .. } => {
                return Err(FlashError::Pattern { why: "theta must be above 0 and at most 10" });
            }
            WritePattern::Sequence { .. } if sequence.is_empty() => {
                return Err(FlashError::Pattern { why: "the sequence has no writes" });
            }
            WritePattern::Sequence { .. } if sequence.iter().any(|page| *page >= user_pages) => {
                return Err(FlashError::Pattern { why: "the sequence writes beyond the end of the device" });
            }
            WritePattern::Sequence { .. } => Shape::Sequence { pages: sequence.to_vec(), next: 0 },
        };
        Ok(Self { shape, end: user_pages, rng: Stream::of_seed(seed) })
    }

    /// Draws the next pages, as many as fit.
    pub fn draw(&mut self, into: &mut [u32]) {
        let Self { shape, end, rng } = self;
        match shape {
            Shape::Uniform => into.fill_with(|| rng.below(*end)),
            Shape::Sequential { next } => into.fill_with(|| {
                let page = *next;
                *next = if page + 1 == *end { 0 } else { page + 1 };
                page
            }),
            Shape::Classes(classes) => into.fill_with(|| draw_class(classes, rng)),
            Shape::Zipf(zipf) => into.fill_with(|| zipf.draw(rng)),
            Shape::Sequence { pages, next } => into.fill_with(|| {
                let page = pages[*next];
                *next = (*next + 1) % pages.len();
                page
            }),
        }
    }

    /// A random page of the device.
    pub(crate) fn any(&mut self) -> u32 {
        self.rng.below(self.end)
    }

    /// Random bits, for what is decided beside.
    pub(crate) fn bits(&mut self) -> u64 {
        self.rng.bits()
    }
}

#[inline]
fn draw_class(classes: &[Class], rng: &mut Stream) -> u32 {
    let bits = rng.bits();
    let last = classes.len() - 1;
    let number = classes[..last].iter().take_while(|class| bits >= class.bits_below).count();
    let class = &classes[number];
    class.first_page + rng.below(class.length)
}

/// The first page of each class: they lie side by side in their order.
pub(crate) fn starts(classes: &[WriteClass], user_pages: u32) -> Vec<u32> {
    let mut share = 0.0;
    let start = |class: &WriteClass| {
        let first: f64 = share;
        share += class.data_share;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a u32")]
        let page = (first * f64::from(user_pages)).round() as u32;
        page.min(user_pages)
    };
    classes.iter().map(start).collect()
}

fn checked(classes: &[WriteClass], user_pages: u32) -> Result<Vec<Class>, FlashError> {
    const ERROR: f64 = 1e-6;
    let sum = |share: fn(&WriteClass) -> f64| classes.iter().map(share).sum::<f64>();
    let sums = [sum(|class| class.data_share), sum(|class| class.write_share)];
    if sums.iter().any(|sum| (sum - 1.0).abs() > ERROR) {
        return Err(FlashError::Pattern {
            why: "the shares of data and those of writes must each add up to 100 %",
        });
    }
    if classes.iter().any(|class| class.data_share <= 0.0 || class.write_share < 0.0) {
        return Err(FlashError::Pattern { why: "each class needs a share of the data above 0" });
    }
    let starts = starts(classes, user_pages);
    let mut write_share = 0.0;
    let mut found = Vec::with_capacity(classes.len());
    for (number, class) in classes.iter().enumerate() {
        write_share += class.write_share;
        let end = starts.get(number + 1).copied().unwrap_or(user_pages);
        let pages = end.saturating_sub(starts[number]);
        if pages == 0 {
            return Err(FlashError::Pattern { why: "a class has less than one page: simulate more pages" });
        }
        found.push(Class { bits_below: threshold(write_share), first_page: starts[number], length: pages });
    }
    debug_assert_eq!(index(user_pages), found.iter().map(|class| index(class.length)).sum::<usize>());
    Ok(found)
}
