//! The functions of the WebAssembly file, which has no imports.
//!
//! One block of memory carries requests and answers. The page writes a [`Request`] as JSON to the address that
//! [`cellway_ask`] returns, and calls a function; what that returns is the length of the answer, which is at
//! [`cellway_answer`] until the next call. An answer is JSON: the description or the refusal of [`check`], which
//! is also that of a run that cannot begin; `{"done": 0.25}` of a run that has begun or advanced, or `{"failed": "…"}`.
//!
//! The tables are octets, all numbers little-endian: the length of the JSON that follows, as an integer of 8 octets; the
//! JSON, with blanks at its end to a multiple of 8; then numbers of 8 octets (IEEE 754). The JSON has the name, point, seed,
//! axes, duration and counts of the run, the subject, metric and unit of each row of its summary, and those of each series with its
//! length. The numbers are the values of the summary, then the times and the values of each series.
//!
//! The scene of a run is JSON: its `nodes`, each with `name` and `kind`; its `ports`, each with `name`, `link` (a name
//! or null), `from` and `to` (nodes), `cells` (true or false), `rate` (bit/s) and `delay` (s); its `flows`, each with
//! `name`, `group` (or null), `kind`, `ends` (nodes) and `through` (the flow between its gateways, or null), of which
//! the last `pairs` are between gateways; the `states` of windows; its `duration` (s). Nodes, ports and flows are named
//! by their places from 0.
//!
//! The view of a run is numbers of 8 octets (IEEE 754, little-endian), and not-a-number where there is none:
//!
//! - the time (s), the number of ports, of flows without those between gateways, and of pairs of gateways;
//! - for each port the number of entries that wait, that of units that wait in none of them, 1 if a unit is on the line
//!   (else 0), the number of entries on the link, and that of further ones; then these entries, in this order. An entry
//!   is its flow (-1 if it is not known), its contents (0 data, 1 a packet without data, 2 resource management), its
//!   cells (1 for a packet) and its octets; on the line also the part that has been sent, from 0 to 1; on the link also
//!   the places of its head and of its tail, from 0 at the line to 1 at the far end;
//! - for each flow 0 if it has no window; or 1, the window and the threshold (octets), the octets in flight, the
//!   round-trip time (s), the place of its state in `states`, and that of its host in `ends`;
//! - for each pair of gateways the octets for the second one's hosts that the first and the second hold, and those for
//!   the first one's hosts.
//!
//! An empty answer means that there is nothing to answer: no run has begun, or it has not ended; of scene and view,
//! that none has begun, or that it has ended.
#![expect(unsafe_code, reason = "the names of exported functions; there is no unsafe block")]

use std::cell::RefCell;

use serde_json::{Value, json};

use crate::{Job, Request, check, keys, written};

#[derive(Default)]
struct Engine {
    /// The request, then the answer.
    block: Vec<u8>,
    job: Option<Job>,
}

