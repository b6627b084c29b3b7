mod draft;
mod escapes;
mod names;
mod numbers;
mod patterns;
mod reading;
mod secrets;

use draft::{Draft, Mark};
pub(crate) use secrets::Secrets;

/// The text without what must not be shown, for messages and snippets that a service may have filled with
/// anything.
///
/// - A secret of eight or more letters and digits is replaced wherever it stands, whatever touches it, in any
///   case, and also with up to three other characters between any two of its own: `4242-4242 …`, `42.42/42…`. More of
///   them may stand there if a secret has more itself: `sk____live51H`.
/// - A shorter one is replaced where no letter or digit touches it, and only as it is written, because `917`
///   is part of many harmless numbers. Four digits that begin with a month are an expiry date and are also
///   found as `11/37`, `11 - 37`, `11/2037` and `2037-11`. A secret of fewer than three is ignored.
/// - In every run of 12 to 19 digits that passes the Luhn check, all but the last four digits become `*`. A
///   single space or hyphen may stand between any two of them; dots, slashes and underscores, and up to three
///   of any of these, only after four digits, so that dates, amounts and addresses are no card numbers.
/// - Values after a name that stands for card or account data (`"Cvv":"123"`, `card_number=…`) are replaced.
/// - Control characters become spaces, so that the text stays one line of a log.
///
/// The secrets of a request come from its `secrets()`. All but the last rule see through the escapes of JSON
/// (`\n`, `\u0027`), URLs (`%22`) and HTML (`&#39;`), also where one is wrapped in another: a text is searched
/// as it stands and as every reader would have it who undoes one or two layers.
///
/// It works on any text, JSON or not, complete or cut short. The time it takes grows with the length of the
/// text and with the length of the secrets, never with their product. What was scrubbed stays as it is when it
/// is scrubbed again.
///
/// It is a safety net, not a proof: a secret that is spelled in a way nobody foresaw passes through. Scrub
/// before cutting a text to length, because half a card number looks like none.
///
/// ```
/// let message = "card 4242-4242-4242-4242 refused,\ncvv=123";
/// assert_eq!(payments_model::scrub(message, &[]), "card ****-****-****-4242 refused, cvv=[redacted]");
///
/// let body = r#"{"msg":"no such key: \u0022sk_live_51H\u0022, card valid to 11/37"}"#;
/// assert_eq!(
///     payments_model::scrub(body, &["sk_live_51H", "1137"]),
///     r#"{"msg":"no such key: \u0022[redacted]\u0022, card valid to [redacted]"}"#,
/// );
/// ```
pub fn scrub(text: &str, secrets: &[&str]) -> String {
    let secrets = Secrets::new(secrets, SHORTEST_SECRET);
    let mut draft = Draft::new(text);
    // In this order, because what is hidden no longer touches what stands beside it: a security code right
    // behind a card number is found once the number is gone.
    draft.mask(Mark::Hidden, |reading| secrets.long_in(reading));
    draft.mask(Mark::Digit, numbers::digits_to_mask);
    draft.mask(Mark::Hidden, |reading| secrets.short_in(reading));
    // First as it stands: where the escapes are undone, a quote within a value looks like the end of it.
    draft.mask_as_it_stands(Mark::Hidden, names::values_of_secret_names);
    draft.mask(Mark::Hidden, names::values_of_secret_names);
    draft.finish()
}

/// Two digits stand in every text.
const SHORTEST_SECRET: usize = 3;

#[cfg(test)]
mod tests {
    use super::scrub;

    #[test]
    fn d62_card_numbers_are_masked_to_their_last_four_digits_however_they_are_grouped() {
        for (text, shown) in [
            ("4242424242424242", "************4242"),
            ("4242 4242 4242 4242", "**** **** **** 4242"),
            ("3782-822463-10005!", "****-******-*0005!"),
            ("no 4242424242424242, 12/30", "no ************4242, 12/30"),
            ("card 4242 4242 4242 4242 12", "card **** **** **** 4242 12"),
            ("x4007000000027y", "x*********0027y"),
            ("4242424242424241", "4242424242424241"),
            ("42424242  42424242", "********  ****4242"),
            ("424242424242", "********4242"),
            ("00000000000", "00000000000"),
            ("6200000000000000001", "6200000000000000001"),
            ("0000000000000000000", "***************0000"),
            ("00000000000000000000", "00000000000000000000"),
        ] {
            assert_eq!(scrub(text, &[]), shown);
        }
    }

