use std::fmt::Write;

use payments_core::model::scrub;

use crate::digits::has_check_digit;
use crate::http_text::line;

/// Two secrets, one to a line, and then a text in which they may stand, in any spelling that is promised to be seen through.
pub fn scrub_text(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (first, rest) = line(text.as_bytes());
    let (second, rest) = line(rest);
    let own = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (first, second, rest) = (own(first), own(second), own(rest));
    let secrets = [first.as_str(), second.as_str()];

    let shown = scrub(&rest, &secrets);
    check_shown(&shown, &secrets);
    // A neighbour is all that can hide a secret, and a long one costs a search most of its time.
    let neighbour = &rest[..rest.floor_char_boundary(64)];
    for secret in secrets.iter().filter(|secret| is_long(secret)) {
        for spelled in spellings(secret) {
            let shown = scrub(&format!("{neighbour} {spelled} {neighbour}"), &secrets);
            assert!(!shown.contains(&spelled), "{spelled:?} is left");
            check_shown(&shown, &secrets);
        }
    }
}

fn check_shown(shown: &str, secrets: &[&str]) {
    assert!(!shown.contains(char::is_control), "{shown:?}");
    for secret in secrets.iter().filter(|secret| is_long(secret)) {
        assert!(
            !shown.to_ascii_lowercase().contains(&secret.to_ascii_lowercase()),
            "{secret:?} is left in {shown:?}"
        );
    }
    let runs = shown.split(|letter: char| !letter.is_ascii_digit());
    for run in runs.filter(|run| (12..=19).contains(&run.len())) {
        assert!(!has_check_digit(run), "{run} is left in {shown:?}");
    }
    // What stands beside a mark may complete a secret that begins or ends like the mark itself; that is taken too.
    if !secrets.iter().any(|secret| may_meet_a_mark(secret)) {
        assert_eq!(scrub(shown, secrets), shown, "what was scrubbed is scrubbed again");
    }
}

fn may_meet_a_mark(secret: &str) -> bool {
    const MARK: &str = "redacted";
    let letters = secret.to_ascii_lowercase().replace(|letter: char| !letter.is_ascii_alphanumeric(), "");
    letters.contains(MARK)
        || (1..MARK.len()).any(|at| letters.starts_with(&MARK[at..]) || letters.ends_with(&MARK[..at]))
}

/// Those that are replaced wherever they stand; of ASCII alone, because that is what can be spelled in every way here.
fn is_long(secret: &str) -> bool {
    let letters: String = secret.chars().filter(char::is_ascii_alphanumeric).collect();
    letters.len() >= 8
        && secret.bytes().all(|byte| byte.is_ascii_graphic())
        && secret.len() <= 64
        // The word that stands in the place of secrets is none.
        && !letters.eq_ignore_ascii_case("redacted")
}

/// The secret in every spelling that `scrub` promises to see through.
fn spellings(secret: &str) -> Vec<String> {
    let each = |spell: &dyn Fn(&mut String, char)| {
        let mut spelled = String::new();
        secret.chars().for_each(|letter| spell(&mut spelled, letter));
        spelled
    };
    let is_plain = secret.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let percent = each(&|out, letter| _ = write!(out, "%{:02x}", u32::from(letter)));
    vec![
        secret.to_owned(),
        secret.to_ascii_uppercase(),
        each(&|out, letter| {
            // What stands between two letters already counts against the three that may.
            let gap = if is_plain { " - " } else { "" };
            _ = write!(out, "{letter}{gap}");
        }),
        each(&|out, letter| _ = write!(out, "\\u{:04x}", u32::from(letter))),
        each(&|out, letter| _ = write!(out, "\\\\u{:04x}", u32::from(letter))),
        each(&|out, letter| _ = write!(out, "&#{};", u32::from(letter))),
        each(&|out, letter| _ = write!(out, "&#x{:x};", u32::from(letter))),
        percent.replace('%', "%25"),
        percent,
    ]
}
