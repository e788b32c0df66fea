//! kill -9 of either side while a backup is on its way to a receiver.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver as Channel, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use super::attacks::words_of;
use super::receiver::Receiver;
use super::upload_kills::source;
use crate::running::Running;
use crate::support::{PATIENCE, Workspace, pause, until};

/// A proxy that passes so many bytes on to the receiver, and then nothing until it is told to go on. What is encrypted
/// has no other marks.
struct Gate {
    port: u16,
    shared: Arc<Shared>,
    reached: Channel<()>,
}

struct Shared {
    server: u16,
    stop_at: u64,
    passed: AtomicU64,
    is_open: AtomicBool,
    reached: Mutex<Sender<()>>,
}

impl Gate {
    fn before(server: u16, stop_at: u64) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, reached) = channel();
        let shared = Arc::new(Shared {
            server,
            stop_at,
            passed: AtomicU64::new(0),
            is_open: AtomicBool::new(false),
            reached: Mutex::new(sender),
        });
        let of_listener = Arc::clone(&shared);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let shared = Arc::clone(&of_listener);
                std::thread::spawn(move || shared.pass(client));
            }
        });
        Self { port, shared, reached }
    }

    fn passed(&self) -> u64 {
        self.shared.passed.load(Ordering::SeqCst)
    }

    /// Until the place is reached. One near the end may not be: the length of what is encrypted varies.
    fn wait_for(&self, running: &mut Running) {
        until("the place, or the end", || {
            (self.reached.try_recv().is_ok() || running.has_ended()).then_some(())
        });
    }

    /// From now on new connections are passed on.
    fn open(&self) {
        self.shared.is_open.store(true, Ordering::SeqCst);
    }
}

impl Shared {
    fn pass(&self, mut client: TcpStream) {
        let Ok(mut server) = TcpStream::connect(("127.0.0.1", self.server)) else { return };
        let (mut from_server, mut to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        let answers = std::thread::spawn(move || {
            let _ = std::io::copy(&mut from_server, &mut to_client);
            let _ = to_client.shutdown(Shutdown::Both);
        });
        let mut piece = vec![0; 1 << 14];
        while let Ok(read) = client.read(&mut piece) {
            if read == 0 {
                break;
            }
            let passed = self.passed.fetch_add(read as u64, Ordering::SeqCst) + read as u64;
            if passed > self.stop_at && !self.is_open.load(Ordering::SeqCst) {
                // Nobody may wait for it any more.
                let _ = self.reached.lock().unwrap_or_else(PoisonError::into_inner).send(());
                until("the gate", || self.is_open.load(Ordering::SeqCst).then_some(()));
                break;
            }
            if server.write_all(&piece[..read]).is_err() {
                break;
            }
        }
        let _ = server.shutdown(Shutdown::Both);
        let _ = answers.join();
    }
}

fn create(number: usize) -> [String; 10] {
    let to = |stripe: &str| format!("@/db1/k{number}/{stripe}.iob");
    ["backup", "create", "--no-store", "--compress", "none", "--to", &to("a"), "--to", &to("b"), "shop"]
        .map(str::to_owned)
}

fn start(here: &Workspace, receiver: &Receiver, gate: &Gate, number: usize) -> Running {
    let words = create(number);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    Running::new(&mut receiver.command_through(here, gate.port, &words))
}

/// Where to kill: in the handshake, before and in the parts, and in what makes a backup of them at the end.
fn places(here: &Workspace, receiver: &Receiver) -> Vec<u64> {
    let gate = Gate::before(receiver.port, u64::MAX);
    start(here, receiver, &gate, 0).ended().expect_status(0);
    let all = gate.passed();
    let ends = [16_000, 8_000, 6_000, 4_000, 3_000, 2_000, 1_000, 300].map(|before| all - before);
    [&[1, 2_000, 3_000, 10_000, all / 4, all / 2, all / 4 * 3][..], &ends].concat()
}

/// What is there is a backup, or does not look like one; and it is no hindrance.
fn what_is_there_is_whole_or_nothing(here: &Workspace, receiver: &Receiver, number: usize, place: u64) {
    let directory = format!("@/db1/k{number}");
    let listed = receiver.run_client(here, &["backup", "list", "--json", &directory]).expect_status(0);
    let verified =
        receiver.run_client(here, &["backup", "verify", "--no-store", &format!("{directory}/a.iob")]);
    let is_whole = verified.status == Some(0);
    assert_eq!(
        listed.stdout.contains("\"whole\""),
        is_whole,
        "{place}: {} {}",
        listed.stdout,
        words_of(&verified)
    );
    let names = receiver.names(&format!("db1/k{number}"));
    assert!(names.iter().all(|name| !name.starts_with('.')), "{place}: {names:?}");
    if is_whole {
        return;
    }
    let words = create(number);
    let again = receiver.run_client(here, &words.each_ref().map(String::as_str));
    if again.status != Some(0) {
        // A stripe that was completed keeps its name.
        assert!(
            names.iter().any(|name| ["a.iob", "b.iob"].contains(&name.as_str())),
            "{place}: {names:?}: {}",
            words_of(&again)
        );
        assert!(words_of(&again).contains("exists"), "{place}: {}", words_of(&again));
    }
}

#[test]
fn a_client_that_is_killed_at_any_byte_leaves_no_backup_and_no_hindrance() {
    let here = Workspace::new();
    source(&here);
    let receiver = Receiver::start(&here);
    for (number, place) in (1..).zip(places(&here, &receiver)) {
        let gate = Gate::before(receiver.port, place);
        let mut running = start(&here, &receiver, &gate, number);
        gate.wait_for(&mut running);
        if !running.has_ended() {
            running.signal("KILL");
        }
        running.wait_until_ended();
        gate.open();
        what_is_there_is_whole_or_nothing(&here, &receiver, number, place);
    }
}

/// The story: the receiver's host was updated in the night, and every backup that was on its way had to begin again.
#[test]
fn an_upload_goes_on_when_its_receiver_is_there_again() {
    let here = Workspace::new();
    source(&here);
    let mut receiver = Receiver::start(&here);
    let all = *places(&here, &receiver).iter().max().unwrap();
    // Without a receiver nothing of it is cut: only the connection.
    for (number, signal) in (1..).zip([None, Some("KILL"), Some("TERM")]) {
        let gate = Gate::before(receiver.port, all / 3 * 2);
        let mut running = start(&here, &receiver, &gate, number);
        gate.wait_for(&mut running);
        if let Some(signal) = signal {
            receiver.stop(signal);
            gate.open();
            pause(2000);
            receiver.start_again(&here);
        }
        gate.open();
        let ended = running.ended();
        assert_eq!(ended.status, Some(0), "{signal:?}: {}", words_of(&ended));
        assert_eq!(receiver.uploads("db1"), 0, "{signal:?}");
        let stripe = format!("@/db1/k{number}/a.iob");
        receiver.run_client(&here, &["backup", "verify", "--no-store", &stripe]).expect_status(0);
    }
}

/// With a client that is gone, too, what is there goes when the same name is uploaded again, or after a day.
#[test]
fn a_receiver_that_is_started_again_keeps_what_nobody_goes_on_with_for_a_day() {
    let here = Workspace::new();
    source(&here);
    let mut receiver = Receiver::start(&here);
    let gate = Gate::before(receiver.port, 30 << 20);
    let mut running = start(&here, &receiver, &gate, 1);
    gate.wait_for(&mut running);
    running.signal("KILL");
    running.wait_until_ended();
    receiver.restart(&here);
    let notes = || -> Vec<PathBuf> {
        let entries = fs::read_dir(receiver.directory.join("db1/.iostall-receive")).unwrap().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some()).collect()
    };
    assert_eq!(notes().len(), 2);
    for note in notes() {
        fs::File::options().write(true).open(note).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    }
    receiver.restart(&here);
    assert_eq!(receiver.uploads("db1"), 0);
}