    #[test]
    fn d62_card_numbers_are_masked_across_dots_slashes_and_wide_gaps_after_four_digits() {
        for (text, shown) in [
            ("4242.4242.4242.4242", "****.****.****.4242"),
            ("4242_4242_4242_4242", "****_****_****_4242"),
            ("4242/4242/4242/4242", "****/****/****/4242"),
            ("4242+4242+4242+4242", "****+****+****+4242"),
            ("4242  4242 - 4242\u{200b}4242", "****  **** - ****\u{200b}4242"),
            ("4242\u{a0}4242\u{2011}4242\u{2009}4242", "****\u{a0}****\u{2011}****\u{2009}4242"),
            ("4242    4242    4242    4242", "4242    4242    4242    4242"),
            ("4242, 4242, 4242, 4242", "4242, 4242, 4242, 4242"),
            ("42.42.42.42.42.42.42.42", "42.42.42.42.42.42.42.42"),
            ("42 42-42 42-42 42-42 42", "** **-** **-** **-42 42"),
        ] {
            assert_eq!(scrub(text, &[]), shown);
        }
    }

    #[test]
    fn d62_of_two_card_numbers_within_each_other_both_are_masked() {
        // The first sixteen digits pass the check too.
        assert_eq!(scrub("1701 4242 4242 4242 4242", &[]), "**** **** **** **** 4242");
    }

    #[test]
    fn d62_the_last_four_digits_of_a_masked_number_begin_no_other_one() {
        // With the eight digits that follow, the four that are left pass the check.
        let scrubbed = scrub("4242424242424242 12345674", &[]);
        assert_eq!(scrubbed, "************4242 12345674");
        assert_eq!(scrub(&scrubbed, &[]), scrubbed);
        // Markdown, not a masked number.
        assert_eq!(scrub("**4242 4242 4242 4242**", &[]), "****** **** **** 4242**");
        assert_eq!(scrub("********4242424242424242", &[]), "********************4242");
        assert_eq!(scrub("***4242 4242 4242 4242***", &[]), "******* **** **** 4242***");
        assert_eq!(scrub("******** 4000056655665556", &[]), "******** ************5556");
        // However it was grouped.
        for rest in ["**   **   **   **4242 12345674", "*   *   *   *   *   *   *   *4242 12345674"] {
            assert_eq!(scrub(rest, &[]), rest);
        }
    }

    #[test]
    fn d64_escapes_before_and_within_a_card_number_do_not_hide_it() {
        for (text, shown) in [
            (r"\n4242424242424242", r"\n************4242"),
            (r"\u00274242424242424242\u0027", r"\u0027************4242\u0027"),
            (r"\\u00274242424242424242\\u0027", r"\\u0027************4242\\u0027"),
            ("?q=%224242424242424242%22", "?q=%22************4242%22"),
            ("?q=%25204242424242424242", "?q=%2520************4242"),
            ("?q=%4242424242424242", "?q=%************4242"),
            ("&#39;4242424242424242&#39;", "&#39;************4242&#39;"),
            ("4242%204242%204242%204242", "****%20****%20****%204242"),
            ("4242&nbsp;4242&#160;4242 4242", "****&nbsp;****&#160;**** 4242"),
            (r"\u0034242424242424242", "************4242"),
        ] {
            assert_eq!(scrub(text, &[]), shown);
        }
    }

    #[test]
    fn d64_long_secrets_are_replaced_wherever_they_stand() {
        const MARK: &str = "[redacted]";
        let secrets = ["6200000000000009", "sk_live_51H", "12/345678", "Grüße 12"];
        for (before, secret, after) in [
            ("", "6200000000000009", ""),
            ("0000", "6200000000000009", "0000"),
            ("", "6200 0000  0000 - 0009", "."),
            (r"card \u0027", "6200000000000009", r"\u0027 refused"),
            ("x", "6200%200000%200000%200009", "%20"),
            ("%", "6200000000000009", "%"),
            (r"C:\u", "6200000000000009", ""),
            (r"a\n", "sk_live_51H", r"\n"),
            ("keyx", "sk_live_51H", "x"),
            ("KEY=", "SK_LIVE_51h", ""),
            ("", r"sk_\u006cive_51H", ""),
            ("", r"12\/345678", ""),
            ("", "Gr\u{fc}\u{df}e12", ""),
            ("", r"Gr\u00fc\u00dfe\u002012", ""),
        ] {
            assert_eq!(
                scrub(&format!("{before}{secret}{after}"), &secrets),
                format!("{before}{MARK}{after}")
            );
        }
        assert_eq!(scrub("6200    000000000009", &secrets), "6200    000000000009");
    }

