//! The application of a traffic group: one of the built-in ones, or a class of a workload file.

use std::borrow::Cow;
use std::fmt;

use cellway_settings::choice;
use cellway_settings::quantity::{Error, Refusal, Text};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use crate::model::AppKind;

/// A value of the key `app`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AppName {
    /// A built-in application.
    Kind(AppKind),
    /// A class of a workload file.
    Class(ClassName),
}

/// A class of a workload file: "workload:FILE#CLASS".
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClassName {
    /// The file, relative to that of the scenario.
    pub(crate) file: String,
    /// The name of the class.
    pub(crate) class: String,
}

/// The text before the file.
const PREFIX: &str = "workload:";

impl AppName {
    /// Returns the kind of the application.
    pub(crate) fn kind(&self) -> AppKind {
        match self {
            AppName::Kind(kind) => *kind,
            AppName::Class(_) => AppKind::Workload,
        }
    }
}

impl Text for ClassName {
    const FORMAT: &'static str = "workload-class";
    const UNITS: &'static [&'static str] = &[];
    const EXAMPLES: &'static [&'static str] = &["workload:office.toml#web"];
    fn read(text: &str) -> Result<ClassName, Error> {
        // The file may have the mark in its name, a class has none.
        let parts = text.strip_prefix(PREFIX).and_then(|rest| rest.rsplit_once('#'));
        match parts {
            Some((file, class)) if !file.is_empty() && !class.is_empty() && !file.contains('\0') => {
                Ok(ClassName { file: file.to_owned(), class: class.to_owned() })
            }
            _ => Err(Refusal::new(format!("{text:?} is no class of a workload file")).into()),
        }
    }
    fn accepted(_: &str) -> String {
        "\"workload:FILE#CLASS\" with a workload file and its class, like \"workload:office.toml#web\"".to_owned()
    }
    fn pattern() -> String {
        format!("^{PREFIX}.+#[^#]+$")
    }
}

impl fmt::Display for ClassName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}#{}", self.file, self.class)
    }
}

impl<'de> Deserialize<'de> for AppName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<AppName, D::Error> {
        use serde::de::Error as _;
        let text = String::deserialize(from)?;
        if text.starts_with(PREFIX) {
            let class = ClassName::read(&text);
            return class.map(AppName::Class).map_err(|_| D::Error::custom(ClassName::accepted("")));
        }
        AppKind::deserialize(Value::from(text)).map(AppName::Kind).map_err(D::Error::custom)
    }
}

impl JsonSchema for AppName {
    fn schema_name() -> Cow<'static, str> {
        "AppKind".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut schema = choice::schema::<AppKind>(&["The application of a conversation."]).to_value();
        if let Some(values) = schema.get_mut("oneOf").and_then(Value::as_array_mut) {
            // The kind of such conversations is no value by itself: it needs the class.
            values.retain(|value| value["const"] != AppKind::Workload.name());
            values.push(json!({
                "type": "string",
                "format": ClassName::FORMAT,
                "pattern": ClassName::pattern(),
                "examples": ClassName::EXAMPLES,
                "description": "Conversations drawn from a class of a workload file, which is relative to this file. \
                                Most programs set TCP_NODELAY: `tcp.nagle = false`.",
            }));
        }
        Schema::try_from(schema).unwrap_or_default()
    }
}

cellway_settings::in_file!(AppName);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_read_and_written() {
        let class = ClassName::read("workload:data/a#1.toml#web").unwrap();
        assert_eq!([&class.file[..], &class.class[..]], ["data/a#1.toml", "web"]);
        assert_eq!(class.to_string(), "workload:data/a#1.toml#web");
        for wrong in ["workload", "workload:", "workload:a.toml", "workload:#web", "workload:a.toml#", "web"] {
            assert!(ClassName::read(wrong).is_err(), "{wrong}");
        }
        assert_eq!(AppName::deserialize(json!("workload:a#b")).unwrap().kind(), AppKind::Workload);
        assert_eq!(AppName::deserialize(json!("bulk")).unwrap(), AppName::Kind(AppKind::Bulk));
        assert!(AppName::deserialize(json!("workload:a")).is_err() && AppName::deserialize(json!("blk")).is_err());
    }
}
