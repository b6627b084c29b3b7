//! Whether a path may be repeated in a message: what was meant to be a path may be the secret itself.

use std::path::{Component, Path};

/// ` (PATH)` for a message, or nothing if the path may hold a card number or a whole request.
pub(crate) fn in_brackets(path: &Path) -> String {
    shown(path).map_or_else(String::new, |text| format!(" ({text})"))
}

/// The path, unless it may hold a card number or a whole request.
pub(crate) fn shown(path: &Path) -> Option<String> {
    let text = path.to_string_lossy();
    (!may_be_a_request(&text)).then(|| text.into_owned())
}

/// The same for a key's file: a key in its place has neither digits enough nor braces to be told by, so only what
/// begins as no key does is repeated.
pub(crate) fn of_key_in_brackets(path: &Path) -> String {
    match path.components().next() {
        None | Some(Component::Normal(_)) => String::new(),
        Some(_) => in_brackets(path),
    }
}

/// A card or account number has 12 digits or more, whatever stands between its groups; a request has a brace.
fn may_be_a_request(text: &str) -> bool {
    let mut run = 0;
    text.chars().any(|letter| {
        run = match letter {
            _ if letter.is_numeric() => run + 1,
            ' ' | '-' => run,
            _ => 0,
        };
        run >= 12 || letter == '{'
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_named_unless_it_may_be_card_data() {
        for path in ["sale.json", "/srv/2033-12-31/sale_12345678901.json", "C:\\sale.json"] {
            assert_eq!(in_brackets(Path::new(path)), format!(" ({path})"));
        }
        for path in ["/srv/4111111111111111", "4111 1111-1111 1111", "{\"Cvv\":\"123\"}", "٤١١١١١١١١١١١١١١١"]
        {
            assert_eq!(in_brackets(Path::new(path)), "", "{path}");
        }
    }

    #[test]
    fn a_keys_file_is_named_only_where_it_cannot_be_the_key() {
        for path in ["/run/secrets/key", "./key", "../key"] {
            assert_eq!(of_key_in_brackets(Path::new(path)), format!(" ({path})"));
        }
        for path in ["", "sk_live_51H", "key.txt", "c2s/bGl2ZQ=="] {
            assert_eq!(of_key_in_brackets(Path::new(path)), "", "{path}");
        }
    }
}
