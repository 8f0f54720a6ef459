#![no_main]

#[allow(dead_code, reason = "the target `machine` calls the rest")]
#[path = "../../crates/gateway/tests/corpus/machine.rs"]
mod machine;
#[path = "../../crates/gateway/tests/corpus/pair.rs"]
mod pair;

libfuzzer_sys::fuzz_target!(|data: &[u8]| pair::run(data));
