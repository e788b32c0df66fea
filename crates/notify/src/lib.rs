//! Sends alerts to webhooks, commands and mailboxes.
//!
//! [`AlertFile`] is the user's configuration: rules, storage classes and channels. [`Dispatcher`] has a
//! thread for each
//! channel: a notice waits in a queue of limited length, is tried a limited number of times with a timeout
//! each, and the
//! result comes back as a [`Delivery`]. The sampling code hands over a notice and continues.

mod channel;
mod command;
mod delivery_error;
mod dispatcher;
mod file;
mod mail;
mod payload;
mod secret;
mod webhook;

pub use channel::{Channel, Transport};
pub use command::Command;
pub use delivery_error::DeliveryError;
pub use dispatcher::{Delivery, Dispatcher, deliver};
pub use file::{AlertFile, AlertFileError};
pub use mail::{Mail, MailTls};
pub use payload::{SCHEMA, SCHEMA_VERSION, payload, summary};
pub use secret::Secret;
pub use webhook::{WebAddress, Webhook};
