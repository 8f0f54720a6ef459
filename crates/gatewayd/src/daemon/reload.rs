//! Changes of the configuration that a running daemon can apply.

use crate::config::{Config, LineRate};

/// Returns the configuration after a reload: `new`, with the parts of `old` that stay as they were.
///
/// # Errors
/// The names of this gateway or of its peers differ.
pub(crate) fn applied(old: &Config, new: Config) -> Result<Config, &'static str> {
    if !new.peers.iter().map(|peer| &peer.name).eq(old.peers.iter().map(|peer| &peer.name)) || new.name != old.name {
        return Err("other peers or another name need a restart");
    }
    let Config { intercept, forwards, socks, control, listen, .. } = old.clone();
    Ok(Config { intercept, forwards, socks, control, listen, ..new })
}

/// Returns the names of keys that have changed and need a restart.
pub(crate) fn unchanged(old: &Config, new: &Config) -> Vec<&'static str> {
    let kinds = |config: &Config| -> Vec<(bool, bool)> {
        let of = |rate: &LineRate| {
            (matches!(rate, LineRate::Auto { .. }), matches!(rate, LineRate::Fixed { atm: true, .. }))
        };
        config.peers.iter().map(|peer| of(&peer.rate)).collect()
    };
    let same = [
        ("rate from or to \"auto\", and framing", kinds(old) == kinds(new)),
        ("intercept", old.intercept == new.intercept),
        ("forward", old.forwards == new.forwards),
        ("socks", old.socks == new.socks),
        ("control", old.control == new.control),
        ("listen", old.listen == new.listen),
        (
            "limits.memory and limits.window",
            old.limits.memory == new.limits.memory && old.limits.window == new.limits.window,
        ),
    ];
    same.into_iter().filter(|(_, same)| !same).map(|(name, _)| name).collect()
}
