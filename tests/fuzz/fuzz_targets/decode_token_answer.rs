//! The response to a token payment.

#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| payments_fuzz::decode_token_answer(data));

#[cfg(not(fuzzing))]
fn main() -> std::process::ExitCode {
    payments_fuzz::replay(payments_fuzz::decode_token_answer)
}
