//! Files of settings in TOML: every value with its unit and its location, and all problems of a file at once.
//!
//! A file is read into a [`tree::Node`], checked against the schema of its types ([`schema::FileSchema`],
//! [`shape::check`]), and then deserialized. A [`leaf::Leaf`] is a value that is read by its [`leaf::Kind`] and keeps its
//! location; [`section!`] declares a section whose keys may be given in several layers.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod found;
pub mod kinds;
pub mod leaf;
pub mod problem;
pub mod quantity;
pub mod reference;
pub mod schema;
pub mod section;
pub mod shape;
pub mod tree;
