//! The service of a host that knows which port each of its instances listens on: SQL Server Browser, over UDP.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use iostall_measure::foreign::shown;
use tokio::net::{UdpSocket, lookup_host};

use crate::address::Address;
use crate::error::SourceError;

/// Where it listens.
pub(super) const PORT: u16 = 1434;
/// A datagram may be lost: it is asked so often, and waited for so long each time.
const TRIES: u32 = 3;
const PATIENCE: Duration = Duration::from_secs(1);
/// "Which port has this one instance?"
const ASK: u8 = 0x04;
/// An answer, its length behind it.
const ANSWER: u8 = 0x05;
const HEAD: usize = 3;

/// The port of `instance` on the host of `address`, from its browser at `browser`.
pub(super) async fn port_of(address: &Address, instance: &str, browser: u16) -> Result<u16, SourceError> {
    let failed = |reason: String| SourceError::Connect { source_name: address.to_string(), reason };
    let advice = "UDP port 1434 may be closed: name the instance's own port instead (HOST:PORT)";
    let answer = ask(&address.host, instance, browser).await;
    let answer = answer.map_err(|error| {
        let instance = shown(instance);
        failed(format!("SQL Server Browser did not tell the port of {instance}: {error}; {advice}"))
    })?;
    port_in(&answer).ok_or_else(|| failed(format!("the instance {} does not listen on TCP", shown(instance))))
}

async fn ask(host: &str, instance: &str, browser: u16) -> io::Result<Vec<u8>> {
    let mut last = io::Error::from(io::ErrorKind::TimedOut);
    let places: Vec<SocketAddr> = lookup_host((host, browser)).await?.collect();
    for place in std::iter::repeat_n(places, TRIES as usize).flatten() {
        let local: SocketAddr = match place {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let once = async {
            let socket = UdpSocket::bind(local).await?;
            socket.connect(place).await?;
            socket.send(&[&[ASK], instance.as_bytes(), &[0]].concat()).await?;
            let mut answer = vec![0; 2048];
            let length = socket.recv(&mut answer).await?;
            answer.truncate(length);
            Ok(answer)
        };
        match tokio::time::timeout(PATIENCE, once).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => last = error,
            Err(_) => {}
        }
    }
    Err(last)
}

/// The port in `ServerName;SQL1;InstanceName;SALES;IsClustered;No;Version;16.0.1000.6;tcp;51433;;`.
fn port_in(answer: &[u8]) -> Option<u16> {
    let text = match answer {
        [ANSWER, rest @ ..] => String::from_utf8_lossy(rest.get(HEAD - 1..)?).into_owned(),
        _ => return None,
    };
    let mut words = text.split(';');
    while let Some(name) = words.next() {
        if name.eq_ignore_ascii_case("tcp") {
            return words.next()?.parse().ok().filter(|port| *port > 0);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str) -> Vec<u8> {
        let length = u16::try_from(text.len()).unwrap().to_le_bytes();
        [&[ANSWER], length.as_slice(), text.as_bytes()].concat()
    }

    #[test]
    fn a_port_is_found_among_the_other_words_and_nothing_else_is_one() {
        let whole =
            "ServerName;SQL1;InstanceName;SALES;IsClustered;No;Version;16.0.1000.6;tcp;51433;np;\\\\x;;";
        assert_eq!(port_in(&answer(whole)), Some(51_433));
        assert_eq!(port_in(&answer("ServerName;SQL1;np;\\\\x;;")), None);
        for damaged in [&[][..], &[ANSWER], &[ANSWER, 1], &[9, 9, 9], &answer("tcp")[..], &answer("tcp;0;")] {
            assert_eq!(port_in(damaged), None, "{damaged:?}");
        }
    }

    /// `host\INSTANCE` was refused: its port was to be looked up by hand in the server's log.
    #[test]
    fn the_browser_is_asked_for_the_port_of_an_instance() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let browser = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            let at = browser.local_addr().unwrap().port();
            let address: Address = "sqlserver://u@127.0.0.1?instance=SALES".parse().unwrap();
            let serve = async {
                let mut asked = [0; 64];
                // The first one is lost.
                browser.recv_from(&mut asked).await.unwrap();
                let (length, client) = browser.recv_from(&mut asked).await.unwrap();
                assert_eq!(&asked[..length], b"\x04SALES\0");
                let answer = answer("ServerName;S;InstanceName;SALES;tcp;51433;;");
                browser.send_to(&answer, client).await.unwrap();
            };
            let (port, ()) = futures_util::future::join(port_of(&address, "SALES", at), serve).await;
            assert_eq!(port.unwrap(), 51_433);
        });
    }
}
