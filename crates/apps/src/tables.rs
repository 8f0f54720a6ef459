//! The nine variables of tcplib and a model for each.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use cellway_spec::Draw;

use crate::error::TableError;
use crate::model::{Knot, QuantileModel, Sampler};
use crate::table::FullTable;

/// The most knots of a compact model.
pub(crate) const MAX_KNOTS: usize = 40;

/// A traffic characteristic that tcplib has a table of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Variable {
    /// Items in an FTP conversation.
    FtpItems,
    /// Bytes of an FTP item.
    FtpItemSize,
    /// Bytes of an FTP control message.
    FtpControlSize,
    /// Articles in an NNTP conversation.
    NntpItems,
    /// Bytes of an NNTP article.
    NntpItemSize,
    /// Bytes of an SMTP message.
    SmtpItemSize,
    /// Bytes of a TELNET originator's packet.
    TelnetPacketSize,
    /// Milliseconds between two packets of a TELNET originator.
    TelnetInterarrival,
    /// Milliseconds that a TELNET conversation lasts.
    TelnetDuration,
}

impl Variable {
    /// All nine, in the order of the models file.
    pub const ALL: [Variable; 9] = [
        Variable::FtpItems,
        Variable::FtpItemSize,
        Variable::FtpControlSize,
        Variable::NntpItems,
        Variable::NntpItemSize,
        Variable::SmtpItemSize,
        Variable::TelnetPacketSize,
        Variable::TelnetInterarrival,
        Variable::TelnetDuration,
    ];

    /// Returns the name of its table, which is tcplib's name for it.
    pub const fn name(self) -> &'static str {
        match self {
            Variable::FtpItems => "ftp_nitems",
            Variable::FtpItemSize => "ftp_itemsize",
            Variable::FtpControlSize => "ftp_ctlsize",
            Variable::NntpItems => "nntp_nitems",
            Variable::NntpItemSize => "nntp_itemsize",
            Variable::SmtpItemSize => "smtp_itemsize",
            Variable::TelnetPacketSize => "telnet_pktsize",
            Variable::TelnetInterarrival => "telnet_interarrival",
            Variable::TelnetDuration => "telnet_duration",
        }
    }

    /// Returns the variable of that name.
    pub fn from_name(name: &str) -> Option<Variable> {
        Variable::ALL.into_iter().find(|variable| variable.name() == name)
    }

    /// Returns true if its values are whole numbers: all but the two times.
    pub const fn is_whole(self) -> bool {
        !matches!(self, Variable::TelnetInterarrival | Variable::TelnetDuration)
    }

    /// Returns the unit of its values.
    pub const fn unit(self) -> &'static str {
        match self {
            Variable::FtpItems | Variable::NntpItems => "items",
            Variable::TelnetInterarrival | Variable::TelnetDuration => "ms",
            _ => "bytes",
        }
    }
}

/// A model for each variable. Cheap to copy.
#[derive(Clone, Debug, PartialEq)]
pub struct Tables {
    models: [Arc<QuantileModel>; Variable::ALL.len()],
}

#[derive(serde::Deserialize)]
struct Section {
    knots: Vec<(f64, f64)>,
}

impl Tables {
    /// Returns the built-in compact models, `data/tcplib.toml`.
    pub fn shipped() -> Tables {
        static SHIPPED: LazyLock<Tables> = LazyLock::new(|| {
            Tables::from_toml(include_str!("../data/tcplib.toml"), "data/tcplib.toml")
                .expect("the shipped models are valid")
        });
        SHIPPED.clone()
    }

    /// Reads a file of compact models; errors call it `file`.
    pub fn from_toml(text: &str, file: &str) -> Result<Tables, TableError> {
        let wrong = |message: String| TableError::Models { file: file.into(), message };
        let mut sections: BTreeMap<String, toml::Value> = toml::from_str(text).map_err(|e| wrong(e.to_string()))?;
        match sections.remove("version") {
            Some(toml::Value::Integer(1)) => {}
            other => {
                let found = other.map_or("missing".into(), |version| version.to_string());
                return Err(wrong(format!("version is {found}; it must be 1")));
            }
        }
        let mut given = BTreeMap::new();
        for (name, value) in sections {
            let names = || Variable::ALL.map(Variable::name).join(", ");
            let variable =
                Variable::from_name(&name).ok_or_else(|| wrong(format!("[{name}] is none of {}", names())))?;
            let Section { knots } = value.try_into().map_err(|e| wrong(format!("[{name}]: {e}")))?;
            if knots.len() > MAX_KNOTS {
                let (file, knots, limit) = (file.into(), knots.len(), MAX_KNOTS);
                return Err(TableError::TooManyKnots { file, name, knots, limit });
            }
            let knots = knots.into_iter().map(|(probability, value)| Knot { probability, value }).collect();
            given.insert(variable, QuantileModel::new(knots, &format!("{file}: [{name}] knot"))?);
        }
        Tables::complete(given, file)
    }

    /// Reads full tables for all nine variables, as (variable, file name for errors, CSV text).
    pub fn from_full<'a>(files: impl IntoIterator<Item = (Variable, &'a str, &'a str)>) -> Result<Tables, TableError> {
        let mut given = BTreeMap::new();
        for (variable, file, text) in files {
            given.insert(variable, FullTable::parse_csv(text, file)?.into_model());
        }
        Tables::complete(given, "tables")
    }

    /// Returns these tables with another model for `variable`.
    pub fn with(mut self, variable: Variable, model: QuantileModel) -> Tables {
        self.models[variable as usize] = Arc::new(model);
        self
    }

    /// Returns the model of `variable`.
    pub fn model(&self, variable: Variable) -> &QuantileModel {
        &self.models[variable as usize]
    }

    /// Returns the sampler of `variable`.
    pub fn sampler(&self, variable: Variable, draw: Draw) -> Sampler {
        Sampler { model: Arc::clone(&self.models[variable as usize]), draw, whole: variable.is_whole() }
    }

    fn complete(mut given: BTreeMap<Variable, QuantileModel>, file: &str) -> Result<Tables, TableError> {
        let missing: Vec<&str> = Variable::ALL.iter().filter(|v| !given.contains_key(v)).map(|v| v.name()).collect();
        if !missing.is_empty() {
            return Err(TableError::Missing { file: file.into(), names: missing.join(", ") });
        }
        Ok(Tables { models: Variable::ALL.map(|variable| Arc::new(given.remove(&variable).expect("none is missing"))) })
    }
}
