//! A DiskSpd profile: the content of a command line or an XML document.
//!
//! The fields are those of DiskSpd's XML profile. Numbers are in the unit at the end of their name.

mod access;
mod target;
mod time_span;

pub use access::Access;
pub use target::{
    CacheMode, DEFAULT_BLOCK_BYTES, DiskspdTarget, FlushKind, IoPriority, ThreadTarget, Throughput,
    WriteBuffer,
};
pub use time_span::{CpuAssignment, DiskspdTimeSpan};

#[derive(Clone, Debug, PartialEq)]
pub struct DiskspdProfile {
    /// Print a dot after this many completions of a thread (`-P`); 0: never.
    pub progress: u32,
    /// Bit mask of `-:`; 0: none.
    pub experiment_flags: u32,
    pub result_formats: ResultFormats,
    /// `-v`.
    pub verbose: bool,
    /// `-vs`: the wait statistics table.
    pub verbose_stats: bool,
    pub precreate_files: Option<PrecreateFiles>,
    /// In sequence; a checked profile has at least one.
    pub time_spans: Vec<DiskspdTimeSpan>,
}

impl Default for DiskspdProfile {
    fn default() -> Self {
        Self {
            progress: 0,
            experiment_flags: 0,
            result_formats: ResultFormats::TEXT,
            verbose: false,
            verbose_stats: false,
            precreate_files: None,
            time_spans: Vec::new(),
        }
    }
}

/// Which reports are printed; at least one. Both at once is our extension (`-Rtext,xml`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultFormats {
    pub text: bool,
    pub xml: bool,
}

impl ResultFormats {
    pub const TEXT: Self = Self { text: true, xml: false };
    pub const XML: Self = Self { text: false, xml: true };
    pub const BOTH: Self = Self { text: true, xml: true };

    /// `text`, `xml`, `text,xml` or `xml,text`.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "text" => Some(Self::TEXT),
            "xml" => Some(Self::XML),
            "text,xml" | "xml,text" => Some(Self::BOTH),
            _ => None,
        }
    }

    pub fn word(self) -> &'static str {
        match (self.text, self.xml) {
            (true, true) => "text,xml",
            (false, true) => "xml",
            _ => "text",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrecreateFiles {
    /// Create each file once, with its largest size in any time span.
    UseMaxSize,
    /// Only files with the same size in every time span.
    OnlyConstantSizes,
    /// Only files with the same size, or none, in every time span.
    OnlyConstantOrZeroSizes,
}

impl PrecreateFiles {
    /// All of them, with their names in XML profiles.
    pub const ALL: [(Self, &'static str); 3] = [
        (Self::UseMaxSize, "UseMaxSize"),
        (Self::OnlyConstantSizes, "CreateOnlyFilesWithConstantSizes"),
        (Self::OnlyConstantOrZeroSizes, "CreateOnlyFilesWithConstantOrZeroSizes"),
    ];
}
