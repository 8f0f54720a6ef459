//! Names: their syntax, their uniqueness, and look-up by name.

use std::collections::BTreeMap;

use crate::check::Check;
use crate::found::{Found, LISTED, one_of};
use crate::problem::nearest;
use crate::tree::{Step, at};

/// The names of one kind of element in file order; `None` where a name was refused.
#[derive(Default)]
pub(super) struct Names {
    all: Vec<Option<String>>,
    first: BTreeMap<String, usize>,
}

impl Names {
    pub(super) fn new(all: Vec<Option<String>>) -> Names {
        let mut first = BTreeMap::new();
        for (i, name) in all.iter().enumerate() {
            if let Some(name) = name {
                first.entry(name.clone()).or_insert(i);
            }
        }
        Names { all, first }
    }

    /// The names of elements that have been accepted.
    pub(super) fn of<'n>(all: impl Iterator<Item = &'n String>) -> Names {
        Names::new(all.cloned().map(Some).collect())
    }

    /// Returns the index of the first element called `name`.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.first.get(name).copied()
    }

    pub(super) fn get(&self, place: usize) -> Option<&str> {
        self.all.get(place)?.as_deref()
    }

    pub(super) fn into_all(self) -> Vec<Option<String>> {
        self.all
    }

    fn known(&self) -> impl Iterator<Item = &str> {
        self.all.iter().flatten().map(String::as_str)
    }
}

impl Check<'_> {
    /// Checks a name, which results and paths contain.
    pub(super) fn name<'n>(&mut self, path: &[Step], name: Option<&'n str>) -> Option<&'n str> {
        let name = name?;
        let fits = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        if name.is_empty() || !fits || name.len() > 64 {
            self.refuse(path, format!("{name:?} is not a name"), "1 to 64 letters, digits, - and _, like \"r1\"");
            return None;
        }
        Some(name)
    }

    /// Checks a title of results, which may be any text that a line and a folder name can hold.
    pub(super) fn title<'n>(&mut self, path: &[Step], title: Option<&'n str>) -> Option<&'n str> {
        let title = title?;
        if title.contains(|c: char| c.is_control() || c == '/') {
            self.refuse(path, format!("{title:?} is not a title"), "a text without / and control characters");
            return None;
        }
        Some(title)
    }

    /// Refuses elements of `array` with the name of an earlier one.
    pub(super) fn unique(&mut self, array: &str, names: &Names, advice: &str) {
        for (i, name) in names.all.iter().enumerate() {
            let Some(name) = name else { continue };
            if names.place(name) != Some(i) {
                self.refuse(&at![array, i, "name"], format!("{name:?} is the name of an earlier {array}"), advice);
            }
        }
    }

    /// Returns the index of the node called `name`; refuses the value at `path` if there is none.
    pub(super) fn node_named(&mut self, path: &[Step], name: &str, names: &Names) -> Option<usize> {
        self.named(path, "node", name, names)
    }

    /// Returns the index of the element of the kind `what` called `name`; refuses the value at `path` if there is none.
    pub(super) fn named(&mut self, path: &[Step], what: &str, name: &str, names: &Names) -> Option<usize> {
        let place = names.place(name);
        // If a name was refused, or is there twice, it may be the one that is meant here.
        if place.is_none() && names.first.len() == names.all.len() {
            let found = Found::in_tree(self.tree, path, format!("there is no {what} {name:?}"));
            // The search for the nearest name is slow, so it is skipped for problems that are not listed.
            let meant = (self.found.len() < LISTED).then(|| nearest(name, names.known())).flatten();
            self.push(found.suggest(meant.map(|n| format!("{n:?}"))).accepted(one_of(names.known())));
        }
        place
    }
}
