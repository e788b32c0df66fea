//! Mock servers on this machine that send endless or malicious answers.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};

use crate::support::{Ran, Workspace, binary};

/// A message of PostgreSQL's protocol: kind, length, body.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
    [&[kind][..], &length, body].concat()
}

/// The answer to a login without a password.
const WELCOME: [u8; 4] = [0; 4];

/// A mock PostgreSQL that accepts any login and then runs `harm` on each connection.
fn mock_postgres(harm: impl Fn(&mut TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut startup = [0; 4096];
            if stream.read(&mut startup).is_ok() {
                harm(&mut stream);
            }
        }
    });
    format!("postgres://u@127.0.0.1:{port}/d")
}

/// Writes `part` until the other side closes the connection.
fn pour(stream: &mut TcpStream, part: &[u8]) {
    let much = part.repeat((1 << 16) / part.len() + 1);
    while stream.write_all(&much).is_ok() {}
}

fn let_in(stream: &mut TcpStream) {
    let ready = message(b'Z', b"I");
    let _ = stream.write_all(&[message(b'R', &WELCOME), ready].concat());
    let mut request = [0; 4096];
    // The settings of the session, and what is asked then.
    let _ = stream.read(&mut request);
    let _ = stream.write_all(&[message(b'C', b"SET\0"), message(b'Z', b"I")].concat());
    let _ = stream.read(&mut request);
}

/// The answer to a valid statement with one text column.
fn described() -> Vec<u8> {
    let column =
        [&b"name\0"[..], &[0; 4], &[0; 2], &25_u32.to_be_bytes(), &[0xff; 2], &[0xff; 4], &[0; 2]].concat();
    let columns = [&1_u16.to_be_bytes()[..], &column].concat();
    [message(b'1', b""), message(b't', &[0; 2]), message(b'T', &columns), message(b'Z', b"I")].concat()
}

fn row(text: &[u8]) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap().to_be_bytes();
    message(b'D', &[&1_u16.to_be_bytes()[..], &length, text].concat())
}

/// Samples `url` with an address space of 1 GB: a client without limits dies from it before the machine runs
/// out of memory.
fn sample(url: &str) -> Ran {
    let workspace = Workspace::new();
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -v 1000000; exec \"$@\"", "sh"]).arg(binary());
    limited
        .args(["collect", "once", "--timeout", "100s", url])
        .env("IOSTALL_STORE", workspace.path("store.db"));
    limited.stdin(Stdio::null()).output().expect("a shell").into()
}

/// Endless rows filled 1.7 GB in three seconds.
#[test]
fn rows_without_an_end_of_a_mock_server_end_the_reading() {
    for text in [&b""[..], &[b'x'; 1000]] {
        let url = mock_postgres(move |stream| {
            let_in(stream);
            let _ = stream.write_all(&described());
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(&message(b'2', b""));
            pour(stream, &row(text));
        });
        let ran = sample(&url).expect_status(2);
        assert!(ran.stderr.contains("sent more data for one reading than expected"), "{}", ran.stderr);
        assert!(ran.stderr.contains("hint: check that it is the right server"), "{}", ran.stderr);
    }
}

/// The server need not even accept the login.
#[test]
fn settings_and_notices_without_an_end_of_a_mock_server_end_the_login() {
    let notice = message(b'N', b"\0");
    let url = mock_postgres(move |stream| {
        let _ = stream.write_all(&message(b'R', &WELCOME));
        pour(stream, &notice);
    });
    let ran = sample(&url).expect_status(2);
    assert!(ran.stderr.contains("than expected"), "{}", ran.stderr);

    let url = mock_postgres(move |stream| {
        let _ = stream.write_all(&message(b'R', &WELCOME));
        for number in 0_u64.. {
            let setting = format!("setting{number}\0value\0");
            if stream.write_all(&message(b'S', setting.as_bytes())).is_err() {
                return;
            }
        }
    });
    let ran = sample(&url).expect_status(2);
    assert!(ran.stderr.contains("than expected"), "{}", ran.stderr);
}

