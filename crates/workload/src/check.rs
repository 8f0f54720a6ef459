//! Conversion of the file to its content, and the rules between keys.

use std::collections::BTreeMap;
use std::sync::Arc;

use cellway_apps::{Distribution, FittedLaw, Recorded};
use cellway_settings::found::{Found, Sources, error_of};
use cellway_settings::in_file::InFile;
use cellway_settings::problem::Error;
use cellway_settings::shape;
use cellway_settings::tree::{Node, Step, at};

use crate::file::{ClassFile, DistributionFile, File, FitFile, Transport};
use crate::kinds::DistributionKind;
use crate::knots;
use crate::messages::{self, MessagesFile};
use crate::model::{Class, ClassModel, WorkloadFile};
use crate::schema::root;

/// The longest name (characters).
const LONGEST_NAME: usize = 64;

impl WorkloadFile {
    /// Reads the text of a workload file; `file` is its name in messages.
    ///
    /// # Errors
    /// All problems of the file, with their locations.
    pub fn parse(text: &str, file: &str) -> Result<WorkloadFile, Error> {
        let refused = |found: Vec<Found>| error_of(&Sources::of_file(file, text), found);
        let mut tree = Node::parse(text, 0).map_err(refused)?;
        let found = shape::check(&mut tree, root());
        let mut check = Check { found, tree: &tree };
        let read = match File::read(tree.to_json()) {
            Ok(read) => check.file(read),
            Err(error) => {
                check.found.push(Found::new(0..0, "", error.to_string()));
                None
            }
        };
        match read {
            Some(read) if check.found.is_empty() => Ok(read),
            _ => Err(refused(check.found)),
        }
    }
}

struct Check<'a> {
    found: Vec<Found>,
    tree: &'a Node,
}

