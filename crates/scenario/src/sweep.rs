//! Sweeps: axes of settings, crossed.

use crate::found::{Found, Sources};
use crate::path;
use crate::plan::{AxisValue, Override, SweepSpec};
use crate::tree::{At, Node, Step, Value};

/// More points than this are a slip.
const MAX_POINTS: usize = 100_000;
/// The name of the axis that the variants make.
const VARIANT: &str = "variant";

/// One axis of a plan.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) name: String,
    /// The location of its key, or of the first variant.
    pub(crate) at: At,
    pub(crate) choices: Vec<Choice>,
}

/// One value of an axis: places in the tree and what is written there.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) value: AxisValue,
    pub(crate) settings: Vec<(Vec<Step>, Node)>,
}

/// A setting as it was written, before its path is looked up.
struct Setting {
    path: String,
    at: At,
    node: Node,
}

/// A sweep as it was written.
#[derive(Default)]
struct Written {
    axes: Vec<Setting>,
    variants: Vec<(String, At, Vec<Setting>)>,
}

/// The axes of the `sweep` table of `tree`, which is taken out. `fixed` are places that an
/// override has set.
pub(crate) fn from_tree(tree: &mut Node, fixed: &[Vec<Step>], found: &mut Vec<Found>) -> Vec<Axis> {
    let Some(node) = take(tree) else { return Vec::new() };
    let Some(table) = node.table() else { return Vec::new() };
    let mut written = Written::default();
    if let Some(axes) = table.get("axes") {
        flatten(axes, "", &mut written.axes);
    }
    for variant in table.get("variant").and_then(Node::array).unwrap_or_default() {
        let mut settings = Vec::new();
        let Some(fields) = variant.table() else { continue };
        if let Some(set) = fields.get("set") {
            flatten(set, "", &mut settings);
        }
        if let Some(name) = fields.get("name").and_then(|n| Some((n.text()?.to_owned(), n.at))) {
            written.variants.push((name.0, name.1, settings));
        }
    }
    if written.axes.is_empty() && written.variants.is_empty() {
        found.push(
            Found::new(node.at, "sweep", "sweeps over nothing")
                .accepted("axes = { \"traffic.ftp.count\" = [1, 2] }, or [[sweep.variant]] tables"),
        );
    }
    axes(tree, written, node.at, fixed, found)
}

/// The axes of a sweep given by a program; an empty one is no sweep.
pub(crate) fn from_spec(
    tree: &mut Node,
    spec: &SweepSpec,
    sources: &mut Sources,
    fixed: &[Vec<Step>],
    found: &mut Vec<Found>,
) -> Vec<Axis> {
    take(tree);
    let mut written = Written::default();
    for (path, values) in &spec.axes {
        let listed = format!("axis {path} = [{}]", values.join(", "));
        let whole = sources.add(listed, String::new());
        let at = At { source: whole, start: 0, end: 0 };
        let items = values
            .iter()
            .map(|text| Node::parse_value(text, sources.add(format!("axis {path} = {text}"), text.clone())))
            .collect();
        written.axes.push(Setting { path: path.clone(), at, node: Node { at, value: Value::Array(items) } });
    }
    for variant in &spec.variants {
        let source = sources.add(format!("variant {:?}", variant.name), variant.name.clone());
        let settings = variant
            .set
            .iter()
            .map(|Override { path, value }| {
                let source = sources.add(format!("variant {:?}: {path} = {value}", variant.name), value.clone());
                let node = Node::parse_value(value, source);
                Setting { path: path.clone(), at: node.at, node }
            })
            .collect();
        written.variants.push((variant.name.clone(), At { source, start: 0, end: 0 }, settings));
    }
    let whole = At { source: sources.add("the sweep".to_owned(), String::new()), start: 0, end: 0 };
    axes(tree, written, whole, fixed, found)
}

fn take(tree: &mut Node) -> Option<Node> {
    let Value::Table(table) = &mut tree.value else { return None };
    table.remove("sweep")
}

/// Paths written as nested tables (`tcp.mss = ...`) become what `"tcp.mss" = ...` is.
fn flatten(node: &Node, prefix: &str, into: &mut Vec<Setting>) {
    let Some(table) = node.table() else { return };
    for entry in table.entries() {
        let path = if prefix.is_empty() { entry.key.clone() } else { format!("{prefix}.{}", entry.key) };
        match &entry.node.value {
            Value::Table(inner) if inner.dotted => flatten(&entry.node, &path, into),
            _ => into.push(Setting { path, at: entry.key_at, node: entry.node.clone() }),
        }
    }
}

