//! A running stage: its threads, their frames, and the order of frames.

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;

use iostall_engine::Buffer;

use super::frame::Frame;
use super::stage::{StageFailure, StageWorker, StageWorkers};

enum Work {
    Frame(Frame),
    Hole(u64),
}

pub(super) struct Finished {
    pub(super) frame: Frame,
    pub(super) result: Result<(), StageFailure>,
}

enum Message {
    Finished(usize, Finished),
    Spare(Buffer),
    Panicked(Box<dyn Any + Send>),
}

struct Worker<'a> {
    stage: StageWorker<'a>,
    spare: Option<Buffer>,
}

impl Worker<'_> {
    fn apply(&mut self, work: Work) -> Option<Finished> {
        let mut frame = match (work, &mut self.stage) {
            (Work::Frame(frame), _) => frame,
            (Work::Hole(length), StageWorker::Ordered(stage)) => {
                stage.hole(length);
                return None;
            }
            (Work::Hole(_), StageWorker::AnyOrder(_)) => return None,
        };
        let result = match (&mut self.stage, &mut self.spare) {
            (StageWorker::Ordered(stage), _) => stage.frame(&mut frame),
            (StageWorker::AnyOrder(stage), Some(spare)) => stage.apply(&mut frame, spare),
            (StageWorker::AnyOrder(_), None) => Err("a stage without a spare buffer".into()),
        };
        Some(Finished { frame, result })
    }

    fn work(mut self, index: usize, inbox: &Receiver<Work>, outbox: &Sender<Message>) {
        // If the receiver is gone, nobody needs the buffers any more.
        for work in inbox {
            let message = match catch_unwind(AssertUnwindSafe(|| self.apply(work))) {
                Ok(None) => continue,
                Ok(Some(finished)) => Message::Finished(index, finished),
                // The frame is lost; the receiver must know.
                Err(panic) => Message::Panicked(panic),
            };
            let _ = outbox.send(message);
        }
        if let Some(spare) = self.spare {
            let _ = outbox.send(Message::Spare(spare));
        }
    }
}

enum Crew<'a> {
    Caller(Worker<'a>),
    Threads { inboxes: Vec<Sender<Work>>, in_hand: Vec<u32>, outbox: Receiver<Message> },
}

pub(super) struct RunningStage<'a> {
    crew: Crew<'a>,
    /// For an ordered stage: frames that came early, by sequence number, and the next number.
    early: Option<(u64, BTreeMap<u64, Work>)>,
    finished: VecDeque<Finished>,
    early_frames: usize,
    at_work: u32,
}

impl<'a> RunningStage<'a> {
    /// Starts its threads, which end when it is dropped or [closed](Self::close). Takes the workers' spare buffers out of
    /// `free`.
    pub(super) fn start<'scope>(
        stage: StageWorkers<'a>,
        free: &mut Vec<Buffer>,
        scope: &'scope Scope<'scope, '_>,
    ) -> io::Result<Self>
    where
        'a: 'scope,
    {
        let StageWorkers { workers, in_order, on_caller } = stage;
        let mut workers = workers.into_iter().map(|stage| {
            let spare = if in_order { None } else { free.pop() };
            Worker { stage, spare }
        });
        let crew = match workers.next() {
            Some(first) if on_caller => Crew::Caller(first),
            first => {
                let (to_caller, outbox) = channel();
                let mut inboxes = Vec::new();
                for (index, worker) in first.into_iter().chain(workers).enumerate() {
                    let (inbox, from_caller) = channel();
                    let to_caller = to_caller.clone();
                    std::thread::Builder::new()
                        .name("stage".into())
                        .spawn_scoped(scope, move || worker.work(index, &from_caller, &to_caller))?;
                    inboxes.push(inbox);
                }
                Crew::Threads { in_hand: vec![0; inboxes.len()], inboxes, outbox }
            }
        };
        let early = in_order.then(|| (0, BTreeMap::new()));
        Ok(Self { crew, early, finished: VecDeque::new(), early_frames: 0, at_work: 0 })
    }

    pub(super) fn offer(&mut self, frame: Frame) {
        self.arrive(frame.sequence(), Work::Frame(frame));
    }

    pub(super) fn offer_hole(&mut self, sequence: u64, length: u64) {
        // Only an ordered stage needs to know about holes.
        if self.early.is_some() {
            self.arrive(sequence, Work::Hole(length));
        }
    }

    fn arrive(&mut self, sequence: u64, work: Work) {
        let Some((_, early)) = &mut self.early else { return self.hand_over(work) };
        self.early_frames += usize::from(matches!(work, Work::Frame(_)));
        early.insert(sequence, work);
        while let Some((next, early)) = &mut self.early
            && let Some(work) = early.remove(next)
        {
            *next += 1;
            self.early_frames -= usize::from(matches!(work, Work::Frame(_)));
            self.hand_over(work);
        }
    }

    fn hand_over(&mut self, work: Work) {
        match &mut self.crew {
            Crew::Caller(worker) => self.finished.extend(worker.apply(work)),
            Crew::Threads { inboxes, in_hand, .. } => {
                let (index, _) =
                    in_hand.iter().enumerate().min_by_key(|(_, count)| **count).unwrap_or((0, &0));
                if matches!(work, Work::Frame(_)) {
                    in_hand[index] += 1;
                    self.at_work += 1;
                }
                // A worker ends only after this sender is dropped.
                let _ = inboxes[index].send(work);
            }
        }
    }

    /// Frames that threads are working on, without those waiting for their turn.
    pub(super) fn at_work(&self) -> u32 {
        self.at_work
    }

    /// All frames here: in progress, waiting for their turn, or finished.
    pub(super) fn held(&self) -> usize {
        self.early_frames + self.at_work as usize + self.finished.len()
    }

    /// A finished frame; with `wait`, blocks while one is in progress.
    ///
    /// # Panics
    /// If a worker panicked.
    pub(super) fn take(&mut self, wait: bool) -> Option<Finished> {
        if let Some(finished) = self.finished.pop_front() {
            return Some(finished);
        }
        if self.at_work == 0 {
            return None;
        }
        let Crew::Threads { in_hand, outbox, .. } = &mut self.crew else { return None };
        let message = if wait { outbox.recv().ok()? } else { outbox.try_recv().ok()? };
        match message {
            Message::Finished(index, finished) => {
                in_hand[index] -= 1;
                self.at_work -= 1;
                Some(finished)
            }
            Message::Panicked(panic) => resume_unwind(panic),
            // Workers end after the last frame was taken.
            Message::Spare(_) => None,
        }
    }

    /// Returns the frames whose turn will not come.
    pub(super) fn abandon(&mut self) -> Vec<Frame> {
        let Some((_, early)) = &mut self.early else { return Vec::new() };
        self.early_frames = 0;
        let abandoned = std::mem::take(early).into_values();
        abandoned
            .filter_map(|work| match work {
                Work::Frame(frame) => Some(frame),
                Work::Hole(_) => None,
            })
            .collect()
    }

    pub(super) fn close(self) -> Vec<Buffer> {
        match self.crew {
            Crew::Caller(worker) => worker.spare.into_iter().collect(),
            Crew::Threads { inboxes, outbox, .. } => {
                drop(inboxes);
                let spares = outbox.into_iter().filter_map(|message| match message {
                    Message::Spare(spare) => Some(spare),
                    Message::Finished(..) | Message::Panicked(_) => None,
                });
                spares.collect()
            }
        }
    }
}