/// The driver allocated the length given in the first five bytes of a message.
#[test]
fn a_length_that_a_mock_server_makes_up_is_not_believed() {
    for kind in [b'E', b'R', b'S'] {
        let url = mock_postgres(move |stream| {
            let _ = stream.write_all(&[&[kind][..], &0x7fff_ffff_u32.to_be_bytes(), b"abc"].concat());
            let mut rest = [0; 4096];
            let _ = stream.read(&mut rest);
        });
        let ran = sample(&url).expect_status(2);
        assert!(ran.stderr.contains("than expected"), "{}", ran.stderr);
    }
}

/// A server's error is untrusted text: of any length, with terminal escapes, and with lines that look like
/// ours.
#[test]
fn what_a_mock_server_says_is_cut_and_drives_no_terminal() {
    let text = format!("no\u{1b}[2J\u{9b}31m\r\nerror: all is lost\nhint: run this{}", "!".repeat(100_000));
    let body = format!("SFATAL\0VFATAL\0C28P01\0M{text}\0\0");
    let url = mock_postgres(move |stream| {
        let _ = stream.write_all(&message(b'E', body.as_bytes()));
    });
    let ran = sample(&url).expect_status(2);
    assert!(
        ran.stderr.contains("no\\u{1b}[2J\\u{9b}31m\\r\\nerror: all is lost\\nhint: run this!!!"),
        "{}",
        ran.stderr
    );
    assert!(!ran.stderr.contains(['\u{1b}', '\u{9b}', '\r']), "{}", ran.stderr);
    assert_eq!(
        ran.stderr.lines().filter(|line| line.starts_with("error:") || line.starts_with("hint:")).count(),
        2
    );
    assert!(ran.stderr.len() < 2_000, "{} bytes", ran.stderr.len());
}

/// A packet of MySQL's protocol.
fn packet(number: u8, body: &[u8]) -> Vec<u8> {
    let [low, middle, high, _] = u32::try_from(body.len()).unwrap().to_le_bytes();
    [&[low, middle, high, number][..], body].concat()
}

/// A mock MySQL that accepts any login and sends an endless answer to the first query.
#[test]
fn rows_without_an_end_of_a_mock_mysql_server_end_the_reading() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let greeting = [
            &b"\x0a8.0.0\0"[..],
            &[1, 0, 0, 0],
            b"12345678\0",
            // Protocol 4.1, secure connections, plugins.
            &0xA285_u16.to_le_bytes(),
            &[33, 2, 0],
            &0x0008_u16.to_le_bytes(),
            &[21],
            &[0; 10],
            b"123456789012\0mysql_native_password\0",
        ]
        .concat();
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 4096];
            let _ = stream.write_all(&packet(0, &greeting));
            let _ = stream.read(&mut request);
            let _ = stream.write_all(&packet(2, &[0, 0, 0, 2, 0, 0, 0]));
            while let Ok(read @ 1..) = stream.read(&mut request) {
                let text = String::from_utf8_lossy(&request[..read]).into_owned();
                let column = b"\x03def\0\0\0\x04name\0\x0c\x21\0\0\x04\0\0\xfd\0\0\0\0\0";
                let _ = stream.write_all(&[packet(1, &[1]), packet(2, column)].concat());
                let _ = stream.write_all(&packet(3, &[0xfe, 0, 0, 2, 0]));
                if text.contains("iostall:status") {
                    let mut numbers = (0..=u8::MAX).cycle().skip(4);
                    while numbers
                        .next()
                        .is_some_and(|number| stream.write_all(&packet(number, b"\x04abcd")).is_ok())
                    {
                    }
                    break;
                }
                let _ = stream.write_all(&packet(4, &[0xfe, 0, 0, 2, 0]));
            }
        }
    });
    let ran = sample(&format!("mysql://u@127.0.0.1:{port}")).expect_status(2);
    assert!(ran.stderr.contains("than expected"), "{}", ran.stderr);
}
