//! The JSON schema of scenario files, and the reference that is printed from it.

use std::sync::LazyLock;

use cellway_settings::reference::Page;
use cellway_settings::schema::{FileSchema, Shape};

use crate::file::File;
use crate::quantity::FORMATS;

static SCHEMA: LazyLock<FileSchema> = LazyLock::new(|| FileSchema::of::<File>(FORMATS));

/// Returns the JSON schema of scenario files, as text that ends with a line break.
pub fn schema() -> String {
    SCHEMA.text()
}

const INTRODUCTION: &str = "\
Every key of a scenario, by table. [Scenario files](../guide/scenarios.md) has the tasks and examples.

- Quantities are strings with [units](../guide/scenarios.md#quantities): `\"22.5 ms\"`, `\"30 Mbit/s\"`, `\"64 KiB\"`. `\"rtt\"`
  is the round trip of `run.rtt`; `\"bdp\"` is that round trip multiplied by the rate of the slowest link.
- `[name]` is one table; `[[name]]` starts each of several.
- Names of nodes, links, groups and other elements are 1 to 64 letters, digits, `-` and `_`.
- A default of `-` means that the key has none, or the one that its description states. Those of `[tcp]` are of the
  [profile](../models/tcp.md#profiles).
- Where several tables have the same keys, the first section lists them.

`cellway check FILE` reports all problems of a file, with their locations; `cellway schema` prints these keys as a JSON
schema, for completion in an editor.
";

/// The tables in the order of the page.
const ORDER: [&str; 14] = [
    "run",
    "tcp",
    "buffer",
    "node",
    "link",
    "traffic",
    "multiplexing",
    "shaper",
    "policer",
    "class",
    "abr",
    "change",
    "observe",
    "sweep",
];

/// Returns the reference of scenario files in Markdown.
pub fn reference() -> String {
    SCHEMA.reference(&Page {
        title: "Keys of scenario files",
        command: "UPDATE_GOLDEN=1 cargo test -p cellway-scenario",
        introduction: INTRODUCTION,
        order: &ORDER,
    })
}

/// Returns the schema of a whole file.
pub(crate) fn root() -> Shape {
    SCHEMA.root()
}

#[cfg(test)]
mod tests {
    use cellway_spec::{Family, MAX_PACKET, MAX_WINDOW, UdpSource};
    use cellway_units::Bytes;
    use serde_json::Value;

    use crate::check::{MAX_BUFFER, MAX_CRM, MAX_TRANSFER};

    /// A range is a literal in the declaration of its key; the constants are what the checks compute with.
    #[test]
    fn ranges_are_those_of_the_constants() {
        let schema: Value = serde_json::from_str(&super::schema()).unwrap();
        let key = |table: &str, key: &str| schema["$defs"][table]["properties"][key].clone();
        let bytes = |value: &Value| value.as_str().unwrap().parse::<Bytes>().unwrap().0;
        for (table, name, bound, constant) in [
            ("WorkloadFile", "size", "x-maximum", MAX_TRANSFER),
            ("WorkloadFile", "write", "x-maximum", MAX_TRANSFER),
            ("WorkloadFile", "request", "x-maximum", MAX_TRANSFER),
            ("WorkloadFile", "frame", "x-maximum", MAX_TRANSFER),
            ("SpikeFile", "size", "x-maximum", MAX_TRANSFER),
            ("GatewayFile", "window", "x-maximum", MAX_BUFFER),
            ("GatewayFile", "total-buffer", "x-maximum", MAX_BUFFER),
            ("TcpKeys", "send-buffer", "x-maximum", MAX_BUFFER),
            ("TcpKeys", "window", "x-maximum", MAX_WINDOW),
            ("TcpKeys", "mss", "x-maximum", MAX_PACKET - Family::Ipv4.tcp_headers()),
            ("RedKeys", "mean-packet", "x-maximum", MAX_PACKET),
            ("LinkFile", "mtu", "x-maximum", MAX_PACKET),
            ("AccessFile", "mtu", "x-maximum", MAX_PACKET),
            ("UdpFile", "packet", "x-maximum", MAX_PACKET),
            ("UdpFile", "packet", "x-minimum", UdpSource::least_packet(Family::Ipv4).0),
        ] {
            assert_eq!(bytes(&key(table, name)[bound]), constant, "{table}.{name}");
        }
        assert_eq!(bytes(&key("WorkloadFile", "sizes")["items"]["x-maximum"]), MAX_TRANSFER);
        assert_eq!(key("ServiceFile", "crm")["maximum"], MAX_CRM);
    }
}
