//! An API key and a base URL.

#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| payments_fuzz::read_endpoint(data));

#[cfg(not(fuzzing))]
fn main() -> std::process::ExitCode {
    payments_fuzz::replay(payments_fuzz::read_endpoint)
}
