//! Golden tests: every run kind in every output format, word for word, which refactoring must not change.

use iostall_watch::windows::{GroupKey, WatchReport, fixture as watch_fixture};
use unicode_width::UnicodeWidthStr;

use crate::json::JsonLayout;
use crate::{
    Report, TextOptions, fixture, watch, write_csv, write_html, write_json, write_markdown, write_sections,
    write_text,
};

/// FNV-1a, for long text without meaning to a reader: any changed byte gives a different number.
fn fingerprint(text: &str) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{} bytes, {:016x}", text.len(), text.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}

#[test]
fn text() {
    for (name, run) in fixture::of_every_kind() {
        let narrow = TextOptions { width: 80, unicode: false, colour: true, percentiles: true, bars: true };
        let mut text = String::new();
        write_text(&Report::of(&run), &TextOptions { width: 120, ..TextOptions::default() }, &mut text)
            .unwrap();
        text.push_str("\n======== narrow, coloured, all percentiles\n");
        write_text(&Report::of(&run), &narrow, &mut text).unwrap();
        insta::assert_snapshot!(format!("text-{name}"), text.replace('\u{1b}', "^"));
    }
}

/// On a terminal of 80 columns tables broke in two, and what says how sure a number is was the first to go.
#[test]
fn text_at_three_widths() {
    for width in [80, 120, 200] {
        for (name, run) in [("load", fixture::judged()), ("sweep", fixture::sweep())] {
            let mut text = String::new();
            let options = TextOptions { width, percentiles: true, ..TextOptions::default() };
            write_text(&Report::of(&run), &options, &mut text).unwrap();
            assert_fits(&text, width);
            insta::assert_snapshot!(format!("wide-{name}-{width}"), text);
        }
        let report = watched();
        let mut text = String::new();
        let options = TextOptions { width, ..TextOptions::default() };
        write_sections(&watch::title(&report), &watch::sections(&report), &options, &mut text).unwrap();
        assert_fits(&text, width);
        insta::assert_snapshot!(format!("wide-report-{width}"), text);
    }
}

/// Every kind of run at every width that a terminal has.
#[test]
fn no_line_of_a_report_is_wider_than_the_terminal() {
    for (_, run) in fixture::of_every_kind() {
        for width in [80, 100, 120, 160, 200] {
            let mut text = String::new();
            let options = TextOptions { width, percentiles: true, ..TextOptions::default() };
            write_text(&Report::of(&run), &options, &mut text).unwrap();
            assert_fits(&text, width);
        }
    }
}

#[track_caller]
fn assert_fits(text: &str, width: usize) {
    for line in text.lines() {
        assert!(line.width() <= width, "{} of {width}: {line}\n{text}", line.width());
    }
}

/// A window with paths as they are on servers.
fn watched() -> WatchReport {
    let mut report = watch_fixture::report();
    let path = "E:\\Program Files\\Microsoft SQL Server\\MSSQL16.MSSQLSERVER\\MSSQL\\DATA\\";
    let groups = std::mem::take(&mut report.window.groups);
    let renamed = groups.into_iter().map(|(key, group)| {
        let name = key.name.replace("E:\\data\\", path);
        (GroupKey { name, ..key }, group)
    });
    report.window.groups = renamed.collect();
    report
}

#[test]
fn markdown() {
    for (name, run) in fixture::of_every_kind() {
        let mut text = String::new();
        write_markdown(&Report::of(&run), &mut text).unwrap();
        insta::assert_snapshot!(format!("markdown-{name}"), text);
    }
}

#[test]
fn csv() {
    for (name, run) in fixture::of_every_kind() {
        let mut bytes = Vec::new();
        write_csv(&Report::of(&run), &mut bytes).unwrap();
        insta::assert_snapshot!(format!("csv-{name}"), String::from_utf8(bytes).unwrap().replace('\r', "^M"));
    }
}

#[test]
fn json() {
    for (name, run) in fixture::of_every_kind() {
        let written = |layout| {
            let mut bytes = Vec::new();
            write_json(&Report::of(&run), layout, &mut bytes).unwrap();
            String::from_utf8(bytes).unwrap()
        };
        let pretty = written(JsonLayout::Pretty);
        let (stored, summary) = pretty.split_at(pretty.find("  \"summary\"").unwrap());
        let compact = fingerprint(&written(JsonLayout::Compact));
        let text = format!("stored: {}\ncompact: {compact}\n{summary}", fingerprint(stored));
        insta::assert_snapshot!(format!("json-{name}"), text);
    }
}

#[test]
fn html() {
    for (name, run) in fixture::of_every_kind() {
        let mut page = String::new();
        write_html(&Report::of(&run), &mut page).unwrap();
        let figures = between(&page, "id=\"figures\">", "</script>").replace("},\"span-", "},\n\"span-");
        let figures: Vec<String> = figures
            .split('\n')
            .map(|figure| format!("{:.30}: {}", figure.trim_start_matches('{'), fingerprint(figure)))
            .collect();
        let body = page.split_once("</head>").unwrap().1;
        let body = &body[..body.find("<script").unwrap()];
        let text = format!("{}\n\n{}", figures.join("\n"), body.replace("><", ">\n<"));
        insta::assert_snapshot!(format!("html-{name}"), text);
    }
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let rest = text.split_once(start).unwrap().1;
    rest.split_once(end).unwrap().0
}

/// Listings and documents used different names for a kind, so that a script could not join them.
#[test]
fn the_word_of_a_kind_is_the_key_of_its_outcome_in_documents() {
    for (_, run) in fixture::of_every_kind() {
        let value = serde_json::to_value(&run.body).unwrap();
        assert_eq!(value.as_object().unwrap().keys().collect::<Vec<_>>(), [run.body.kind()]);
    }
}
