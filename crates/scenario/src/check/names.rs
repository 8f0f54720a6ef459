//! Names: which are allowed, that each means one thing, and what one means.

use std::collections::BTreeMap;

use crate::check::Check;
use crate::found::{Found, LISTED, one_of};
use crate::problem::nearest;
use crate::tree::{Step, at};

/// The names of things of a kind in file order, absent where one was refused.
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

    /// The names of things that were found right.
    pub(super) fn of<'n>(all: impl Iterator<Item = &'n String>) -> Names {
        Names::new(all.cloned().map(Some).collect())
    }

    /// The place of the first thing called `name`.
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
    /// A name that results and paths can use.
    pub(super) fn name<'n>(&mut self, path: &[Step], name: Option<&'n str>) -> Option<&'n str> {
        let name = name?;
        let fits = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        if name.is_empty() || !fits || name.len() > 64 {
            self.refuse(path, format!("{name:?} is not a name"), "1 to 64 letters, digits, - and _, like \"r1\"");
            return None;
        }
        Some(name)
    }

    /// A title of results, which may be any text that a line and a folder can have.
    pub(super) fn title<'n>(&mut self, path: &[Step], title: Option<&'n str>) -> Option<&'n str> {
        let title = title?;
        if title.contains(|c: char| c.is_control() || c == '/') {
            self.refuse(path, format!("{title:?} is not a title"), "a text without / and control characters");
            return None;
        }
        Some(title)
    }

    /// Reports elements of `array` that have the name of an earlier one.
    pub(super) fn unique(&mut self, array: &str, names: &Names, advice: &str) {
        for (i, name) in names.all.iter().enumerate() {
            let Some(name) = name else { continue };
            if names.place(name) != Some(i) {
                self.refuse(&at![array, i, "name"], format!("{name:?} is the name of an earlier {array}"), advice);
            }
        }
    }

    /// The place of the node called `name`; reported at `path` if there is none.
    pub(super) fn node_named(&mut self, path: &[Step], name: &str, names: &Names) -> Option<usize> {
        self.named(path, "node", name, names)
    }

    /// The place of what `name` means among things of a kind, as `what` calls it; reported at `path` if there is none.
    pub(super) fn named(&mut self, path: &[Step], what: &str, name: &str, names: &Names) -> Option<usize> {
        let place = names.place(name);
        // One whose own name was refused may be the one that is meant.
        if place.is_none() && names.all.iter().all(Option::is_some) {
            let found = Found::in_tree(self.tree, path, format!("there is no {what} {name:?}"));
            // The nearest of all names takes a while, for problems that are not listed.
            let meant = (self.found.len() < LISTED).then(|| nearest(name, names.known())).flatten();
            self.push(found.suggest(meant.map(|n| format!("{n:?}"))).accepted(one_of(names.known())));
        }
        place
    }
}
