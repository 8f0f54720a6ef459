//! Checks a tree against the schema: unknown and missing keys, types, strings, units and simple limits. Values that do not fit
//! are reported and marked, so that later checks skip them.

use crate::found::{Found, LISTED, one_of};
use crate::problem::nearest;
use crate::range::in_words;
use crate::schema::Shape;
use crate::tree::{At, Node, Step, Value};

/// Checks all of `tree`, marks the refused values, and returns the problems.
pub fn check(tree: &mut Node, root: Shape) -> Vec<Found> {
    let mut found = Vec::new();
    let mut refused = Vec::new();
    visit(tree, tree, root, &mut Vec::new(), &mut found, &mut refused);
    for path in refused {
        mark(tree, &path);
    }
    found
}

fn mark(node: &mut Node, path: &[Step]) {
    let Some((step, rest)) = path.split_first() else {
        node.value = Value::Bad;
        return;
    };
    match (step, &mut node.value) {
        (Step::Key(key), Value::Table(table)) => {
            if let Some(child) = table.get_mut(key) {
                mark(child, rest);
            }
        }
        (Step::Index(i), Value::Array(items)) => {
            if let Some(child) = items.get_mut(*i) {
                mark(child, rest);
            }
        }
        _ => {}
    }
}

fn visit(
    root: &Node,
    node: &Node,
    shape: Shape,
    path: &mut Vec<Step>,
    found: &mut Vec<Found>,
    refused: &mut Vec<Vec<Step>>,
) {
    match (&node.value, shape.kind()) {
        (Value::Table(table), Some("object")) => {
            let Some(keys) = shape.keys() else { return };
            for entry in table.entries() {
                path.push(Step::Key(entry.key.clone()));
                match shape.key(&entry.key) {
                    Some(inner) => visit(root, &entry.node, inner, path, found, refused),
                    None => {
                        // The trap of TOML: what follows a [header] belongs to it.
                        let misplaced = path.len() > 1 && shape.root().key(&entry.key).is_some();
                        let message = match misplaced {
                            true => {
                                "there is no such key here; as a top-level key it must stand before the first [header]"
                            }
                            false => "there is no such key",
                        };
                        let mut one = Found::new(entry.key_at, root.display(path), message);
                        // A search for each of many problems would take long, and a file lists only the first ones.
                        if found.len() < LISTED {
                            let meant = nearest(&entry.key, keys.iter().copied()).map(str::to_owned);
                            one = one.suggest(meant).accepted(keys.join(", "));
                        }
                        found.push(one);
                        refused.push(path.clone());
                    }
                }
                path.pop();
            }
            for key in shape.required().into_iter().filter(|key| table.get(key).is_none()) {
                path.push(Step::from(key));
                let accepted = shape.key(key).map(|inner| describe_at(inner, &root.display(path)));
                let message = shape.description(key).map_or("is missing".to_owned(), missing);
                found.push(Found { accepted, ..Found::in_tree(root, path, message) });
                path.pop();
            }
        }
        (Value::Array(items), Some("array")) => {
            if let Some(problem) = wrong_length(items.len(), shape) {
                let accepted = Some(describe_at(shape, &root.display(path)));
                found.push(Found { accepted, ..Found::in_tree(root, path, problem) });
                refused.push(path.clone());
            }
            let Some(inner) = shape.items() else { return };
            let before = refused.len();
            for (i, item) in items.iter().enumerate() {
                path.push(Step::Index(i));
                visit(root, item, inner, path, found, refused);
                path.pop();
            }
            // An array of plain values is one value: it stands or falls as a whole.
            if !inner.is_table() && refused.len() > before {
                refused.truncate(before);
                refused.push(path.clone());
            }
        }
        (Value::Table(_), _) if shape.is_named_array() => {
            let key = root.display(path);
            let message = "is one table, and there can be several";
            let (meant, accepted) = (Some(format!("[[{key}]]")), describe_at(shape, &key));
            found.push(Found::new(node.at, key, message).suggest(meant).accepted(accepted));
            refused.push(path.clone());
        }
        _ => {
            let key = root.display(path);
            if let Some(problem) = wrong_value(node, shape, &key) {
                found.push(Found { at: node.at, key, ..problem });
                refused.push(path.clone());
            }
        }
    }
}

/// Returns the message about a missing key, with the first sentence of its `description`.
fn missing(description: &str) -> String {
    let sentence = description.split_once(". ").map_or(description, |(first, _)| first).trim_end_matches('.');
    let mut rest = sentence.chars();
    match rest.next() {
        // A word in capitals keeps them.
        Some(first) if rest.as_str().starts_with(|c: char| c.is_lowercase() || c == ' ') => {
            format!("is missing: {}{}", first.to_lowercase(), rest.as_str())
        }
        _ => format!("is missing: {sentence}"),
    }
}

