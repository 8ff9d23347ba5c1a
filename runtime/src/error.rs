//! Why bytes are not a table.

use core::fmt;

/// Why [`Table::from_bytes`](crate::Table::from_bytes) refused its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableError {
    /// Shorter than a header.
    TooShort {
        /// Bytes given.
        length: usize,
    },
    /// The first bytes are not those of a table.
    NotATable,
    /// A version of the format that this crate does not read.
    Version {
        /// The version found.
        found: u32,
        /// The version that this crate reads.
        expected: u32,
    },
    /// The header states another length than there is.
    Length {
        /// As stated.
        stated: u32,
        /// As given.
        actual: usize,
    },
    /// The content does not match its digest: damaged or changed.
    Digest,
    /// A part is malformed; the digest is right, so the writer is at fault.
    Malformed {
        /// Which section.
        section: &'static str,
        /// Index of the record in it.
        index: u32,
        /// What is wrong.
        what: &'static str,
    },
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            TableError::TooShort { length } => {
                write!(f, "not a Mero table: {length} bytes are fewer than a header has")
            }
            TableError::NotATable => {
                f.write_str("not a Mero table: it does not begin with the table's magic number")
            }
            TableError::Version { found, expected } => write!(
                f,
                "the table has format version {found}, and this runtime reads version {expected}: \
                 compile the policy again with the matching meroc"
            ),
            TableError::Length { stated, actual } => write!(
                f,
                "the table is cut or has something appended: it states {stated} bytes and has {actual}"
            ),
            TableError::Digest => f.write_str(
                "the table does not match its digest: it was damaged or changed after it was compiled",
            ),
            TableError::Malformed { section, index, what } => {
                write!(f, "the table's section `{section}` is malformed at record {index}: {what}")
            }
        }
    }
}

impl core::error::Error for TableError {}
