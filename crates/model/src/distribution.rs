//! Distributions of random requests.

use std::fmt;
use std::str::FromStr;

use iostall_measure::{ByteCount, Percent};

use crate::spelling::{SpellingError, as_text, refuse};

#[derive(Clone, Debug, Default, PartialEq)]
pub enum Distribution {
    #[default]
    Uniform,
    /// The block of popularity rank k has a probability proportional to 1 / k^theta; ranks are scattered over
    /// the region.
    Zipf {
        /// Skew, above 0; YCSB uses 0.99.
        theta: f64,
    },
    /// `access` of the requests go to the first `region` share of the region.
    Hot { access: Percent, region: Percent },
    /// Shares of requests over consecutive shares of the region (DiskSpd's `-rdpct`).
    Ranges(Vec<RangeShare>),
    /// Shares of requests over consecutive lengths from the region's start (DiskSpd's `-rdabs`). Lengths
    /// beyond the region's end are cut off, and the remaining shares scaled up.
    Spans(Vec<SpanShare>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RangeShare {
    /// Share of requests; 0 makes a hole.
    pub access: Percent,
    pub region: Percent,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpanShare {
    /// Share of requests; 0 makes a hole.
    pub access: Percent,
    /// Length; for the last, 0 means the rest of the region.
    pub length: ByteCount,
}

const DISTRIBUTION_WANTED: &str = "a distribution: write uniform, zipf:0.99, hot:90/10 (90 % of the requests on 10 % of \
                                   the region), ranges:50/10,30/20,20/70 or spans:90/10G,10/0 (0: the rest)";

fn parse_spans(list: &str, whole: &str) -> Result<Distribution, SpellingError> {
    let mut spans = Vec::new();
    for part in list.split(',') {
        let Some((access, length)) = part.split_once('/') else {
            return refuse(whole, DISTRIBUTION_WANTED);
        };
        let access = access.parse().or_else(|_| refuse(whole, DISTRIBUTION_WANTED))?;
        let length = length.parse().or_else(|_| refuse(whole, DISTRIBUTION_WANTED))?;
        spans.push(SpanShare { access, length });
    }
    let total: f64 = spans.iter().map(|span| span.access.percent()).sum();
    let open_too_soon = spans.iter().rev().skip(1).any(|span| span.length.0 == 0);
    if (total - 100.0).abs() > 1e-6 || open_too_soon {
        return refuse(whole, DISTRIBUTION_WANTED);
    }
    Ok(Distribution::Spans(spans))
}

fn parse_share(text: &str, whole: &str) -> Result<RangeShare, SpellingError> {
    let Some((access, region)) = text.split_once('/') else {
        return refuse(whole, DISTRIBUTION_WANTED);
    };
    let percent = |share: &str| share.parse::<Percent>().or_else(|_| refuse(whole, DISTRIBUTION_WANTED));
    Ok(RangeShare { access: percent(access)?, region: percent(region)? })
}

impl FromStr for Distribution {
    type Err = SpellingError;

    fn from_str(text: &str) -> Result<Self, SpellingError> {
        let (kind, rest) = text.trim().split_once(':').unwrap_or((text.trim(), ""));
        match kind {
            "uniform" if rest.is_empty() => Ok(Self::Uniform),
            "zipf" => match rest.parse::<f64>() {
                Ok(theta) if theta > 0.0 && theta.is_finite() => Ok(Self::Zipf { theta }),
                _ => refuse(text, DISTRIBUTION_WANTED),
            },
            "hot" => {
                let share = parse_share(rest, text)?;
                if share.region <= Percent::ZERO {
                    return refuse(text, DISTRIBUTION_WANTED);
                }
                Ok(Self::Hot { access: share.access, region: share.region })
            }
            "spans" => parse_spans(rest, text),
            "ranges" => {
                let shares =
                    rest.split(',').map(|part| parse_share(part, text)).collect::<Result<Vec<_>, _>>()?;
                let adds_up = |pick: fn(&RangeShare) -> Percent| {
                    (shares.iter().map(|share| pick(share).percent()).sum::<f64>() - 100.0).abs() < 1e-6
                };
                if adds_up(|share| share.access) && adds_up(|share| share.region) {
                    return Ok(Self::Ranges(shares));
                }
                refuse(text, DISTRIBUTION_WANTED)
            }
            _ => refuse(text, DISTRIBUTION_WANTED),
        }
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform => f.write_str("uniform"),
            Self::Zipf { theta } => write!(f, "zipf:{theta}"),
            Self::Hot { access, region } => write!(f, "hot:{}/{}", access.percent(), region.percent()),
            Self::Ranges(shares) => {
                let parts: Vec<String> = shares
                    .iter()
                    .map(|share| format!("{}/{}", share.access.percent(), share.region.percent()))
                    .collect();
                write!(f, "ranges:{}", parts.join(","))
            }
            Self::Spans(spans) => {
                let parts: Vec<String> =
                    spans.iter().map(|span| format!("{}/{}", span.access.percent(), span.length.0)).collect();
                write!(f, "spans:{}", parts.join(","))
            }
        }
    }
}

as_text!(Distribution);
