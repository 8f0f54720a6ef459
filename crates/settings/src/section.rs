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

impl<T: Clone> Setting for Vec<T> {
    type Value = Vec<T>;

    fn resolve(given: Option<Vec<T>>) -> Option<Vec<T>> {
        given
    }
    fn given(self) -> Option<Vec<T>> {
        Some(self)
    }
}

/// Implements [`Setting`](crate::section::Setting) for types that are their own values. Files read them as quantities, or
/// as [`in_file!`](crate::in_file!) says.
#[macro_export]
macro_rules! settings {
    ($($type:ty),+ $(,)?) => {
        $(impl $crate::section::Setting for $type {
            type Value = $type;

            fn resolve(given: Option<$type>) -> Option<$type> {
                given
            }
            fn given(self) -> Option<$type> {
                Some(self)
            }
        })+
    };
}

settings!(bool, f64, u16, u32, u64, Bytes, Cells, Probability, Rate, Span);

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
                        let value = $crate::in_file::Printed::print(value);
                        lines.push(format!("{} = {value}", $crate::section::key(stringify!($field))));
                    })+
                    lines
                }
            }

            $crate::in_file!($keys);

            impl $crate::in_file::Printed for $keys {
                fn print(&self) -> String {
                    format!("{{ {} }}", self.lines().join(", "))
                }
            }

            impl<'de> $crate::serde::Deserialize<'de> for $keys {
                fn deserialize<D: $crate::serde::Deserializer<'de>>(from: D) -> Result<$keys, D::Error> {
                    let mut table = <$crate::in_file::Keys as $crate::serde::Deserialize>::deserialize(from)?;
                    let mut read = || {
                        Ok::<_, $crate::serde_json::Error>($keys { $($field: table.take(&$crate::section::key(stringify!($field)), None)?),+ })
                    };
                    let keys = read().map_err($crate::serde::de::Error::custom)?;
                    table.end().map_err($crate::serde::de::Error::custom)?;
                    Ok(keys)
                }
            }

            impl $crate::schemars::JsonSchema for $keys {
                fn schema_name() -> std::borrow::Cow<'static, str> {
                    stringify!($keys).into()
                }
                fn json_schema(generator: &mut $crate::schemars::SchemaGenerator) -> $crate::schemars::Schema {
                    let mut table = $crate::in_file::TableSchema::new(&[$($about),+]);
                    $(
                        table.add::<<$type as $crate::section::Setting>::Value>(generator, &$crate::section::key(stringify!($field)), &[$($doc),+]);
                        $($(table.limit(stringify!($limit), $bound);)+)?
                        $(table.default_of::<<$type as $crate::section::Setting>::Value>(&$default);)?
                    )+
                    table.finish()
                }
            }
        }
    };
}
