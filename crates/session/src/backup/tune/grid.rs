//! The settings among which a search finds the best, whatever they are settings of.

use iostall_measure::Nanos;
use iostall_stats::halving::neighbours;

use crate::event::{TrialPlace, TunePlan};

#[derive(Clone, Debug)]
pub(in crate::backup) struct Grid<S> {
    pub(in crate::backup) settings: Vec<S>,
    pub(in crate::backup) memory: Vec<u64>,
    /// Which of them differ by one step.
    pub(in crate::backup) neighbours: Vec<Vec<usize>>,
    pub(in crate::backup) default: usize,
    lengths: Vec<usize>,
    points: Vec<usize>,
    over_memory: Vec<usize>,
}

/// A number as its place on each axis, the last axis fastest.
fn places(lengths: &[usize], point: usize) -> Vec<usize> {
    let mut rest = point;
    let mut places = vec![0; lengths.len()];
    for (place, length) in places.iter_mut().zip(lengths).rev() {
        *place = rest % length;
        rest /= length;
    }
    places
}

impl<S: PartialEq> Grid<S> {
    /// All settings on axes of these lengths whose buffers take at most `memory_max` bytes. `memory_of` is `None` for a setting
    /// that makes no sense, such as a transfer smaller than a frame. `None` if the default is not among them.
    pub(in crate::backup) fn new(
        lengths: &[usize],
        setting_of: &dyn Fn(&[usize]) -> S,
        default: &S,
        memory_max: u64,
        memory_of: &dyn Fn(&S) -> Option<u64>,
    ) -> Option<Self> {
        let (mut points, mut settings, mut memory, mut over_memory) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for point in 0..lengths.iter().product() {
            let setting = setting_of(&places(lengths, point));
            match memory_of(&setting) {
                Some(bytes) if bytes <= memory_max => {
                    points.push(point);
                    settings.push(setting);
                    memory.push(bytes);
                }
                Some(_) => over_memory.push(point),
                None => {}
            }
        }
        let default = settings.iter().position(|setting| setting == default)?;
        let neighbours = neighbours(lengths, &points);
        Some(Self { settings, memory, neighbours, default, lengths: lengths.to_vec(), points, over_memory })
    }
}

impl<S> Grid<S> {
    pub(in crate::backup) fn over_memory(&self) -> u64 {
        self.over_memory.len() as u64
    }

    /// What is about to be done: a trial writes at most so many bytes.
    pub(in crate::backup) fn plan(
        &self,
        budget: Nanos,
        memory_bytes_max: u64,
        trial_bytes_max: u64,
    ) -> TunePlan {
        TunePlan {
            settings: self.settings.len() as u64,
            over_memory: self.over_memory(),
            budget,
            memory_bytes_max,
            trial_bytes_max,
            whole: None,
            place: TrialPlace::Beside,
        }
    }

    /// Whether a setting that differs in one respect only takes too much memory.
    pub(in crate::backup) fn is_at_memory_limit(&self, number: usize) -> bool {
        let own = places(&self.lengths, self.points[number]);
        let differs_once = |over: &usize| {
            let other = places(&self.lengths, *over);
            own.iter().zip(&other).filter(|(one, other)| one != other).count() == 1
        };
        self.over_memory.iter().any(differs_once)
    }
}
