//! Sections whose keys may be given in several layers: the file, a profile, defaults.

use cellway_units::{Bytes, Cells, Probability, Rate, Span};

/// The type of a field of a [`section!`](crate::section!). `Option<T>` is a field that no layer needs to give.
pub trait Setting: Sized {
    /// The value of the key where it is given.
    type Value: Clone;

    /// Returns the field for a key that the layers give or leave out; `None` if a layer has to give it.
    fn resolve(given: Option<Self::Value>) -> Option<Self>;
    /// Returns the key that gives the field.
    fn given(self) -> Option<Self::Value>;
    /// Returns the key of two layers, the second of which has what the first leaves out.
    fn layer(first: Option<Self::Value>, second: Option<Self::Value>) -> Option<Self::Value> {
        first.or(second)
    }
}

impl<T: Setting<Value = T> + Clone> Setting for Option<T> {
    type Value = T;

    fn resolve(given: Option<T>) -> Option<Option<T>> {
        Some(given)
    }
    fn given(self) -> Option<T> {
        self
    }
}

/// Implements [`Setting`](crate::section::Setting) for types that are their own values: `quantity` for those that
/// implement [`Text`](crate::quantity::Text) and are displayed as in a file, `plain` for those that are deserialized from
/// and serialized to the value in a file, such as numbers and unit variants.
#[macro_export]
macro_rules! settings {
    (quantity: $($type:ty),+ $(,)?) => {
        $($crate::settings!(value: $type);)+
        $crate::in_files! {
            $(impl $crate::section::InFile for $type {
                type Written = $crate::quantity::Quantity<$type>;

                fn read(written: Self::Written) -> $type {
                    written.0
                }
                fn write(value: &$type) -> String {
                    $crate::section::quoted(value)
                }
            })+
        }
    };
    (plain: $($type:ty),+ $(,)?) => {
        $($crate::settings!(value: $type);)+
        $crate::in_files! {
            $(impl $crate::section::InFile for $type {
                type Written = $type;

                fn read(written: $type) -> $type {
                    written
                }
                fn write(value: &$type) -> String {
                    $crate::section::json(value)
                }
            })+
        }
    };
    (value: $type:ty) => {
        impl $crate::section::Setting for $type {
            type Value = $type;

            fn resolve(given: Option<$type>) -> Option<$type> {
                given
            }
            fn given(self) -> Option<$type> {
                Some(self)
            }
        }
    };
}

settings!(quantity: Bytes, Cells, Probability, Rate, Span);
settings!(plain: bool, f64, u32, u64);

/// Returns the name of the key of a field.
pub fn key(field: &str) -> String {
    field.replace('_', "-")
}