fn axes(tree: &Node, written: Written, whole: At, fixed: &[Vec<Step>], found: &mut Vec<Found>) -> Vec<Axis> {
    let mut axes = Vec::new();
    // The settings of earlier axes: an axis that another one overwrites would label results
    // with values that were not in force.
    let mut taken: Vec<(String, Vec<Step>)> =
        fixed.iter().map(|target| ("an override".to_owned(), target.clone())).collect();
    for Setting { path, at, node } in written.axes {
        let Some(targets) = targets(tree, &path, at, &taken, found) else { continue };
        let Some(values) = node.array() else {
            found.push(
                Found::new(node.at, path, format!("{} is not an array of values", node.to_toml()))
                    .accepted("the values to try, like [1, 2, 3]"),
            );
            continue;
        };
        if values.is_empty() {
            found.push(Found::new(node.at, path, "has no values: a sweep over nothing").accepted("at least one value"));
            continue;
        }
        let mut choices: Vec<Choice> = Vec::new();
        for value in values {
            let label = label(value);
            if choices.iter().any(|c| c.value == label) {
                found.push(Found::new(value.at, path.as_str(), format!("{} stands here twice", value.to_toml())));
            }
            let settings = targets.iter().map(|target| (target.clone(), value.clone())).collect();
            choices.push(Choice { value: label, settings });
        }
        taken.extend(targets.into_iter().map(|target| (format!("the axis {path}"), target)));
        axes.push(Axis { name: path, at, choices });
    }
    axes.extend(variants(tree, written.variants, &taken, found));
    let points = axes.iter().try_fold(1usize, |n, axis| n.checked_mul(axis.choices.len()));
    if points.is_none_or(|n| n > MAX_POINTS) {
        let sizes: Vec<String> = axes.iter().map(|axis| axis.choices.len().to_string()).collect();
        let message = format!("{} values make more than {MAX_POINTS} points", sizes.join(" × "));
        found.push(Found::new(whole, "sweep", message).accepted(format!("at most {MAX_POINTS} points")));
    }
    axes
}

fn variants(
    tree: &Node,
    written: Vec<(String, At, Vec<Setting>)>,
    taken: &[(String, Vec<Step>)],
    found: &mut Vec<Found>,
) -> Option<Axis> {
    let first = written.first().map(|(_, at, _)| *at)?;
    let mut choices: Vec<Choice> = Vec::new();
    for (name, at, written) in written {
        let value = AxisValue::Text(name.clone());
        if name.trim().is_empty() || name.contains(char::is_control) {
            let message = format!("{name:?} is not the name of a variant");
            found.push(
                Found::new(at, VARIANT, message).accepted("a text without control characters, like \"deep buffer\""),
            );
        }
        if choices.iter().any(|c| c.value == value) {
            found.push(Found::new(at, VARIANT, format!("{name:?} is the name of an earlier variant")));
        }
        let mut taken = taken.to_vec();
        let mut settings = Vec::new();
        for Setting { path, at, node } in written {
            let Some(targets) = targets(tree, &path, at, &taken, found) else { continue };
            taken.extend(targets.iter().map(|target| (format!("the variant's own {path}"), target.clone())));
            settings.extend(targets.into_iter().map(|target| (target, node.clone())));
        }
        choices.push(Choice { value, settings });
    }
    Some(Axis { name: VARIANT.to_owned(), at: first, choices })
}

/// The places that `path` means, unless it means none or one that is set already.
fn targets(
    tree: &Node,
    path: &str,
    at: At,
    taken: &[(String, Vec<Step>)],
    found: &mut Vec<Found>,
) -> Option<Vec<Vec<Step>>> {
    let targets = match path::resolve(tree, path) {
        Ok(targets) => targets,
        Err(reason) => {
            found.push(Found {
                suggestion: reason.suggestion,
                accepted: reason.accepted,
                ..Found::new(at, path, reason.message)
            });
            return None;
        }
    };
    let clash = targets
        .iter()
        .find_map(|target| taken.iter().find(|(_, other)| path::overlap(target, other)).map(|(who, _)| (who, target)));
    if let Some((who, target)) = clash {
        found.push(Found::new(at, path, format!("{} is set by {who} already", tree.display(target))));
        return None;
    }
    Some(targets)
}

/// The name of a value in results.
fn label(node: &Node) -> AxisValue {
    match &node.value {
        Value::Integer(i) => AxisValue::Number(*i as f64),
        Value::Float(x) => AxisValue::Number(*x),
        Value::Text(text) => AxisValue::Text(text.clone()),
        _ => AxisValue::Text(node.to_toml()),
    }
}
