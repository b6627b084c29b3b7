//! Keys that differ only as spreadsheets and people change them.

/// Whether a spreadsheet or a person may have made one key of the other.
pub(super) fn is_variant(one: &str, other: &str) -> bool {
    let is_rounded = |key| without_zeros(plain_text(key)) == plain_form(key);
    is_exact_variant(one, other)
        || plain_form(one) == plain_form(other) && (is_rounded(one) || is_rounded(other))
}

/// The same, but no digit is lost.
pub(super) fn is_exact_variant(one: &str, other: &str) -> bool {
    let [one, other] = [one, other].map(plain_text);
    match (Date::read(&one), Date::read(&other)) {
        (Some(one), Some(other)) => one.is_variant(&other),
        _ => without_zeros(one) == without_zeros(other),
    }
}

/// The form that all variants of a key share: `Inv-5` and `inv-5`; of a number `0017` and `17`, `12.10` and `12.1`,
/// `1234567890123456` and `1234567890123450`. Spreadsheets remove the zeros before a number and after its decimals, and keep 15
/// digits. People change cases, and copy other signs for a hyphen or a space. Keys that can be read as dates share it if they have the
/// same numbers.
pub(super) fn plain_form(key: &str) -> String {
    let text = plain_text(key);
    if let Some(date) = Date::read(&text) {
        return date.form();
    }
    let mut form = without_zeros(text);
    let (whole, decimals) = form.split_once('.').unwrap_or((&form, ""));
    if is_number(&form) && whole.len() > DIGITS {
        let (kept, lost) = whole.split_at(DIGITS);
        let decimals = if decimals.is_empty() { String::new() } else { format!(".{decimals}") };
        form = format!("{kept}{}{decimals}", "0".repeat(lost.len()));
    }
    form
}

/// Spreadsheets keep so many digits of a number.
const DIGITS: usize = 15;

/// The text, or the number without the zeros that mean nothing.
fn without_zeros(text: String) -> String {
    if !is_number(&text) {
        return text;
    }
    let whole = text.trim_start_matches('0');
    let whole = if whole.contains('.') { whole.trim_end_matches('0').trim_end_matches('.') } else { whole };
    if whole.is_empty() || whole.starts_with('.') { format!("0{whole}") } else { whole.to_owned() }
}

/// A key that a spreadsheet reads as a date and writes in another way: it makes `02-Jan` of `1-2`, `Feb-43` of `2043-2`, and `1-Mar`
/// of `MAR1`.
struct Date {
    /// Month, day or year, in the order of the key.
    numbers: Vec<u16>,
    /// What each of them is, and the signs between them.
    style: String,
}

impl Date {
    /// From a [`plain_text`].
    fn read(text: &str) -> Option<Self> {
        // Of a number, such as `2026.10`, a spreadsheet changes the zeros.
        if is_number(text) {
            return None;
        }
        let mut date = Self { numbers: Vec::new(), style: String::new() };
        let mut rest = text;
        while let Some(sign) = rest.chars().next() {
            let is_alike = |other: char| match sign {
                '0'..='9' => other.is_ascii_digit(),
                _ => sign.is_alphabetic() && other.is_alphabetic(),
            };
            let length = rest.find(|other| !is_alike(other)).unwrap_or(rest.len()).max(sign.len_utf8());
            let (word, after) = rest.split_at(length);
            rest = after;
            if sign.is_ascii_digit() {
                let number: u16 = word.parse().ok()?;
                let is_year = word.len() == 4 && number >= 1900;
                if word.len() > 2 && !is_year {
                    return None;
                }
                date.numbers.push(number);
                date.style.push(if is_year { 'y' } else { 'n' });
            } else if sign.is_alphabetic() {
                let month = (1..).zip(MONTHS).find(|(_, names)| names.contains(&word))?;
                date.numbers.push(month.0);
                date.style.push('m');
            } else if "-/. ,".contains(sign) {
                date.style.push(sign);
            } else {
                return None;
            }
        }
        // `12 10` and `1.2.10` are no dates without a name or a year.
        let is_date = date.style.contains(['-', '/', 'm', 'y']) && date.style.starts_with(['n', 'm', 'y']);
        ((2..=3).contains(&date.numbers.len()) && is_date).then_some(date)
    }

    /// The same for each order of its numbers, and with and without the century.
    fn form(&self) -> String {
        let mut numbers: Vec<_> = self.numbers.iter().map(|number| number % 100).collect();
        numbers.sort_unstable();
        format!("date {numbers:?}")
    }

