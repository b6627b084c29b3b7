//! The promises of masking, for any text around a secret.

use payments_model::mask;
use proptest::prelude::*;
use proptest::sample::select;

proptest! {
    #[test]
    fn card_number_in_groups_keeps_only_four_digits_d64(
        number in select(vec!["4242424242424242", "4929907390318794", "5555555555554444", "378282246310005", "4007000000027"]),
        group in 3_usize..19,
        separator in select(vec![" ", "-", ".", "_", "/", "  ", "\u{a0}", " -"]),
        before in "[a-z \"'=:]{0,5}",
        after in "[a-z \"'=:]{0,5}",
    ) {
        let groups = number.as_bytes().chunks(group).map(|chunk| str::from_utf8(chunk).unwrap());
        let groups: Vec<_> = groups.collect();
        prop_assume!(groups.iter().all(|group| group.len() >= 3));
        let written = groups.join(separator);
        let masked = mask(&format!("{before}{written}{after}"), &[]).into_owned();
        prop_assert_eq!(masked.chars().filter(char::is_ascii_digit).count(), 4, "{}", masked);
        prop_assert_eq!(mask(&masked, &[]), masked.as_str());
    }

    #[test]
    fn secret_of_eight_characters_is_always_masked_d64(
        secret in "[ -~]{8,30}",
        before in any::<String>(),
        after in any::<String>(),
    ) {
        prop_assume!(!"[redacted]".contains(&secret));
        let masked = mask(&format!("{before}{secret}{after}"), &[&secret]).into_owned();
        prop_assert!(!masked.contains(&secret), "{}", masked);
    }

    #[test]
    fn short_secret_is_masked_between_other_words_d64(
        secret in "[0-9]{3,4}",
        before in "([a-z]{0,4}[ \"'(=\n\t])?",
        after in "([ \"'),\n\t][a-z]{0,4})?",
    ) {
        let masked = mask(&format!("{before}{secret}{after}"), &[&secret]).into_owned();
        prop_assert!(!masked.contains(&secret), "{}", masked);
    }

    #[test]
    fn masking_any_text_never_panics_and_is_idempotent_d64(
        text in any::<String>(),
        like in "([cvpan]{1,3}|[0-9]{1,6}|[\\\\u\"'{}\\[\\]:=%&#;* _./,-]|\n){0,30}",
        secrets in proptest::collection::vec(prop_oneof!["[0-9]{0,10}", "[abn \"\\\\%]{0,5}", any::<String>()], 0..4),
    ) {
        let secrets: Vec<&str> = secrets.iter().map(String::as_str).collect();
        for text in [&text, &like] {
            let masked = mask(text, &secrets).into_owned();
            prop_assert_eq!(mask(&masked, &secrets), masked.as_str());
        }
    }

    #[test]
    fn text_without_secrets_is_unchanged_d64(
        text in "([a-z]{1,9}|[0-9]{1,4}|[0-9]{4}-[0-9]{2}-[0-9]{2}T|[0-9]{1,3}\\.[0-9]{2}, |[\\\\\"'{}\\[\\]=%&#;* _./,-]|ä){0,7}",
    ) {
        let could_be_card_number = text.bytes().filter(u8::is_ascii_digit).count() >= 13;
        prop_assert!(could_be_card_number || mask(&text, &["SK_LIVE_51HQX", "DE89370400440532013000", "Q17"]) == text);
    }
}
