//! Delivers notices in background threads.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use iostall_measure::{Clock, MonotonicClock};

use crate::channel::Channel;
use crate::delivery_error::DeliveryError;
use crate::message::Message;
use crate::queue::Queue;

/// Results that nobody has asked for yet; a channel waits with the next one.
const RESULTS_MAX: usize = 100;
const PAUSE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub struct Delivery {
    /// Its number, as [`Dispatcher::send`] gave it.
    pub number: u64,
    pub channel: String,
    pub summary: String,
    pub result: Result<(), DeliveryError>,
    /// Whether attempts were left when the program ended.
    pub is_cut_short: bool,
}

pub struct Dispatcher {
    queues: BTreeMap<String, Outgoing>,
    threads: Vec<JoinHandle<()>>,
    results: SyncSender<Delivery>,
    deliveries: Receiver<Delivery>,
    /// Of what was replaced or left out.
    passed: Vec<Delivery>,
    is_closing: Arc<AtomicBool>,
    sent: u64,
}

struct Outgoing {
    channel: Channel,
    queue: Arc<Mutex<Queue>>,
    /// Tells the thread of the channel that there is something; without it the thread ends.
    wake: SyncSender<()>,
}

fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Dispatcher {
    pub fn start(channels: Vec<Channel>) -> Self {
        let (results, deliveries) = sync_channel(RESULTS_MAX);
        let (queues, threads, passed) = (BTreeMap::new(), Vec::new(), Vec::new());
        let is_closing = Arc::default();
        let mut new = Self { queues, threads, results, deliveries, passed, is_closing, sent: 0 };
        new.replace(channels);
        new
    }

    /// Sends through `channels` from now on. Those that changed or are gone deliver what they have and end.
    pub fn replace(&mut self, channels: Vec<Channel>) {
        self.threads.retain(|thread| !thread.is_finished());
        self.queues.retain(|_, known| channels.contains(&known.channel));
        for one in channels {
            if !self.queues.contains_key(&one.name) {
                let outgoing = self.start_thread(one);
                self.queues.insert(outgoing.channel.name.clone(), outgoing);
            }
        }
    }

    fn start_thread(&mut self, channel: Channel) -> Outgoing {
        // One call wakes it for all that waits.
        let (wake, calls) = sync_channel(1);
        let queue = Arc::<Mutex<Queue>>::default();
        let outgoing = Outgoing { channel: channel.clone(), queue: Arc::clone(&queue), wake };
        let (results, is_closing) = (self.results.clone(), Arc::clone(&self.is_closing));
        let next = move || lock(&queue).take();
        self.threads.push(std::thread::spawn(move || {
            for () in calls {
                while let Some((number, message)) = next() {
                    let delivery = delivery(&channel, number, &message, &is_closing);
                    let is_dead = delivery.result.is_err() && is_closing.load(Ordering::Relaxed);
                    // Nobody listens any more: the message is sent all the same.
                    let _ = results.send(delivery);
                    if is_dead {
                        return;
                    }
                }
            }
        }));
        outgoing
    }

    /// Hands `message` to each of its channels, and does not wait. Gives the number and the channel of each delivery.
    pub fn send(&mut self, message: &Message) -> Vec<(u64, String)> {
        let mut numbers = Vec::new();
        for name in message.channels() {
            let Some(Outgoing { queue, wake, .. }) = self.queues.get(name) else { continue };
            self.sent += 1;
            numbers.push((self.sent, name.clone()));
            let mut queue = lock(queue);
            let passed = queue.put(name, self.sent, message.clone());
            let so_far = queue.left_out();
            drop(queue);
            // If it was called already, or its thread panicked, there is nothing to add.
            let _ = wake.try_send(());
            let delivery = |number, result| Delivery {
                number,
                channel: name.clone(),
                summary: message.summary(),
                result,
                is_cut_short: false,
            };
            self.passed.extend(passed.replaced.into_iter().map(|number| delivery(number, Ok(()))));
            let left_out = |number| delivery(number, Err(DeliveryError::LeftOut { so_far }));
            self.passed.extend(passed.left_out.into_iter().map(left_out));
        }
        numbers
    }

    pub fn deliveries(&mut self) -> Vec<Delivery> {
        self.passed.drain(..).chain(self.deliveries.try_iter()).collect()
    }

    /// Delivers what is queued, without retries, and ends. A channel that fails now is given up, so this
    /// takes little longer than its timeout.
    pub fn close(self) -> Vec<Delivery> {
        self.is_closing.store(true, Ordering::Relaxed);
        // The threads end, and with them the last of the results.
        drop((self.queues, self.results));
        let all = self.passed.into_iter().chain(self.deliveries).collect();
        for thread in self.threads {
            // If a thread panicked, its notices are missing in the results.
            let _ = thread.join();
        }
        all
    }
}

/// Sends `message` through `channel`, and retries after a pause while attempts are left.
pub fn deliver(channel: &Channel, message: &Message) -> Delivery {
    delivery(channel, 0, message, &AtomicBool::new(false))
}

fn delivery(channel: &Channel, number: u64, message: &Message, is_closing: &AtomicBool) -> Delivery {
    let mut pause = PAUSE;
    let mut left = channel.attempts.max(1);
    let result = loop {
        let result = channel.transport.notify(message, channel.timeout);
        left -= 1;
        if result.is_ok() || left == 0 || !waited(pause, is_closing) {
            break result;
        }
        pause *= 2;
    };
    let is_cut_short = result.is_err() && left > 0;
    Delivery { number, channel: channel.name.clone(), summary: message.summary(), result, is_cut_short }
}

/// Waits for `pause`; returns whether it was not interrupted by the end of the program.
fn waited(pause: Duration, is_closing: &AtomicBool) -> bool {
    let clock = MonotonicClock::new();
    let end_ns = u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX);
    while clock.now_ns() < end_ns && !is_closing.load(Ordering::Relaxed) {
        clock.sleep_until(end_ns.min(clock.now_ns() + 50_000_000));
    }
    !is_closing.load(Ordering::Relaxed)
}
