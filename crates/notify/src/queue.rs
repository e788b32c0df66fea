//! What waits for a channel: in order, so many at most, and never a begin without its end.

use std::collections::{HashSet, VecDeque};

use iostall_model::alert::{Notice, Occasion};

use crate::message::Message;

/// So many wait for a channel; ends of incidents that it has heard of come on top.
const WAITING_MAX: usize = 100;

/// Numbers of messages that are not delivered themselves, and why not.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Passed {
    /// A later message says all that they said.
    pub(crate) replaced: Vec<u64>,
    pub(crate) left_out: Vec<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: VecDeque<(u64, Message)>,
    /// Incidents of which the channel has not heard: it needs not hear of their ends.
    unheard: HashSet<String>,
    /// How many were left out, ever.
    left_out: u64,
}

impl Queue {
    pub(crate) fn take(&mut self) -> Option<(u64, Message)> {
        self.waiting.pop_front()
    }

    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Puts a message for `channel` into the queue. Where too many wait, it is left out, or another one for the end of an incident, and
    /// one message says how many were.
    pub(crate) fn put(&mut self, channel: &str, number: u64, message: Message) -> Passed {
        let mut passed = Passed::default();
        let replaces = |waiting: &Message| waiting.key() == message.key() && says_all_of(&message, waiting);
        if let Some(place) = self.waiting.iter().position(|(_, waiting)| replaces(waiting)) {
            passed.replaced = self.numbers_where(replaces);
            self.waiting.retain(|(_, waiting)| !replaces(waiting));
            self.unheard.remove(&message.key());
            self.waiting.insert(place, (number, message));
            return passed;
        }
        if is_over(&message) {
            if self.unheard.remove(&message.key()) {
                self.leave_out(channel, number, &mut passed);
                return passed;
            }
            if self.is_full()
                && let Some(newest) = self.waiting.iter().rposition(|(_, waiting)| is_begin(waiting))
                && let Some((evicted, begin)) = self.waiting.remove(newest)
            {
                self.forget(&begin);
                self.leave_out(channel, evicted, &mut passed);
            }
        } else if self.is_full() {
            self.forget(&message);
            self.leave_out(channel, number, &mut passed);
            return passed;
        }
        self.unheard.remove(&message.key());
        self.waiting.push_back((number, message));
        passed
    }

    fn is_full(&self) -> bool {
        self.waiting.len() >= WAITING_MAX
    }

    fn numbers_where(&self, is_meant: impl Fn(&Message) -> bool) -> Vec<u64> {
        self.waiting.iter().filter(|(_, waiting)| is_meant(waiting)).map(|(number, _)| *number).collect()
    }

    fn forget(&mut self, begin: &Message) {
        if let Message::Alert(Notice { occasion: Occasion::Firing, count, firing_count, .. }) = begin
            && count == firing_count
        {
            self.unheard.insert(begin.key());
        }
    }

    fn leave_out(&mut self, channel: &str, number: u64, passed: &mut Passed) {
        passed.left_out.push(number);
        self.left_out += 1;
        for (_, waiting) in &mut self.waiting {
            if let Message::LeftOut { count, .. } = waiting {
                *count += 1;
                return;
            }
        }
        self.waiting.push_back((0, Message::LeftOut { channel: channel.to_owned(), count: 1 }));
    }
}

/// Whether the incident is over: nothing of its group is firing any more.
fn is_over(message: &Message) -> bool {
    matches!(message, Message::Alert(_))
        && message.occasion() == Occasion::Resolved
        && message.firing_count() == 0
}

fn is_begin(message: &Message) -> bool {
    let occasion = message.occasion();
    matches!(message, Message::Alert(_)) && matches!(occasion, Occasion::Firing | Occasion::StillFiring)
}

