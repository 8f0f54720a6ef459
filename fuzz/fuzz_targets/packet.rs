#![no_main]

#[path = "../../crates/gateway/tests/corpus/packet.rs"]
mod packet;

libfuzzer_sys::fuzz_target!(|data: &[u8]| packet::run(data));
