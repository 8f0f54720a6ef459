//! The experiments of papers: their studies run, their claims held against what came out.

mod claim;
mod judge;
#[cfg(test)]
mod judging;
mod live;
mod markdown;
mod measure;
mod paper;
mod predicted;
mod row;
mod run;
mod select;
#[cfg(test)]
mod shipped;
mod spacer;
mod theory;
mod values;
mod write;

pub use claim::{Claim, Form, Origin, Source};
pub use live::Live;
pub use live::wants_namespaces;
pub use markdown::{PAGE, markdown};
pub use paper::{Paper, RECIPE, papers};
pub use row::{ClaimRow, Tally, Verdict, short, tally, tally_text};
pub use run::{PaperResult, ReproduceOptions, Reproduced, reproduce};
