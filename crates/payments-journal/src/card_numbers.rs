use payments_model::mask;

/// The text with its card-like numbers masked and everything else kept, control characters too: what people write may have
/// lines.
pub(crate) fn mask_card_numbers(text: &str) -> String {
    // Without secrets, each character is masked in its place.
    let masked = mask(text, &[]);
    text.chars().zip(masked.chars()).map(|(own, shown)| if shown == '*' { '*' } else { own }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn card_numbers_are_masked_and_everything_else_is_kept() {
        for (text, masked) in [
            ("4242424242424242\n\u{1b}ä", "************4242\n\u{1b}ä"),
            ("4242\n4242\r\n4242\u{a0}4242", "****\n****\r\n****\u{a0}4242"),
            ("* 1793000000000 *\u{202e}", "* 1793000000000 *\u{202e}"),
        ] {
            assert_eq!(mask_card_numbers(text), masked);
        }
    }
}
