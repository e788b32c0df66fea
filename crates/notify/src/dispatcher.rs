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
/// Pause before the second attempt, doubled for each further one.
const PAUSE: Duration = Duration::from_secs(2);

/// The result of a delivery.
#[derive(Debug)]
pub struct Delivery {
    pub channel: String,
    /// The notice on one line.
    pub summary: String,
    pub result: Result<(), DeliveryError>,
}

/// See the module.
pub struct Dispatcher {
    queues: BTreeMap<String, SyncSender<Message>>,
    threads: Vec<JoinHandle<()>>,
    failures: Sender<Delivery>,
    deliveries: Receiver<Delivery>,
    is_closing: Arc<AtomicBool>,
}

impl Dispatcher {
    /// Starts a thread for each of `channels`.
    pub fn start(channels: Vec<Channel>) -> Self {
        let (failures, deliveries) = channel();
        let is_closing = Arc::new(AtomicBool::new(false));
        let (mut queues, mut threads) = (BTreeMap::new(), Vec::new());
        for one in channels {
            let (queue, waiting) = sync_channel(WAITING_MAX);
            queues.insert(one.name.clone(), queue);
            let (results, is_closing) = (failures.clone(), Arc::clone(&is_closing));
            threads.push(std::thread::spawn(move || {
                for message in waiting {
                    let delivery = delivery(&one, &message, &is_closing);
                    let is_dead = delivery.result.is_err() && is_closing.load(Ordering::Relaxed);
                    // If nobody reads the results, the notice is still delivered.
                    let _ = results.send(delivery);
                    if is_dead {
                        return;
                    }
                }
            }));
        }
        Self { queues, threads, failures, deliveries, is_closing }
    }

    /// Queues `message` for each of its channels without waiting.
    pub fn send(&self, message: &Message) {
        for name in message.channels() {
            let Some(queue) = self.queues.get(name) else { continue };
            if let Err(TrySendError::Full(message) | TrySendError::Disconnected(message)) =
                queue.try_send(message.clone())
            {
                let reason = format!("{WAITING_MAX} notices are already waiting");
                // The receiver is in this same value.
                let _ = self.failures.send(Delivery {
                    channel: name.clone(),
                    summary: message.summary(),
                    result: Err(DeliveryError::Unreachable(reason)),
                });
            }
        }
    }

    /// Deliveries and failures since the last call.
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
    delivery(channel, message, &AtomicBool::new(false))
}

fn delivery(channel: &Channel, message: &Message, is_closing: &AtomicBool) -> Delivery {
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
    Delivery { channel: channel.name.clone(), summary: message.summary(), result }
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
