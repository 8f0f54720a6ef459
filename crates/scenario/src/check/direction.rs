//! The directions of a link: what they have of their own, and who may have it.

use cellway_spec::{JitterDistribution, OutageBuffer, OutagePackets};
use cellway_units::{Probability, Span};

use crate::check::Check;
use crate::file::LinkFile;
use crate::model::{Direction, DirectionKeys, Framing, TraceEnd};
use crate::tree::{Step, at};

/// The least length of an outage. Shorter ones would take the time of many packets to pass.
const LEAST_OUTAGE: Span = Span::from_us(1);

/// The place of a direction in the file, for messages.
#[derive(Clone, Copy)]
struct Place {
    link: usize,
    direction: usize,
}

impl Check<'_> {
    /// Returns what the directions of link `i` have of their own.
    pub(super) fn directions(&mut self, i: usize, file: &LinkFile, framing: Framing) -> Option<[Direction; 2]> {
        let before = self.found.len();
        let both = file.both.clone()?.unwrap_or_default();
        let own = [&file.forward, &file.back].map(|keys| keys.clone().map(Option::unwrap_or_default));
        let [forward, back] = own.map(|keys: Option<DirectionKeys>| keys?.or(both.clone()).resolve());
        let directions = [forward?, back?];
        for (direction, own) in directions.iter().enumerate() {
            let place = Place { link: i, direction };
            if framing == Framing::Atm {
                self.carries_cells(place, own);
            }
            self.outage(place, own);
            self.burst(place, own, own.loss.or(file.loss).unwrap_or_default());
            self.without_effect(place, &directions);
            if own.trace.jitter.is_some() {
                self.table_of_jitter(place, own);
            }
            self.loads(place, own);
            if own.jitter.deviation.is_zero() {
                for key in ["correlation", "distribution"] {
                    let path = self.direction_path(place, &["jitter", key]);
                    if self.is_accepted(&path) && !self.is_known(place, &["jitter", "deviation"]) {
                        self.refuse_once(
                            &path,
                            "is given without a deviation",
                            "deviation in the same table, like \"5 ms\"",
                        );
                    }
                }
            }
        }
        (self.found.len() == before).then_some(directions)
    }

    /// Refuses what only links of packets have.
    fn carries_cells(&mut self, place: Place, own: &Direction) {
        let mut keys: Vec<&[&str]> = Vec::new();
        if own.rate.is_some() {
            keys.push(&["rate"]);
        }
        if !own.jitter.deviation.is_zero() {
            keys.push(&["jitter"]);
        }
        if own.reorder {
            keys.push(&["reorder"]);
        }
        if !own.duplicate.is_zero() {
            keys.push(&["duplicate"]);
        }
        if !own.corrupt.is_zero() {
            keys.push(&["corrupt"]);
        }
        if own.is_recorded() {
            keys.push(&["trace"]);
        }
        if !own.outage.length.is_zero() {
            if own.outage.packets == OutagePackets::Wait {
                keys.push(&["outage"]);
            } else if own.outage.buffer == OutageBuffer::Flushed {
                keys.push(&["outage", "buffer"]);
            }
        }
        for key in keys {
            let path = self.direction_path(place, key);
            let accepted = match key {
                ["outage"] => "packets = \"lost\" in the same table, or framing = \"packet\"",
                _ => "framing = \"packet\", or leave it out",
            };
            self.refuse_once(&path, "is for links of packets, and this one carries cells", accepted);
        }
    }

    fn outage(&mut self, place: Place, own: &Direction) {
        let outage = own.outage;
        if outage.length.is_zero() {
            for key in ["first", "every", "packets", "buffer"] {
                let path = self.direction_path(place, &["outage", key]);
                if self.is_accepted(&path) && !self.is_known(place, &["outage", "length"]) {
                    self.refuse_once(&path, "is given without a length", "length in the same table, like \"200 ms\"");
                }
            }
            return;
        }
        if outage.length < LEAST_OUTAGE {
            let path = self.direction_path(place, &["outage", "length"]);
            self.refuse_once(&path, format!("{} is less than 1 us", outage.length), "1 us or more, like \"200 ms\"");
        }
        let is_short = |every: &Span| *every <= outage.length || *every - outage.length < LEAST_OUTAGE;
        if let Some(every) = outage.every.filter(is_short) {
            let path = self.direction_path(place, &["outage", "every"]);
            let message = format!("{every} is not longer than an outage, {}, by 1 us or more", outage.length);
            self.refuse_once(&path, message, "a time between the starts of two outages, like \"15 s\"");
        }
    }

    /// Refuses keys of a delay or a recording that no direction of the link has.
    fn without_effect(&mut self, place: Place, directions: &[Direction; 2]) {
        let own = &directions[place.direction];
        let of_delay =
            |own: &Direction| !own.jitter.deviation.is_zero() || own.trace.delay.is_some() || own.trace.csv.is_some();
        if own.reorder && !directions.iter().any(of_delay) && !self.is_known(place, &["jitter", "deviation"]) {
            let path = self.direction_path(place, &["reorder"]);
            let accepted = "jitter or a recorded delay beside it, like jitter = { deviation = \"5 ms\" }";
            self.refuse_once(&path, "is given without a delay that varies", accepted);
        }
        if own.trace.end == TraceEnd::Stop && !directions.iter().any(Direction::is_recorded) {
            let path = self.direction_path(place, &["trace", "end"]);
            self.refuse_once(
                &path,
                "is given without a recording",
                "rate, delay, csv, or light and heavy in the same table",
            );
        }
    }

    /// Refuses a recording of one load without that of the other, and what the two record beside them.
    fn loads(&mut self, place: Place, own: &Direction) {
        let trace = &own.trace;
        match (&trace.light, &trace.heavy) {
            (None, None) => return,
            (Some(_), None) => self.load_alone(place, "light", "heavy"),
            (None, Some(_)) => self.load_alone(place, "heavy", "light"),
            (Some(_), Some(_)) => {}
        }
        const FILES: &str = "trace.light with trace.heavy, or trace.rate and trace.delay";
        const TABLE: &str = "trace.light with trace.heavy, or trace.csv";
        const VARIES: &str = "leave it out, or trace.rate and trace.delay in place of trace.light and trace.heavy";
        let others: [(&[&str], bool, &str); 5] = [
            (&["trace", "rate"], trace.rate.is_some(), FILES),
            (&["trace", "delay"], trace.delay.is_some(), FILES),
            (&["trace", "csv"], trace.csv.is_some(), TABLE),
            (&["jitter"], !own.jitter.deviation.is_zero(), VARIES),
            (&["reorder"], own.reorder, VARIES),
        ];
        for (key, _, accepted) in others.into_iter().filter(|(_, is_given, _)| *is_given) {
            let path = self.direction_path(place, key);
            let message =
                "is given beside trace.light and trace.heavy, which have the rate and the delay of each packet";
            self.refuse_once(&path, message, accepted);
        }
    }

    fn load_alone(&mut self, place: Place, given: &str, missing: &str) {
        let path = self.direction_path(place, &["trace", given]);
        let accepted = format!("trace.{missing} beside it, the file of the other load of CellReplay");
        self.refuse_once(&path, format!("is given without trace.{missing}"), accepted);
    }

    /// Refuses a table of jitter without a deviation, or beside another distribution.
    fn table_of_jitter(&mut self, place: Place, own: &Direction) {
        if own.jitter.deviation.is_zero() && !self.is_known(place, &["jitter", "deviation"]) {
            let path = self.direction_path(place, &["trace", "jitter"]);
            let accepted = "jitter beside trace, like jitter = { deviation = \"5 ms\" }";
            self.refuse_once(&path, "is given without a deviation", accepted);
        }
        if own.jitter.distribution != JitterDistribution::Normal {
            let path = self.direction_path(place, &["jitter", "distribution"]);
            self.refuse_once(&path, "is given beside trace.jitter, which is one, too", "one of them");
        }
    }

    /// Refuses bursts that would have to begin more often than always, and those without losses.
    fn burst(&mut self, place: Place, own: &Direction, loss: Probability) {
        let Some(burst) = own.burst else { return };
        let path = self.direction_path(place, &["burst"]);
        let share = loss.as_f64();
        let of_link = at!["link", place.link, "loss"];
        // The table of a recording may have losses; an explicit 0 turns the bursts of another direction off.
        let is_known = self.is_known(place, &["loss"]) || self.is_given(&of_link) || self.is_swept(&of_link);
        if loss.is_zero() && !is_known && own.trace.csv.is_none() {
            self.refuse_once(&path, "is given without losses", "loss beside it or in the link, like \"1 %\"");
        } else if share / (1.0 - share) > burst {
            let message = format!("{burst} in a row are too few for a loss of {loss}");
            self.refuse_once(&path, message, format!("at least {:.3}", share / (1.0 - share)));
        }
    }

    /// Returns the path of a key of a direction: where the file gives it.
    fn direction_path(&self, place: Place, key: &[&str]) -> Vec<Step> {
        let [own, both] = Self::direction_paths(place, key);
        if self.is_given(&own) || !self.is_given(&both) { own } else { both }
    }

    /// Returns the two places at which a key of a direction may be given: for it alone, and for both.
    fn direction_paths(place: Place, key: &[&str]) -> [Vec<Step>; 2] {
        [Direction::TABLES[place.direction], "both"].map(|table| {
            let start = at!["link", place.link, table].to_vec();
            start.into_iter().chain(key.iter().map(|key| Step::from(*key))).collect()
        })
    }

    /// Returns true if the file or its sweep gives a key of any direction of the link, even with the value that turns it off.
    fn is_known(&self, place: Place, key: &[&str]) -> bool {
        let other = Place { direction: 1 - place.direction, ..place };
        let mut paths = [place, other].into_iter().flat_map(|place| Self::direction_paths(place, key));
        paths.any(|path| self.is_given(&path) || self.is_swept(&path))
    }

    /// Refuses the value at `path`, unless the other direction has led to the same.
    fn refuse_once(&mut self, path: &[Step], message: impl Into<String>, accepted: impl Into<String>) {
        let key = self.tree.display(path);
        if !self.found.iter().any(|found| found.key == key) {
            self.refuse(path, message, accepted);
        }
    }
}
