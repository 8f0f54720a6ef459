//! The simulator for a web page: text in, tables out, without files, threads or clocks.
//!
//! A page hands over a [`Request`]: the text of a scenario, keys to set, a point and a replication. [`check`] answers with
//! the problems or the description of the command line. A [`Job`] is one run, which its caller advances slice by slice, so
//! that a worker can show progress and be stopped between two slices. Its [tables](Job::tables) are those of the command
//! line, value by value.
//!
//! [Scene](Job::scene) and [view](Job::view) of a run are for a page that draws it while it goes on.
//!
//! [`exports`] has the functions of the WebAssembly file.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod check;
mod edit;
pub mod exports;
mod job;
mod request;
mod tables;
mod view;

pub use check::check;
pub use edit::{keys, written};
pub use job::Job;
pub use request::Request;
