//! Files of settings in TOML: every value with its unit and its location, and all problems of a file at once.
//!
//! A file is read into a [`tree::Node`], checked against the schema of its types ([`schema::FileSchema`],
//! [`shape::check`]), and then read. [`section!`] declares a section whose keys may be given in several layers, [`table!`] a
//! table of a file, [`choice!`] the values of a key, and [`quantity::Text`] a quantity or another text of a certain form.
//!
//! Without the feature `file` only the declarations are here, so that crates of state machines can use them without a
//! parser.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod choice;
#[cfg(feature = "file")]
pub mod found;
#[cfg(feature = "file")]
pub mod in_file;
#[cfg(feature = "file")]
pub mod kinds;
#[cfg(feature = "file")]
pub mod problem;
#[cfg(feature = "file")]
pub mod quantity;
pub mod range;
#[cfg(feature = "file")]
pub mod reference;
#[cfg(feature = "file")]
pub mod schema;
pub mod section;
#[cfg(feature = "file")]
pub mod shape;
#[cfg(feature = "file")]
pub mod table;
#[cfg(feature = "file")]
pub mod tree;

// For the macros.
#[cfg(feature = "file")]
#[doc(hidden)]
pub use {schemars, serde, serde_json};

/// Expands to its items where the feature `file` is on, and to nothing where it is off.
#[cfg(feature = "file")]
#[macro_export]
macro_rules! in_files {
    ($($items:tt)*) => { $($items)* };
}
/// Expands to its items where the feature `file` is on, and to nothing where it is off.
#[cfg(not(feature = "file"))]
#[macro_export]
macro_rules! in_files {
    ($($items:tt)*) => {};
}
