//! Inputs of fuzz targets, made from those of the corpus without a fuzzer: the same ones on every machine.
//!
//! A fixed part of them runs with every test. `CELLWAY_FUZZ_SECONDS` runs others for that many seconds, for all targets
//! of one program together. An input that makes a target panic is written to `fuzz/artifacts`, as cargo-fuzz does, and
//! printed with its path.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Longest input.
const LONGEST: usize = 16 << 10;
/// Octets at the limits of encodings.
const EDGES: [u8; 8] = [0, 1, 0x3f, 0x40, 0x7f, 0x80, 0xc0, 0xff];

/// One fuzz target.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    pub(crate) body: fn(&[u8]),
    /// The number of inputs that every test makes.
    pub(crate) inputs: u64,
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n.max(1) as u64) as usize
    }
    fn octet(&mut self) -> u8 {
        self.below(256) as u8
    }
}

fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz").join(target)
}
/// Returns the inputs of `fuzz/corpus/TARGET` and their paths, sorted.
fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = folder("corpus").join(target);
    let mut files: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files.into_iter().map(|file| (file.clone(), std::fs::read(&file).unwrap())).collect()
}

/// Runs every input of the corpus, then inputs made from them.
pub(crate) fn run(target: &Target) {
    let corpus = corpus(target.name);
    for (file, input) in &corpus {
        println!("{}", file.display());
        (target.body)(input);
    }
    (0..target.inputs).for_each(|seed| try_one(target, &corpus, seed));
}
/// Runs the targets in turn for `CELLWAY_FUZZ_SECONDS`, with inputs that differ from run to run; does nothing if that
/// is not set.
pub(crate) fn run_on(targets: &[Target]) {
    let Ok(seconds) = std::env::var("CELLWAY_FUZZ_SECONDS") else { return };
    let end = Instant::now() + Duration::from_secs(seconds.parse().unwrap());
    let inputs: Vec<_> = targets.iter().map(|target| (target, corpus(target.name))).collect();
    let first = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() << 24;
    let mut runs = 0;
    for seed in first.. {
        if Instant::now() >= end {
            break;
        }
        inputs.iter().for_each(|(target, corpus)| try_one(target, corpus, seed));
        runs += 1;
    }
    println!("{runs} inputs of each target");
}

fn try_one(target: &Target, corpus: &[(PathBuf, Vec<u8>)], seed: u64) {
    let input = mutated(corpus, &mut Random(seed));
    let Err(cause) = catch_unwind(AssertUnwindSafe(|| (target.body)(&input))) else { return };
    let folder = folder("artifacts").join(target.name);
    let file = folder.join(format!("crash-{seed:x}"));
    // The input is printed as well, as the file may not be writable.
    let written = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&file, &input));
    println!("{} with {} ({written:?}): {input:?}", target.name, file.display());
    resume_unwind(cause);
}

/// Returns an input of the corpus with some changes.
fn mutated(corpus: &[(PathBuf, Vec<u8>)], random: &mut Random) -> Vec<u8> {
    let mut input = corpus[random.below(corpus.len())].1.clone();
    for _ in 0..=random.below(6) {
        let at = random.below(input.len() + 1);
        let end = at + random.below((input.len() - at).min(64) + 1);
        match random.below(8) {
            0 | 1 if at < input.len() => input[at] ^= 1 << random.below(8),
            2 if at < input.len() => input[at] = random.octet(),
            3 if at < input.len() => input[at] = EDGES[random.below(EDGES.len())],
            4 => {
                let more: Vec<u8> = (0..random.below(16)).map(|_| random.octet()).collect();
                input.splice(at..at, more);
            }
            5 => drop(input.drain(at..end)),
            6 => {
                let again = input[at..end].to_vec();
                input.splice(at..at, again);
            }
            _ => {
                // The rest of another input.
                let other = &corpus[random.below(corpus.len())].1;
                let from = random.below(other.len() + 1);
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
        }
        input.truncate(LONGEST);
    }
    input
}
