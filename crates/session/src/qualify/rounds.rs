//! The stages of a qualification: rounds until they are steady, or as many as there may be.

use iostall_measure::Clock;
use iostall_model::profile::Access;
use iostall_model::qualify::{Cell, QualifyRound, QualifyTest, Stopped};
use iostall_model::{Point, QualifyOutcome, RunBody};

use super::Qualifier;
use crate::analysis::qualify::{
    STEPS_PER_FILL, StageRounds, fast_cache, is_steady_but_disturbed, points_of, stages, steady_window_of,
};
use crate::error::SessionError;
use crate::event::Event;

/// How long a pause goes on before it is asked whether to stop, nanoseconds.
const PAUSE_STEP_NS: u64 = 100_000_000;
/// How much more than the fast cache is written after a rest.
const AFTER_REST: f64 = 1.25;

impl Qualifier<'_, '_> {
    pub(super) fn all_stages(&mut self) -> Result<(), SessionError> {
        let count = self.stages.len();
        let reached = self.outcome.rounds.last().map_or(0, |round| round.stage as usize);
        for index in reached..count {
            if self.is_left_out(index) {
                continue;
            }
            if count > 1 {
                let (number, name) = (index + 1, self.stages[index].name.clone());
                self.runner.emit(&Event::StageBegins { number, of: count, name: &name });
            }
            self.precondition(index)?;
            self.rest(index);
            self.outcome.stopped = self.stage(index)?;
            if self.runner.stopped() {
                self.outcome.stopped = Stopped::Interrupted;
                break;
            }
            if self.is_written_out() {
                break;
            }
        }
        Ok(())
    }

    fn rest(&mut self, index: usize) {
        let has_begun = self.outcome.rounds.iter().any(|round| round.stage as usize == index);
        if !has_begun {
            self.pause(self.stages[index].rest.0);
        }
    }

    fn pause(&self, length_ns: u64) {
        let clock = self.session.clock();
        let end_ns = clock.now_ns().saturating_add(length_ns);
        while clock.now_ns() < end_ns && !self.runner.stopped() {
            clock.sleep_until(end_ns.min(clock.now_ns() + PAUSE_STEP_NS));
        }
    }

    fn of_stage<T>(&self, index: usize, then: impl FnOnce(&StageRounds<'_>) -> T) -> Option<T> {
        stages(&self.outcome).get(index).map(then)
    }

    fn stage(&mut self, index: usize) -> Result<Stopped, SessionError> {
        self.next_bytes = 0;
        loop {
            if self.runner.stopped() {
                return Ok(Stopped::Interrupted);
            }
            if let Some(reason) = self.is_enough(index) {
                return Ok(reason);
            }
            let Some(round) = self.round(index)? else { return Ok(Stopped::Interrupted) };
            let number = self.of_stage(index, |one| one.rounds.len()).unwrap_or(0) + 1;
            let fills = self.outcome.fills(round.written_bytes);
            let of = self.stages[index].rounds_max;
            self.runner.emit(&Event::RoundEnded { number, of, fills, round: &round });
            self.outcome.rounds.push(round);
            self.look_at_drive(index);
            let is_long = self.stages[index].cells.len() > 1;
            let Self { checkpoints, session, runner, outcome, name, .. } = self;
            checkpoints.store(is_long, session, || {
                let outcome = QualifyOutcome {
                    engine: runner.engine(),
                    stopped: Stopped::Interrupted,
                    points: stages(outcome).iter().flat_map(points_of).collect(),
                    ..outcome.clone()
                };
                runner.record_so_far(name, RunBody::Qualify(Box::new(outcome)))
            });
        }
    }

    fn is_written_out(&self) -> bool {
        self.outcome.plan.write_limit.is_some_and(|limit| self.outcome.rounds_bytes() >= limit.bytes())
    }

    fn is_enough(&self, index: usize) -> Option<Stopped> {
        if self.is_written_out() {
            return Some(Stopped::WriteLimit);
        }
        let stage = &self.stages[index];
        let (rounds, written) =
            self.of_stage(index, |one| (one.rounds.len(), one.fills(one.written_bytes())))?;
        if rounds >= stage.rounds_max as usize {
            return Some(Stopped::Rounds);
        }
        if stage.fills_max.is_some_and(|most| written >= f64::from(most)) {
            return Some(Stopped::WriteLimit);
        }
        if index > 0 && self.outcome.plan.test == QualifyTest::FastCache && self.is_past_the_cache(index) {
            return Some(Stopped::Rounds);
        }
        if !stage.is_until_steady() || !self.is_step_over(index) {
            return None;
        }
        if self.of_stage(index, steady_window_of)?.is_some() {
            return Some(Stopped::Steady);
        }
        self.of_stage(index, is_steady_but_disturbed)?.then_some(Stopped::Disturbed)
    }

    /// What slows the drive down now. Not after each of hundreds of samples, because the drive is idle meanwhile.
    fn look_at_drive(&mut self, index: usize) {
        if self.is_step_over(index)
            && let (Some(look), Some(conditions)) = (&self.look, &mut self.outcome.conditions)
        {
            conditions.then(look.now());
        }
    }

    /// Without a fast cache there is nothing that a rest could bring back.
    fn is_left_out(&self, index: usize) -> bool {
        index > 0 && self.outcome.plan.test == QualifyTest::FastCache && fast_cache(&self.outcome).is_none()
    }

    fn is_past_the_cache(&self, index: usize) -> bool {
        let written = self.of_stage(index, |one| one.written_bytes() as f64);
        let cache = fast_cache(&self.outcome).map(|(cache, _)| cache.bytes);
        written.zip(cache).is_some_and(|(written, cache)| written > cache * AFTER_REST)
    }

    /// Whether there may be a new window. The samples without a pause are many, and looking costs time in which the drive is idle.
    fn is_step_over(&self, index: usize) -> bool {
        if !self.stages[index].by_fill {
            return true;
        }
        let of = |one: &StageRounds<'_>| {
            let step_bytes = (one.range_bytes / STEPS_PER_FILL).max(1);
            let steps =
                |round: Option<&QualifyRound>| round.map_or(0, |round| one.written_by(round) / step_bytes);
            let before = one.rounds.len().checked_sub(2).and_then(|index| one.rounds.get(index));
            steps(one.rounds.last()) > steps(before)
        };
        self.of_stage(index, of).unwrap_or(false)
    }

