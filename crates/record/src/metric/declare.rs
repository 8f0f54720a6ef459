//! The declaration of metrics.

/// Declares metrics, each as a `static` and a member of the list `ALL` of its module:
///
/// ```text
/// /// Mean number of those that wait over time.
/// QUEUE_MEAN as "Mean queue": CellOrPacket of [Port] in [Summary, Bins] by [Simulate, Emulate];
/// ```
///
/// The comment is the definition on the reference page; the name in tables is that of the static, in lower case. `as`
/// gives the title in figures if it differs from the name.
macro_rules! metrics {
    ($(
        $(#[doc = $meaning:literal])+
        $metric:ident $(as $label:literal)?: $unit:ident
        of [$($subject:ident),+] in [$($recorded:ident),+] by [$($source:ident),+];
    )+) => {
        $(
            $(#[doc = $meaning])+
            pub static $metric: $crate::metric::declare::kind!($unit) =
                $crate::metric::declare::kind!($unit: $crate::metric::Definition {
                    name: {
                        const NAME: [u8; stringify!($metric).len()] =
                            $crate::metric::declare::lower_case(stringify!($metric));
                        match std::str::from_utf8(&NAME) {
                            Ok(name) => name,
                            Err(_) => panic!("an identifier is UTF-8"),
                        }
                    },
                    label: $crate::metric::declare::label!($($label)?),
                    unit: $crate::metric::Unit::$unit,
                    subjects: &[$($crate::metric::Subject::$subject),+],
                    recorded: &[$($crate::metric::Recorded::$recorded),+],
                    sources: &[$($crate::metric::Source::$source),+],
                    meaning: concat!($($meaning),+),
                });
        )+

        /// The metrics of this file, in order.
        pub(super) static ALL: &[&$crate::metric::Definition] = &[$(&$metric.0),+];
    };
}

/// The type of a metric of a unit, or a metric of this type.
macro_rules! kind {
    (CellOrPacket) => {
        $crate::metric::QueueMetric
    };
    ($unit:ident) => {
        $crate::metric::Metric
    };
    (CellOrPacket: $definition:expr) => {
        $crate::metric::QueueMetric($definition)
    };
    ($unit:ident: $definition:expr) => {
        $crate::metric::Metric($definition)
    };
}

macro_rules! label {
    () => {
        None
    };
    ($label:literal) => {
        Some($label)
    };
}

pub(super) const fn lower_case<const N: usize>(text: &str) -> [u8; N] {
    let mut lower = [0; N];
    let mut place = 0;
    while place < N {
        lower[place] = text.as_bytes()[place].to_ascii_lowercase();
        place += 1;
    }
    lower
}

pub(super) use {kind, label, metrics};
