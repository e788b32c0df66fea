//! Ways to deliver a notice.

use std::time::Duration;

use crate::command::Command;
use crate::delivery_error::DeliveryError;
use crate::mail::Mail;
use crate::message::Message;
use crate::webhook::{Heartbeat, Webhook};

#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    pub name: String,
    pub transport: Transport,
    pub timeout: Duration,
    pub attempts: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Transport {
    Webhook(Webhook),
    /// Passes a JSON document to a program's standard input.
    Command(Command),
    Mail(Mail),
    Heartbeat(Heartbeat),
}

impl Transport {
    /// Its destination, without secrets.
    pub fn describe(&self) -> String {
        match self {
            Self::Webhook(webhook) => webhook.describe(),
            Self::Command(command) => command.describe(),
            Self::Mail(mail) => mail.describe(),
            Self::Heartbeat(heartbeat) => heartbeat.describe(),
        }
    }

    /// Makes one attempt, limited to about `timeout`.
    pub(crate) fn notify(&self, message: &Message, timeout: Duration) -> Result<(), DeliveryError> {
        match self {
            Self::Webhook(webhook) => webhook.post(message, timeout),
            Self::Command(command) => command.run(message, timeout),
            Self::Mail(mail) => mail.send(message, timeout),
            Self::Heartbeat(heartbeat) => heartbeat.send(timeout),
        }
    }
}
