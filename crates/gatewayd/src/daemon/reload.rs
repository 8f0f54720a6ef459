//! Changes of the configuration that a running daemon can apply.

use crate::config::{Config, Limits, LineRate, Peer};

/// Returns the configuration after a reload: `new`, with the parts of `old` that do not change.
///
/// # Errors
/// The names of this gateway or of its peers differ.
pub(crate) fn applied(old: &Config, new: Config) -> Result<Config, &'static str> {
    if !new.peers.iter().map(|peer| &peer.name).eq(old.peers.iter().map(|peer| &peer.name)) || new.name != old.name {
        return Err("other peers or another name need a restart");
    }
    let Config { intercept, forwards, socks, control, listen, .. } = old.clone();
    let limits = Limits { memory: old.limits.memory, window: old.limits.window, ..new.limits };
    let peers = old.peers.iter().zip(new.peers).map(|(old, new)| {
        let rate = if kind(&old.rate) == kind(&new.rate) { new.rate } else { old.rate };
        Peer { rate, ..new }
    });
    Ok(Config { intercept, forwards, socks, control, listen, limits, peers: peers.collect(), ..new })
}

/// Returns true for "auto", and for a rate of ATM cells: a reload changes neither.
fn kind(rate: &LineRate) -> (bool, bool) {
    (matches!(rate, LineRate::Auto { .. }), matches!(rate, LineRate::Fixed { atm: true, .. }))
}

/// Returns the names of keys in `new` that need a restart, as they differ from `old`, which the daemon uses.
pub(crate) fn unchanged(old: &Config, new: &Config) -> Vec<&'static str> {
    let kinds = |config: &Config| -> Vec<(bool, bool)> { config.peers.iter().map(|peer| kind(&peer.rate)).collect() };
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn config(rate: &str, more: &str) -> Config {
        let text = format!(
            "name = \"a\"\n[[peer]]\nname = \"b\"\naddress = \"192.0.2.1:4433\"\nprefixes = [\"192.0.2.0/24\"]\n{rate}\n{more}"
        );
        Config::parse(&text, Path::new("a.toml")).unwrap()
    }

    /// Otherwise the next reload, or an upgrade, would compare with a value that was never used.
    #[test]
    fn keys_that_need_a_restart_keep_their_used_value() {
        let used = config("rate = \"5 Mbit/s\"", "[limits]\nmemory = \"64 MiB\"");
        let file = config(
            "rate = \"auto\"\ndown = \"refuse\"",
            "[limits]\nmemory = \"32 MiB\"\nconnections = 9\nopening = 9\nunproven = 4\nper-source = 9",
        );
        let names = ["rate from or to \"auto\", and framing", "limits.memory and limits.window"];
        assert_eq!(unchanged(&used, &file), names);
        let now = applied(&used, file.clone()).unwrap();
        assert_eq!(unchanged(&now, &file), names, "it still needs a restart");
        assert_eq!(unchanged(&now, &used), [""; 0], "with the old file nothing has changed");
        assert_eq!((now.peers[0].rate, now.peers[0].down), (used.peers[0].rate, file.peers[0].down));
        assert_eq!((now.limits.memory, now.limits.connections), (used.limits.memory, 9));
        // Other rates of the same kind change.
        let faster = config("rate = \"9 Mbit/s\"", "");
        assert_eq!(applied(&used, faster.clone()).unwrap().peers[0].rate, faster.peers[0].rate);
    }
}
