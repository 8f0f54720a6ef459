//! The JSON schema of configuration files, and the reference that is printed from it.

use std::net::SocketAddr;
use std::sync::LazyLock;

use cellway_settings::kinds::FilePath;
use cellway_settings::quantity::Format;
use cellway_settings::reference::Page;
use cellway_settings::schema::{FileSchema, Shape};
use cellway_units::{Bytes, Rate, Span};
use ipnet::IpNet;

use super::file::File;
use super::kinds::{ClassName, Device, DeviceNames, HostPort, Name, Ports, RateOrAuto};

static SCHEMA: LazyLock<FileSchema> = LazyLock::new(|| FileSchema::of::<File>(FORMATS));

/// The forms of texts in a configuration.
const FORMATS: &[Format] = &[
    Format::of::<Bytes>(),
    Format::of::<Rate>(),
    Format::of::<Span>(),
    Format::of::<RateOrAuto>(),
    Format::of::<IpNet>(),
    Format::of::<SocketAddr>(),
    Format::of::<FilePath>(),
    Format::of::<Name>(),
    Format::of::<ClassName>(),
    Format::of::<HostPort>(),
    Format::of::<Ports>(),
    Format::of::<Device>(),
    Format::of::<DeviceNames>(),
];

const INTRODUCTION: &str = "\
A configuration is one file in [TOML](https://toml.io). Quantities are strings with units: rates in
bit/s, kbit/s, Mbit/s or Gbit/s, times in ms, s, min or h, sizes in B, kB, MB, GB, KiB, MiB or GiB. Relative paths start
at the folder of the file. `cellway-gateway check --config FILE` reports all faults of
a file at once, with line and column; `kill -HUP`, or `systemctl reload cellway-gateway`, makes a running
gateway read it again, and a file with problems changes nothing. Editors that know JSON schemas find the one of this
format in `schema/gateway.schema.json`; `cellway-gateway schema` prints it.

The smallest file, next to the `authority.pem`, `home.pem` and `home.key` of `keygen`, takes connections to port
8080 of this machine to a server behind another gateway:

```toml
name = \"home\"
[[peer]]
name = \"office\"
address = \"gateway.example.net:4433\"
[[forward]]
listen = \"127.0.0.1:8080\"
to = \"intranet:80\"
```
";

/// Returns the schema of the whole file.
pub(super) fn root() -> Shape {
    SCHEMA.root()
}

/// Returns the JSON schema of configuration files, as text that ends with a line break.
pub(crate) fn schema() -> String {
    SCHEMA.text()
}

/// Returns the reference of configuration files in Markdown.
pub(crate) fn reference() -> String {
    SCHEMA.reference(&Page {
        title: "Configuration of `cellway-gateway`",
        command: "UPDATE_GOLDEN=1 cargo test -p cellway-gatewayd",
        introduction: INTRODUCTION,
        order: &["identity", "listen", "peer", "class", "intercept", "forward", "socks", "limits", "control"],
    })
}
