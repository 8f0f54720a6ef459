//! Conversations drawn from a class of a workload file.

use crate::check::Check;
use crate::file::WorkloadFile;
use crate::model::{ConversationArrivals, ConversationPace, ConversationUse, WorkloadSpec};
use crate::quantity::ClassName;
use crate::tree::at;

impl Check<'_> {
    /// Returns the conversations of group `i`, whose options have been read.
    pub(super) fn measured(&mut self, i: usize, name: &ClassName, options: &WorkloadFile) -> Option<WorkloadSpec> {
        use ConversationArrivals::{Closed, Open};
        let chosen = options.arrivals?;
        let keys: [(&str, &[ConversationArrivals]); 6] = [
            ("scale", &[Open]),
            ("load", &[Open]),
            ("conversations", &[Open]),
            ("duration", &[Open]),
            ("limit", &[Open]),
            ("gap", &[Closed]),
        ];
        let message = format!("is not an option of arrivals = \"{}\"", chosen.name());
        self.only_keys_of(&at!["traffic", i, "workload"], &message, chosen, &keys);
        let arrivals = match chosen {
            Closed => ConversationUse::Closed { gap: options.gap?.unwrap_or_default() },
            Open => {
                if self.is_accepted(&at!["traffic", i, "repeat"]) {
                    let message = "has no use: these conversations arrive for their duration";
                    let accepted = "no repeat, or workload.arrivals = \"closed\"";
                    self.refuse(&at!["traffic", i, "repeat"], message, accepted);
                }
                let pace = match (options.scale?, options.load?) {
                    (Some(_), Some(_)) => {
                        let message = "and scale both give the rate of conversations";
                        self.refuse(&at!["traffic", i, "workload", "load"], message, "load or scale");
                        return None;
                    }
                    (scale, None) => ConversationPace::Scale(scale.unwrap_or(1.0)),
                    (None, Some(load)) => ConversationPace::Load(load),
                };
                let limit = options.limit?.unwrap_or(WorkloadSpec::LIMIT);
                ConversationUse::Open { pace, count: options.conversations?, duration: options.duration?, limit }
            }
        };
        let (file, class) = (name.file.clone(), name.class.clone());
        Some(WorkloadSpec { file, class, fits: options.fits?, arrivals })
    }
}
