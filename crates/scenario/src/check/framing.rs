//! What travels on a link, and how large it may be.

use cellway_units::Bytes;

use crate::check::Check;
use crate::file::AccessFile;
use crate::model::{Access, Framing, NodeKind};
use crate::quantity::Quantity;
use crate::tree::{Step, at};

/// The largest IP packet of a link if nothing else is said.
const fn usual_mtu(framing: Framing) -> Bytes {
    Bytes(match framing {
        // RFC 894.
        Framing::Ethernet => 1500,
        // RFC 1390.
        Framing::Fddi => 4352,
        // RFC 1626 and RFC 2225.
        Framing::Atm => 9180,
        // The MTU of Ethernet, and so of most paths today.
        Framing::Packet => 1500,
    })
}

impl Check<'_> {
    /// What travels on link `i`; `usual` is what the name of its line says.
    pub(super) fn framing(
        &mut self,
        i: usize,
        given: Option<Framing>,
        usual: Option<Framing>,
        kinds: [NodeKind; 2],
    ) -> Option<Framing> {
        let path = at!["link", i, "framing"];
        if given.is_none() && (self.is_bad(&path) || self.is_bad(&at!["link", i, "rate"])) {
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
        let framing = given.or(usual).unwrap_or(if of_switch { Framing::Atm } else { Framing::Packet });
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

    /// The largest IP packet of a link.
    pub(super) fn mtu(&self, path: &[Step], given: Option<Quantity<Bytes>>, framing: Framing) -> Option<Bytes> {
        (!self.is_bad(path)).then(|| given.map_or(usual_mtu(framing), |Quantity(mtu)| mtu))
    }

    /// Returns `Some(None)` if there is no access link, and `None` if it was refused. `at_switch`: one end of the group
    /// is a switch.
    pub(super) fn access(&mut self, i: usize, access: Option<&AccessFile>, at_switch: bool) -> Option<Option<Access>> {
        let Some(access) = access else {
            return (!self.is_bad(&at!["traffic", i, "access"])).then_some(None);
        };
        let line = access.rate?.0;
        if self.is_bad(&at!["traffic", i, "access", "framing"]) {
            return None;
        }
        let framing = access.framing.or(line.framing).unwrap_or(if at_switch { Framing::Atm } else { Framing::Packet });
        let mtu = self.mtu(&at!["traffic", i, "access", "mtu"], access.mtu, framing)?;
        let loss = self.loss(&at!["traffic", i, "access", "loss"], access.loss)?;
        Some(Some(Access { rate: line.rate, delay: access.delay?.0, framing, mtu, loss }))
    }
}

/// The word in the file.
pub(super) fn word<T: serde::Serialize>(value: T) -> String {
    serde_json::to_string(&value).expect("a unit variant is a word")
}
