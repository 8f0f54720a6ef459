//! Writing a workload file.

use std::fmt::Write;

use cellway_apps::{Distribution, FittedLaw, Law};
use cellway_settings::tree::quoted;

use crate::model::WorkloadFile;

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
    for knot in distribution.model.knots() {
        let knot = format!("[{:?}, {:?}], ", knot.probability, knot.value);
        if 4 + line.len() + knot.len() > WIDTH {
            writeln!(text, "    {}", line.trim_end())?;
            line.clear();
        }
        line += &knot;
    }
    writeln!(text, "    {}\n]", line.trim_end())?;
    let Some(FittedLaw { law, ks }) = distribution.fit else { return Ok(()) };
    let (law, parameters) = match law {
        Law::Lognormal { mu, sigma } => ("lognormal", [Some(("mu", mu)), Some(("sigma", sigma))]),
        Law::Pareto { minimum, shape } => ("pareto", [Some(("minimum", minimum)), Some(("shape", shape))]),
        Law::Weibull { scale, shape } => ("weibull", [Some(("scale", scale)), Some(("shape", shape))]),
        Law::Exponential { mean } => ("exponential", [Some(("mean", mean)), None]),
    };
    writeln!(text, "\n[class.{name}.fit]\nlaw = \"{law}\"")?;
    for (name, value) in parameters.into_iter().flatten() {
        writeln!(text, "{name} = {value:?}")?;
    }
    writeln!(text, "ks = {ks:?}")
}
