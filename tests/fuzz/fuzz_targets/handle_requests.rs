//! A sequence of requests to the fake service.

#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| payments_fuzz::handle_requests(data));

#[cfg(not(fuzzing))]
fn main() -> std::process::ExitCode {
    payments_fuzz::replay(payments_fuzz::handle_requests)
}
