//! The HTML report in a real browser, headless: it draws, it answers the mouse, it complains of nothing and
//! it asks for nothing. A probe script is added to the page; what it saw comes back in the dumped document.

#[path = "../src/fixture.rs"]
#[expect(dead_code, reason = "the unit tests use the rest")]
mod fixture;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use iostall_model::Run;
use serde_json::Value;

/// Far longer than the second or two that it takes: only for a browser that hangs.
const PATIENCE: Duration = Duration::from_secs(180);

fn browser() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|candidate| candidate.is_file());
    if found.is_none() {
        eprintln!(
            "SKIPPED: no chromium in PATH, so the HTML report was not opened in a browser. Install chromium to run this test."
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

/// Runs when the page has loaded: moves the mouse over each chart and writes down what is there.
const PROBE: &str = r"<script>
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
addEventListener('load', async () => {
  const charts = [...document.querySelectorAll('.chart')];
  const hovers = [];
  for (const chart of charts) {
    const ground = chart.querySelector('.nsewdrag');
    const box = ground.getBoundingClientRect();
    for (const share of [0.3, 0.5, 0.7]) {
      const at = { clientX: box.left + box.width * share, clientY: box.top + box.height / 2, bubbles: true, view: window };
      ground.dispatchEvent(new MouseEvent('mouseover', at));
      ground.dispatchEvent(new MouseEvent('mousemove', at));
      await pause(150);
    }
    hovers.push([...chart.querySelectorAll('.hoverlayer text')].map((label) => label.textContent).join(' | '));
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
      bar: chart.querySelectorAll('.modebar-btn').length,
    })),
    hovers,
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

/// Opens the page of `run` and returns what the probe saw, and the browser's own log. `None`: no browser.
fn opened(run: &Run) -> Option<(Value, String)> {
    let browser = browser()?;
    let folder = tempfile::tempdir().unwrap();
    let mut page = String::new();
    iostall_report::write_html(run, &mut page).unwrap();
    let page = page.replacen("<head>", &format!("<head>{WATCH}"), 1).replacen(
        "</body>",
        &format!("{PROBE}</body>"),
        1,
    );
    let file = folder.path().join("report.html");
    std::fs::write(&file, page).unwrap();
    let (document, log) = dumped(&browser, folder.path(), &file);
    let start =
        document.find("<pre id=\"probe\">").unwrap_or_else(|| panic!("the probe did not end:\n{log}"));
    let code = &document[start + "<pre id=\"probe\">".len()..];
    let json = decoded(&code[..code.find('<').unwrap()]);
    Some((serde_json::from_slice(&json).unwrap(), log))
}

fn dumped(browser: &Path, folder: &Path, file: &Path) -> (String, String) {
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

fn words(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect()
}

fn assert_quiet(seen: &Value, log: &str) {
    assert_eq!(words(&seen["errors"]), Vec::<&str>::new());
    assert_eq!(words(&seen["refused"]), Vec::<&str>::new(), "a request was tried");
    assert_eq!(words(&seen["resources"]), Vec::<&str>::new(), "something was fetched");
    assert!(!log.contains("CONSOLE"), "{log}");
}

#[test]
fn the_page_draws_its_charts_and_answers_the_mouse_without_a_complaint_or_a_request() {
    let Some((seen, log)) = opened(&fixture::run()) else { return };
    assert_quiet(&seen, &log);
    assert_eq!(seen["title"], "oltp · iostall load report");
    assert_eq!(seen["lang"], "en");
    let charts = seen["charts"].as_array().unwrap();
    let lines: Vec<(&str, u64)> = charts
        .iter()
        .map(|chart| (chart["id"].as_str().unwrap(), chart["lines"].as_u64().unwrap()))
        .collect();
    assert_eq!(
        lines,
        [
            ("span-1-percentiles", 7),
            ("span-1-distribution", 7),
            ("span-1-iops", 4),
            ("span-1-throughput", 3),
            ("span-1-latency", 12),
        ]
    );
    for chart in charts {
        assert!(chart["drawn"].as_u64() >= Some(1) && chart["bar"].as_u64() > Some(3), "{chart}");
    }
    let hovers = words(&seen["hovers"]);
    assert!(hovers[0].contains("took at most") && hovers[0].contains('s'), "{hovers:?}");
    assert!(hovers[1].contains("took at most"), "{hovers:?}");
    assert!(hovers[2].contains("2,100 IOPS"), "{hovers:?}");
    assert!(hovers[3].contains("16.4 MiB/s"), "{hovers:?}");
    assert!(hovers[4].contains("data read p99") && hovers[4].contains("ms"), "{hovers:?}");
}

#[test]
fn the_page_shows_the_tables_and_the_warnings_and_fits_its_window() {
    let Some((seen, _)) = opened(&fixture::run()) else { return };
    assert_eq!(
        words(&seen["tables"]),
        [
            "Rates and latency",
            "Open loop",
            "Processor",
            "Devices, as the kernel counted",
            "Errors",
            "Latency percentiles of data",
            "Latency percentiles of log",
        ]
    );
    assert!(seen["warningsHeight"].as_f64() > Some(40.0));
    assert!(seen["warnings"].as_str().unwrap().contains("the target (8 GiB) fits in memory (32 GiB)"));
    assert!(seen["text"].as_str().unwrap().contains("1.78 ms"));
    assert_eq!(seen["overflow"], 0, "the page scrolls sideways");
}

#[test]
fn a_hostile_run_is_shown_as_text_and_runs_no_script() {
    let Some((seen, log)) = opened(&fixture::hostile()) else { return };
    assert_quiet(&seen, &log);
    assert!(
        words(&seen["headings"])[0].starts_with("</script><script>alert(1)</script>"),
        "{}",
        seen["headings"]
    );
    assert_eq!(seen["charts"].as_array().unwrap().len(), 5);
    assert_eq!(seen["overflow"], 0, "the page scrolls sideways");
}

#[test]
fn a_run_that_measured_nothing_opens_without_a_complaint() {
    let Some((seen, log)) = opened(&fixture::empty()) else { return };
    assert_quiet(&seen, &log);
    assert!(seen["charts"].as_array().unwrap().is_empty());
    assert!(seen["text"].as_str().unwrap().contains("there is nothing to draw"));
}
#[test]
fn zz_dump() {
    for (n, r) in [("run", fixture::run()), ("hostile", fixture::hostile()), ("empty", fixture::empty())] {
        let mut page = String::new();
        iostall_report::write_html(&r, &mut page).unwrap();
        std::fs::write(format!("/tmp/rep_{n}.html"), page).unwrap();
    }
    let mut t = String::new();
    iostall_report::write_text(
        &fixture::run(),
        &iostall_report::TextOptions { colour: true, ..Default::default() },
        &mut t,
    )
    .unwrap();
    std::fs::write("/tmp/rep.svg", iostall_report::text_to_svg("iostall load --preset oltp", &t)).unwrap();
}
