//! What all clients share: a private runtime, a timeout, and a connection to whichever address answers.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::net::{TcpStream, lookup_host};
use tokio::runtime::{Builder, Runtime};

use crate::address::Address;
use crate::error::SourceError;

/// A runtime on the caller's thread: nothing asynchronous leaves this crate.
pub fn runtime(address: &Address) -> Result<Runtime, SourceError> {
    Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(|error| SourceError::Connect { source_name: address.to_string(), reason: error.to_string() })
}

/// Runs `work` to its end or until `limit`, whichever comes first.
pub fn bounded<T>(
    runtime: &Runtime,
    address: &Address,
    limit: Duration,
    work: impl Future<Output = Result<T, SourceError>>,
) -> Result<T, SourceError> {
    runtime
        .block_on(async { tokio::time::timeout(limit, work).await })
        .unwrap_or_else(|_| Err(SourceError::TimedOut { source_name: address.to_string(), limit }))
}

/// Connects to whichever address of `host` answers first. Only one address of an availability group's listener answers;
/// trying them one after another would wait for the others in vain.
pub(crate) async fn reach(host: &str, port: u16) -> io::Result<TcpStream> {
    let addresses: Vec<SocketAddr> = lookup_host((host, port)).await?.collect();
    first_of(&addresses).await
}

async fn first_of(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut tries: FuturesUnordered<_> = addresses.iter().map(TcpStream::connect).collect();
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    while let Some(answer) = tries.next().await {
        match answer {
            Ok(stream) => {
                // Requests are small and wait for their answers, so delaying them gains nothing.
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

pub enum Value {
    Text(String),
    Number(u64),
    Missing,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the two addresses of a listener one does not answer at all: it was waited for before the other was tried.
    #[test]
    fn an_address_that_answers_is_not_kept_waiting_by_one_that_does_not() {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let here = listener.local_addr().unwrap();
            // A listener whose queue is full answers nobody, as a host that is down does.
            let full = tokio::net::TcpSocket::new_v4().unwrap();
            full.bind("127.0.0.1:0".parse().unwrap()).unwrap();
            let full = full.listen(1).unwrap();
            let silent = full.local_addr().unwrap();
            let mut waiting = Vec::new();
            while let Ok(stream) =
                tokio::time::timeout(Duration::from_millis(300), TcpStream::connect(silent)).await
            {
                waiting.push(stream.unwrap());
            }
            let reached = first_of(&[silent, here]).await.unwrap();
            assert_eq!(reached.peer_addr().unwrap(), here);
        });
    }
}