fn wrong_length(length: usize, shape: Shape) -> Option<String> {
    let (least, most) = (shape.limit("minItems").unwrap_or(0.0), shape.limit("maxItems").unwrap_or(f64::INFINITY));
    match length as f64 {
        0.0 if least > 0.0 => Some("is empty".to_owned()),
        n if n < least || n > most => Some(format!("has {length} element{}", if length == 1 { "" } else { "s" })),
        _ => None,
    }
}

/// Returns the problem of a value that is no table or array, or that should be one and is not; its
/// key is not filled in.
fn wrong_value(node: &Node, shape: Shape, key: &str) -> Option<Found> {
    let nowhere = node.at;
    let wrong = |message: String| Some(Found::new(nowhere, "", message).accepted(describe_at(shape, key)));
    let given = node.to_toml();
    if node.value == Value::Bad {
        return None;
    }
    if let Some(words) = shape.words() {
        return match node.text() {
            None if matches!(node.value, Value::Bool(_)) && shape.takes_booleans() => None,
            Some(text) if words.contains(&text) => None,
            Some(text) if shape.other_texts().is_some_and(|(format, _)| format.refusal(text).is_none()) => None,
            Some(text) => Some(
                Found::new(nowhere, "", format!("{given} is not known here"))
                    .suggest(nearest(text, words.iter().copied()).map(|w| format!("\"{w}\"")))
                    .accepted(describe(shape)),
            ),
            None if shape.takes_booleans() => wrong(format!("{given} does not fit here")),
            None => wrong(format!("{given} is not a string in quotes")),
        };
    }
    match (&node.value, shape.kind()) {
        (Value::Text(text), Some("string")) => {
            if let Some(found) = wrong_form(text, shape, nowhere) {
                return Some(found);
            }
            if let Some(accepted) = out_of_bounds(text, shape) {
                let found = Found::new(nowhere, "", format!("{given} is out of range")).accepted(accepted);
                return Some(Found { default: shape.without(), ..found });
            }
            let too_short = shape.limit("minLength").is_some_and(|least| (text.chars().count() as f64) < least);
            if too_short { wrong("is empty".to_owned()) } else { None }
        }
        (Value::Integer(i), Some("string")) if shape.format().is_some_and(|format| format.numbers) => {
            wrong_form(&i.to_string(), shape, nowhere)
        }
        (Value::Integer(_) | Value::Float(_), Some("string")) if shape.format().is_some_and(|f| f.is_quantity) => {
            wrong(format!("{given} has no unit"))
        }
        (Value::Integer(i), Some("integer")) => outside(*i as f64, shape).then_some(()).and_then(|()| {
            let problem = if *i < 0 { "is negative" } else { "is out of range" };
            wrong(format!("{i} {problem}"))
        }),
        (Value::Integer(i), Some("number")) => {
            outside(*i as f64, shape).then_some(()).and_then(|()| wrong(format!("{i} is out of range")))
        }
        (Value::Float(x), Some("number")) => {
            outside(*x, shape).then_some(()).and_then(|()| wrong(format!("{x} is out of range")))
        }
        (Value::Bool(_), Some("boolean")) => None,
        (_, None) => None,
        _ => wrong(format!("{}{given} does not fit here", name(&node.value))),
    }
}

/// Returns the problem of a text that has not the form of `shape`.
fn wrong_form(text: &str, shape: Shape, at: At) -> Option<Found> {
    let refusal = shape.format().and_then(|format| (format.refuse)(text))?;
    Some(Found::new(at, "", refusal.message).suggest(refusal.suggestion).accepted(form(shape)?))
}

/// Outside the limits of `shape`; what is no finite number is.
fn outside(x: f64, shape: Shape) -> bool {
    let [least, above, most] = ["minimum", "exclusiveMinimum", "maximum"].map(|limit| shape.limit(limit));
    let too_small = least.is_some_and(|least| x < least) || above.is_some_and(|above| x <= above);
    !x.is_finite() || too_small || most.is_some_and(|most| x > most)
}