    /// Whether a spreadsheet may have written one as the other. Two that are written alike are two keys, such as `1-2` and `2-1`.
    fn is_variant(&self, other: &Self) -> bool {
        if self.style == other.style { self.numbers == other.numbers } else { self.form() == other.form() }
    }
}

/// As spreadsheets abbreviate them: English, German, French, Spanish, Italian.
const MONTHS: [&[&str]; 12] = [
    &["jan", "january", "janv", "ene", "gen"],
    &["feb", "february", "f\u{e9}vr"],
    &["mar", "march", "mrz", "m\u{e4}r", "mars"],
    &["apr", "april", "avr", "abr"],
    &["may", "mai", "mag"],
    &["jun", "june", "juin", "giu"],
    &["jul", "july", "juil", "lug"],
    &["aug", "august", "ao\u{fb}t", "ago"],
    &["sep", "sept", "september", "set"],
    &["oct", "october", "okt", "ott"],
    &["nov", "november"],
    &["dec", "december", "dez", "d\u{e9}c", "dic"],
];

/// Digits, and others after a decimal point if there is one.
fn is_number(text: &str) -> bool {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    [whole, decimals]
        .iter()
        .all(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// In lower case, with plain hyphens, and with no spaces but one between two digits.
fn plain_text(key: &str) -> String {
    let mut plain = String::with_capacity(key.len());
    let mut is_after_space = false;
    for sign in key.chars().filter(|sign| !is_invisible(*sign)) {
        if sign.is_whitespace() {
            is_after_space = true;
            continue;
        }
        if is_after_space && sign.is_ascii_digit() && plain.ends_with(|before: char| before.is_ascii_digit())
        {
            plain.push(' ');
        }
        is_after_space = false;
        match sign {
            '\u{2010}'..='\u{2015}' | '\u{2212}' => plain.push('-'),
            _ => plain.extend(sign.to_lowercase()),
        }
    }
    plain
}

/// Signs without width, which no screen shows.
const fn is_invisible(sign: char) -> bool {
    matches!(sign, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_share_a_form_and_other_keys_do_not_d53() {
        for (key, variants) in [
            ("0017", &["17", "017", "17.0", "17.00"][..]),
            ("12.10", &["12.1", "012.1"]),
            ("0.50", &["0.5", "00.5"]),
            ("1234567890123456", &["1234567890123450", "01234567890123450"]),
            ("12345678901234567890", &["12345678901234500000"]),
            ("Inv-5", &["inv-5", "INV-5", "Inv\u{2011}5", "Inv-\u{200b}5", "Inv\u{a0}-5", "inv\u{2212}5"]),
            ("order 2026-01-07", &["Order 2026-01-07", "order2026-01-07", "order\u{a0}2026\u{2013}01-07"]),
            ("0", &["00", "0.0"]),
            ("1-2", &["02-Jan", "2-Jan", "01. Feb", "1-Feb", "01-02", "1/2"]),
            ("2026.10", &["2026.1", "02026.10"]),
            ("4512.50", &["4512.5"]),
            ("2026.00", &["2026"]),
            ("2043-2", &["Feb-43", "Feb 43", "02/2043"]),
            ("MAR1", &["1-Mar", "01. Mrz", "mar-1"]),
            ("2026-11-27", &["11/27/2026", "27.11.2026", "27-Nov-26", "27 Nov 2026"]),
        ] {
            for variant in variants {
                assert!(is_variant(key, variant) && is_variant(variant, key), "{key} {variant}");
            }
        }
        let others = [
            "17",
            "170",
            "1.7",
            "17a",
            "a17",
            "a017",
            "1-7",
            "-17",
            "1 7",
            "12.1",
            "12.01",
            "1.2.10",
            "1.2.1",
            "sub7-2026.1",
            "sub7-2026.10",
            "sub 1 11",
            "sub 11 1",
            "123456789012345",
            "12345678901234560",
            "1234567890123456",
            "1234567890123457",
            "ord-1234567890123456",
            "ord-1234567890123450",
            "inv-5",
            "inv5",
            "inv_5",
            "",
            "2-1",
            "1-3",
            "7-1-2",
            "2026-11",
            "2026-12",
            "2026-11-27",
            "2026-27-11",
            "abc-1",
            "may",
            "mayor 5",
            "1899-2",
            "123-4",
            "4512-1",
            "4612-1",
            "01-Feb-2026",
            "02-Jan-2026",
            "2026.11",
            "Jan-45",
        ];
        for (index, one) in others.iter().enumerate() {
            for other in &others[index + 1..] {
                assert!(!is_variant(one, other), "{one} {other}");
            }
        }
        assert!(!is_exact_variant("1234567890123456", "1234567890123450"));
    }
}
