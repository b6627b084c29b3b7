//! The response to a card payment.

#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| payments_fuzz::decode_card_answer(data));

#[cfg(not(fuzzing))]
fn main() -> std::process::ExitCode {
    payments_fuzz::replay(payments_fuzz::decode_card_answer)
}
