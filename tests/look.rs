//! What results look like: colours that mean something, bars of latencies, and the card.

use std::fs;
use std::path::Path;

use quick_xml::Reader;
use quick_xml::events::Event;

use crate::support::Workspace;

/// A load of nothing, which has numbers at once.
const LOAD: [&str; 9] =
    ["load", "--engine", "null", "--preset", "log-write", "--warmup", "0", "--duration", "300ms"];

/// How many elements of a name an SVG has; all of it must be XML.
fn elements(path: &Path, name: &str) -> usize {
    let text = fs::read_to_string(path).expect("the picture is there");
    let mut reader = Reader::from_str(&text);
    reader.config_mut().check_end_names = true;
    let mut count = 0;
    loop {
        match reader.read_event().expect("the picture is XML") {
            Event::Start(tag) | Event::Empty(tag) => count += usize::from(tag.name().0 == name),
            Event::Eof => return count,
            _ => {}
        }
    }
}

/// A colleague asked for the result on one slide, and got a page of six screens.
#[test]
fn a_card_comes_from_every_command_that_measures_and_from_the_store() {
    let here = Workspace::new();
    here.run(&[&LOAD[..], &["--card", "load.svg"]].concat()).expect_status(0);
    fs::write(here.path("a.dat"), vec![7; 1 << 20]).unwrap();
    here.run(&["copy", "--card", "copy.svg", "a.dat", "b.dat"]).expect_status(0);
    here.run(&["write", "--size", "4MiB", "--interval", "1MiB", "--card", "write.svg", "w.dat"])
        .expect_status(0);
    fs::create_dir(here.path("log")).unwrap();
    let fsync = ["fsync", "--duration", "200ms", "--card", "fsync.svg", "log"];
    here.run(&fsync).expect_status(0);
    for number in ["1", "2", "3", "4"] {
        let name = format!("shown-{number}.svg");
        here.run(&["runs", "show", number, "--card", &name]).expect_status(0);
        assert!(elements(&here.path(&name), "text") > 15, "{name}");
    }
    for name in ["load.svg", "copy.svg", "write.svg", "fsync.svg"] {
        let card = here.path(name);
        assert!(elements(&card, "rect") >= 8, "{name} has its numbers");
        let text = fs::read_to_string(&card).unwrap();
        assert!(text.contains("prefers-color-scheme:dark") && text.contains("iostall "), "{name}: {text}");
    }
}

/// `--card logo.svg` must not cost anybody a logo.
#[test]
fn a_card_replaces_a_card_and_no_other_picture() {
    let here = Workspace::new();
    let card = |name: &str| here.run(&[&LOAD[..], &["--card", name]].concat());
    card("o.svg").expect_status(0);
    card("o.svg").expect_status(0);
    fs::write(here.path("logo.svg"), "<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>").unwrap();
    let refused = card("logo.svg").expect_status(2);
    assert!(refused.stderr.contains("logo.svg"), "{}", refused.stderr);
    assert!(fs::read_to_string(here.path("logo.svg")).unwrap().starts_with("<svg xmlns"));
    // Nor does the picture of the text replace a card.
    here.run(&[&LOAD[..], &["--svg", "o.svg"]].concat()).expect_status(2);
}

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
