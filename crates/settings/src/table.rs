//! Tables of a file.

/// Declares a table: a struct with a field for each key. A doc comment is the help for the key in the schema. A value after
/// `=` is the default, and an `Option` may be left out; a table has to give every other key. A range limits a value, or each
/// element of an array, as in a [`section!`](crate::section!), a length (`min`, `max`) the elements of an array or the
/// characters of a string. The title of a whole file is after `as`. The fields are as visible as the struct. A last line with
/// `..` adds the keys of another table to those of this one.
///
/// The checks of a file go on with what is right: a field is `None` if the key is refused, or if the table leaves it out and
/// has to give it. Both are reported before the table is read.
///
/// The key of a field is its name with hyphens, or the one of `#[key("...")]`.
///
/// ```
/// cellway_settings::table! {
///     /// A shelf.
///     pub(crate) struct Shelf {
///         /// Its name.
///         name: String,
///         /// The books on it.
///         #[range(min = 1)]
///         books: u32 = 20,
///         /// What it carries. Default: any load.
///         load: Option<u32>,
///     }
/// }
///
/// let shelf = Shelf::default();
/// assert_eq!((shelf.name, shelf.books, shelf.load), (None, Some(20), Some(None)));
///
/// cellway_settings::table! {
///     /// A shelf on wheels, with the keys of a shelf beside its own.
///     pub(crate) struct Trolley {
///         /// The number of wheels.
///         wheels: u32 = 4,
///         ..shelf: Shelf,
///     }
/// }
///
/// use cellway_settings::{in_file::InFile, serde_json::json};
/// let trolley = Trolley::read(json!({ "name": "returns", "wheels": 3 })).unwrap();
/// assert_eq!((trolley.wheels, trolley.shelf.name.as_deref(), trolley.shelf.books), (Some(3), Some("returns"), Some(20)));
/// assert!(Trolley::read(json!({ "wings": 2 })).is_err());
/// ```
#[macro_export]
macro_rules! table {
    (
        $(#[doc = $about:literal])+
        $vis:vis struct $table:ident $(as $title:literal)? {
            $(
                $(#[doc = $doc:literal])*
                $(#[key($key:literal)])?
                $(#[range($($limit:ident = $bound:literal),+)])?
                $(#[length($($end:ident = $length:literal),+)])?
                $field:ident: $type:ty $(= $default:expr)?,
            )+
            $(..$part:ident: $keys:ty,)?
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug)]
        $vis struct $table {
            $($(#[doc = $doc])* $vis $field: Option<$type>,)+
            $($vis $part: $keys,)?
        }

        impl Default for $table {
            /// The table that gives no key.
            fn default() -> $table {
                $table {
                    $($field: $crate::table!(left_out $type $(, $default)?),)+
                    $($part: <$keys>::default(),)?
                }
            }
        }

        impl $crate::in_file::Table for $table {
            fn take(keys: &mut $crate::in_file::Keys) -> Result<$table, $crate::serde_json::Error> {
                Ok($table {
                    $($field: keys.take(
                        $crate::table!(key $field $(, $key)?),
                        $crate::table!(left_out $type $(, $default)?),
                    )?,)+
                    $($part: <$keys as $crate::in_file::Table>::take(keys)?,)?
                })
            }
            fn describe(table: &mut $crate::in_file::TableSchema, generator: &mut $crate::schemars::SchemaGenerator) {
                $(
                    table.add::<$type>(generator, $crate::table!(key $field $(, $key)?), &[$($doc),*]);
                    $($(table.limit(stringify!($limit), $bound);)+)?
                    $($(table.length(stringify!($end), $length);)+)?
                    $crate::table!(meaning table, $type $(, $default)?);
                )+
                $(<$keys as $crate::in_file::Table>::describe(table, generator);)?
            }
        }

        impl $crate::in_file::InFile for $table {
            fn read(table: $crate::serde_json::Value) -> Result<$table, $crate::serde_json::Error> {
                let mut keys = $crate::in_file::Keys::of(table)?;
                let table = <$table as $crate::in_file::Table>::take(&mut keys)?;
                keys.end()?;
                Ok(table)
            }
            fn schema(generator: &mut $crate::schemars::SchemaGenerator) -> $crate::schemars::Schema {
                generator.subschema_for::<$table>()
            }
        }

        impl $crate::schemars::JsonSchema for $table {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                [$($title,)? stringify!($table)][0].into()
            }
            fn json_schema(generator: &mut $crate::schemars::SchemaGenerator) -> $crate::schemars::Schema {
                let mut table = $crate::in_file::TableSchema::new(&[$($about),+]);
                <$table as $crate::in_file::Table>::describe(&mut table, generator);
                table.finish()
            }
        }
    };
    (key $field:ident) => {
        &$crate::section::key(stringify!($field))
    };
    (key $field:ident, $key:literal) => {
        $key
    };
    (left_out $type:ty $(, $default:expr)?) => {
        None::<$type>$(.or(Some($default)))?.or_else(<$type as $crate::in_file::InFile>::left_out)
    };
    (meaning $schema:ident, $type:ty) => {
        $schema.require::<$type>();
    };
    (meaning $schema:ident, $type:ty, $default:expr) => {
        $schema.default_of::<$type>(&$default);
    };
}
