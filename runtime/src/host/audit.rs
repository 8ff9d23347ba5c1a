//! What was decided, for the record.