impl Check<'_> {
    fn refuse(&mut self, path: &[Step], message: impl Into<String>, accepted: impl Into<String>) {
        self.found.push(Found::in_tree(self.tree, path, message).accepted(accepted));
    }

    fn file(&mut self, file: File) -> Option<WorkloadFile> {
        let classes = file.class?;
        let names: Vec<Option<String>> = classes.iter().map(|class| class.name.clone()).collect();
        for (i, name) in names.iter().enumerate() {
            let Some(name) = name else { continue };
            let path = at!["class", i, "name"];
            let is_wrong = |c: char| c == '#' || c.is_whitespace() || c.is_control();
            if name.chars().count() > LONGEST_NAME || name.contains(is_wrong) {
                let accepted = format!("up to {LONGEST_NAME} characters without # and spaces, like \"web\"");
                self.refuse(&path, format!("{name:?} is no name of a class"), accepted);
            } else if names[..i].iter().flatten().any(|before| before == name) {
                self.refuse(&path, format!("{name:?} is the name of a class before"), "a name of its own");
            }
        }
        let classes: Vec<Option<Class>> =
            classes.into_iter().enumerate().map(|(i, class)| self.class(i, class)).collect();
        Some(WorkloadFile { classes: classes.into_iter().collect::<Option<_>>()? })
    }

    fn class(&mut self, i: usize, file: ClassFile) -> Option<Class> {
        let left_out = self.left_out(i, file.left_out.clone()?);
        let transport = file.transport?;
        let mut all: BTreeMap<&str, Option<Distribution>> = BTreeMap::new();
        let mut is_whole = true;
        for DistributionKind { name, transport: of, most, .. } in DistributionKind::ALL {
            let Some(given) = given(&file, name) else {
                is_whole = false;
                continue;
            };
            let path = at!["class", i, name];
            let Some(given) = given else { continue };
            if let Some(other) = of.filter(|of| *of != transport) {
                let message = format!("is a distribution of transport = \"{}\"", other.name());
                let own = DistributionKind::of(transport).map(|kind| kind.name);
                self.refuse(&path, message, own.collect::<Vec<_>>().join(", "));
                continue;
            }
            let distribution = self.distribution(&path, given, most);
            is_whole &= distribution.is_some();
            all.insert(name, distribution);
        }
        let recorded = self.messages(i, transport, file.messages.as_ref()?.as_ref());
        let is_required = |kind: &DistributionKind| kind.required && matches!(file.messages, Some(None));
        for DistributionKind { name, .. } in DistributionKind::of(transport).filter(is_required) {
            // One that is refused is reported already.
            if !all.contains_key(name) && matches!(given(&file, name), Some(None)) {
                let message = format!("is missing: a class of transport = \"{}\" needs it", transport.name());
                self.refuse(&at!["class", i, name], message, format!("a table [class.{name}] with knots and samples"));
            }
        }
        let mut take = |name: &str| all.remove(name).flatten();
        let model = ClassModel::of(transport, &mut take, recorded?)?;
        let (rtt, name, conversations) = (take("rtt"), file.name?, file.conversations?);
        let class = Class { name, conversations, left_out: left_out?, model, rtt };
        is_whole.then_some(class)
    }

    fn messages(&mut self, i: usize, transport: Transport, file: Option<&MessagesFile>) -> Option<Vec<Arc<Recorded>>> {
        let Some(file) = file else { return Some(Vec::new()) };
        if transport != Transport::Tcp {
            let message = "are of transport = \"tcp\"";
            self.refuse(&at!["class", i, "messages"], message, "packets and packets_back, with their sizes and gaps");
            return None;
        }
        let recorded = messages::recorded(file).map_err(|fault| {
            self.refuse(&at!["class", i, "messages", fault.place], fault.message, fault.accepted);
        });
        recorded.ok()
    }

    fn left_out(
        &mut self,
        i: usize,
        given: Option<serde_json::Map<String, serde_json::Value>>,
    ) -> Option<BTreeMap<String, u64>> {
        let before = self.found.len();
        let mut counts = BTreeMap::new();
        for (reason, count) in given.unwrap_or_default() {
            match count.as_u64() {
                Some(count) => drop(counts.insert(reason, count)),
                None => {
                    let message = format!("{count} is no number of conversations");
                    self.refuse(&at!["class", i, "left_out", &*reason], message, "a whole number from 0 on");
                }
            }
        }
        (self.found.len() == before).then_some(counts)
    }

    fn distribution(&mut self, path: &[Step], file: &DistributionFile, most: f64) -> Option<Distribution> {
        let fit = match file.fit.as_ref()? {
            Some(fit) => self.fit(&[path, &at!["fit"]].concat(), fit).map(Some),
            None => Some(None),
        };
        let model = knots::model(file.knots.as_ref()?, most).map_err(|fault| {
            let path = [path, &at!["knots", fault.place]].concat();
            self.refuse(&path, fault.message, fault.accepted);
        });
        Some(Distribution { model: model.ok()?, samples: file.samples?, fit: fit? })
    }

    fn fit(&mut self, path: &[Step], file: &FitFile) -> Option<FittedLaw> {
        let parameters = [
            ("mu", file.mu),
            ("sigma", file.sigma),
            ("minimum", file.minimum),
            ("shape", file.shape),
            ("scale", file.scale),
            ("mean", file.mean),
        ];
        let law = file.law?;
        let own = law.parameters();
        for (name, value) in parameters {
            let here = [path, &at![name]].concat();
            match (value, own.contains(&name)) {
                (Some(Some(_)), false) => {
                    let message = format!("is no parameter of law = \"{}\"", law.name());
                    self.refuse(&here, message, own.join(", "));
                }
                (Some(None), true) => {
                    let message = format!("is missing: law = \"{}\" needs it", law.name());
                    self.refuse(&here, message, "a number");
                }
                _ => {}
            }
        }
        let value = |name: &&str| parameters.iter().find(|(known, _)| known == name).and_then(|(_, value)| (*value)?);
        let law = law.law(&own.iter().map(value).collect::<Option<Vec<f64>>>()?)?;
        Some(FittedLaw { law, ks: file.ks? })
    }
}

/// Returns the table of a distribution; `None` if it is refused, and none in it if it is left out.
fn given<'a>(file: &'a ClassFile, name: &str) -> Option<Option<&'a DistributionFile>> {
    let found = match name {
        "arrival_gap" => &file.arrival_gap,
        "exchanges" => &file.exchanges,
        "request" => &file.request,
        "response" => &file.response,
        "pause" => &file.pause,
        "think" => &file.think,
        "rtt" => &file.rtt,
        "packets" => &file.packets,
        "packets_back" => &file.packets_back,
        "size" => &file.size,
        "size_back" => &file.size_back,
        "gap" => &file.gap,
        _ => &file.gap_back,
    };
    found.as_ref().map(Option::as_ref)
}
