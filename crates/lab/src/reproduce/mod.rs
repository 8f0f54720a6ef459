//! The experiments of a paper: its studies run, its claims held against what came out.

mod claim;
mod measure;
mod paper;
mod run;
#[cfg(test)]
mod tests;
mod values;

pub use claim::{Claim, ClaimRow, Verdict};
pub use paper::{Paper, papers};
pub use run::{ReproduceOptions, Reproduced, reproduce};
