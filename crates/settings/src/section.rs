//! Sections whose keys may be given in several layers: the file, a profile, defaults.

use std::fmt::Display;

use cellway_units::{Bytes, Rate, Span};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The type of a field of a [`section!`](crate::section!). `Option<T>` is a field that no layer needs to give.
pub trait Setting: Sized {
    /// The value of the key where it is given.
    type Value: Copy;
    /// The value as it is deserialized from a file.
    type Written: DeserializeOwned + JsonSchema;

    /// Returns the value that is written in a file.
    fn read(written: Self::Written) -> Self::Value;
    /// Returns the value as TOML.
    fn write(value: Self::Value) -> String;
    /// Returns the field for a key that the layers give or leave out; `None` if a layer has to give it.
    fn resolve(given: Option<Self::Value>) -> Option<Self>;
    /// Returns the key that gives the field.
    fn given(self) -> Option<Self::Value>;
    /// Returns the key of two layers, the second of which has what the first leaves out.
    fn layer(first: Option<Self::Value>, second: Option<Self::Value>) -> Option<Self::Value> {
        first.or(second)
    }
}

impl<T: Setting<Value = T> + Copy> Setting for Option<T> {
    type Value = T;
    type Written = T::Written;

    fn read(written: T::Written) -> T {
        T::read(written)
    }
    fn write(value: T) -> String {
        T::write(value)
    }
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
        $(impl $crate::section::Setting for $type {
            type Value = $type;
            type Written = $crate::quantity::Quantity<$type>;

            fn read(written: Self::Written) -> $type {
                written.0
            }
            fn write(value: $type) -> String {
                $crate::section::quoted(value)
            }
            fn resolve(given: Option<$type>) -> Option<$type> {
                given
            }
            fn given(self) -> Option<$type> {
                Some(self)
            }
        })+
    };
    (plain: $($type:ty),+ $(,)?) => {
        $(impl $crate::section::Setting for $type {
            type Value = $type;
            type Written = $type;

            fn read(written: $type) -> $type {
                written
            }
            fn write(value: $type) -> String {
                $crate::section::json(&value)
            }
            fn resolve(given: Option<$type>) -> Option<$type> {
                given
            }
            fn given(self) -> Option<$type> {
                Some(self)
            }
        })+
    };
}

settings!(quantity: Bytes, Rate, Span);
settings!(plain: bool, u32);

/// Returns a displayed value in quotes.
pub fn quoted(value: impl Display) -> String {
    format!("\"{value}\"")
}

/// Returns a number, boolean or string as JSON, which is TOML as well.
pub fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("a plain value is printable")
}

/// Returns a value as it is in the schema.
pub fn default_of<T: Setting>(value: T::Value) -> serde_json::Value {
    serde_json::from_str(&T::write(value)).expect("numbers, booleans and strings are JSON as well")
}

/// Returns the name of the key of a field.
pub fn key(field: &str) -> String {
    field.replace('_', "-")
}

/// Declares a section: a struct of its values, and one of its keys, each of which may be left out. A doc comment is the
/// help for the key in the schema; attributes of `schemars`, such as a range, belong to the key. A value after `=` is the
/// default, of a key that no layer gives. A section can be the type of a field of another. The crate that declares a section
/// depends on `serde` and `schemars`.
///
/// ```
/// cellway_settings::section! {
///     /// A queue.
///     pub struct Queue, QueueKeys {
///         /// Its length, in packets.
///         #[schemars(range(min = 1))]
///         pub length: u32,
///         /// The rate at which it is emptied. Default: none.
///         pub rate: Option<cellway_units::Rate>,
///         /// The time for which a packet may stay.
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
        $(#[$about:meta])*
        pub struct $section:ident, $keys:ident {
            $($(#[doc = $doc:literal])+ $(#[schemars($($limit:tt)*)])? pub $field:ident: $type:ty $(= $default:expr)?,)+
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $section {
            $($(#[doc = $doc])+ pub $field: $type,)+
        }

        $(#[$about])*
        ///
        /// Here any of its keys may be left out.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $keys {
            $($(#[doc = $doc])+ pub $field: Option<<$type as $crate::section::Setting>::Value>,)+
        }

        impl $keys {
            /// No key is given.
            pub const NONE: $keys = $keys { $($field: None),+ };

            /// Returns these keys, and those of `other` that these leave out.
            #[must_use]
            pub fn or(self, other: $keys) -> $keys {
                $keys { $($field: <$type as $crate::section::Setting>::layer(self.$field, other.$field)),+ }
            }
            /// Returns the section; `None` if a key is left out that has to be given.
            pub fn resolve(self) -> Option<$section> {
                Some($section { $($field: <$type as $crate::section::Setting>::resolve(self.$field$(.or(Some($default)))?)?),+ })
            }
            /// Returns the names of all keys.
            pub fn names() -> Vec<String> {
                vec![$($crate::section::key(stringify!($field))),+]
            }
            /// Returns the given keys with their values, as TOML.
            pub fn lines(&self) -> Vec<String> {
                let mut lines = Vec::new();
                $(if let Some(value) = self.$field {
                    let value = <$type as $crate::section::Setting>::write(value);
                    lines.push(format!("{} = {value}", $crate::section::key(stringify!($field))));
                })+
                lines
            }
        }

        impl $crate::section::Setting for $section {
            type Value = $keys;
            type Written = $keys;

            fn read(written: $keys) -> $keys {
                written
            }
            fn write(value: $keys) -> String {
                format!("{{ {} }}", value.lines().join(", "))
            }
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

        impl From<$section> for $keys {
            fn from(section: $section) -> $keys {
                $keys { $($field: <$type as $crate::section::Setting>::given(section.$field)),+ }
            }
        }

        const _: () = {
            $(#[$about])*
            #[derive(::serde::Deserialize, ::schemars::JsonSchema)]
            #[serde(deny_unknown_fields, rename_all = "kebab-case")]
            struct Written {
                $(
                    $(#[doc = $doc])+ $(#[schemars($($limit)*)])?
                    $(#[schemars(extend("default" = $crate::section::default_of::<$type>($default)))])?
                    $field: Option<<$type as $crate::section::Setting>::Written>,
                )+
            }

            impl<'de> ::serde::Deserialize<'de> for $keys {
                fn deserialize<D: ::serde::Deserializer<'de>>(from: D) -> Result<$keys, D::Error> {
                    let written = Written::deserialize(from)?;
                    Ok($keys { $($field: written.$field.map(<$type as $crate::section::Setting>::read)),+ })
                }
            }

            impl ::schemars::JsonSchema for $keys {
                fn schema_name() -> std::borrow::Cow<'static, str> {
                    stringify!($keys).into()
                }
                fn json_schema(generator: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                    Written::json_schema(generator)
                }
            }
        };
    };
}
