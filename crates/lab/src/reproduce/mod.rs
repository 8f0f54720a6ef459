//! The experiments of papers: runs their studies, and compares their claims with the results.

mod claim;
mod claim_names;
mod judge;
#[cfg(test)]
mod judging;
mod live;
mod markdown;
mod measure;
mod moment;
mod paper;
mod predicted;
mod row;
mod run;
mod select;
#[cfg(test)]
mod shipped;
mod spacer;
mod studies;
mod theory;
mod values;
mod write;

pub use claim::{Claim, Form, Origin, Source};
pub use live::Live;
pub use live::needs_namespaces;
pub use markdown::{PAGE, markdown};
pub use paper::{Paper, RECIPE, papers};
pub use row::{ClaimRow, Tally, Verdict, short, tally, tally_text};
pub use run::{PaperResult, ReproduceOptions, Reproduced, reproduce};
