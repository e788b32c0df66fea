//! Opens a page in a real browser, headless, and tells what came of it.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

use serde_json::Value;

/// Far longer than the second or two that it takes: only for a browser that hangs.
const PATIENCE: Duration = Duration::from_secs(600);

/// A browser is a dozen processes. Many at once only wait for each other, for minutes where there is one processor, and
/// need the memory of all.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

pub(crate) fn browser() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|candidate| candidate.is_file());
    if found.is_none() {
        // Straight to the stream: the test harness swallows what `eprintln!` says in a test that passes.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: no chromium in PATH, so the HTML report was not opened in a browser. Install chromium."
        );
    }
    found
}

/// Runs in the page before anything else: notes every error and every request that the policy stopped.
const WATCH: &str = r"<script>
window.seen = { errors: [], refused: [] };
addEventListener('error', (event) => seen.errors.push(event.message));
addEventListener('unhandledrejection', (event) => seen.errors.push(String(event.reason)));
addEventListener('securitypolicyviolation', (event) => seen.refused.push(event.blockedURI));
for (const level of ['error', 'warn']) {
  console[level] = (...words) => seen.errors.push(words.join(' '));
}
</script>";

/// Runs when the charts are drawn: moves the mouse over each chart and writes down what is there.
const PROBE: &str = r"<script>
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
// What the legend shares a pixel with: the plot, the labels and titles of its axes, or the edge of the chart.
const covered = (chart) => {
  const legend = chart.querySelector('.legend .bg');
  if (!legend) return [];
  const box = legend.getBoundingClientRect();
  const names = ['.nsewdrag', '.xtick', '.ytick', '.xtitle', '.ytitle'];
  const parts = names.flatMap((name) => [...chart.querySelectorAll(name)].map((part) => [name, part]));
  const meets = ([, part]) => {
    const other = part.getBoundingClientRect();
    return other.width > 0 && box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom;
  };
  const whole = chart.getBoundingClientRect();
  const out = box.bottom > whole.bottom + 1 || box.left < whole.left - 1 || box.right > whole.right + 1;
  const plot = chart.querySelector('.nsewdrag').getBoundingClientRect().height;
  if (plot < 100) return [`a plot of ${plot} pixels`];
  return [...parts.filter(meets).map(([name]) => name), ...(out ? ['edge'] : [])];
};
addEventListener('load', async () => {
  while (!document.documentElement.hasAttribute('data-charts')) await pause(50);
  const charts = [...document.querySelectorAll('.chart')];
  const hovers = [];
  for (const chart of charts) {
    const ground = chart.querySelector('.nsewdrag');
    const box = ground.getBoundingClientRect();
    let label = '';
    for (let step = 1; step < 20 && label === ''; step += 1) {
      const place = { clientX: box.left + box.width / 2, clientY: box.top + (box.height * step) / 20 };
      ground.dispatchEvent(new MouseEvent('mouseover', { ...place, bubbles: true, view: window }));
      ground.dispatchEvent(new MouseEvent('mousemove', { ...place, bubbles: true, view: window }));
      await pause(150);
      label = [...chart.querySelectorAll('.hoverlayer text')].map((text) => text.textContent).join(' | ');
    }
    hovers.push(label);
  }
  const warnings = document.querySelector('.warnings');
  const out = {
    ...seen,
    title: document.title,
    resources: performance.getEntriesByType('resource').map((entry) => entry.name),
    charts: charts.map((chart) => ({
      id: chart.id,
      drawn: chart.querySelectorAll('svg.main-svg').length,
      lines: chart.querySelectorAll('.scatterlayer .trace').length,
      bars: chart.querySelectorAll('.barlayer .trace').length,
      maps: chart.querySelectorAll('.heatmaplayer image').length,
      shades: chart.querySelectorAll('.shapelayer path').length,
      bar: chart.querySelectorAll('.modebar-btn').length,
      covered: covered(chart),
    })),
    hovers,
    legend: [...document.querySelectorAll('.legendtext')].map((label) => label.textContent),
    links: document.querySelectorAll('a[href], svg a').length,
    tables: [...document.querySelectorAll('table')].map((table) => table.caption.textContent),
    headings: [...document.querySelectorAll('h1, h2')].map((heading) => heading.firstChild.textContent),
    warningsHeight: warnings ? warnings.getBoundingClientRect().height : 0,
    warnings: warnings ? warnings.textContent : '',
    text: document.body.innerText,
    overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    lang: document.documentElement.lang,
  };
  const place = document.createElement('pre');
  place.id = 'probe';
  place.textContent = btoa(unescape(encodeURIComponent(JSON.stringify(out))));
  document.body.append(place);
});
</script>";

/// Opens `page` and returns what the probe saw, and the browser's own log. `None`: no browser.
pub(crate) fn opened(page: &str) -> Option<(Value, String)> {
    let browser = browser()?;
    let folder = tempfile::tempdir().unwrap();
    let page = page.replacen("<head>", &format!("<head>{WATCH}"), 1).replacen(
        "</body>",
        &format!("{PROBE}</body>"),
        1,
    );
    let file = folder.path().join("report.html");
    std::fs::write(&file, page).unwrap();
    let (document, log) = dumped_in(&browser, folder.path(), &file, &[]);
    Some((probed(&document, &log), log))
}

/// What a probe wrote into the document.
pub(crate) fn probed(document: &str, log: &str) -> Value {
    let start =
        document.find("<pre id=\"probe\">").unwrap_or_else(|| panic!("the probe did not end:\n{log}"));
    let code = &document[start + "<pre id=\"probe\">".len()..];
    let json = decoded(&code[..code.find('<').unwrap()]);
    serde_json::from_slice(&json).unwrap()
}

/// The document of `file` once its scripts have run, and the browser's log. `settings` are further options of the browser.
pub(crate) fn dumped_in(browser: &Path, folder: &Path, file: &Path, settings: &[&str]) -> (String, String) {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut child = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--enable-logging=stderr",
            "--window-size=1280,1000",
            "--virtual-time-budget=60000",
            "--dump-dom",
        ])
        .args(settings)
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("file://{}", file.display()))
        .env("HOME", folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let (done, ended) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = out.read_to_end(&mut text);
        let _ = done.send(());
        text
    });
    let log = std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = err.read_to_end(&mut text);
        text
    });
    if ended.recv_timeout(PATIENCE).is_err() {
        let _ = child.kill();
    }
    child.wait().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (text(reader.join().unwrap()), text(log.join().unwrap()))
}

/// Base64, because the document is dumped with its text escaped and cut at will.
fn decoded(code: &str) -> Vec<u8> {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut out, mut bits, mut held) = (Vec::new(), 0_u32, 0);
    for sign in code.bytes() {
        let Some(value) = SIGNS.iter().position(|known| *known == sign) else { continue };
        bits = bits << 6 | u32::try_from(value).unwrap();
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push(u8::try_from(bits >> held & 0xff).unwrap());
        }
    }
    out
}

pub(crate) fn words(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect()
}

pub(crate) fn assert_quiet(seen: &Value, log: &str) {
    assert_eq!(words(&seen["errors"]), Vec::<&str>::new());
    assert_eq!(words(&seen["refused"]), Vec::<&str>::new(), "a request was tried");
    assert_eq!(words(&seen["resources"]), Vec::<&str>::new(), "something was fetched");
    assert!(!log.contains("CONSOLE"), "{log}");
}
