//! Captures of an emulation, read by a program of others.

use std::path::Path;
use std::process::Command;

use super::common::Place;
use super::{has, part, quoted, ready, run, sh, shell, told};

#[test]
fn captures_have_good_checksums() {
    let Some(_one) = ready() else { return };
    if !has("tshark", "tshark") {
        return;
    }
    let place = Place::new("");
    for node in ["near", "client", "server"] {
        let file = place.path().join(format!("{node}.pcap"));
        let capture = format!("{node}={}", file.display());
        let path = ["--rate", "30 Mbit/s", "--rtt", "10 ms", "--framing", "atm", "--pcap", &capture];
        let both = format!(
            "{} && {}",
            quoted(&part("send CELLWAY_SERVER 100 500")),
            quoted(&part("send 6CELLWAY_SERVER 100 500"))
        );
        told(&run(shell(&path, &sh(&both))));
        let text = tshark(&file, &["-V"]);
        assert!(!text.contains("Malformed"), "{node}");
        let crcs: Vec<&str> = text.lines().filter(|line| line.contains("AAL5 CRC:")).collect();
        assert!(crcs.iter().all(|line| line.ends_with("(correct)")), "{node}");
        assert_eq!(crcs.len() > 100, node == "near", "{node}: {} frames", crcs.len());
        let fields = ["-T", "fields", "-e", "tcp.checksum.status", "-e", "ip.version"];
        let fields = tshark(&file, &fields);
        let of = |version: &str| {
            let rows = fields.lines().filter(|row| row.ends_with(version));
            rows.map(|row| row.split('\t').next().unwrap()).collect::<Vec<_>>()
        };
        for version in ["\t4", "\t6"] {
            let status = of(version);
            assert!(status.len() > 100 && status.iter().all(|status| *status == "1"), "{node}{version}: {status:?}");
        }
    }
}

fn tshark(file: &Path, arguments: &[&str]) -> String {
    let options = ["-o", "erf.aal5_type:Unspecified", "-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"];
    let output = Command::new("tshark").args(options).args(arguments).arg("-r").arg(file).output().unwrap();
    assert!(output.status.success(), "tshark: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
