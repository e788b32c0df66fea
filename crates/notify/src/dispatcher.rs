//! Delivers notices in background threads.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use iostall_measure::{Clock, MonotonicClock};

use crate::channel::Channel;
use crate::delivery_error::DeliveryError;
use crate::message::Message;

/// Maximum number of notices waiting for a channel. Further ones are dropped: after a hundred, one more does
/// not help.
const WAITING_MAX: usize = 100;
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
    queues: BTreeMap<String, (Channel, SyncSender<(u64, Message)>)>,
    threads: Vec<JoinHandle<()>>,
    results: Sender<Delivery>,
    deliveries: Receiver<Delivery>,
    is_closing: Arc<AtomicBool>,
    sent: u64,
}

impl Dispatcher {
    pub fn start(channels: Vec<Channel>) -> Self {
        let (results, deliveries) = channel();
        let (queues, threads) = (BTreeMap::new(), Vec::new());
        let mut new = Self { queues, threads, results, deliveries, is_closing: Arc::default(), sent: 0 };
        new.replace(channels);
        new
    }

    /// Sends through `channels` from now on. Those that changed or are gone deliver what they have and end.
    pub fn replace(&mut self, channels: Vec<Channel>) {
        self.threads.retain(|thread| !thread.is_finished());
        self.queues.retain(|_, (known, _)| channels.contains(known));
        for one in channels {
            if !self.queues.contains_key(&one.name) {
                let queue = self.start_thread(one.clone());
                self.queues.insert(one.name.clone(), (one, queue));
            }
        }
    }

    fn start_thread(&mut self, channel: Channel) -> SyncSender<(u64, Message)> {
        let (queue, waiting) = sync_channel::<(u64, Message)>(WAITING_MAX);
        let (results, is_closing) = (self.results.clone(), Arc::clone(&self.is_closing));
        self.threads.push(std::thread::spawn(move || {
            for (number, message) in waiting {
                let delivery = delivery(&channel, number, &message, &is_closing);
                let is_dead = delivery.result.is_err() && is_closing.load(Ordering::Relaxed);
                // Nobody listens any more: the message is sent all the same.
                let _ = results.send(delivery);
                if is_dead {
                    return;
                }
            }
        }));
        queue
    }

    /// Hands `message` to each of its channels, and does not wait. Gives the number and the channel of each delivery.
    pub fn send(&mut self, message: &Message) -> Vec<(u64, String)> {
        let mut numbers = Vec::new();
        for name in message.channels() {
            let Some((_, queue)) = self.queues.get(name) else { continue };
            self.sent += 1;
            numbers.push((self.sent, name.clone()));
            if let Err(
                TrySendError::Full((number, message)) | TrySendError::Disconnected((number, message)),
            ) = queue.try_send((self.sent, message.clone()))
            {
                let reason = format!("{WAITING_MAX} notices are already waiting");
                // The receiver lives in this very value.
                let _ = self.results.send(Delivery {
                    number,
                    channel: name.clone(),
                    summary: message.summary(),
                    result: Err(DeliveryError::Unreachable(reason)),
                    is_cut_short: false,
                });
            }
        }
        numbers
    }

    pub fn deliveries(&self) -> Vec<Delivery> {
        self.deliveries.try_iter().collect()
    }

    /// Delivers what is queued, without retries, and ends. A channel that fails now is given up, so this
    /// takes little longer than its timeout.
    pub fn close(self) -> Vec<Delivery> {
        self.is_closing.store(true, Ordering::Relaxed);
        drop(self.queues);
        for thread in self.threads {
            // If a thread panicked, its notices are missing in the results.
            let _ = thread.join();
        }
        self.deliveries.try_iter().collect()
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
