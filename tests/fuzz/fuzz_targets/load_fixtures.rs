//! The initial state of a fake gateway.

#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| payments_fuzz::load_fixtures(data));

#[cfg(not(fuzzing))]
fn main() -> std::process::ExitCode {
    payments_fuzz::replay(payments_fuzz::load_fixtures)
}
