//! The framing of a link, and its largest packet.

use crate::check::Check;
use crate::file::{AccessFile, LinkFile};
use crate::model::{Access, Framing, NodeKind};
use crate::tree::at;

impl Check<'_> {
    /// Returns the framing of link `i`: the given one, that of its named line, or the usual one between nodes of such `kinds`.
    pub(super) fn framing(&mut self, i: usize, link: &LinkFile, kinds: [NodeKind; 2]) -> Option<Framing> {
        let path = at!["link", i, "framing"];
        let (given, of_line) = (link.framing?, link.rate.and_then(|line| line.framing));
        if given.is_none() && self.is_bad(&at!["link", i, "rate"]) {
            return None;
        }
        if kinds == [NodeKind::Host; 2] {
            self.refuse(
                &at!["link", i, "between"],
                "joins two hosts: neither would have another link",
                "one host at most",
            );
            return None;
        }
        let of_switch = kinds.contains(&NodeKind::Switch);
        let framing = given.or(of_line).unwrap_or(if of_switch { Framing::Atm } else { Framing::Packet });
        if framing != Framing::Atm && of_switch {
            let message = format!("is a link for packets ({}) at a switch, which forwards cells", word(framing));
            let (path, accepted) = match given {
                Some(_) => (path, "framing = \"atm\""),
                None => (at!["link", i, "rate"], "a line for cells, or framing = \"atm\""),
            };
            self.refuse(&path, message, accepted);
            return None;
        }
        Some(framing)
    }
}

/// Returns an access link; `None` if a key of it was refused. `at_switch`: one end of the group is a switch.
pub(super) fn access(file: &AccessFile, at_switch: bool) -> Option<Access> {
    let line = file.rate?;
    let usual = if at_switch { Framing::Atm } else { Framing::Packet };
    let framing = file.framing?.or(line.framing).unwrap_or(usual);
    Some(Access {
        rate: line.rate,
        delay: file.delay?,
        framing,
        mtu: file.mtu?.unwrap_or(framing.usual_mtu()),
        loss: file.loss?,
    })
}

/// The word in the file.
pub(super) fn word<T: serde::Serialize>(value: T) -> String {
    serde_json::to_string(&value).expect("a unit variant is a word")
}