#[test]
fn a_receiver_that_is_killed_at_any_byte_leaves_no_backup_and_no_hindrance() {
    let here = Workspace::new();
    source(&here);
    let mut receiver = Receiver::start(&here);
    for (number, place) in (1..).zip(places(&here, &receiver)) {
        let gate = Gate::before(receiver.port, place);
        let mut running = start(&here, &receiver, &gate, number);
        gate.wait_for(&mut running);
        receiver.restart(&here);
        gate.open();
        let ended = running.ended();
        let said = words_of(&ended);
        match ended.status {
            Some(0) => {}
            Some(2) => assert!(said.contains("hint:"), "{place}: {said}"),
            other => panic!("{place}: {other:?}: {said}"),
        }
        until("what was on its way is gone", || (receiver.uploads("db1") == 0).then_some(()));
        what_is_there_is_whole_or_nothing(&here, &receiver, number, place);
    }
}

/// Somebody who connects and says nothing, or a little each minute, took the place of a client.
#[test]
fn clients_that_say_nothing_are_cut_and_others_are_served() {
    let here = Workspace::new();
    source(&here);
    let receiver = Receiver::start(&here);
    let mut silent: Vec<TcpStream> =
        (0..300).map(|_| TcpStream::connect(("127.0.0.1", receiver.port)).unwrap()).collect();
    let slow = receiver.connect();
    // The client tries again until the silent ones are gone.
    let create = ["backup", "create", "--no-store", "--to", "@/db1/a.iob", "shop"];
    receiver.run_client(&here, &create).expect_status(0);
    for stream in &mut silent {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        assert!(matches!(stream.read(&mut [0; 16]), Ok(0) | Err(_)));
    }
    drop(slow);
}
