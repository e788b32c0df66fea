//! Notifies by e-mail.

use std::io;
use std::time::Duration;

use lettre::message::header::ContentType;
use lettre::message::{Mailbox, SinglePart};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::{Message as Letter, SmtpTransport, Transport};

use crate::delivery_error::DeliveryError;
use crate::message::Message;
use crate::secret::Secret;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailTls {
    /// TLS from the start (port 465).
    Whole,
    /// `STARTTLS`, which the server must offer (port 587).
    Upgraded,
    /// Not encrypted: on this machine, or if the user chose so.
    Off,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Mail {
    pub host: String,
    pub port: u16,
    pub tls: MailTls,
    pub from: Mailbox,
    pub to: Vec<Mailbox>,
    pub login: Option<(String, Secret)>,
}

impl Mail {
    pub(crate) fn describe(&self) -> String {
        let to: Vec<String> = self.to.iter().map(ToString::to_string).collect();
        format!("mail to {} through {}:{}", to.join(", "), self.host, self.port)
    }

    pub(crate) fn send(&self, message: &Message, timeout: Duration) -> Result<(), DeliveryError> {
        let unreachable = |error: lettre::transport::smtp::Error| {
            let text = whole(&error, timeout);
            if error.is_permanent() || error.is_transient() {
                DeliveryError::Refused(format!("the mail server refused: {text}"))
            } else {
                DeliveryError::Unreachable(text)
            }
        };
        let tls = match self.tls {
            MailTls::Off => Tls::None,
            how => {
                let parameters = TlsParameters::new_rustls(self.host.clone()).map_err(unreachable)?;
                if how == MailTls::Whole { Tls::Wrapper(parameters) } else { Tls::Required(parameters) }
            }
        };
        let mut transport =
            SmtpTransport::builder_dangerous(&self.host).port(self.port).tls(tls).timeout(Some(timeout));
        if let Some((user, password)) = &self.login {
            transport = transport.credentials(Credentials::new(user.clone(), password.read()?));
        }
        transport.build().send(&self.message(message)?).map_err(unreachable)?;
        Ok(())
    }

    fn message(&self, message: &Message) -> Result<Letter, DeliveryError> {
        let document = serde_json::to_string_pretty(&message.payload()).unwrap_or_default();
        let text = format!("{}\n\n{document}\n", message.summary());
        let to = self.to.iter().cloned();
        let letter = to.fold(Letter::builder().from(self.from.clone()), lettre::message::MessageBuilder::to);
        letter
            .subject(format!("[iostall] {}", message.summary()))
            // Without one, programs take it for spam or cannot thread it.
            .message_id(None)
            .singlepart(SinglePart::builder().header(ContentType::TEXT_PLAIN).body(text))
            .map_err(|error| DeliveryError::Refused(error.to_string()))
    }
}

/// An error with its causes, which the library's text leaves out. A socket timeout is reported as "would
/// block", which means nothing to users.
fn whole(error: &dyn std::error::Error, timeout: Duration) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
        if matches!(kind, Some(io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)) {
            return format!("no answer within {timeout:?}");
        }
        let next = error.to_string();
        if !text.contains(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::tests::{message, notice};
    use iostall_model::alert::Occasion;
    use std::net::TcpListener;

    fn mail(port: u16) -> Mail {
        let mailbox: Mailbox = "a@example.com".parse().unwrap();
        Mail {
            host: "127.0.0.1".into(),
            port,
            tls: MailTls::Off,
            from: mailbox.clone(),
            to: vec![mailbox],
            login: None,
        }
    }

    #[test]
    fn a_server_that_says_nothing_is_given_up_with_words_that_mean_something() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let mail = mail(silent.local_addr().unwrap().port());
        let said = mail.send(&message(Occasion::Firing), Duration::from_millis(50)).unwrap_err().to_string();
        assert_eq!(said, "no answer within 50ms");
    }

    #[test]
    fn a_name_with_a_line_end_stays_in_one_header() {
        let mut notice = notice(Occasion::Firing);
        notice.source = "x\r\nBcc: all@example.com".into();
        let message = mail(25).message(&notice.into()).unwrap().formatted();
        let text = String::from_utf8(message).unwrap();
        let (head, _) = text.split_once("\r\n\r\n").unwrap();
        assert!(!head.lines().any(|line| line.starts_with("Bcc")), "{head}");
    }
}
