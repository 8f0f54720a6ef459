//! Prints the models file for a folder of full tables:
//! `cargo run -p cellway-apps --example fit_tables -- DIR > crates/apps/data/tcplib.toml`.

use std::error::Error;
use std::path::PathBuf;

use cellway_apps::{FitOptions, FullTable, Variable, fit, models_file};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("give the folder of the tables")?);
    let mut fits = Vec::new();
    for variable in Variable::ALL {
        let path = folder.join(format!("{}.csv", variable.name()));
        let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        fits.push(fit(&FullTable::parse_csv(&text, &path.to_string_lossy())?, FitOptions::default())?);
    }
    print!("{}", models_file(&fits));
    Ok(())
}
