//! A ttcp for today: TCP transfers between two hosts, with the kernel's own figures.
#![cfg_attr(test, allow(clippy::unwrap_used))]
