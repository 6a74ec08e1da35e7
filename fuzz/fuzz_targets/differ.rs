#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| muxwire::fuzz::differ(data));