/// Returns the accepted values, with an example, if the quantity `text` is outside the bounds of `shape`.
fn out_of_bounds(text: &str, shape: Shape) -> Option<String> {
    let (format, bounds) = (shape.format()?, shape.bounds());
    if format.is_within(text, &bounds) {
        return None;
    }
    // Words that have no order, such as "off", are within all bounds; the name of a line has one.
    let is_apart = |word: &&&str| bounds.iter().all(|bound| (format.compare)(word, bound.value()).is_none());
    let words = format.words.iter().filter(is_apart).map(|word| format!("\"{word}\""));
    let is_bound = |example: &&str| bounds.iter().any(|bound| bound.value() == *example);
    let like = shape.example(&bounds).filter(|example| !is_bound(example)).map(|example| format!("like \"{example}\""));
    let accepted = [in_words(&bounds, quoted)].into_iter().chain(like).chain(words.map(|word| format!("or {word}")));
    Some(accepted.collect::<Vec<_>>().join(", "))
}

/// Returns the accepted form of a text, with its range.
fn form(shape: Shape) -> Option<String> {
    let bounds = shape.bounds();
    // The example of the form may be outside the range of the key.
    let of_key = shape.example(&bounds).filter(|_| !bounds.is_empty());
    let accepted = shape.format()?.accepted(of_key);
    Some(if bounds.is_empty() { accepted } else { format!("{accepted}; {}", in_words(&bounds, quoted)) })
}

fn name(value: &Value) -> &'static str {
    match value {
        Value::Table(_) => "the table ",
        Value::Array(_) => "the array ",
        Value::Text(_) => "the string ",
        Value::Integer(_) | Value::Float(_) => "the number ",
        Value::Bool(_) => "the boolean ",
        Value::Date | Value::Bad => "",
    }
}

/// Returns the values that `shape` accepts at `key`, in words.
fn describe_at(shape: Shape, key: &str) -> String {
    if shape.is_named_array() {
        format!("one or more tables, in an array or each headed [[{key}]]")
    } else {
        describe(shape)
    }
}

/// Returns the values that `shape`, which is no array of tables, accepts, in words.
pub fn describe(shape: Shape) -> String {
    if let Some(words) = shape.words() {
        let booleans = if shape.takes_booleans() { "true, false, or " } else { "" };
        let other = shape.other_texts().map_or(String::new(), |(format, _)| format!("; or {}", format.accepted(None)));
        return format!("{booleans}{}{other}", one_of(words));
    }
    let range = match ["minimum", "exclusiveMinimum", "maximum"].map(|limit| shape.limit(limit)) {
        [Some(least), _, Some(most)] if least == most => return format!("{least}"),
        [Some(least), _, Some(most)] => format!(" from {least} to {most}"),
        [Some(least), _, None] => format!(" of at least {least}"),
        [None, Some(above), Some(most)] => format!(" above {above}, at most {most}"),
        [None, Some(above), None] => format!(" above {above}"),
        [None, None, Some(most)] => format!(" of at most {most}"),
        [None, None, None] => String::new(),
    };
    match (shape.kind(), form(shape)) {
        (Some("string"), Some(form)) if shape.format().is_some_and(|f| f.is_quantity) => {
            format!("a string with {form}")
        }
        (Some("string"), Some(form)) => form,
        (Some("string"), None) => match shape.limit("minLength") {
            Some(_) => "a string in quotes, not empty".to_owned(),
            None => "a string in quotes".to_owned(),
        },
        (Some("integer"), _) => format!("a whole number{range}"),
        (Some("number"), _) => format!("a number{range}"),
        (Some("boolean"), _) => "true or false".to_owned(),
        (Some("array"), _) => match shape.items().and_then(form) {
            Some(accepted) => format!("an array, each {accepted}"),
            None => {
                let what = match shape.items().and_then(Shape::kind) {
                    Some("number" | "integer") => "numbers",
                    Some("array") => "arrays",
                    _ => "strings",
                };
                match (shape.limit("minItems"), shape.limit("maxItems")) {
                    (Some(least), Some(most)) if least != most => format!("an array of {least} to {most} {what}"),
                    (_, Some(n)) => format!("an array of {n} {what}"),
                    (Some(_), None) => format!("an array of one or more {what}"),
                    (None, None) => format!("an array of {what}"),
                }
            }
        },
        (Some("object"), _) => match shape.keys() {
            Some(keys) => format!("a table with {}", table_of(shape, &keys)),
            None => "a table of paths and values".to_owned(),
        },
        _ => "another value".to_owned(),
    }
}

/// Returns the keys that a table needs or, if it needs none, those that it can have.
fn table_of(shape: Shape, keys: &[&str]) -> String {
    let required = shape.required();
    if required.is_empty() {
        format!("any of {}", keys.join(", "))
    } else if required.len() == keys.len() {
        keys.join(", ")
    } else {
        format!("{}, and more keys if needed", required.join(", "))
    }
}

/// Returns a bound in quotes, as in a file.
fn quoted(bound: &str) -> String {
    format!("\"{bound}\"")
}
