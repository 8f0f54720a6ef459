//! Puts the papers into the program: each folder of `papers` with its TOML files and its recipe of figures. A paper is
//! added by adding its folder.

use std::fs;
use std::path::{Path, PathBuf};

/// The recipe of a paper's figures, as in `cellway_lab::reproduce::RECIPE`.
const RECIPE: &str = "figures.py";

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut code = String::from("static PAPERS: &[Paper] = &[\n");
    for folder in sorted(&root, |path| path.join("study.toml").is_file()) {
        println!("cargo::rerun-if-changed={}", folder.display());
        code += &format!("    Paper {{ name: {0:?}, folder: \"papers/{0}\", files: &[\n", name(&folder));
        for file in sorted(&folder, |path| path.extension().is_some_and(|e| e == "toml") || path.ends_with(RECIPE)) {
            let path = file.canonicalize().expect("a file that was listed is there");
            code += &format!("        ({:?}, include_str!({:?})),\n", name(&file), path.display().to_string());
        }
        code += "    ] },\n";
    }
    code += "];\n";
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it")).join("papers.rs");
    fs::write(out, code).expect("the build folder can be written");
}

/// Returns the entries of `folder` for which `wanted` returns true, by name.
fn sorted(folder: &Path, wanted: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("cannot list {}: {e}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|e| e.expect("a folder can be read to its end").path()).collect();
    paths.retain(|path| wanted(path));
    paths.sort();
    paths
}

fn name(path: &Path) -> String {
    path.file_name().and_then(|n| n.to_str()).expect("files of papers have plain names").to_owned()
}
