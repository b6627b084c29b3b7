//! The numbered decisions about what the service's interface leaves open, and the tests that hold each of them.
//!
//! A test holds a decision when its name has the number, at the end or, in older names, at the start:
//! `html_200_is_unknown_d08`, `d05_d07_only_100_is_success`.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;

use crate::source::{SourceFile, line};
use crate::workspace::Workspace;

/// Prints every decision with the tests that hold it.
pub(crate) fn run() -> anyhow::Result<()> {
    let workspace = Workspace::load()?;
    let held = held(&workspace);
    for Held { decision, tests } in &held {
        println!("{:>2}  {}", decision.number, decision.subject);
        for test in tests {
            println!("      {}:{} {}", test.path, test.line, test.name);
        }
        if tests.is_empty() {
            println!("      NO TEST");
        }
    }
    let tested = held.iter().filter(|row| !row.tests.is_empty()).count();
    println!("{tested} of {} decisions have tests", held.len());
    Ok(())
}

/// Every decision with the tests that hold it.
pub(crate) fn held(workspace: &Workspace) -> Vec<Held> {
    let files = workspace.members.iter().flat_map(|member| &member.sources);
    let tests: Vec<_> = files.flat_map(test_functions).collect();
    DECISIONS
        .iter()
        .map(|decision| {
            let tests =
                tests.iter().filter(|test| numbers(&test.name).contains(&decision.number)).cloned().collect();
            Held { decision, tests }
        })
        .collect()
}

/// A row of the list.
#[derive(Debug)]
pub(crate) struct Decision {
    pub(crate) number: u8,
    pub(crate) subject: &'static str,
}

/// A decision and its tests.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) decision: &'static Decision,
    pub(crate) tests: Vec<TestFunction>,
}

/// A test, and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct TestFunction {
    pub(crate) name: String,
    pub(crate) path: String,
    pub(crate) line: usize,
}

/// The tests of a file, those inside macros such as `proptest!` included.
///
/// In the package of cross-crate tests every function counts: there a behaviour is a plain function, and a macro makes
/// one test of it for each transport.
pub(crate) fn test_functions(file: &SourceFile) -> Vec<TestFunction> {
    let mut found = Vec::new();
    let counts_all = file.path.strip_prefix("tests/").is_some_and(|name| !name.contains('/'));
    collect_tests(file.syntax().to_token_stream(), counts_all, &file.path, &mut found);
    found
}

fn collect_tests(tokens: TokenStream, counts_all: bool, path: &str, found: &mut Vec<TestFunction>) {
    let mut is_test = false;
    let mut after_fn = false;
    let mut after_hash = false;
    for token in tokens {
        match token {
            TokenTree::Group(group) if after_hash => is_test |= names_test(&group.stream()),
            TokenTree::Group(group) => {
                collect_tests(group.stream(), counts_all, path, found);
                // The end of an item's braces is the end of what its attributes are about.
                is_test &= group.delimiter() != proc_macro2::Delimiter::Brace;
            }
            TokenTree::Ident(word) if after_fn => {
                if is_test || counts_all {
                    found.push(TestFunction {
                        name: word.to_string(),
                        path: path.to_owned(),
                        line: line(word.span()),
                    });
                }
                after_fn = false;
            }
            TokenTree::Ident(word) => after_fn = word == "fn",
            TokenTree::Punct(punct) => {
                after_hash = punct.as_char() == '#';
                is_test &= punct.as_char() != ';';
                continue;
            }
            TokenTree::Literal(_) => {}
        }
        after_hash = false;
    }
}

/// Whether an attribute is `test`, `tokio::test` or the like; `cfg(test)` is not.
fn names_test(attribute: &TokenStream) -> bool {
    let path: Vec<_> =
        attribute.clone().into_iter().take_while(|token| !matches!(token, TokenTree::Group(_))).collect();
    matches!(path.last(), Some(TokenTree::Ident(name)) if name == "test")
}

/// The decisions that a test's name says it holds.
fn numbers(name: &str) -> Vec<u8> {
    let words = name.split('_').filter_map(|word| word.strip_prefix('d'));
    words.filter(|digits| digits.len() == 2).filter_map(|digits| digits.parse().ok()).collect()
}

