//! Paths to keys: dotted, elements of `node`, `link`, `traffic` and the like by name, `*` for all of them.

use crate::found::{Found, one_of};
use crate::problem::nearest;
use cellway_settings::schema::Shape;

use crate::schema;
use crate::tree::{At, Entry, Node, Step, Table, Value};

/// Why a path means nothing that can be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NoTarget {
    pub(crate) message: String,
    pub(crate) suggestion: Option<String>,
    pub(crate) accepted: Option<String>,
}

impl NoTarget {
    /// Returns the problem of `path`, whose value is at `at`.
    pub(crate) fn found(self, at: At, path: &str) -> Found {
        Found { suggestion: self.suggestion, accepted: self.accepted, ..Found::new(at, path, self.message) }
    }
}

/// Returns true if `name` can be one segment of a path.
pub(crate) fn is_segment(name: &str) -> bool {
    !name.is_empty() && name != "*" && name.trim() == name && !name.contains('.')
}

fn none(message: impl Into<String>) -> NoTarget {
    NoTarget { message: message.into(), suggestion: None, accepted: None }
}

/// The places in `tree` that `path` means; at least one. A key that may stand there but does not
/// is a place too; so is one in a table that does not exist yet, unless that table would then
/// lack other keys. With `*`, elements that cannot have the key are passed over.
pub(crate) fn resolve(tree: &Node, path: &str) -> Result<Vec<Vec<Step>>, NoTarget> {
    let segments: Vec<&str> = path.split('.').map(str::trim).collect();
    if segments.iter().any(|s| s.is_empty()) {
        return Err(NoTarget {
            accepted: Some("keys joined by points, like traffic.ftp.count".to_owned()),
            ..none(format!("{path:?} is not a path"))
        });
    }
    if segments[0] == "sweep" {
        return Err(none("a sweep cannot be set by path"));
    }
    let mut search = Search { root: tree, targets: Vec::new(), passed_over: None };
    search.walk(Some(tree), schema::root(), &segments, &mut Vec::new())?;
    match search.passed_over {
        Some(reason) if search.targets.is_empty() => Err(reason),
        None if search.targets.is_empty() => Err(none(format!("{path} matches nothing"))),
        _ => Ok(search.targets),
    }
}

struct Search<'t> {
    root: &'t Node,
    targets: Vec<Vec<Step>>,
    /// Why the first element that `*` passed over cannot have the key.
    passed_over: Option<NoTarget>,
}

impl Search<'_> {
    /// Follows `segments` from `node`, which `steps` lead to and which may not exist yet.
    fn walk(
        &mut self,
        node: Option<&Node>,
        shape: Shape,
        segments: &[&str],
        steps: &mut Vec<Step>,
    ) -> Result<(), NoTarget> {
        let Some((&segment, rest)) = segments.split_first() else { return self.end(shape, steps) };
        let here = self.root.display(steps);
        if shape.is_named_array() {
            return self.elements(node, shape, segments, steps);
        }
        let Some(keys) = shape.keys() else {
            return Err(none(format!("{here} is a single value: the path goes on after its end with {segment:?}")));
        };
        let Some(inner) = shape.key(segment) else {
            let message = match steps.is_empty() {
                true => format!("there is no key {segment:?}"),
                false => format!("there is no key {segment:?} in {here}"),
            };
            let suggestion = nearest(segment, keys.iter().copied()).map(str::to_owned);
            return Err(NoTarget { message, suggestion, accepted: Some(keys.join(", ")) });
        };
        let table = node.and_then(Node::table);
        if table.is_none() && !steps.is_empty() {
            // The table would be made for this key; other keys that it needs would be missing.
            let lacks_others = shape.required().iter().any(|key| *key != segment);
            if lacks_others {
                let message = format!("there is no {here}, and {segment} alone would not make one");
                return Err(NoTarget { accepted: Some(format!("{here} as a whole")), ..none(message) });
            }
        }
        steps.push(Step::from(segment));
        let result = self.walk(table.and_then(|t| t.get(segment)), inner, rest, steps);
        steps.pop();
        result
    }

    /// The path is at its end: is this something that can be set?
    fn end(&mut self, shape: Shape, steps: &[Step]) -> Result<(), NoTarget> {
        if shape.is_named_array() || matches!(steps.last(), Some(Step::Index(_))) {
            return Err(NoTarget {
                accepted: shape
                    .items()
                    .unwrap_or(shape)
                    .keys()
                    .map(|keys| format!("one of its keys: {}", keys.join(", "))),
                ..none(format!("{} is more than one key", self.root.display(steps)))
            });
        }
        if matches!(steps, [.., Step::Index(_), Step::Key(key)] if key == "name") {
            return Err(none("a name cannot be set: it is what paths go by"));
        }
        self.targets.push(steps.to_vec());
        Ok(())
    }

    /// The path is at an array whose elements are meant by name.
    fn elements(
        &mut self,
        node: Option<&Node>,
        shape: Shape,
        segments: &[&str],
        steps: &mut Vec<Step>,
    ) -> Result<(), NoTarget> {
        let Some((&segment, rest)) = segments.split_first() else { return Ok(()) };
        let elements = node.and_then(Node::array).unwrap_or_default();
        let inner = shape.items().expect("a named array has elements");
        let has_key = rest.first().is_some_and(|key| inner.key(key).is_some());
        let mut matched = false;
        // A table without a name is called by its number, from 1.
        let names: Vec<String> =
            elements.iter().enumerate().map(|(i, e)| e.element_name().unwrap_or((i + 1).to_string())).collect();
        for (i, element) in elements.iter().enumerate() {
            if segment != "*" && *names[i] != *segment {
                continue;
            }
            matched = true;
            steps.push(Step::Index(i));
            let result = self.walk(Some(element), inner, rest, steps);
            steps.pop();
            match result {
                Err(reason) if segment == "*" && has_key => {
                    self.passed_over.get_or_insert(reason);
                }
                other => other?,
            }
        }
        if matched {
            return Ok(());
        }
        let element = self.root.display(steps);
        if names.is_empty() {
            return Err(none(format!("the file has no {element}, so none can be called {segment:?}")));
        }
        Err(NoTarget {
            message: format!("there is no {element} called {segment:?}"),
            suggestion: nearest(segment, names.iter().map(String::as_str)).map(str::to_owned),
            accepted: Some(format!("{} or *", one_of(&names))),
        })
    }
}

/// Writes `value` to a place found by [`resolve`], making the tables on the way.
pub(crate) fn set(tree: &mut Node, target: &[Step], value: Node) {
    let Some((step, rest)) = target.split_first() else {
        *tree = value;
        return;
    };
    match step {
        Step::Index(i) => {
            if let Value::Array(items) = &mut tree.value
                && let Some(item) = items.get_mut(*i)
            {
                set(item, rest, value);
            }
        }
        Step::Key(key) => {
            if !matches!(tree.value, Value::Table(_)) {
                *tree = Node { at: value.at, value: Value::Table(Table::default()) };
            }
            let Value::Table(table) = &mut tree.value else { return };
            match table.get_mut(key) {
                Some(child) => set(child, rest, value),
                None => {
                    let mut node = Node { at: value.at, value: Value::Table(Table::default()) };
                    let key_at = value.at;
                    set(&mut node, rest, value);
                    table.push(Entry { key: key.clone(), key_at, node });
                }
            }
        }
    }
}

/// Returns true if setting one place would undo or contain setting the other.
pub(crate) fn overlap(a: &[Step], b: &[Step]) -> bool {
    let n = a.len().min(b.len());
    a[..n] == b[..n]
}
