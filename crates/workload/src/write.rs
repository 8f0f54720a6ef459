//! Writing a workload file.

use std::fmt::Write;

use cellway_apps::{Distribution, FittedLaw, Knot};
use cellway_settings::tree::quoted;

use crate::file::LawName;
use crate::messages::printed;
use crate::model::{ClassModel, WorkloadFile};

/// The longest line of knots (characters).
const WIDTH: usize = 118;

impl WorkloadFile {
    /// Returns the text of the file, which [`WorkloadFile::parse`] reads as the same content. The lines of `comment`
    /// are in front of it.
    pub fn to_toml(&self, comment: &str) -> String {
        let mut text = String::new();
        for line in comment.lines() {
            text.push_str(format!("# {line}").trim_end());
            text.push('\n');
        }
        // Writing to a string does not fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        writeln!(text, "version = 1")?;
        for class in &self.classes {
            writeln!(text, "\n[[class]]\nname = {}\ntransport = \"{}\"", quoted(&class.name), class.transport())?;
            writeln!(text, "conversations = {}", class.conversations)?;
            if !class.left_out.is_empty() {
                let counts = class.left_out.iter().map(|(reason, count)| format!("{} = {count}", quoted(reason)));
                writeln!(text, "left_out = {{ {} }}", counts.collect::<Vec<_>>().join(", "))?;
            }
            if let ClassModel::Tcp(tcp) = &class.model
                && !tcp.recorded.is_empty()
            {
                writeln!(text, "messages = [")?;
                for conversation in &tcp.recorded {
                    writeln!(text, "    {},", printed(conversation))?;
                }
                writeln!(text, "]")?;
            }
            for (name, distribution) in class.distributions() {
                write_distribution(text, name, distribution)?;
            }
        }
        Ok(())
    }
}

fn write_distribution(text: &mut String, name: &str, distribution: &Distribution) -> std::fmt::Result {
    writeln!(text, "\n[class.{name}]\nsamples = {}\nknots = [", distribution.samples)?;
    let mut line = String::new();
    let knots = match distribution.model.knots() {
        // A single knot is one value for all.
        [Knot { probability: 0.0, value }, last] if *value == last.value => std::slice::from_ref(last),
        all => all,
    };
    for knot in knots {
        let knot = format!("[{:?}, {:?}], ", knot.probability, knot.value);
        if 4 + line.len() + knot.len() > WIDTH {
            writeln!(text, "    {}", line.trim_end())?;
            line.clear();
        }
        line += &knot;
    }
    writeln!(text, "    {}\n]", line.trim_end())?;
    let Some(FittedLaw { law, ks }) = distribution.fit else { return Ok(()) };
    let (law, values) = LawName::of(law);
    writeln!(text, "\n[class.{name}.fit]\nlaw = \"{}\"", law.name())?;
    for (name, value) in law.parameters().iter().zip(values) {
        writeln!(text, "{name} = {value:?}")?;
    }
    writeln!(text, "ks = {ks:?}")
}
