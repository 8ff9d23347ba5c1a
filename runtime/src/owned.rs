//! A table that owns its bytes, for programs that keep one and hand it around.

use crate::error::TableError;
use crate::format::SECTIONS;
use crate::table::Table;
use alloc::sync::Arc;
use core::fmt;
use core::ops::Range;

/// A validated table with its bytes. Cloning it shares them.
#[derive(Clone)]
pub struct OwnedTable {
    bytes: Arc<[u8]>,
    /// Where the sections lie: found once, so that reading does not check anew.
    sections: [Range<usize>; SECTIONS],
}

impl fmt::Debug for OwnedTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.table().fmt(f)
    }
}

impl OwnedTable {
    /// Checks all of the bytes, as [`Table::from_bytes`] does.
    ///
    /// # Errors
    /// A [`TableError`] that says what is wrong.
    pub fn from_bytes(bytes: impl Into<Arc<[u8]>>) -> Result<OwnedTable, TableError> {
        let bytes = bytes.into();
        let sections = Table::from_bytes(&bytes)?.ranges();
        Ok(OwnedTable { bytes, sections })
    }

    /// The table, to be read. Costs a few loads for each section.
    #[must_use]
    pub fn table(&self) -> Table<'_> {
        Table::from_ranges(&self.bytes, &self.sections)
    }
}
