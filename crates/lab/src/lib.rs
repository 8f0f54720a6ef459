//! The one entry: check, simulate, sweep, reproduce.
