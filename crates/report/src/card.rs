//! The card of a run: eight numbers, the device and the verdict, as a picture for a ticket or a slide.

use iostall_measure::{Histogram, Percentile};
use iostall_session::output::CARD_ROOT;
use unicode_width::UnicodeWidthChar;

use crate::answer::{answer, conclusion};
use crate::facts::{self, Detail};
use crate::format::{duration, maybe_duration, shown};
use crate::judgement::Judgement;
use crate::report::Report;
use crate::section::Tile;
use crate::svg::escape;
use crate::table::Severity;
use crate::text::wrap;
use crate::zone::timestamp;

/// As many numbers are on a card.
const NUMBERS: usize = 8;
const COLUMNS: usize = 4;
/// User units.
const WIDTH: f64 = 960.0;
const MARGIN: f64 = 36.0;
const GAP: f64 = 16.0;
const TILE_WIDTH: f64 = (WIDTH - 2.0 * MARGIN - GAP * (COLUMNS as f64 - 1.0)) / COLUMNS as f64;
const TILE_HEIGHT: f64 = 92.0;
const TILE_PADDING: f64 = 14.0;
const LINE: f64 = 22.0;
/// No usual font is wider on the mean, in shares of its size.
const CHARACTER: f64 = 0.6;
const ANSWER_LINES_MAX: usize = 3;
const FACTS_MAX: usize = 4;

/// Light and dark: whoever shows the picture decides.
const STYLE: &str = "<style>\
    svg{--ground:#ffffff;--tile:#f1f4f7;--text:#1c2733;--dim:#56646f;--line:#d5dce3;--good:#14692f;--slow:#7d5200;--bad:#b3261e}\
    @media (prefers-color-scheme:dark){svg{--ground:#11161c;--tile:#1d252e;--text:#e6ebf0;--dim:#9aa8b5;--line:#33404d;\
    --good:#6fd39b;--slow:#f0c264;--bad:#ff8a80}}\
    text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','Liberation Sans',sans-serif;fill:var(--text)}\
    .ground{fill:var(--ground);stroke:var(--line)}.tile{fill:var(--tile)}.dim{fill:var(--dim)}.strong{font-weight:650}\
    .good{fill:var(--good)}.slow{fill:var(--slow)}.bad{fill:var(--bad)}.mark{fill:none;stroke-width:2}\
    .mark.good{stroke:var(--good)}.mark.slow{stroke:var(--slow)}.mark.bad{stroke:var(--bad)}.mark.strong{stroke:var(--dim)}\
    </style>";

/// The card of `report`, as an SVG document.
pub fn card(report: &Report<'_>) -> String {
    let mut card = Card { y: MARGIN, body: String::new() };
    card.head(report);
    card.answer(&answer(report, None));
    card.numbers(&(report.card)());
    card.facts(report);
    let height = card.y + MARGIN / 2.0;
    let label = escape(&format!("{}: {}", shown(&report.run.name), answer(report, None)));
    format!(
        "{CARD_ROOT}xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" role=\"img\" aria-label=\"{label}\">\n{STYLE}\n\
         <rect x=\"1\" y=\"1\" width=\"{}\" height=\"{}\" rx=\"14\" class=\"ground\"/>\n{}</svg>\n",
        WIDTH - 2.0,
        height - 2.0,
        card.body
    )
}

/// The card so far.
struct Card {
    /// The top of what comes next.
    y: f64,
    body: String,
}

