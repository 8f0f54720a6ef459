//! Many tests: every combination of lists of options, as scripts around ttcp run them.

use cellway_record::AxisValue;
use cellway_units::Bytes;

use crate::{Error, Test};

/// The position of a test on the axes of its sweep.
pub type Axes = Vec<(String, AxisValue)>;

/// Lists of options. An empty list keeps the option of `base`; a list of several values is an axis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sweep {
    /// The options of all tests.
    pub base: Test,
    /// Receive windows.
    pub window: Vec<Bytes>,
    /// Sizes of a write.
    pub write: Vec<Bytes>,
    /// Numbers of streams.
    pub streams: Vec<u32>,
    /// Congestion controls.
    pub congestion: Vec<String>,
    /// Send buffers.
    pub send_buffer: Vec<Bytes>,
    /// Segment sizes.
    pub mss: Vec<Bytes>,
}

/// Most tests of a sweep.
const TESTS_MAX: usize = 10_000;

impl Sweep {
    /// Returns all combinations, the last list varying fastest, each checked.
    pub fn tests(&self) -> Result<Vec<(Axes, Test)>, Error> {
        let lists = [
            self.window.len(),
            self.write.len(),
            self.streams.len(),
            self.congestion.len(),
            self.send_buffer.len(),
            self.mss.len(),
        ];
        let tests = lists.iter().fold(1usize, |product, n| product.saturating_mul((*n).max(1)));
        if tests > TESTS_MAX {
            return Err(Error::Range {
                what: "the number of combinations",
                given: tests.to_string(),
                accepted: format!("{TESTS_MAX} or fewer"),
            });
        }
        let bytes = |b: &Bytes| AxisValue::Text(b.to_string());
        let mut all = vec![(Axes::new(), self.base.clone())];
        all = times(all, "window", &self.window, bytes, |test, v| test.window = Some(*v));
        all = times(all, "write", &self.write, bytes, |test, v| test.write = *v);
        all = times(all, "streams", &self.streams, |n| AxisValue::Number((*n).into()), |test, v| test.streams = *v);
        let text = |name: &String| AxisValue::Text(name.clone());
        all = times(all, "congestion", &self.congestion, text, |test, v| test.congestion = Some(v.clone()));
        all = times(all, "send-buffer", &self.send_buffer, bytes, |test, v| test.send_buffer = Some(*v));
        all = times(all, "mss", &self.mss, bytes, |test, v| test.mss = Some(*v));
        all.iter().try_for_each(|(_, test)| test.check())?;
        Ok(all)
    }
}

fn times<T>(
    all: Vec<(Axes, Test)>,
    name: &str,
    values: &[T],
    place: impl Fn(&T) -> AxisValue,
    set: impl Fn(&mut Test, &T),
) -> Vec<(Axes, Test)> {
    if values.is_empty() {
        return all;
    }
    let mut product = Vec::with_capacity(all.len() * values.len());
    for (axes, test) in all {
        for value in values {
            let (mut axes, mut test) = (axes.clone(), test.clone());
            if values.len() > 1 {
                axes.push((name.to_owned(), place(value)));
            }
            set(&mut test, value);
            product.push((axes, test));
        }
    }
    product
}