/// Declares a section: a struct of its values, and one of its keys, each of which may be left out. A doc comment is the
/// help for the key in the schema. A range has `min`, or `above` for a value that is excluded, and `max`, in numbers or in
/// quantities as they are in a file; files are checked against it, and values of a program by `in_range`. A value after `=`
/// is the default, of a key that no layer gives. A section can be the type of a field of another. Where the feature `file` is off
/// only the two structs and their layers are declared.
///
/// ```
/// cellway_settings::section! {
///     /// A queue.
///     #[derive(Copy, Eq)]
///     pub struct Queue, QueueKeys {
///         /// Its length, in packets.
///         #[range(min = 1)]
///         pub length: u32,
///         /// The rate at which it is emptied. Default: none.
///         pub rate: Option<cellway_units::Rate>,
///         /// The time for which a packet may stay.
///         #[range(above = "0 s", max = "1 min")]
///         pub longest: cellway_units::Span = cellway_units::Span::from_ms(5),
///     }
/// }
///
/// let file = QueueKeys { rate: Some("1 Mbit/s".parse().unwrap()), ..QueueKeys::NONE };
/// assert_eq!(file.resolve(), None, "the length has to be given");
/// let profile = QueueKeys { length: Some(9), ..QueueKeys::NONE };
/// let queue = file.or(profile).resolve().unwrap();
/// assert_eq!((queue.length, queue.longest), (9, "5 ms".parse().unwrap()));
/// assert_eq!(QueueKeys::from(queue).lines(), ["length = 9", "rate = \"1 Mbit/s\"", "longest = \"5 ms\""]);
/// ```
#[macro_export]
macro_rules! section {
    (
        $(#[doc = $about:literal])+
        $(#[derive($($derived:ident),+)])?
        $vis:vis struct $section:ident, $keys:ident {
            $(
                $(#[doc = $doc:literal])+
                $(#[range($($limit:ident = $bound:literal),+)])?
                $of:vis $field:ident: $type:ty $(= $default:expr)?,
            )+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq, $($($derived),+)?)]
        $vis struct $section {
            $($(#[doc = $doc])+ $of $field: $type,)+
        }

        $(#[doc = $about])+
        ///
        /// Here any of its keys may be left out.
        #[derive(Clone, Debug, Default, PartialEq, $($($derived),+)?)]
        $vis struct $keys {
            $($(#[doc = $doc])+ $of $field: Option<<$type as $crate::section::Setting>::Value>,)+
        }

        impl $keys {
            /// No key is given.
            $vis const NONE: $keys = $keys { $($field: None),+ };

            /// Returns these keys, and those of `other` that these leave out.
            #[must_use]
            $vis fn or(self, other: $keys) -> $keys {
                $keys { $($field: <$type as $crate::section::Setting>::layer(self.$field, other.$field)),+ }
            }
            /// Returns the section; `None` if a key is left out that has to be given.
            $vis fn resolve(self) -> Option<$section> {
                Some($section { $($field: <$type as $crate::section::Setting>::resolve(self.$field$(.or(Some($default)))?)?),+ })
            }
            /// Returns the names of all keys.
            #[allow(dead_code, reason = "not every section is listed")]
            $vis fn names() -> Vec<String> {
                vec![$($crate::section::key(stringify!($field))),+]
            }
        }

        impl $crate::section::Setting for $section {
            type Value = $keys;

            fn resolve(given: Option<$keys>) -> Option<$section> {
                given.unwrap_or($keys::NONE).resolve()
            }
            fn given(self) -> Option<$keys> {
                Some(self.into())
            }
            fn layer(first: Option<$keys>, second: Option<$keys>) -> Option<$keys> {
                match (first, second) {
                    (Some(first), Some(second)) => Some(first.or(second)),
                    (first, second) => first.or(second),
                }
            }
        }

        impl $section {
            /// Checks the values against the ranges of their keys.
            ///
            /// # Errors
            /// A value is out of range.
            #[allow(dead_code, clippy::clone_on_copy, reason = "files are checked against the schema")]
            $vis fn in_range(&self) -> Result<(), $crate::range::OutOfRange> {
                $($(if let Some(value) = <$type as $crate::section::Setting>::given(self.$field.clone()) {
                    let bounds = [$($crate::range::Bound::$limit(concat!($bound))),+];
                    $crate::range::in_range(stringify!($field), &value, &bounds)?;
                })?)+
                Ok(())
            }
        }

        impl From<$section> for $keys {
            fn from(section: $section) -> $keys {
                $keys { $($field: <$type as $crate::section::Setting>::given(section.$field)),+ }
            }
        }

        $crate::in_files! {
            impl $keys {
                /// Returns the given keys with their values, as TOML.
                #[allow(dead_code, reason = "not every section is printed")]
                $vis fn lines(&self) -> Vec<String> {
                    let mut lines = Vec::new();
                    $(if let Some(value) = &self.$field {
                        let value = <$type as $crate::section::InFile>::write(value);
                        lines.push(format!("{} = {value}", $crate::section::key(stringify!($field))));
                    })+
                    lines
                }
            }

            impl $crate::section::InFile for $section {
                type Written = $keys;

                fn read(written: $keys) -> $keys {
                    written
                }
                fn write(value: &$keys) -> String {
                    format!("{{ {} }}", value.lines().join(", "))
                }
            }

            impl<'de> $crate::serde::Deserialize<'de> for $keys {
                fn deserialize<D: $crate::serde::Deserializer<'de>>(from: D) -> Result<$keys, D::Error> {
                    let mut table = <$crate::section::Table as $crate::serde::Deserialize>::deserialize(from)?;
                    let keys = $keys { $($field: table.take::<$type, D::Error>(stringify!($field))?),+ };
                    table.end()?;
                    Ok(keys)
                }
            }

            impl $crate::schemars::JsonSchema for $keys {
                fn schema_name() -> std::borrow::Cow<'static, str> {
                    stringify!($keys).into()
                }
                fn json_schema(generator: &mut $crate::schemars::SchemaGenerator) -> $crate::schemars::Schema {
                    let mut section = $crate::section::SectionSchema::new(&[$($about),+]);
                    $(
                        section.add::<$type>(generator, stringify!($field), &[$($doc),+]);
                        $($(section.limit(stringify!($limit), $bound);)+)?
                        $(section.default_of::<$type>(&$default);)?
                    )+
                    section.finish()
                }
            }
        }
    };
}

#[cfg(feature = "file")]
mod in_files {
    use std::fmt::Display;

    use schemars::{JsonSchema, Schema, SchemaGenerator};
    use serde::de::{DeserializeOwned, Error};
    use serde::{Deserialize, Serialize};
    use serde_json::{Map, Value, json};

    use super::{Setting, key};
    use crate::choice::text;
    use crate::schema::{ABOVE, MAX, MIN};

    /// A [`Setting`] as it is in a file.
    pub trait InFile: Setting {
        /// The value as it is deserialized from a file.
        type Written: DeserializeOwned + JsonSchema;

        /// Returns the value that is written in a file.
        fn read(written: Self::Written) -> Self::Value;
        /// Returns the value as TOML.
        fn write(value: &Self::Value) -> String;
    }

    impl<T: InFile + Setting<Value = T> + Clone> InFile for Option<T> {
        type Written = T::Written;

        fn read(written: T::Written) -> T {
            T::read(written)
        }
        fn write(value: &T) -> String {
            T::write(value)
        }
    }

    /// Returns a displayed value in quotes.
    pub fn quoted(value: impl Display) -> String {
        format!("\"{value}\"")
    }

    /// Returns a number, boolean or string as JSON, which is TOML as well.
    pub fn json(value: &impl Serialize) -> String {
        serde_json::to_string(value).expect("a plain value is printable")
    }

    /// The keys of a section that are not read yet.
    #[derive(Deserialize)]
    #[serde(transparent)]
    pub struct Table(Map<String, Value>);

    impl Table {
        /// Reads the key of a field, if it is given.
        ///
        /// # Errors
        /// The value is of another type.
        pub fn take<T: InFile, E: Error>(&mut self, field: &str) -> Result<Option<T::Value>, E> {
            let Some(value) = self.0.remove(&key(field)) else { return Ok(None) };
            serde_json::from_value(value).map(|written| Some(T::read(written))).map_err(E::custom)
        }
        /// Ends reading.
        ///
        /// # Errors
        /// A key is left that the section does not have.
        pub fn end<E: Error>(self) -> Result<(), E> {
            match self.0.keys().next() {
                Some(other) => Err(E::custom(format!("unknown field {other:?}"))),
                None => Ok(()),
            }
        }
    }

    /// The schema of a section under construction.
    #[derive(Debug)]
    pub struct SectionSchema {
        about: String,
        keys: Vec<(String, Schema)>,
    }

    impl SectionSchema {
        /// A section without keys.
        pub fn new(about: &[&str]) -> SectionSchema {
            SectionSchema { about: text(about), keys: Vec::new() }
        }
        fn last(&mut self) -> &mut Schema {
            &mut self.keys.last_mut().expect("a key was added").1
        }
        /// Adds the key of a field.
        pub fn add<T: InFile>(&mut self, generator: &mut SchemaGenerator, field: &str, help: &[&str]) {
            let mut schema = generator.subschema_for::<T::Written>();
            schema.insert("description".to_owned(), Value::from(text(help)));
            self.keys.push((key(field), schema));
        }
        /// Limits the key added last: `min`, `max` or `above`.
        pub fn limit(&mut self, limit: &str, bound: impl Into<Value>) {
            let bound = bound.into();
            let keyword = match (limit, bound.is_string()) {
                ("min", false) => "minimum",
                ("max", false) => "maximum",
                ("above", false) => "exclusiveMinimum",
                ("min", true) => MIN,
                ("max", true) => MAX,
                _ => ABOVE,
            };
            self.last().insert(keyword.to_owned(), bound);
        }
        /// Sets the default of the key added last.
        pub fn default_of<T: InFile>(&mut self, value: &T::Value) {
            let value = serde_json::from_str(&T::write(value)).expect("numbers, booleans and strings are JSON as well");
            self.last().insert("default".to_owned(), value);
        }
        /// Returns the schema.
        pub fn finish(self) -> Schema {
            let keys: Map<String, Value> =
                self.keys.into_iter().map(|(key, schema)| (key, schema.to_value())).collect();
            let schema = json!({
                "type": "object",
                "description": self.about,
                "properties": keys,
                "additionalProperties": false,
            });
            Schema::try_from(schema).unwrap_or_default()
        }
    }
}
#[cfg(feature = "file")]
pub use in_files::{InFile, SectionSchema, Table, json, quoted};
