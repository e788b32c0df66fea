//! The chart library in a page: compressed, because it is 4.7 MB of script and a page's data is a few
//! kilobytes. The browser decompresses it (`DecompressionStream`, in every current browser since May 2023).

use std::io::Write as _;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;

/// The library's script as a raw deflate stream (RFC 1951) in base64.
pub(super) fn packed() -> &'static str {
    static PACKED: LazyLock<String> = LazyLock::new(|| BASE64_STANDARD.encode(deflated(script().as_bytes())));
    &PACKED
}

fn deflated(text: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    // Writing to memory cannot fail.
    let _ = encoder.write_all(text);
    encoder.finish().unwrap_or_default()
}

/// The library's script without the formula renderer bundled with it: reports have no formulas, and it is a
/// third of the size.
fn script() -> String {
    const OPEN: &str = "<script type=\"text/javascript\">";
    let bundle = plotly::Plot::offline_js_sources();
    let start = bundle.find(OPEN).map_or(0, |at| at + OPEN.len());
    let end = bundle[start..].find("</script>").map_or(bundle.len(), |at| start + at);
    bundle[start..end].to_owned()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::DeflateDecoder;

    use super::*;

    #[test]
    fn the_chart_library_is_there_and_its_formula_renderer_is_not() {
        let script = script();
        assert!(script.contains("plotly.js v"));
        assert!(!script.contains("</script"));
        assert!(script.len() < plotly::Plot::offline_js_sources().len() - 1_000_000);
    }

    /// A page used to contain 4.7 MB of library: too large for a ticket or a mail.
    #[test]
    fn the_library_takes_less_than_1_9_mb_of_a_page_and_unpacks_to_itself() {
        assert!(packed().len() <= 1_900_000, "{} bytes", packed().len());
        let mut unpacked = String::new();
        let deflated = BASE64_STANDARD.decode(packed()).unwrap();
        DeflateDecoder::new(&deflated[..]).read_to_string(&mut unpacked).unwrap();
        assert_eq!(unpacked, script());
    }
}