    /// One round; `None` if it was interrupted: half a round is no round.
    fn round(&mut self, index: usize) -> Result<Option<QualifyRound>, SessionError> {
        let number = self.of_stage(index, |one| one.rounds.len()).unwrap_or(0) + 1;
        let cells = self.stages[index].cells.clone();
        let mut points = Vec::with_capacity(cells.len());
        for cell in &cells {
            if cells.len() > 1 || cell.access == Access::Random {
                self.next_bytes = 0;
            }
            let label = self.label(index, number, cell);
            let point = self.measure(cell, &label)?;
            if let Some(point) = &point {
                self.go_on_in_order(index, cell, point);
            }
            points.extend(point);
            self.pause(cell.pause.0);
            if self.runner.stopped() {
                return Ok(None);
            }
        }
        let stage = u32::try_from(index).unwrap_or(u32::MAX);
        let mut round = QualifyRound { stage, idle_ns: self.idle_ns.take(), written_bytes: 0, points };
        round.written_bytes = self.outcome.rounds_bytes().saturating_add(round.own_written_bytes());
        Ok(Some(round))
    }

    /// The next sample in order begins where this one ended, and at the start where little is left for one like it.
    fn go_on_in_order(&mut self, index: usize, cell: &Cell, point: &Point) {
        if cell.access != Access::Sequential {
            return;
        }
        let size = u64::from(cell.size.bytes());
        let moved: u64 = point.repeats.iter().map(|repeat| repeat.bytes).sum();
        let range_bytes = self.stages[index].range_bytes(self.active_bytes);
        let next = (self.next_bytes + moved) / size * size;
        let is_room = next.saturating_add(moved.max(size)) <= range_bytes;
        self.next_bytes = if is_room { next } else { 0 };
    }

    fn label(&self, index: usize, number: usize, cell: &Cell) -> String {
        let stage = &self.stages[index];
        let place = if stage.name.is_empty() { String::new() } else { format!("{}, ", stage.name) };
        if stage.cells.len() == 1 {
            return format!("{place}sample {number}");
        }
        let (queue_depth, workers) = (self.outcome.plan.queue_depth, self.outcome.plan.workers);
        let depth = if (cell.queue_depth, cell.workers) == (queue_depth, workers) {
            String::new()
        } else {
            format!(", depth {} × {}", cell.queue_depth, cell.workers)
        };
        format!("{place}round {number}: {} writes of {}{depth}", cell.write_pct, cell.size)
    }
}
