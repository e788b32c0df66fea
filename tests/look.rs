//! What results look like: colours that mean something, and bars of latencies.

use crate::support::Workspace;

/// A load of nothing, which has numbers at once.
const LOAD: [&str; 9] =
    ["load", "--engine", "null", "--preset", "log-write", "--warmup", "0", "--duration", "300ms"];

/// A mean and five percentiles hid that the latencies had two peaks.
#[test]
fn the_latencies_of_a_role_are_a_line_of_bars_in_the_characters_of_the_locale() {
    let here = Workspace::new();
    let run = |locale: &str, more: &[&str]| {
        let words = [&LOAD[..], more].concat();
        let output = here.command(&words).env("LC_ALL", locale).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let wide = run("C.UTF-8", &[]);
    let title = "Requests by latency, on a logarithmic scale";
    assert!(wide.contains(title) && wide.contains('█'), "{wide}");
    let ascii = run("de_DE.ISO-8859-1", &[]);
    assert!(ascii.contains(title) && ascii.is_ascii() && ascii.contains('#'), "{ascii}");
    let quiet = run("C.UTF-8", &["--quiet"]);
    assert!(!quiet.contains(title) && quiet.contains("IOPS"), "{quiet}");
}

/// In a log of a pipeline the escapes of colours were all over the text.
#[test]
fn a_pipe_and_no_color_have_no_escapes() {
    let here = Workspace::new();
    assert!(!here.run(&LOAD).expect_status(0).stdout.contains('\u{1b}'));
    let coloured = here.run(&[&LOAD[..], &["--color", "always"]].concat()).expect_status(0).stdout;
    assert!(coloured.contains("\u{1b}["));
}
