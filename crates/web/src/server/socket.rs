//! A socket on which nothing takes longer than it may.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use iostall_measure::{Clock as _, MonotonicClock};
use rustls::{ServerConnection, StreamOwned};

/// A client that is silent for so long is cut, nanoseconds.
const SILENT_NS: u64 = 30_000_000_000;

/// Every read and write ends by the deadline.
#[derive(Debug)]
pub(super) struct TimedSocket {
    socket: Arc<TcpStream>,
    clock: MonotonicClock,
    deadline_ns: u64,
    silent_ns: u64,
}

impl TimedSocket {
    pub(super) fn new(socket: Arc<TcpStream>) -> Self {
        Self { socket, clock: MonotonicClock::new(), deadline_ns: 0, silent_ns: SILENT_NS }
    }

    /// What comes next takes so long at most, nanoseconds.
    pub(super) fn allow(&mut self, limit_ns: u64) {
        self.deadline_ns = self.clock.now_ns().saturating_add(limit_ns);
        self.silent_ns = SILENT_NS;
    }

    /// How long the client may take before anything of the next request comes, nanoseconds.
    pub(super) fn allow_silence(&mut self, limit_ns: u64) {
        self.allow(limit_ns);
        self.silent_ns = limit_ns;
    }

    fn limit(&self) -> io::Result<Option<Duration>> {
        let left_ns = self.deadline_ns.saturating_sub(self.clock.now_ns()).min(self.silent_ns);
        if left_ns == 0 {
            Err(io::ErrorKind::TimedOut.into())
        } else {
            Ok(Some(Duration::from_nanos(left_ns)))
        }
    }
}

/// The system says that a socket would block when its time is over.
fn timed<T>(result: io::Result<T>) -> io::Result<T> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(io::ErrorKind::TimedOut.into()),
        other => other,
    }
}

impl Read for TimedSocket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(self.limit()?)?;
        timed((&*self.socket).read(buffer))
    }
}

impl Write for TimedSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(self.limit()?)?;
        timed((&*self.socket).write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        (&*self.socket).flush()
    }
}

/// What requests are read from and answers written to, encrypted or not.
pub(super) trait Stream: Read + Write + Send {
    fn socket(&mut self) -> &mut TimedSocket;

    /// What has to be said before the first request.
    fn greet(&mut self) -> io::Result<()>;

    fn end(&mut self) -> io::Result<()>;
}

impl Stream for TimedSocket {
    fn socket(&mut self) -> &mut TimedSocket {
        self
    }

    fn greet(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        self.socket.shutdown(Shutdown::Write)
    }
}

impl Stream for StreamOwned<ServerConnection, TimedSocket> {
    fn socket(&mut self) -> &mut TimedSocket {
        &mut self.sock
    }

    fn greet(&mut self) -> io::Result<()> {
        while self.conn.is_handshaking() {
            self.conn.complete_io(&mut self.sock)?;
        }
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        self.conn.send_close_notify();
        self.flush()
    }
}

/// Also where all connections are taken, nanoseconds: who is about to ask gets to it.
const NS_MIN: u64 = 250_000_000;

/// Who says nothing keeps others out: the fewer connections are left, the shorter it may. Without that, thousands of servers that send
/// once a minute would hold all of them.
#[derive(Clone, Debug)]
pub(super) struct Patience {
    /// The patience where nobody else is there, nanoseconds.
    pub(super) most_ns: u64,
    pub(super) connections: Arc<AtomicUsize>,
    pub(super) connections_max: usize,
}

impl Patience {
    pub(super) fn ns(&self) -> u64 {
        let free = self.connections_max.saturating_sub(self.connections.load(Ordering::Relaxed));
        let share_ns = self.most_ns / self.connections_max.max(1) as u64 * free as u64;
        share_ns.max(NS_MIN).min(self.most_ns)
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Whoever sends a byte now and then is never silent, and never done.
    #[test]
    fn a_client_that_drips_is_cut_at_the_deadline() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let drips = std::thread::spawn(move || {
            let clock = MonotonicClock::new();
            while client.write_all(b"x").is_ok() {
                clock.sleep_until(clock.now_ns() + 10_000_000);
            }
        });
        let mut socket = TimedSocket::new(Arc::new(listener.accept().unwrap().0));
        socket.allow(300_000_000);
        let mut read = 0;
        let cut = loop {
            match socket.read(&mut [0; 16]) {
                Ok(bytes) => read += bytes,
                Err(error) => break error,
            }
        };
        assert_eq!(cut.kind(), io::ErrorKind::TimedOut);
        assert!(read > 0);
        drop(socket);
        drips.join().unwrap();
    }

    #[test]
    fn who_is_alone_may_be_silent_and_in_a_crowd_nobody_may() {
        let connections = Arc::new(AtomicUsize::new(0));
        let patience =
            Patience { most_ns: 5_000_000_000, connections: Arc::clone(&connections), connections_max: 512 };
        let ns_with = |count| {
            connections.store(count, Ordering::Relaxed);
            patience.ns()
        };
        assert!(ns_with(1) > 4_900_000_000 && ns_with(256) < 2_600_000_000);
        assert_eq!((ns_with(511), ns_with(512), ns_with(600)), (NS_MIN, NS_MIN, NS_MIN));
    }
}