const DECISIONS: &[Decision] = &[
    // Did the money move?
    decision(1, "local validation and bad configuration are NotProcessed"),
    decision(2, "no connection, or a dead one found before the request was taken, is NotProcessed"),
    decision(
        3,
        "anything that fails after the first byte is Unknown, a close after the whole request included",
    ),
    decision(4, "of HTTP/2's refusals only REFUSED_STREAM is proof; without HTTP/2, none is claimed"),
    decision(5, "2xx with status code 100, a success status and a TransactionId is processed"),
    decision(6, "2xx whose status says no, beside a code that may, is Rejected; any other is Unknown"),
    decision(7, "2xx with any other status code is Unknown"),
    decision(8, "2xx that cannot be read is Unknown and keeps a TransactionId that can be"),
    decision(9, "4xx with the service's error is Rejected; one that says anything else too is Unknown"),
    decision(
        10,
        "4xx with a foreign body is Rejected by an intermediary, 403 and a TransactionId in it apart",
    ),
    decision(11, "1xx, 3xx, 408, 409, 425, 5xx and unnamed statuses are Unknown, whatever the body"),
    decision(12, "a lookup moves nothing: it succeeds with 200 and fails with an error without an outcome"),
    // Sending.
    decision(20, "no charge is sent twice, no redirect followed; look-ups are retried under one deadline"),
    decision(21, "the body of a POST is never empty"),
    decision(22, "a dropped charge is Unknown, and the observer hears of it"),
    decision(23, "deadlines always exist: 10 s to connect, 60 s in total, raced by core as a backstop"),
    decision(24, "https, or http to loopback alone; the path prefix is kept as given"),
    decision(25, "base URL and key have no defaults; the key is visible ASCII and never shown"),
    decision(26, "sale or authorise is always said"),
    decision(27, "the convenience fee is always said and never computed"),
    decision(28, "TransactionFor is the constant Void"),
    decision(29, "PaymentTokenization is omitted unless set"),
    decision(30, "unset is omitted and never null; blank, mistyped and repeated are violations"),
    decision(31, "card numbers: separators stripped, 12 to 19 digits, Luhn unless told otherwise"),
    decision(32, "a CVV has three digits, or four for American Express"),
    decision(33, "an expiry is MMYY; a past one is not refused by the type"),
    decision(34, "a dialling prefix is not a country code"),
    decision(35, "a country is free text, never mapped"),
    decision(36, "e-mail by practical syntax, private addresses allowed, telephone numbers free"),
    decision(37, "no unpublished bound but 64 KiB for the whole body"),
    decision(38, "SuggestedMode is open; Card and ACH are inferred"),
    decision(39, "ACH account fields are named by the caller, secret and sent verbatim"),
    decision(40, "a token charge needs token, amount and fee; two kinds of customer id never mix"),
    decision(41, "ids in a path come from an allow-list"),
    decision(42, "no capture, refund, token creation, listing or webhooks: the interface has none"),
    // The journal.
    decision(43, "a journaled call speaks of the intent: what cannot be read or may be paid is Unknown"),
    decision(
        44,
        "a second card after a decline is one explicit call; nothing else sends a rejected key again",
    ),
    decision(45, "purging never relies on one machine's clock alone"),
    decision(46, "advice after Unknown names what that operation can be searched by"),
    // Reading.
    decision(60, "a record needs its TransactionId alone; the rest is kept even if unreadable"),
    decision(61, "numbers as text and text as numbers are read"),
    decision(62, "accessors return what was sent, but for card numbers and unknown fields with secret names"),
    decision(63, "error text comes from msg, message or error; not found is HTTP 404 alone"),
    decision(64, "status, code, Retry-After, request id and a masked snippet are kept on every response"),
    decision(65, "1 MiB is read and no more, as UTF-8 without any coding"),
    decision(66, "a void may have a new id: both are returned"),
];

const fn decision(number: u8, subject: &'static str) -> Decision {
    Decision { number, subject }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(path: &str, text: &str) -> Vec<String> {
        let file = SourceFile::new(path, text.to_owned());
        test_functions(&file).into_iter().map(|test| test.name).collect()
    }

    #[test]
    fn the_list_is_whole_and_in_order() {
        let listed: Vec<_> = DECISIONS.iter().map(|decision| decision.number).collect();
        let expected: Vec<_> = (1..=12).chain(20..=46).chain(60..=66).collect();
        assert_eq!(listed, expected);
    }

    #[test]
    fn a_name_says_which_decisions_it_holds() {
        assert_eq!(numbers("html_200_is_unknown_d08"), [8]);
        assert_eq!(numbers("d08_html_200_is_unknown"), [8]);
        assert_eq!(numbers("only_100_is_success_d05_d07_always"), [5, 7]);
        assert_eq!(numbers("card08_is_d100_and_d8_or_dd"), [0; 0]);
    }

    #[test]
    fn tests_are_told_from_other_functions() {
        let text = "#[cfg(test)] mod tests {\n fn helper() {}\n #[test] fn a() {}\n\
                    #[tokio::test(flavor = \"x\")] async fn b() {}\n #[inline] fn c() {}\n}";
        assert_eq!(names("crates/a/src/b.rs", text), ["a", "b"]);
    }

    #[test]
    fn tests_inside_macros_are_seen() {
        let text =
            "proptest! { #![config(1)] #[test] fn a(x in 0..1) { body(); } #[test] #[ignore] fn b() {} }";
        assert_eq!(names("crates/a/src/b.rs", text), ["a", "b"]);
    }

    #[test]
    fn a_behaviour_of_the_cross_crate_tests_counts() {
        assert_eq!(
            names("tests/behaviour.rs", "pub async fn d03_close_is_unknown() {}"),
            ["d03_close_is_unknown"]
        );
        assert_eq!(names("crates/a/src/b.rs", "pub async fn d03_close_is_unknown() {}"), [""; 0]);
    }
}
