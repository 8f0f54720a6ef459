//! A TCP endpoint without I/O: Tahoe, Reno, NewReno and SACK-based recovery.
