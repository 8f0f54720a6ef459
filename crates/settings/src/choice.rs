//! Keys with a fixed set of values.

/// A value of a fixed set, each of which has a name in files.
pub trait Choice: Copy + PartialEq + 'static {
    /// All values, with their names and the help for them.
    const ALL: &'static [(Self, &'static str, &'static [&'static str])];
}

/// Declares an enum whose values have names in files. A doc comment is the help for the value in the schema. The names
/// "true" and "false" are the booleans of a file, for a key that takes them and other values.
///
/// ```
/// cellway_settings::choice! {
///     /// A direction.
///     pub enum Way {
///         /// To the left.
///         Left = "left",
///         /// To the right.
///         Right = "right",
///     }
/// }
/// assert_eq!(Way::ALL.map(Way::name), ["left", "right"]);
/// ```
#[macro_export]
macro_rules! choice {
    (
        $(#[doc = $about:literal])+
        pub enum $choice:ident {
            $($(#[doc = $doc:literal])+ $value:ident = $name:literal,)+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $choice {
            $($(#[doc = $doc])+ $value,)+
        }

        impl $choice {
            /// All values.
            pub const ALL: [$choice; [$($name),+].len()] = [$($choice::$value),+];

            /// Returns the name in files.
            pub const fn name(self) -> &'static str {
                match self {
                    $($choice::$value => $name,)+
                }
            }
        }

        $crate::in_files! {
            impl $crate::choice::Choice for $choice {
                const ALL: &'static [($choice, &'static str, &'static [&'static str])] =
                    &[$(($choice::$value, $name, &[$($doc),+])),+];
            }

            impl $crate::serde::Serialize for $choice {
                fn serialize<S: $crate::serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                    match self.name() {
                        "true" => to.serialize_bool(true),
                        "false" => to.serialize_bool(false),
                        name => to.serialize_str(name),
                    }
                }
            }

            impl<'de> $crate::serde::Deserialize<'de> for $choice {
                fn deserialize<D: $crate::serde::Deserializer<'de>>(from: D) -> Result<$choice, D::Error> {
                    $crate::choice::deserialize(from)
                }
            }

            impl $crate::schemars::JsonSchema for $choice {
                fn schema_name() -> std::borrow::Cow<'static, str> {
                    stringify!($choice).into()
                }
                fn json_schema(_: &mut $crate::schemars::SchemaGenerator) -> $crate::schemars::Schema {
                    $crate::choice::schema::<$choice>(&[$($about),+])
                }
            }

            $crate::in_file!(printed: $choice);
        }

        $crate::settings!($choice);
    };
}

#[cfg(feature = "file")]
mod in_files {
    use schemars::Schema;
    use serde::de::{Deserialize, Deserializer, Error};
    use serde_json::{Value, json};

    use super::Choice;
    use crate::found::one_of;

    /// Reads a value by its name.
    ///
    /// # Errors
    /// No value has the name.
    pub fn deserialize<'de, T: Choice, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
        let given = Value::deserialize(from)?;
        let found = T::ALL.iter().find(|(_, name, _)| value(name) == given).map(|(value, ..)| *value);
        found.ok_or_else(|| {
            let names = one_of(T::ALL.iter().map(|(_, name, _)| name));
            D::Error::custom(format!("{given} is none of the accepted values: {names}"))
        })
    }

    /// Returns a name as the value that files have for it.
    fn value(name: &str) -> Value {
        match name {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            name => Value::from(name),
        }
    }

    /// Returns the schema of the values, each with its help.
    pub fn schema<T: Choice>(about: &[&str]) -> Schema {
        let one = |(_, name, help): &(T, &str, &[&str])| {
            let value = value(name);
            let kind = if value.is_boolean() { "boolean" } else { "string" };
            json!({ "type": kind, "const": value, "description": text(help) })
        };
        let values: Vec<Value> = T::ALL.iter().map(one).collect();
        Schema::try_from(json!({ "description": text(about), "oneOf": values })).unwrap_or_default()
    }

    /// Returns the lines of a doc comment as one text.
    pub fn text(lines: &[&str]) -> String {
        let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
        lines.join("\n").trim().to_owned()
    }
}
#[cfg(feature = "file")]
pub use in_files::{deserialize, schema, text};
