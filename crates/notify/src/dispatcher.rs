//! The threads that deliver.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use iostall_measure::{Clock, MonotonicClock};
use iostall_model::alert::Notice;

use crate::channel::Channel;
use crate::delivery_error::DeliveryError;
use crate::payload::summary;

/// How many notices may wait for a channel. More are not delivered: whoever gets a hundred has been told.
const WAITING_MAX: usize = 100;
/// How long to wait before the second attempt; twice as long before each further one.
const PAUSE: Duration = Duration::from_secs(2);

/// What became of a notice.
#[derive(Debug)]
pub struct Delivery {
    /// The channel's name.
    pub channel: String,
    /// The notice in a line.
    pub summary: String,
    /// Whether it arrived.
    pub result: Result<(), DeliveryError>,
}

/// See the module.
pub struct Dispatcher {
    queues: BTreeMap<String, SyncSender<Notice>>,
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
                for notice in waiting {
                    let delivery = delivery(&one, &notice, &is_closing);
                    let is_dead = delivery.result.is_err() && is_closing.load(Ordering::Relaxed);
                    // Nobody listens any more: the notice is told all the same.
                    let _ = results.send(delivery);
                    if is_dead {
                        return;
                    }
                }
            }));
        }
        Self { queues, threads, failures, deliveries, is_closing }
    }

    /// Hands `notice` to each of its channels, and does not wait.
    pub fn send(&self, notice: &Notice) {
        for name in &notice.channels {
            let Some(queue) = self.queues.get(name) else { continue };
            if let Err(TrySendError::Full(notice) | TrySendError::Disconnected(notice)) =
                queue.try_send(notice.clone())
            {
                let reason = format!("{WAITING_MAX} notices are waiting already");
                // The receiver lives in this very value.
                let _ = self.failures.send(Delivery {
                    channel: name.clone(),
                    summary: summary(&notice),
                    result: Err(DeliveryError::Unreachable(reason)),
                });
            }
        }
    }

    /// What has been delivered, or has not, since this was asked last.
    pub fn deliveries(&self) -> Vec<Delivery> {
        self.deliveries.try_iter().collect()
    }

    /// Delivers what waits, without second attempts, and ends. A channel that fails now is given up, so that this
    /// takes little longer than its limit.
    pub fn close(self) -> Vec<Delivery> {
        self.is_closing.store(true, Ordering::Relaxed);
        drop(self.queues);
        for thread in self.threads {
            // A thread that panicked has delivered nothing more, which shows in what is missing.
            let _ = thread.join();
        }
        self.deliveries.try_iter().collect()
    }
}

/// Tells `notice` through `channel` once, and again after a pause while that fails and attempts are left.
pub fn deliver(channel: &Channel, notice: &Notice) -> Delivery {
    delivery(channel, notice, &AtomicBool::new(false))
}

fn delivery(channel: &Channel, notice: &Notice, is_closing: &AtomicBool) -> Delivery {
    let mut pause = PAUSE;
    let mut left = channel.attempts.max(1);
    let result = loop {
        let result = channel.transport.notify(notice, channel.timeout);
        left -= 1;
        if result.is_ok() || left == 0 || !waited(pause, is_closing) {
            break result;
        }
        pause *= 2;
    };
    Delivery { channel: channel.name.clone(), summary: summary(notice), result }
}

/// Waits for `pause`; whether it was not cut short by the end of the program.
fn waited(pause: Duration, is_closing: &AtomicBool) -> bool {
    let clock = MonotonicClock::new();
    let end_ns = u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX);
    while clock.now_ns() < end_ns && !is_closing.load(Ordering::Relaxed) {
        clock.sleep_until(end_ns.min(clock.now_ns() + 50_000_000));
    }
    !is_closing.load(Ordering::Relaxed)
}
