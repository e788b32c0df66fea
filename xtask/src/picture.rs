//! The text of a command as a picture of a terminal: `cargo xtask picture TITLE <captured >picture.svg`.
//!
//! Understands only the colours of the text report (bold, dim, red, green, yellow). The result is plain SVG text that scales and
//! can be searched.

use unicode_width::UnicodeWidthStr as _;

/// Width of a character cell and height of a line, user units.
const CELL: f64 = 8.4;
const LINE: f64 = 19.0;
/// Font size at which common monospaced fonts have cells of about [`CELL`].
const FONT: f64 = 14.0;
const MARGIN: f64 = 18.0;
const TITLE_BAR: f64 = 34.0;

/// `text`, with or without colours, in a window with the title `title`.
pub(crate) fn picture(title: &str, text: &str) -> String {
    let lines: Vec<Vec<Piece<'_>>> = text.lines().map(pieces).collect();
    let columns = lines.iter().map(|line| line.iter().map(|(text, _)| text.width()).sum::<usize>()).max();
    let width = columns.unwrap_or(0).max(title.width() + 10) as f64 * CELL + 2.0 * MARGIN;
    let height = TITLE_BAR + lines.len() as f64 * LINE + 1.5 * MARGIN;
    let lights = [(20, "#ff5f57"), (40, "#febc2e"), (60, "#28c840")].map(|(x, colour)| {
        format!("<circle cx=\"{x}\" cy=\"{}\" r=\"6\" fill=\"{colour}\"/>\n", TITLE_BAR / 2.0)
    });
    let body = lines.iter().enumerate();
    let body = body.map(|(index, line)| drawn(line, TITLE_BAR + MARGIN + (index as f64 + 0.7) * LINE));
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
        lights = lights.concat(),
        body = body.collect::<String>(),
    )
}

/// Text of one colour, and its class.
type Piece<'a> = (&'a str, &'static str);

/// Cuts a line at changes of colour and at gaps between columns, because stretching across a gap would move its neighbours.
fn pieces(line: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    for (index, run) in line.split("\u{1b}[").enumerate() {
        let (code, mut rest) =
            if index == 0 { ("0", run) } else { run.split_once('m').unwrap_or(("0", run)) };
        let class = match code {
            "1" => " class=\"b\"",
            "2" => " class=\"d\"",
            "31" | "1;31" => " class=\"r\"",
            "32" | "1;32" => " class=\"g\"",
            "33" | "1;33" => " class=\"y\"",
            _ => "",
        };
        while !rest.is_empty() {
            let blank = rest.len() - rest.trim_start_matches(' ').len();
            let end = if blank > 0 { blank } else { rest.find("  ").unwrap_or(rest.len()) };
            pieces.push((&rest[..end], class));
            rest = &rest[end..];
        }
    }
    pieces
}

/// Each piece is positioned and stretched to its cells, so that columns line up in any font.
fn drawn(line: &[Piece<'_>], y: f64) -> String {
    let (mut x, mut out) = (MARGIN, String::new());
    for (text, class) in line {
        let length = text.width() as f64 * CELL;
        if !text.trim().is_empty() {
            out.push_str(&format!(
                "<text x=\"{x:.1}\" y=\"{y:.1}\" textLength=\"{length:.1}\" lengthAdjust=\"spacingAndGlyphs\" \
                 xml:space=\"preserve\"{class}>{}</text>\n",
                escape(text)
            ));
        }
        x += length;
    }
    out
}

fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    text.replace(|c: char| c.is_control(), "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_columns_and_marks_become_elements() {
        let picture = picture("a<b", "\u{1b}[1mread\u{1b}[0m  2,100  <\n  \u{1b}[33m! doubt\u{1b}[0m\n");
        assert!(picture.contains("aria-label=\"a&lt;b\""), "{picture}");
        for piece in [" class=\"b\">read<", ">2,100<", ">&lt;<", " class=\"y\">! doubt<"] {
            assert!(picture.contains(piece), "{piece}: {picture}");
        }
        assert!(!picture.contains('\u{1b}'));
    }
}