/// Whether nobody needs to hear `earlier` who hears `later`, which is about the same.
fn says_all_of(later: &Message, earlier: &Message) -> bool {
    let is_sign = matches!((later, earlier), (Message::Heartbeat(_), Message::Heartbeat(_)));
    let is_repeat = later.occasion() == Occasion::StillFiring && earlier.occasion() == Occasion::StillFiring;
    is_sign || is_over(later) || is_repeat
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::tests::notice;

    fn of(file: usize, occasion: Occasion) -> Message {
        let firing_count = u64::from(occasion != Occasion::Resolved);
        Notice { group: format!("file {file}"), count: 1, firing_count, ..notice(occasion) }.into()
    }

    /// What is delivered of each file, in order, while a slow channel takes one of every `every` messages that come.
    fn delivered(messages: &[(usize, Occasion)], every: usize) -> (Vec<(String, Occasion)>, u64) {
        let mut queue = Queue::default();
        let (mut taken, mut left_out) = (Vec::new(), 0);
        let mut take = |queue: &mut Queue| match queue.take() {
            Some((_, Message::LeftOut { count, .. })) => left_out += count,
            Some((_, message)) => taken.push((message.key(), message.occasion())),
            None => {}
        };
        for (number, (file, occasion)) in messages.iter().enumerate() {
            queue.put("c", number as u64, of(*file, *occasion));
            if number % every == 0 {
                take(&mut queue);
            }
        }
        assert!(queue.waiting.len() <= 2 * WAITING_MAX, "{}", queue.waiting.len());
        while !queue.waiting.is_empty() {
            take(&mut queue);
        }
        (taken, left_out)
    }

    /// 300 files went over a limit and back, twice: 31 incidents stayed open at the receiver, because the newest notices were dropped.
    #[test]
    fn whoever_heard_of_a_begin_hears_of_the_end_however_many_there_are() {
        let round = |occasion| (0..300).map(move |file| (file, occasion));
        let flood = || round(Occasion::Firing).chain(round(Occasion::Resolved));
        let messages: Vec<_> = flood().chain(flood()).collect();
        for every in [1, 2, 3, 7, 1_000] {
            let (taken, left_out) = delivered(&messages, every);
            for file in 0..300 {
                let key = of(file, Occasion::Firing).key();
                let last = taken.iter().rev().find(|(of, _)| *of == key).map(|(_, occasion)| *occasion);
                assert_ne!(last, Some(Occasion::Firing), "file {file}, every {every}");
            }
            assert!(every == 1 || left_out > 0, "{every}");
        }
    }

    #[test]
    fn an_end_takes_the_place_of_its_begin_that_still_waits() {
        let mut queue = Queue::default();
        queue.put("c", 1, of(1, Occasion::Firing));
        queue.put("c", 2, of(2, Occasion::Firing));
        let passed = queue.put("c", 3, of(1, Occasion::Resolved));
        assert_eq!(passed, Passed { replaced: vec![1], left_out: vec![] });
        let numbers: Vec<u64> = std::iter::from_fn(|| queue.take()).map(|(number, _)| number).collect();
        assert_eq!(numbers, [3, 2]);
    }

    #[test]
    fn what_is_left_out_is_one_message_with_their_number() {
        let mut queue = Queue::default();
        for file in 0..WAITING_MAX + 7 {
            let number = file as u64;
            let passed = queue.put("c", number, of(file, Occasion::Firing));
            assert_eq!(passed.left_out.is_empty(), file < WAITING_MAX);
        }
        assert_eq!(queue.left_out(), 7);
        // The end of an incident that was heard of costs the newest begin its place.
        let passed = queue.put("c", 500, of(900, Occasion::Resolved));
        assert_eq!(passed.left_out, [99]);
        let said: Vec<Message> = std::iter::from_fn(|| queue.take()).map(|(_, message)| message).collect();
        let counts: Vec<u64> = said
            .iter()
            .filter_map(|message| match message {
                Message::LeftOut { count, .. } => Some(*count),
                _ => None,
            })
            .collect();
        assert_eq!(counts, [8]);
    }
}
