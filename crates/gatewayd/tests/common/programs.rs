//! Programs that people use, where they are installed.
