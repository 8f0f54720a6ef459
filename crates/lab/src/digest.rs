//! The digest of a point: of everything in its resolved scenario that a simulation depends on.

use std::fmt::Write;

use cellway_apps::GroupWorkload;
use cellway_scenario::{Point, Scenario};
use cellway_store::{Digest, KeyWriter};

/// Returns the digest of a point with its workloads.
///
/// Names and descriptions of studies, and what only emulations use, are left out, so that a point of two studies has
/// one digest. The text is that of the derived `Debug`, which has every field of every type; should a compiler change
/// it, points get other digests and are run again.
pub(crate) fn digest(point: &Point, workloads: &[GroupWorkload]) -> Digest {
    let Scenario {
        name: _,
        description: _,
        run,
        multiplexing,
        buffer,
        nodes,
        links,
        traffic,
        classes,
        shapers,
        policers,
        changes,
        abr,
        observe,
        emulate: _,
        commands: _,
    } = &point.scenario;
    let mut writer = KeyWriter::default();
    let network = (multiplexing, buffer, nodes, links, shapers, policers, changes, abr);
    let times = (run.duration, run.warmup, run.rtt);
    write!(writer, "{times:?}\n{network:?}\n{traffic:?}\n{classes:?}\n{observe:?}\n{workloads:?}")
        .expect("a digest takes all text");
    writer.finish()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use cellway_scenario::{Override, Plan};

    use crate::study::Prepared;
    use crate::study::tests::SMALL;

    fn digest(set: &[(&str, &str)]) -> String {
        let set: Vec<Override> = set.iter().map(|(key, value)| Override::new(*key, *value)).collect();
        let plan = Plan::parse_with(SMALL, "small.toml", &set, None).unwrap();
        Prepared::new(&plan, Path::new("."), Some(1)).unwrap().digests()[0].to_string()
    }

    #[test]
    fn each_setting_of_a_simulation_changes_it() {
        let changes: [&[(&str, &str)]; 13] = [
            &[],
            &[("run.duration", "\"201 ms\"")],
            &[("run.warmup", "\"1 ms\"")],
            &[("buffer.size", "\"65 KiB\"")],
            &[("tcp.mss", "\"1459 B\"")],
            &[("tcp.variant", "\"reno\"")],
            &[("link.a-b.rate", "\"1001 kbit/s\"")],
            &[("link.a-b.back.loss", "\"0.0001 %\"")],
            &[("traffic.t.count", "2")],
            &[("tcp.mss", "\"1400 B\"")],
            &[("tcp.mss", "\"1400 B\""), ("traffic.t.family", "\"ipv6\"")],
            &[("traffic.t.start", "\"1 ms\"")],
            &[("observe.interval", "\"50 ms\"")],
        ];
        let mut seen = BTreeMap::new();
        for change in changes {
            assert_eq!(seen.insert(digest(change), change), None, "{change:?}");
        }
    }

    #[test]
    fn names_seeds_and_emulations_do_not() {
        for change in [
            ("name", "\"another\""),
            ("description", "\"longer\""),
            ("run.seed", "7"),
            ("run.seeds", "9"),
            ("run.emulate.lateness-limit", "\"9 ms\""),
            // The same in other units.
            ("link.a-b.rate", "\"1000 kbit/s\""),
        ] {
            assert_eq!(digest(&[change]), digest(&[]), "{change:?}");
        }
    }
}