impl Card {
    /// One line of text, cut at `width`.
    fn text(&mut self, (x, y): (f64, f64), size: f64, class: &str, text: &str, width: f64) {
        if text.is_empty() {
            return;
        }
        let text = escape(&fitted(text, width / (size * CHARACTER)));
        self.body.push_str(&format!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size:.1}\" class=\"{class}\">{text}</text>\n"
        ));
    }

    /// The command and the run's name, and the verdict in its colour.
    fn head(&mut self, report: &Report<'_>) {
        let (word, severity) = conclusion(report);
        let class = class(severity);
        let (size, padding) = (20.0, 16.0);
        let width = columns(word) * size * CHARACTER + 2.0 * padding;
        let x = WIDTH - MARGIN - width;
        self.body.push_str(&format!(
            "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"40\" rx=\"20\" class=\"mark {class}\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" font-size=\"{size}\" text-anchor=\"middle\" class=\"strong {class}\">{}</text>\n",
            self.y,
            x + width / 2.0,
            self.y + 27.0,
            escape(word)
        ));
        let room = x - MARGIN - GAP;
        let kind = format!("iostall {}", report.run.body.kind());
        self.text((MARGIN, self.y + 12.0), 14.0, "dim", &kind, room);
        self.text((MARGIN, self.y + 40.0), 26.0, "strong", &shown(&report.run.name), room);
        self.y += 62.0;
    }

    fn answer(&mut self, answer: &str) {
        let (size, room) = (16.0, WIDTH - 2.0 * MARGIN);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a constant below a hundred"
        )]
        let characters = (room / (size * CHARACTER)) as usize;
        let mut lines = wrap(answer, characters);
        if lines.len() > ANSWER_LINES_MAX {
            lines.truncate(ANSWER_LINES_MAX);
            lines[ANSWER_LINES_MAX - 1].push_str(" …");
        }
        for line in lines {
            self.text((MARGIN, self.y + 16.0), size, "", &line, room);
            self.y += LINE;
        }
        self.y += GAP;
    }

    fn numbers(&mut self, tiles: &[Tile]) {
        let tiles = &tiles[..tiles.len().min(NUMBERS)];
        for row in tiles.chunks(COLUMNS) {
            for (column, tile) in row.iter().enumerate() {
                self.tile(MARGIN + column as f64 * (TILE_WIDTH + GAP), tile);
            }
            self.y += TILE_HEIGHT + GAP;
        }
        self.y += 4.0;
    }

    fn tile(&mut self, x: f64, tile: &Tile) {
        let (y, room) = (self.y, TILE_WIDTH - 2.0 * TILE_PADDING);
        self.body.push_str(&format!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{TILE_WIDTH:.1}\" height=\"{TILE_HEIGHT}\" rx=\"10\" class=\"tile\"/>\n"
        ));
        let x = x + TILE_PADDING;
        self.text((x, y + 24.0), 13.0, "dim", &tile.label, room);
        // A long number gets smaller letters instead of an end that is cut off.
        let size = (room / (columns(&tile.value).max(1.0) * CHARACTER)).min(27.0);
        let class = format!("strong {}", class(tile.severity));
        self.text((x, y + 56.0), size, &class, &tile.value, room + 1.0);
        self.text((x, y + 79.0), 12.0, "dim", &tile.under, room);
    }

    /// What it ran on, and when.
    fn facts(&mut self, report: &Report<'_>) {
        let facts = facts::ran_on(report, Detail::Brief);
        let of = |label: &str| facts.iter().filter(move |fact| fact.label == label).collect::<Vec<_>>();
        let (hosts, targets, devices) = (of("host"), of("target"), of("device"));
        // Many targets leave room for a device.
        let left = FACTS_MAX - hosts.len().min(1) - devices.len().min(2);
        let shown_targets = targets.iter().take(left.max(1));
        let rest = FACTS_MAX.saturating_sub(1 + shown_targets.len());
        let mut last = "";
        for fact in hosts.iter().take(1).chain(shown_targets).chain(devices.iter().take(rest)) {
            let label = if fact.label == last { "" } else { fact.label.as_str() };
            self.text((MARGIN, self.y + 14.0), 14.0, "dim", label, 60.0);
            self.text((MARGIN + 66.0, self.y + 14.0), 14.0, "", &fact.value, WIDTH - 2.0 * MARGIN - 66.0);
            self.y += LINE;
            last = &fact.label;
        }
        let run = report.run;
        let foot = format!("{} · iostall {} · run {}", timestamp(run.started_utc), run.tool_version, run.id);
        self.text((MARGIN, self.y + 22.0), 13.0, "dim", &foot, WIDTH - 2.0 * MARGIN);
        self.y += 34.0;
    }
}

fn class(severity: Severity) -> &'static str {
    match severity {
        Severity::Plain | Severity::Strong => "strong",
        Severity::Caution => "slow",
        Severity::Bad => "bad",
        Severity::Good => "good",
    }
}

/// The width of `text` in characters; those of Chinese, Japanese and Korean count twice.
fn columns(text: &str) -> f64 {
    text.chars().map(|character| character.width().unwrap_or(0) as f64).sum()
}

/// `text` in at most so many characters, with an ellipsis for what is cut off.
fn fitted(text: &str, room: f64) -> String {
    if columns(text) <= room {
        return text.to_owned();
    }
    let mut used = 1.0;
    let fits = |character: &char| {
        used += character.width().unwrap_or(0) as f64;
        used <= room
    };
    let mut kept: String = text.chars().take_while(fits).collect();
    kept.truncate(kept.trim_end().len());
    format!("{kept}…")
}

