//! Pages at the width of a telephone and of a desk, in light and dark: what a reader cannot read.

use serde_json::Value;

use super::browser::{browser, dumped_in, probed};

/// Loads each page into a frame of each width, one after the other. Frames, because a browser's window does not become as narrow
/// as a telephone.
const SCRIPT: &str = r"
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const WIDTHS = [390, 1280];
// A computed colour is rgb(a) in bytes, or color(srgb) in shares.
const parsed = (colour) => {
  const [red, green, blue, alpha = 1] = (colour.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
  return [...[red, green, blue].map((part) => (colour.startsWith('color(') ? part * 255 : part)), alpha];
};
const over = (ground, [red, green, blue, alpha]) =>
  [red, green, blue].map((part, at) => part * alpha + ground[at] * (1 - alpha));
const luminance = (colour) => {
  const linear = colour.map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
};
const contrast = (one, other) => {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
};
const ground = (frame, element) => {
  const layers = [];
  for (let at = element; at; at = at.parentElement) layers.unshift(parsed(frame.getComputedStyle(at).backgroundColor));
  return layers.reduce(over, [255, 255, 255]);
};
// WCAG asks 4.5 of text of ordinary size.
const faint = (frame) => {
  const texts = frame.document.createTreeWalker(frame.document.body, NodeFilter.SHOW_TEXT);
  const found = new Set();
  while (texts.nextNode()) {
    const words = texts.currentNode.textContent.trim();
    const element = texts.currentNode.parentElement;
    // The numbers in a map are on its colours, which the chart library chooses them by.
    if (!words || element.closest('script, style, noscript, .heatmaplayer, .hoverlayer')) continue;
    if (element.getClientRects().length === 0) continue;
    const style = frame.getComputedStyle(element);
    if (style.visibility === 'hidden' || Number(style.opacity) === 0) continue;
    const below = ground(frame, element);
    const ink = over(below, parsed(element instanceof frame.SVGElement ? style.fill : style.color));
    const ratio = contrast(ink, below);
    if (ratio < 4.5) found.add(`${ratio.toFixed(2)} ${words.slice(0, 40)}`);
  }
  return [...found];
};
(async () => {
  const out = [];
  for (const [name, page] of JSON.parse(document.getElementById('pages').textContent)) {
    for (const width of WIDTHS) {
      const frame = document.createElement('iframe');
      frame.style = `width: ${width}px; height: 900px; border: 0`;
      const loaded = new Promise((done) => { frame.onload = done; });
      frame.srcdoc = page;
      document.body.append(frame);
      await loaded;
      const root = frame.contentDocument.documentElement;
      while (!root.hasAttribute('data-charts')) await pause(50);
      out.push({
        name,
        width,
        seenWidth: frame.contentWindow.innerWidth,
        dark: frame.contentWindow.matchMedia('(prefers-color-scheme: dark)').matches,
        overflow: root.scrollWidth - root.clientWidth,
        wide: [...frame.contentDocument.body.querySelectorAll('*')]
          .filter((element) => element.getBoundingClientRect().right > width && !element.parentElement.closest('.table, .chart'))
          .slice(0, 5)
          .map((element) => `${element.tagName}.${element.getAttribute('class')}`),
        faint: faint(frame.contentWindow),
        bare: [...frame.contentDocument.querySelectorAll('.chart')]
          .filter((chart) => chart.querySelectorAll('.ytick').length < 2)
          .map((chart) => chart.id),
      });
      frame.remove();
    }
  }
  const place = document.createElement('pre');
  place.id = 'probe';
  place.textContent = btoa(unescape(encodeURIComponent(JSON.stringify(out))));
  document.body.append(place);
})();
";

/// What each of the named `pages` looks like at each width. `None`: no browser.
pub(crate) fn looked_at(pages: &[(&str, String)], dark: bool) -> Option<Vec<Value>> {
    let browser = browser()?;
    let folder = tempfile::tempdir().unwrap();
    let pages = serde_json::to_string(pages).unwrap().replace('<', "\\u003c");
    let outer = format!(
        "<!DOCTYPE html><html><head><meta charset=\"utf-8\"><meta name=\"color-scheme\" content=\"light dark\"></head><body>\
         <script type=\"application/json\" id=\"pages\">{pages}</script><script>{SCRIPT}</script></body></html>"
    );
    let file = folder.path().join("looks.html");
    std::fs::write(&file, outer).unwrap();
    let scheme = format!("--blink-settings=preferredColorScheme={}", u8::from(!dark));
    let (document, log) = dumped_in(&browser, folder.path(), &file, &[&scheme]);
    let seen = probed(&document, &log);
    Some(seen.as_array().unwrap().clone())
}
