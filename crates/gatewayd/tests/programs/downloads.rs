//! Files fetched by curl, many at once, and third-party servers.

use std::fmt::Write as _;
use std::fs;
use std::net::SocketAddr;

use crate::common::pair::{Pair, Side, Wish};
use crate::common::programs::{curl, ended, file, iperf3, iperf3_server, is_whole, python_server, serve_files};
use crate::common::tcp::octet;
use crate::common::world::{Version, World};
use crate::{MEGA, VERSIONS, common, server};

/// Fetches `count` files of `size` octets with `curl`, many at once, and checks each octet of each.
pub(crate) fn download(world: &World, at: SocketAddr, count: u64, size: u64) {
    let folder = tempfile::tempdir().unwrap();
    let place = |seed: u64| folder.path().join(seed.to_string());
    let mut list = String::new();
    for seed in 1..=count {
        writeln!(list, "url = \"{}\"\noutput = {:?}", file(at, seed, size), place(seed)).unwrap();
    }
    let config = folder.path().join("curl");
    fs::write(&config, list).unwrap();
    let arguments = ["--fail", "--parallel", "--parallel-max", "50", "--config", config.to_str().unwrap()];
    let (code, complaint) = ended(curl(&world.client, arguments));
    assert_eq!(code, Some(0), "curl: {complaint}");
    let broken: Vec<u64> = (1..=count).filter(|&seed| !is_whole(&place(seed), seed, size)).collect();
    assert!(broken.is_empty(), "these of {count} files are not what was sent: {broken:?}");
}

#[test]
fn a_thousand_small_downloads_and_a_hundred_large_ones_are_whole() {
    if !common::possible("downloads::a_thousand_small_downloads_and_a_hundred_large_ones_are_whole")
        || !common::installed("curl")
    {
        return;
    }
    let _turn = common::turn();
    let world = World::new();
    let pair = Pair::start(&world, &Wish::default());
    for version in VERSIONS {
        let at = serve_files(&world.server, server(version));
        download(&world, at, 500, 3_000);
        download(&world, at, 50, 4 * MEGA);
    }
    let intercepted = pair.number(Side::Near, "/counters/opened/intercepted");
    assert!(intercepted >= 1_100, "only {intercepted} connections went through the pair");
    pair.stop();
}

#[test]
fn the_web_server_of_python_is_served() {
    let possible = common::possible("downloads::the_web_server_of_python_is_served");
    if !possible || !common::installed("python3") || !common::installed("curl") {
        return;
    }
    let _turn = common::turn();
    let world = World::new();
    let pair = Pair::start(&world, &Wish::default());
    let folder = tempfile::tempdir().unwrap();
    let content: Vec<u8> = (0..MEGA).map(|index| octet(7, index)).collect();
    fs::write(folder.path().join("file"), content).unwrap();
    let at = SocketAddr::from((server(Version::V4), 8_000));
    let _server = python_server(&world.server, at, folder.path());
    let got = folder.path().join("got");
    let url = format!("http://{at}/file");
    let (code, complaint) = ended(curl(&world.client, ["--fail", "--output", got.to_str().unwrap(), &url]));
    assert_eq!(code, Some(0), "curl: {complaint}");
    assert!(is_whole(&got, 7, MEGA));
    let url = format!("http://{at}/nothing");
    let (code, complaint) = ended(curl(&world.client, ["--fail", &url]));
    assert_eq!(code, Some(22), "an answer of 404: {complaint}");
    pair.stop();
}

#[test]
fn iperf3_measures_both_directions() {
    if !common::possible("downloads::iperf3_measures_both_directions") || !common::installed("iperf3") {
        return;
    }
    let _turn = common::alone();
    let world = World::new();
    let pair = Pair::start(&world, &Wish::default());
    for version in VERSIONS {
        let at = SocketAddr::from((server(version), 5_201));
        let _server = iperf3_server(&world.server, at);
        for arguments in [&["--time", "1"][..], &["--time", "1", "--reverse", "--parallel", "8"]] {
            let report = iperf3(&world.client, at, arguments);
            let bits = report["end"]["sum_received"]["bits_per_second"].as_f64();
            assert!(bits.is_some_and(|bits| bits > 0.0), "{version:?} {arguments:?}: {report}");
        }
    }
    pair.stop();
}
