//! `cellway-gateway rules`: the rules of the kernel.

use super::args::{RulesCommand, RulesOptions};
use super::{Failure, output, read};
use crate::config::Config;
use crate::intercept::Rules;

pub(super) fn run(command: &RulesCommand) -> Result<(), Failure> {
    match command {
        RulesCommand::Print(options) => {
            output::text(&Rules::of(&read(&options.config)?).text());
            Ok(())
        }
        RulesCommand::Apply(options) => {
            let config = intercepting(options)?;
            config.map_or(Ok(()), |config| Rules::of(&config).apply().map_err(Failure::from))
        }
        RulesCommand::Remove(options) => {
            let config = intercepting(options)?;
            config.map_or(Ok(()), |config| Rules::of(&config).remove().map_err(Failure::from))
        }
    }
}

/// Returns the configuration, if it needs rules; otherwise a message is printed, which is no error.
fn intercepting(options: &RulesOptions) -> Result<Option<Config>, Failure> {
    let config = read(&options.config)?;
    if config.intercept.is_none() {
        output::error(&format!("{}: has no [intercept]: no rules are needed", options.config.display()));
        return Ok(None);
    }
    Ok(Some(config))
}
