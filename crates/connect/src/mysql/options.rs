//! The option file that a program of MariaDB logs in with.

use crate::address::{Address, Tls};
use crate::secret::Secret;

/// Loopback by its number: by name, the programs take a socket of their own choice.
const LOOPBACK: &str = "127.0.0.1";

/// The text of an option file with the section `section`, with which a program of MariaDB connects as `address` says. It holds the
/// password: whoever writes it must keep it from everybody else.
pub fn client_options(section: &str, address: &Address, password: &Secret) -> String {
    let mut text = format!("[{section}]\n");
    let mut put = |name: &str, value: &str| text.push_str(&format!("{name}={}\n", quoted(value)));
    if address.is_socket() {
        put("socket", &address.host);
        put("protocol", "socket");
    } else {
        put("host", if address.host == "localhost" { LOOPBACK } else { &address.host });
        put("port", &address.port.to_string());
        put("protocol", "tcp");
    }
    if !address.user.is_empty() {
        put("user", &address.user);
    }
    put("password", password.reveal());
    match &address.tls {
        Tls::Off => {}
        Tls::Verify => {
            put("ssl", "1");
            put("ssl-verify-server-cert", "1");
        }
        Tls::VerifyWith(path) => {
            put("ssl-ca", &path.to_string_lossy());
            put("ssl-verify-server-cert", "1");
        }
        Tls::Unverified => put("ssl", "1"),
    }
    text
}

/// A value with everything in it taken as it is: quotes, spaces, comments and backslashes.
fn quoted(value: &str) -> String {
    let mut text = String::from("\"");
    for letter in value.chars() {
        match letter {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            other => text.push(other),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(url: &str, password: &str) -> String {
        client_options("mariabackup", &url.parse().unwrap(), &Secret::typed(password.to_owned()))
    }

    /// A password may hold anything: one with a line break could have said where the backup goes.
    #[test]
    fn nothing_in_a_password_is_an_option_of_its_own() {
        let text = of("mysql://u@db1?tls=off", "a\"b\\c #d\n[mariabackup]\ntarget-dir=/");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "[mariabackup]");
        assert_eq!(lines[5], "password=\"a\\\"b\\\\c #d\\n[mariabackup]\\ntarget-dir=/\"");
        assert_eq!(lines.len(), 6);
    }

    #[test]
    fn the_program_connects_as_we_do() {
        let text = of("mysql://u@localhost:3307", "x");
        assert!(text.contains("host=\"127.0.0.1\"\nport=\"3307\"\nprotocol=\"tcp\"\nuser=\"u\"\n"), "{text}");
        assert!(!text.contains("ssl"));
        let text = of("mysql://u@localhost?socket=/run/my.sock", "");
        assert!(text.contains("socket=\"/run/my.sock\"\nprotocol=\"socket\""), "{text}");
        assert!(of("mysql://u@db1", "x").contains("ssl-verify-server-cert=\"1\""));
        assert!(of("mysql://u@db1?ca=/etc/ca.pem", "x").contains("ssl-ca=\"/etc/ca.pem\""));
    }
}
