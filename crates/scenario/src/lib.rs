//! Scenario files: TOML text with units, checked completely, with sweeps and replications.
//!
//! [`Plan::parse`] reads a file; [`Plan::points`] gives one [`Scenario`] of domain types for each
//! point of its sweep. Everything that is wrong is reported at once, each with its place in the
//! file ([`Error`]). Parsing looks at no file, clock or environment.
//!
//! One definition serves three uses: the types in `file` make the JSON schema ([`schema()`]) that
//! editors complete from, and the same schema decides which keys, types and words a file may have
//! and which paths an override or a sweep may name.
//!
//! ```
//! let error = cellway_scenario::Plan::parse("version = 1\nnme = 'x'\n", "study.toml").unwrap_err();
//! let problem = error.problems.iter().find(|p| p.key == "nme").unwrap();
//! assert_eq!((problem.line, problem.suggestion.as_deref()), (Some(2), Some("name")));
//! ```
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod check;
mod description;
mod edit;
mod effect;
mod everywhere;
mod excess;
mod file;
mod model;
mod path;
mod plan;
mod ports;
mod quantity;
mod route;
mod schema;
mod start;
mod sweep;
mod trace;
mod unused;
mod write;

pub use cellway_settings::problem::{Error, Problem};
use cellway_settings::{found, problem, shape, tree};
pub use description::{refusal, refusal_in_words};
pub use edit::{Key, keys, written};
pub use model::*;
pub use plan::{AxisValue, Override, OverrideError, Plan, Point, SweepSpec, VariantSpec};
pub use schema::{reference, schema};
pub use trace::{LinkTrace, Recorded, TraceError, TraceFormat};
