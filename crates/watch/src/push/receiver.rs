//! Receivers, and what their answers mean.

use std::time::Duration;

use iostall_remote::{Answer, Poster};
use jiff::Timestamp;

use super::otlp;
use super::pause::asked;
use super::remote_write;
use super::target::{Protocol, PushTarget};

const REASON_CHARS: usize = 200;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Taken,
    /// It took the request, but not all that was in it.
    PartlyTaken(String),
    Refused(String),
    TooLong,
    Later {
        reason: String,
        asked: Option<Duration>,
    },
}

pub(super) trait Receiver {
    fn post(&mut self, body: &[u8], now: Timestamp) -> Reply;
}

pub(super) struct NetworkReceiver {
    target: PushTarget,
    client: Poster,
}

impl NetworkReceiver {
    pub(super) fn new(target: PushTarget) -> Result<Self, String> {
        Ok(Self { client: target.client()?, target })
    }
}

impl Receiver for NetworkReceiver {
    fn post(&mut self, body: &[u8], now: Timestamp) -> Reply {
        let authorization = match self.target.authorization() {
            Ok(authorization) => authorization,
            Err(reason) => return Reply::Later { reason, asked: None },
        };
        let mut headers = match self.target.protocol {
            Protocol::RemoteWrite => remote_write::HEADERS.to_vec(),
            Protocol::Otlp => otlp::HEADERS.to_vec(),
        };
        if let Some(value) = &authorization {
            headers.push(("Authorization", value));
        }
        match self.client.post(&headers, body) {
            Ok(answer) => of_http(&answer, self.target.protocol, now),
            Err(reason) => Reply::Later { reason, asked: None },
        }
    }
}

/// What a status means: 5xx and 429 may pass, and so does a login or an address that is put right. Other 4xx are about the samples.
fn of_http(answer: &Answer, protocol: Protocol, now: Timestamp) -> Reply {
    let said = match protocol {
        Protocol::RemoteWrite => line(&String::from_utf8_lossy(&answer.body)),
        // A message that only programs read.
        Protocol::Otlp => String::new(),
    };
    let reason = format!("it answered {}: {said}", answer.status).trim_end_matches([':', ' ']).to_owned();
    match answer.status {
        200..300 if protocol == Protocol::Otlp => taken(&answer.body),
        200..300 => Reply::Taken,
        413 => Reply::TooLong,
        400 | 402 | 406 | 409..=412 | 414..=424 | 426..=428 | 430..=499 => Reply::Refused(reason),
        _ => {
            let asked = answer.retry_after.as_deref().and_then(|header| asked(header, now));
            Reply::Later { reason, asked }
        }
    }
}

fn taken(answer: &[u8]) -> Reply {
    otlp::partly_refused(answer).map_or(Reply::Taken, |said| Reply::PartlyTaken(line(&said)))
}

/// The first line of what a receiver says, fit to be shown.
fn line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().filter(|c| !c.is_control()).take(REASON_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(status: u16) -> Reply {
        let retry_after = Some("7".to_owned());
        let body = b"\n why \x1b[31m\nmore".to_vec();
        of_http(&Answer { status, retry_after, body }, Protocol::RemoteWrite, Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn only_answers_about_the_samples_drop_them() {
        for status in [200, 204] {
            assert_eq!(reply(status), Reply::Taken);
        }
        for status in [400, 409, 422] {
            assert_eq!(reply(status), Reply::Refused(format!("it answered {status}: why [31m")));
        }
        assert_eq!(reply(413), Reply::TooLong);
        for status in [301, 401, 403, 404, 408, 429, 500, 503] {
            let Reply::Later { asked, .. } = reply(status) else { panic!("{status}") };
            assert_eq!(asked, Some(Duration::from_secs(7)), "{status}");
        }
    }

    #[test]
    fn what_a_receiver_of_otlp_took_in_part_is_said() {
        let body = b"\x0a\x06\x08\x03\x12\x02no".to_vec();
        let answer = Answer { status: 200, retry_after: None, body };
        let reply = of_http(&answer, Protocol::Otlp, Timestamp::UNIX_EPOCH);
        assert_eq!(reply, Reply::PartlyTaken("3 values: no".into()));
    }
}