/// A 99th percentile, marked if the samples cannot support it or by what it means.
pub(crate) fn p99_tile(label: &str, latency_ns: &Histogram, judgement: Option<Judgement>) -> Option<Tile> {
    let ns = latency_ns.value_at(Percentile::P99)? as f64;
    let tile = Tile::plain(label, duration(ns), "99 of 100 are no slower");
    if !Percentile::P99.is_supported_by(latency_ns.count()) {
        let (value, under) = (format!("{}?", tile.value), "too few requests for it".to_owned());
        return Some(Tile { value, under, severity: Severity::Caution, ..tile });
    }
    Some(match judgement {
        Some(judgement) => Tile {
            value: format!("{}{}", tile.value, judgement.mark()),
            severity: judgement.severity(),
            ..tile
        },
        None => tile,
    })
}

/// The other latencies, the most important first: median, maximum, 99.9th percentile, mean.
pub(crate) fn latency_tiles(prefix: &str, latency_ns: &Histogram) -> [Tile; 4] {
    let at = |percentile| maybe_duration(latency_ns.value_at(percentile).map(|ns| ns as f64));
    let tile = |name: &str, value: String| Tile::plain(format!("{prefix}{name}"), value, "");
    let p99_9 = at(Percentile::P99_9);
    let mark = if Percentile::P99_9.is_supported_by(latency_ns.count()) { "" } else { "?" };
    [
        tile("p50", at(Percentile::P50)),
        tile("max", maybe_duration(latency_ns.max().map(|ns| ns as f64))),
        tile("p99.9", format!("{p99_9}{mark}")),
        tile("mean", maybe_duration(latency_ns.mean())),
    ]
}

#[cfg(test)]
mod tests {
    use iostall_model::Run;
    use quick_xml::Reader;
    use quick_xml::events::Event;

    use super::*;
    use crate::fixture;

    /// The texts of a card, after parsing all of it.
    fn texts(run: &Run) -> Vec<String> {
        let card = card(&Report::of(run));
        let mut reader = Reader::from_str(&card);
        reader.config_mut().check_end_names = true;
        let (mut texts, mut in_text, mut depth) = (Vec::<String>::new(), false, 0_i32);
        loop {
            match reader.read_event().expect("valid XML") {
                Event::Eof => break,
                Event::Start(start) => {
                    depth += 1;
                    in_text = start.name().0 == "text";
                    if in_text {
                        texts.push(String::new());
                    }
                }
                Event::End(_) => {
                    depth -= 1;
                    in_text = false;
                }
                Event::Text(text) if in_text => {
                    texts.last_mut().unwrap().push_str(&text);
                }
                _ => {}
            }
        }
        assert_eq!(depth, 0, "every element ends");
        texts
    }

    #[test]
    fn a_card_reads_so() {
        insta::assert_snapshot!(card(&Report::of(&fixture::judged())));
    }

    #[test]
    fn a_card_has_eight_numbers_the_device_and_the_verdict() {
        let texts = texts(&fixture::judged());
        let has = |wanted: &str| texts.iter().any(|text| text.contains(wanted));
        for wanted in [
            "slow",
            "IOPS",
            "log p99",
            "9.83 ms!",
            "ACME Datacenter 7400",
            "oltp",
            "as many as 23.0 hard disks",
        ] {
            assert!(has(wanted), "{wanted}: {texts:?}");
        }
        assert_eq!((Report::of(&fixture::judged()).card)().len().min(NUMBERS), NUMBERS);
    }

    #[test]
    fn every_kind_of_run_has_a_card_with_numbers() {
        for (_, run) in fixture::of_every_kind() {
            let texts = texts(&run);
            assert!(texts.len() > 6, "{}: {texts:?}", run.body.kind());
            assert!(!texts.iter().any(|text| text.contains("NaN") || text.contains("inf ")), "{texts:?}");
        }
    }

    #[test]
    fn no_name_breaks_out_of_the_card() {
        let run = fixture::hostile();
        let card = card(&Report::of(&run));
        assert!(card.starts_with(CARD_ROOT));
        assert!(!card.contains("<script") && !card.contains("<b>") && !card.contains('\u{1b}'), "{card}");
        texts(&run);
        let mut long = fixture::judged();
        long.name = "x".repeat(5_000);
        assert!(texts(&long).iter().all(|text| text.chars().count() < 130));
    }
}
