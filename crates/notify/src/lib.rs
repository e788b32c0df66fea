//! Sends alerts and job results to webhooks, commands and mailboxes.
//!
//! [`AlertFile`] is the user's configuration: rules, storage classes and channels. [`Dispatcher`] has one
//! thread per channel, with a queue of limited length and a limited number of attempts, each with a timeout.
//! Results are returned as [`Delivery`], and the sampling thread never waits.

mod channel;
mod command;
mod delivery_error;
mod dispatcher;
mod file;
mod mail;
mod message;
mod payload;
mod queue;
mod secret;
mod template;
mod webhook;

pub use channel::{Channel, Transport};
pub use command::Command;
pub use delivery_error::DeliveryError;
pub use dispatcher::{Delivery, Dispatcher, deliver};
pub use file::{AlertFile, AlertFileError, AlertTables, Pulse, WrittenChannel, WrittenClass, WrittenRule};
pub use mail::{Mail, MailTls};
pub use message::{JOB_SCHEMA, JOB_SCHEMA_VERSION, Message};
pub use payload::{SCHEMA, SCHEMA_VERSION};
pub use secret::Secret;
pub use template::{OwnTemplate, Template};
pub use webhook::{Heartbeat, WebAddress, Webhook};
