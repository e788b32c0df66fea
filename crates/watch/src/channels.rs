//! Whether notices arrive: one is sent through each channel.

use iostall_model::alert::{Notice, Rule};
use iostall_notify::{AlertFile, Channel, DeliveryError, Message, Transport, deliver};
use jiff::Timestamp;

use crate::error::WatchError;

/// Sends a notice through each channel once, of the rule that was named or of the first that notifies it. Whether all arrived.
pub fn test_channels(
    file: &AlertFile,
    rule: Option<&str>,
    now: Timestamp,
    observer: &mut dyn FnMut(&Channel, &Result<(), DeliveryError>),
) -> Result<bool, WatchError> {
    let all = &file.book.rules;
    let rules: Vec<&Rule> = all.iter().filter(|one| rule.is_none_or(|name| one.name == name)).collect();
    if rules.is_empty() && rule.is_some() {
        let known = all.iter().map(|rule| rule.name.clone()).collect();
        return Err(WatchError::NoRule { name: rule.unwrap_or_default().to_owned(), known });
    }
    let mut all_arrived = true;
    for channel in &file.channels {
        let of_channel = rules.iter().find(|rule| rule.channels.contains(&channel.name));
        if of_channel.is_none() && rule.is_some() {
            continue;
        }
        let message = match (&channel.transport, of_channel.or(rules.first())) {
            (Transport::Heartbeat(_), _) => Message::Heartbeat(channel.name.clone()),
            (_, Some(rule)) => Notice::test(rule, now).into(),
            (_, None) => continue,
        };
        // Somebody is waiting for the answer: once is enough.
        let once = Channel { attempts: 1, ..channel.clone() };
        let result = deliver(&once, &message).result;
        all_arrived &= result.is_ok();
        observer(channel, &result);
    }
    Ok(all_arrived)
}