    #[test]
    fn d64_secrets_that_are_mostly_punctuation_are_replaced_as_they_are_written() {
        for secret in
            ["sk_live____51H8Qw2", "--sk--!!--live--51H--", r#"{"key":"51H","live":"8Qw2"}"#, "12-----34"]
        {
            let json = serde_json::to_string(secret).expect("a text is JSON");
            for text in [secret.to_owned(), json] {
                let shown = scrub(&text, &[secret]);
                assert!(!shown.contains("51H") && !shown.contains("34"), "{shown}");
            }
        }
    }

    #[test]
    fn d64_short_secrets_are_replaced_where_nothing_touches_them() {
        let secrets = ["917", "9170", "12", "ACC 123"];
        for (text, shown) in [
            (
                "917 9170 12 x917 917x (917) 917_",
                "[redacted] [redacted] 12 x917 917x ([redacted]) [redacted]_",
            ),
            ("9.17 9-17 91 7", "9.17 9-17 91 7"),
            ("ACC 123, acc-123, ACC123", "[redacted], [redacted], [redacted]"),
            (r"\n917\u0027917\/917", r"\n[redacted]\u0027[redacted]\/[redacted]"),
            (r"\\n917", r"\\n[redacted]"),
            ("%20917%20 %917", "%20[redacted]%20 %[redacted]"),
            ("&#39;917&#39; &quot;917", "&#39;[redacted]&#39; &quot;[redacted]"),
            ("4242424242424242917", "4242424242424242917"),
        ] {
            assert_eq!(scrub(text, &secrets), shown);
        }
        assert_eq!(scrub("4242424242424242917", &["917", "4242424242424242"]), "[redacted]");
    }

    #[test]
    fn d64_an_expiry_is_replaced_as_people_write_it() {
        for text in
            ["1137", "11/37", "11-37", "11 / 37", "11/2037", "112037", "2037-11", r"11\/37", "11%2F37"]
        {
            assert_eq!(scrub(&format!("to {text}."), &["1137"]), "to [redacted].", "{text}");
        }
        for text in ["11.37", "11:37", "1/137", "113/7", "11/38", "x1137", "20/3711", "2037/1/1"] {
            assert_eq!(scrub(text, &["1137"]), text);
        }
        assert_eq!(scrub("13/37", &["1337"]), "13/37");
        assert_eq!(scrub("11/ab", &["11ab"]), "11/ab");
        assert_eq!(scrub("11/370", &["11370"]), "11/370");
        assert_eq!(scrub("1337", &["1337"]), "[redacted]");
    }

    #[test]
    fn d64_values_after_secret_names_are_replaced_in_any_notation() {
        for (text, shown) in [
            (r#"{"Cvv":"123","Amount":1}"#, r#"{"Cvv":"[redacted]","Amount":1}"#),
            (r#"{"Cvv": 123}"#, r#"{"Cvv": [redacted]}"#),
            (r#"{"card_number":"42"#, r#"{"card_number":"[redacted]"#),
            (r#"{"Cvv":{"a":["1"]},"b":2}"#, r#"{"Cvv":[redacted],"b":2}"#),
            (r#"{"Cvv":["]","1"],"b":2}"#, r#"{"Cvv":[redacted],"b":2}"#),
            (r#"{"Cvv":["x\"y"],"b":2}"#, r#"{"Cvv":[redacted],"b":2}"#),
            (r#"{"Cvv":["1"#, r#"{"Cvv":[redacted]"#),
            (r#""{\"cvc\":\"1\",\"b\":\"2\"}""#, r#""{\"cvc\":\"[redacted]\",\"b\":\"2\"}""#),
            (r#"{"Cvv":"1\"2","b":3}"#, r#"{"Cvv":"[redacted]","b":3}"#),
            (r#"{"Cvv":"1\\","b":3}"#, r#"{"Cvv":"[redacted]","b":3}"#),
            (r#"{"Cvv":[["1"],["2"]],"b":3}"#, r#"{"Cvv":[redacted],"b":3}"#),
            ("{'cvv': '123'}", "{'cvv': '[redacted]'}"),
            ("cvv=123&amount=1", "cvv=[redacted]&amount=1"),
            ("%22cvv%22%3A%22123%22%2C", "%22cvv%22%3A%22[redacted]%22%2C"),
            (r#""bad\ncvv=123\n""#, r#""bad\ncvv=[redacted]\n""#),
            ("&quot;cvv&quot;: &quot;123&quot;", "&quot;cvv&quot;: &quot;[redacted]&quot;"),
            (r#"<a href="x>"Cvv":"123"</a>"#, r#"<a href="x>"Cvv":"[redacted]"</a>"#),
            ("account: closed", "account: closed"),
            ("Cvv", "Cvv"),
            ("Cvv:", "Cvv:"),
        ] {
            assert_eq!(scrub(text, &[]), shown);
        }
    }

    #[test]
    fn the_redaction_mark_is_no_secret() {
        assert_eq!(scrub("[redacted] 42", &["redacted", "red"]), "[redacted] 42");
    }

    #[test]
    fn hostile_texts_and_many_secrets_cost_no_more_than_their_length() {
        // Beginnings of each other, so that every one of them nearly matches everywhere.
        let alike: Vec<String> = (8..350).map(|length| "1".repeat(length) + "2").collect();
        let many = (10_000..19_000).map(|number| number.to_string());
        let secrets: Vec<String> = alike.into_iter().chain(many).collect();
        let secrets: Vec<&str> = secrets.iter().map(String::as_str).collect();
        for unit in [
            "cvv:",
            "cvv=",
            "cvv:[",
            "cvv:\"",
            "1 ",
            "1",
            "\\",
            "\"TransactionId\":",
            "4242-",
            "\\u00",
            "%25",
            "&amp;#",
        ] {
            assert!(!scrub(&unit.repeat(50_000), &secrets).is_empty());
        }
    }
}
