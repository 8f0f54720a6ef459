//! The cellway command line.
