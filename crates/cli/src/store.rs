//! Stores of finished runs, as commands open them.

use std::path::Path;

use cellway_lab::{Error, Store};

use crate::output;

/// Opens the store of `--cache`.
pub(crate) fn open(folder: Option<&Path>) -> Result<Option<Store>, Error> {
    folder.map(|folder| Ok(Store::open(folder)?)).transpose()
}

/// Reports the runs that a store spared, and the damage that was found in it.
pub(crate) fn report(store: Option<&Store>, runs: u64) {
    let Some(store) = store else { return };
    let folder = store.folder().display();
    output::say(&format!("{} of {} were in the store {folder}", store.served().min(runs), output::count(runs, "run")));
    warn(store);
}

/// Warns of damage in a store.
pub(crate) fn warn(store: &Store) {
    let damage: Vec<String> = store.damage().into_iter().map(|damage| damage.message).collect();
    output::warn(&damage);
}
