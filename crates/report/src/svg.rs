//! Renders terminal text as a picture, for places that cannot show a terminal.
//!
//! Understands only the colours of the text report (bold, dim, red, green, yellow). The result is plain SVG
//! text that scales and can be searched.

use unicode_width::UnicodeWidthStr;

/// Width of a character cell and height of a line, user units.
const CELL: f64 = 8.4;
const LINE: f64 = 19.0;
/// Font size at which common monospaced fonts have cells of about [`CELL`].
const FONT: f64 = 14.0;
const MARGIN: f64 = 18.0;
const TITLE_BAR: f64 = 34.0;

/// `text` (with or without the text report's colours) as an SVG picture of a terminal window with the title
/// `title`.
pub fn text_to_svg(title: &str, text: &str) -> String {
    let lines: Vec<Vec<Piece>> = pieces(text);
    let columns = lines.iter().map(|line| line.iter().map(Piece::columns).sum::<usize>()).max();
    let width = columns.unwrap_or(0).max(title.width() + 10) as f64 * CELL + 2.0 * MARGIN;
    let height = TITLE_BAR + lines.len() as f64 * LINE + 1.5 * MARGIN;
    let lights = ["#ff5f57", "#febc2e", "#28c840"].iter().enumerate().map(|(index, colour)| {
        let x = 20.0 + index as f64 * 20.0;
        format!("<circle cx=\"{x}\" cy=\"{}\" r=\"6\" fill=\"{colour}\"/>\n", TITLE_BAR / 2.0)
    });
    let body = lines
        .iter()
        .enumerate()
        .map(|(index, line)| drawn_line(line, TITLE_BAR + MARGIN + (index as f64 + 0.7) * LINE));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.1} {height:.1}\" width=\"{width:.1}\" \
         height=\"{height:.1}\" role=\"img\" aria-label=\"{label}\">\n\
         <style>text{{font:{FONT}px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;\
         fill:#d7dce2;white-space:pre}}.b{{font-weight:bold;fill:#fff}}.d{{fill:#8b949e}}.r{{fill:#ff7b72}}\
         .y{{fill:#e3b341}}.g{{fill:#7ee787}}</style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"10\" fill=\"#0d1117\"/>\n\
         <path d=\"M0 {TITLE_BAR}V10a10 10 0 0 1 10-10H{inner:.1}a10 10 0 0 1 10 10V{TITLE_BAR}Z\" fill=\"#21262d\"/>\n\
         {lights}<text x=\"{middle:.1}\" y=\"22\" text-anchor=\"middle\" class=\"d\">{label}</text>\n{body}</svg>\n",
        label = escape(title),
        inner = width - 10.0,
        middle = width / 2.0,
        lights = lights.collect::<String>(),
        body = body.collect::<String>(),
    )
}

/// Each piece is positioned and stretched to its cells, so that columns line up in any font.
fn drawn_line(line: &[Piece], y: f64) -> String {
    let mut column = 0;
    let mut out = String::new();
    for piece in line {
        let columns = piece.columns();
        if !piece.text.trim().is_empty() {
            out.push_str(&text_element(piece, MARGIN + column as f64 * CELL, y));
        }
        column += columns;
    }
    out
}

fn text_element(piece: &Piece, x: f64, y: f64) -> String {
    let length = piece.columns() as f64 * CELL;
    format!(
        "<text x=\"{x:.1}\" y=\"{y:.1}\" textLength=\"{length:.1}\" lengthAdjust=\"spacingAndGlyphs\" \
         xml:space=\"preserve\"{}>{}</text>\n",
        piece.class,
        escape(&piece.text)
    )
}

/// Text of one colour.
struct Piece {
    text: String,
    class: &'static str,
}

impl Piece {
    fn columns(&self) -> usize {
        self.text.width()
    }
}

/// Splits text into lines and lines into pieces: at colour changes, and at gaps between columns, because
/// stretching across a gap would move its neighbours.
fn pieces(text: &str) -> Vec<Vec<Piece>> {
    text.lines()
        .map(|line| {
            let mut out = Vec::new();
            for (index, run) in line.split("\u{1b}[").enumerate() {
                let (code, rest) =
                    if index == 0 { ("0", run) } else { run.split_once('m').unwrap_or(("0", run)) };
                cut_at_gaps(&mut out, rest, class_of(code));
            }
            out
        })
        .collect()
}

fn cut_at_gaps(out: &mut Vec<Piece>, text: &str, class: &'static str) {
    let mut rest = text;
    while !rest.is_empty() {
        let blank = rest.len() - rest.trim_start_matches(' ').len();
        let end = if blank > 0 { blank } else { rest.find("  ").unwrap_or(rest.len()) };
        out.push(Piece { text: rest[..end].to_owned(), class });
        rest = &rest[end..];
    }
}

fn class_of(code: &str) -> &'static str {
    match code {
        "1" => " class=\"b\"",
        "2" => " class=\"d\"",
        "31" | "1;31" => " class=\"r\"",
        "32" | "1;32" => " class=\"g\"",
        "33" | "1;33" => " class=\"y\"",
        _ => "",
    }
}

/// XML text: special characters escaped, and invalid ones replaced.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            control if control.is_control() => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Report, TextOptions, fixture, write_text};

    #[test]
    fn a_small_picture_is_drawn_so() {
        insta::assert_snapshot!(text_to_svg(
            "iostall load",
            "\u{1b}[1mread\u{1b}[0m  2,100  354 µs\n  \u{1b}[33m! doubt\u{1b}[0m\n"
        ));
    }

    #[test]
    fn text_cannot_break_out_of_the_picture() {
        let svg = text_to_svg("<b>\"", "</text><script>&\u{7}");
        assert!(!svg.contains("<script") && !svg.contains("<b>") && !svg.contains('\u{7}'));
        assert!(svg.contains("&lt;/text&gt;&lt;script&gt;&amp;\u{fffd}"));
    }

    #[test]
    fn every_figure_of_the_text_report_is_in_its_picture() {
        let mut text = String::new();
        write_text(
            &Report::of(&fixture::run()),
            &TextOptions { colour: true, ..TextOptions::default() },
            &mut text,
        )
        .unwrap();
        let svg = text_to_svg("iostall", &text);
        for figure in ["2,100", "1.78 ms", "6.32 ms?", "target-small (data)"] {
            assert!(svg.contains(figure), "{figure}");
        }
        assert!(!svg.contains('\u{1b}'));
    }
}