thread_local! {
    static ENGINE: RefCell<Engine> = RefCell::default();
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

impl Engine {
    fn answer(&mut self, answer: Vec<u8>) -> usize {
        self.block = answer;
        self.block.len()
    }

    fn say(&mut self, answer: &Value) -> usize {
        self.answer(answer.to_string().into_bytes())
    }

    fn asked(&self) -> Result<Request, Value> {
        serde_json::from_slice(&self.block)
            .map_err(|error| cellway_scenario::refusal_in_words(&format!("the request cannot be read: {error}")))
    }
}

fn with(act: impl FnOnce(&mut Engine) -> usize) -> usize {
    ENGINE.with_borrow_mut(act)
}

/// Makes room for a request of `length` octets, and returns its address.
#[unsafe(no_mangle)]
pub extern "C" fn cellway_ask(length: usize) -> *mut u8 {
    std::panic::set_hook(Box::new(|panic| PANIC.set(panic.to_string())));
    ENGINE.with_borrow_mut(|engine| {
        engine.block = vec![0; length];
        engine.block.as_mut_ptr()
    })
}

/// Returns the address of the last answer.
#[unsafe(no_mangle)]
pub extern "C" fn cellway_answer() -> *const u8 {
    // The block is in use by the call that has panicked.
    let panic = PANIC.with_borrow(|words| (!words.is_empty()).then(|| words.as_ptr()));
    panic.unwrap_or_else(|| ENGINE.with_borrow(|engine| engine.block.as_ptr()))
}

/// Checks the scenario of the request.
#[unsafe(no_mangle)]
pub extern "C" fn cellway_check() -> usize {
    with(|engine| {
        let answer = engine.asked().map_or_else(|refused| refused, |request| check(&request));
        engine.say(&answer)
    })
}

/// Lists the keys that the text of the request has: an array, or a refusal.
#[unsafe(no_mangle)]
pub extern "C" fn cellway_keys() -> usize {
    with(|engine| {
        let answer = engine.asked().map_or_else(|refused| refused, |request| keys(&request));
        engine.say(&answer)
    })
}

/// Writes the settings of the request into its text: `{"text": "…"}`, or a refusal.
#[unsafe(no_mangle)]
pub extern "C" fn cellway_write() -> usize {
    with(|engine| {
        let answer = engine.asked().map_or_else(|refused| refused, |request| written(&request));
        engine.say(&answer)
    })
}

/// Begins the run of the request, in place of the last one.
#[unsafe(no_mangle)]
pub extern "C" fn cellway_begin() -> usize {
    with(|engine| {
        engine.job = None;
        match engine.asked().and_then(|request| Job::begin(&request)) {
            Ok(job) => {
                engine.job = Some(job);
                engine.say(&json!({ "done": 0.0 }))
            }
            Err(refused) => engine.say(&refused),
        }
    })
}

/// Advances the run; see [`Job::advance`].
#[unsafe(no_mangle)]
pub extern "C" fn cellway_advance(instants: u32) -> usize {
    go_on(|job| job.advance(instants.into()))
}

/// Returns the tables of a run that has ended.
#[unsafe(no_mangle)]
pub extern "C" fn cellway_tables() -> usize {
    with(|engine| {
        let tables = engine.job.as_ref().and_then(Job::tables).unwrap_or_default();
        engine.answer(tables)
    })
}

/// Returns the tables of a run in progress: the series up to now, and no summary.
#[unsafe(no_mangle)]
pub extern "C" fn cellway_so_far() -> usize {
    with(|engine| {
        let tables = engine.job.as_ref().and_then(Job::so_far).unwrap_or_default();
        engine.answer(tables)
    })
}

/// Returns the length of the words of a panic, which are at [`cellway_answer`] then. No other function may be called after a
/// panic: the page loads the file again.
#[unsafe(no_mangle)]
pub extern "C" fn cellway_panic() -> usize {
    PANIC.with_borrow(String::len)
}

/// Advances the run; the answer is its progress.
fn go_on(act: impl FnOnce(&mut Job) -> Result<f64, String>) -> usize {
    with(|engine| match engine.job.as_mut().map(act) {
        None => engine.answer(Vec::new()),
        Some(Ok(done)) => engine.say(&json!({ "done": done })),
        Some(Err(why)) => engine.say(&json!({ "failed": why })),
    })
}

/// Advances the run to a simulated time; see [`Job::until`].
#[unsafe(no_mangle)]
pub extern "C" fn cellway_until(seconds: f64) -> usize {
    go_on(|job| job.until(seconds))
}

/// Advances the run by one instant; see [`Job::step`].
#[unsafe(no_mangle)]
pub extern "C" fn cellway_step() -> usize {
    go_on(Job::step)
}

/// Returns the network and the traffic of the run.
#[unsafe(no_mangle)]
pub extern "C" fn cellway_scene() -> usize {
    with(|engine| match engine.job.as_ref().and_then(Job::scene) {
        None => engine.answer(Vec::new()),
        Some(scene) => engine.say(&scene),
    })
}

/// Returns the cells, packets and windows of the run at its present time.
#[unsafe(no_mangle)]
pub extern "C" fn cellway_view() -> usize {
    with(|engine| {
        let view = engine.job.as_ref().and_then(Job::view).unwrap_or_default();
        engine.answer(view)
    })
}
