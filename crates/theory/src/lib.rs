//! x
mod error;
mod spacer;
pub use error::Error;
pub use spacer::*;
