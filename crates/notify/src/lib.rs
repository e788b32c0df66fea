//! Carries the news of alerts and jobs to webhooks, commands and mailboxes.
//!
//! [`AlertFile`] is what a user wrote: rules, classes of storage and channels. [`Dispatcher`] has a thread for each
//! channel: a message waits in a queue of bounded length, is tried a bounded number of times, each of them bounded in
//! time, and what became of it comes back as a [`Delivery`]. Whoever samples hands a message over and goes on.

mod channel;
mod command;
mod delivery_error;
mod dispatcher;
mod file;
mod mail;
mod message;
mod payload;
mod secret;
mod webhook;

pub use channel::{Channel, Transport};
pub use command::Command;
pub use delivery_error::DeliveryError;
pub use dispatcher::{Delivery, Dispatcher, deliver};
pub use file::{AlertFile, AlertFileError, AlertTables, WrittenChannel, WrittenClass, WrittenRule};
pub use mail::{Mail, MailTls};
pub use message::{JOB_SCHEMA, JOB_SCHEMA_VERSION, Message};
pub use payload::{SCHEMA, SCHEMA_VERSION};
pub use secret::Secret;
pub use webhook::{WebAddress, Webhook};
