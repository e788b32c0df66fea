//! Ways to tell.

use std::time::Duration;

use iostall_model::alert::Notice;

use crate::command::Command;
use crate::delivery_error::DeliveryError;
use crate::mail::Mail;
use crate::webhook::Webhook;

/// A transport for notices, and how long to try.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    /// Its name.
    pub name: String,
    /// How a notice is sent.
    pub transport: Transport,
    /// Longest time for one attempt.
    pub timeout: Duration,
    /// How many times to try, at least once.
    pub attempts: u32,
}

/// The ways.
#[derive(Clone, Debug, PartialEq)]
pub enum Transport {
    /// A JSON document to a URL.
    Webhook(Webhook),
    /// A JSON document to a program's standard input.
    Command(Command),
    /// A message to mailboxes.
    Mail(Mail),
}

impl Transport {
    /// Where it leads, without secrets.
    pub fn describe(&self) -> String {
        match self {
            Self::Webhook(webhook) => webhook.describe(),
            Self::Command(command) => command.describe(),
            Self::Mail(mail) => mail.describe(),
        }
    }

    /// Tells once, in no more than about `timeout`.
    pub(crate) fn notify(&self, notice: &Notice, timeout: Duration) -> Result<(), DeliveryError> {
        match self {
            Self::Webhook(webhook) => webhook.post(notice, timeout),
            Self::Command(command) => command.run(notice, timeout),
            Self::Mail(mail) => mail.send(notice, timeout),
        }
    }
}
