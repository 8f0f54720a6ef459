//! A page with 50 resources, loaded by a browser and by curl over a few persistent connections.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;
use std::sync::Arc;

use crate::common::pair::{Pair, Side, Wish};
use crate::common::programs::{curl, ended, finish};
use crate::common::tcp::octet;
use crate::common::world::World;
use crate::site::{Document, Documents, Site};
use crate::{VERSIONS, can, common, server};

/// The number of images, and of scripts.
const EACH: u64 = 25;
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Returns the stream `seed`, of which the script in the page computes the same sum.
fn octets(seed: u64, count: u64) -> Vec<u8> {
    (0..count).map(|index| octet(seed, index)).collect()
}

fn sum(octets: &[u8]) -> u64 {
    octets.iter().fold(0, |sum, &octet| (sum * 31 + u64::from(octet)) % 65_521)
}

/// Returns a bitmap without compression, from 480 B to 156 kB, with random pixels, and the text of the page about it.
fn image(number: u64) -> (Document, String) {
    let (width, height) = (8 * number, 10 + 10 * number);
    // Rows must be multiples of four octets.
    let pixels = octets(number, width * height * 3);
    let said = format!("image {number}: {width}x{height}, {}", sum(&pixels));
    let [width, height] = [width, height].map(|length| i32::try_from(length).unwrap());
    let size = u32::try_from(pixels.len()).unwrap();
    let mut content = b"BM".to_vec();
    for field in [54 + size, 0, 54, 40] {
        content.extend(field.to_le_bytes());
    }
    // Negative: the first row is the uppermost.
    for field in [width, -height] {
        content.extend(field.to_le_bytes());
    }
    // One plane of 24 bit.
    content.extend([1, 0, 24, 0]);
    for field in [0, size, 2_835, 2_835, 0, 0] {
        content.extend(u32::to_le_bytes(field));
    }
    content.extend(pixels);
    (Document { kind: "image/bmp", content }, said)
}

/// Returns a script with a text of 300 B to 188 kB.
fn script(number: u64) -> (Document, String) {
    let letters: Vec<u8> = octets(EACH + number, 300 * number * number).iter().map(|octet| b'a' + octet % 26).collect();
    let said = format!("script {number}: {} B, {}", letters.len(), sum(&letters));
    let content = format!("script({number}, \"{}\");\n", String::from_utf8(letters).unwrap()).into_bytes();
    (Document { kind: "text/javascript", content }, said)
}

/// Returns the page and its resources, and the expected text of the page.
fn page() -> (Arc<Documents>, String) {
    let (mut documents, mut resources, mut said) = (Documents::new(), String::new(), Vec::new());
    for number in 1..=EACH {
        let (document, line) = image(number);
        documents.insert(format!("/{number}.bmp"), document);
        writeln!(resources, "<img id=\"{number}\" src=\"/{number}.bmp\">").unwrap();
        said.push(line);
    }
    for number in 1..=EACH {
        let (document, line) = script(number);
        documents.insert(format!("/{number}.js"), document);
        writeln!(resources, "<script async id=\"{number}\" src=\"/{number}.js\"></script>").unwrap();
        said.push(line);
    }
    let content = include_str!("page.html").replace("RESOURCES", &resources).into_bytes();
    documents.insert("/".into(), Document { kind: "text/html", content });
    (Arc::new(documents), said.join("\n"))
}

#[test]
fn a_browser_gets_all_of_a_page_with_fifty_resources() {
    if !common::possible("page::a_browser_gets_all_of_a_page_with_fifty_resources") {
        return;
    }
    let Some(browser) = BROWSERS.iter().find_map(|name| common::find(name)) else {
        return common::skip(&format!("no browser is installed: none of {}", BROWSERS.join(", ")));
    };
    let _turn = common::alone();
    let world = World::new();
    let pair = Pair::start(&world, &Wish::default());
    let _filter = world.carried_only();
    let (documents, expected) = page();
    for version in VERSIONS {
        let site = Site::open(&world.server, server(version), &documents);
        let before = pair.number(Side::Near, "/counters/opened/intercepted");
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(&browser);
        // It connects to the server only; pixels are not scaled.
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]);
        command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
        command.args(["--no-proxy-server", "--force-color-profile=srgb"]);
        command.arg(format!("--user-data-dir={}", folder.path().display()));
        command.arg("--dump-dom").arg(site.url("/"));
        let finished = finish(&world.client, command);
        assert_eq!(finished.code, Some(0), "{browser}: {}", finished.complained);
        let report = finished.said.split("<pre>").nth(1).and_then(|rest| rest.split("</pre>").next());
        let report =
            report.unwrap_or_else(|| panic!("the page says nothing: {}{}", finished.said, finished.complained));
        assert_eq!(report, expected, "{version:?}");
        let connections = site.connections();
        println!("{version:?}: {} resources over {connections} connections", 2 * EACH);
        assert!((2..2 * EACH).contains(&connections), "{connections} connections: none beside another, or none kept");
        let carried = pair.number(Side::Near, "/counters/opened/intercepted") - before;
        assert!(carried >= connections, "the server has accepted {connections} connections, {carried} were carried");
    }
    pair.stop();
}

#[test]
fn curl_gets_fifty_resources_over_persistent_connections() {
    if !can("page::curl_gets_fifty_resources_over_persistent_connections", &["curl"]) {
        return;
    }
    let _turn = common::alone();
    let world = World::new();
    let pair = Pair::start(&world, &Wish::default());
    let _filter = world.carried_only();
    let (documents, _) = page();
    for version in VERSIONS {
        let site = Site::open(&world.server, server(version), &documents);
        let folder = tempfile::tempdir().unwrap();
        let resources = || documents.iter().filter(|(path, _)| *path != "/");
        let place = |path: &str| folder.path().join(path.trim_start_matches('/'));
        let mut list = String::new();
        for (path, _) in resources() {
            writeln!(list, "url = \"{}\"\noutput = {:?}", site.url(path), place(path)).unwrap();
        }
        let config = folder.path().join("curl");
        fs::write(&config, list).unwrap();
        let arguments = ["--fail", "--parallel", "--parallel-max", "6", "--config", config.to_str().unwrap()];
        let (code, complaint) = ended(curl(&world.client, arguments));
        assert_eq!(code, Some(0), "curl: {complaint}");
        for (path, document) in resources() {
            let got = fs::read(place(path)).unwrap_or_default();
            assert!(got == document.content, "{version:?}: {path} is not what was sent ({} B came)", got.len());
        }
        let connections = site.connections();
        println!("{version:?}: {} resources over {connections} connections", 2 * EACH);
        assert!((2..2 * EACH).contains(&connections), "{connections} connections: none beside another, or none kept");
    }
    pair.stop();
}
