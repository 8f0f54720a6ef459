#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cellway_capture::fuzz::capture(data));
