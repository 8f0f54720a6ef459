#![no_main]

#[path = "../../crates/gateway/tests/corpus/machine.rs"]
mod machine;

libfuzzer_sys::fuzz_target!(|data: &[u8]| machine::run(data));
