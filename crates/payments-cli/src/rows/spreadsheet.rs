//! What spreadsheets and people do to a key: which keys differ only so, and which one looks changed.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use payments_model::unversioned::is_invisible;

/// Whether a spreadsheet or a person may have made one key of the other.
pub(crate) fn is_variant(one: &str, other: &str) -> bool {
    let [one, other] = [one, other].map(Forms::of);
    let may_be_made_of = |one: &Forms, other: &Forms| {
        share(&one.exact, &other.rounded) || share(&one.as_written, &other.read_elsewhere)
    };
    one.is_exact_variant(&other) || may_be_made_of(&one, &other) || may_be_made_of(&other, &one)
}

/// The same, but no digit is lost.
pub(crate) fn is_exact_variant(one: &str, other: &str) -> bool {
    one == other || Forms::of(one).is_exact_variant(&Forms::of(other))
}

/// What a key can be read as. Two keys are variants if they share an exact form, unless both are dates that are written alike,
/// or if one is a rounded form of the other.
///
/// - The letters and digits of a text: `Inv-5`, `'inv 5` and `INV005`. Between two digits a sign counts, whichever it is.
/// - Of a text with some other letters, its ASCII letters and digits: they are left if it is read in another encoding, as
///   `M\u{c3}\u{bc}ller`, `M?ller` or with a combining mark.
/// - The value of a number: `0017`, `17.0` and `+17`; `1843`, `$1,843.00` and `1.843`; `12e3` and `12000`.
/// - A date without the order of its parts, the century or what a spreadsheet adds, and its number of days: `2043-2`, `Feb-43` and
///   `2043-02-01`; `1-2`, `02-Jan` and `2026-01-02`; `2026-11-27` and `46353`.
/// - A time, and its part of a day: `17:05` and `17:05:00`; `10:30` and `0.4375`.
#[derive(Debug, Default)]
pub(crate) struct Forms {
    pub(crate) exact: Vec<String>,
    /// A long number as programs keep it: with 15 digits, cut or rounded, or as a binary fraction. And the day whose number it is,
    /// without the year, which a spreadsheet adds.
    pub(crate) rounded: Vec<String>,
    /// The ASCII letters and digits, and which of the others between them are equal: as they are, and as they would be if another program
    /// read each of them as a question mark, or each of their bytes as a letter of its own.
    as_written: Vec<String>,
    read_elsewhere: Vec<String>,
    date: Option<Date>,
}

impl Forms {
    pub(crate) fn of(key: &str) -> Self {
        let text = plain_text(key);
        let words = words(&text);
        let mut forms = Self::default();
        let numbers = numbers(&text, &words);
        for number in &numbers {
            forms.rounded.extend(roundings(number));
            forms.rounded.extend(day_of_some_year(number));
        }
        let is_plain_number = numbers.len() == 1 && words.len() == 1;
        if !is_plain_number {
            forms.exact.push(skeleton(&words));
            forms.exact.extend(ascii_letters(key));
        }
        let is_lost = |sign: char| matches!(sign, '?' | '\u{fffd}');
        let lost = || format!("lost {}", pattern(key, |_| vec![0]));
        if key.contains(is_lost) {
            forms.as_written.push(lost());
        } else if !key.is_ascii() {
            let bytes_of = |letter: char| letter.to_string().bytes().map(u32::from).collect();
            forms.read_elsewhere.extend([lost(), format!("bytes {}", pattern(key, bytes_of))]);
            // No byte is read as a letter of Chinese, Japanese or Korean.
            if key.chars().all(|letter| letter < '\u{2e80}') {
                forms.as_written.push(format!("bytes {}", pattern(key, |letter| vec![letter.into()])));
            }
        }
        forms.exact.extend(numbers);
        if let Some(time) = time(&words) {
            forms.exact.extend(time);
        }
        forms.date = Date::read_with_time(&words);
        forms.exact.extend(forms.date.iter().flat_map(Date::forms));
        forms
    }

    fn is_exact_variant(&self, other: &Self) -> bool {
        match (&self.date, &other.date) {
            // `1-2` and `2-1` are two keys.
            (Some(one), Some(other)) if one.style == other.style => {
                (&one.numbers, &one.time) == (&other.numbers, &other.time)
            }
            _ => share(&self.exact, &other.exact),
        }
    }
}

fn share(some: &[String], others: &[String]) -> bool {
    some.iter().any(|form| others.contains(form))
}

/// The most likely other spellings of a key, which can be looked up: without the signs around it or white space, or with an apostrophe,
/// of digits, with other zeros before them, and of words, in another case and with another sign between them.
pub(crate) fn likely_spellings(key: &str) -> Vec<String> {
    /// Chosen by this command: numbers are padded to at most so many digits, or with at most so many zeros.
    const WIDTH: usize = 10;
    const ZEROS: usize = 3;

    let is_sign = |sign: char| !sign.is_alphanumeric();
    let visible: String = key.chars().filter(|sign| !sign.is_whitespace() && !is_invisible(*sign)).collect();
    let unquoted = visible.trim_start_matches(['\'', '"']).trim_end_matches('"');
    let mut found = vec![key.to_owned()];
    for bare in [unquoted, visible.trim_matches(is_sign)] {
        found.extend([bare.to_owned(), format!("'{bare}")]);
        let (word, digits) = bare.split_at(bare.trim_end_matches(|sign: char| sign.is_ascii_digit()).len());
        if !digits.is_empty() && !word.contains(|sign: char| sign.is_ascii_digit()) {
            let number = decimal(digits, "");
            let most = ZEROS.max(WIDTH.saturating_sub(number.len()));
            found.extend((0..=most).map(|zeros| format!("{word}{}{number}", "0".repeat(zeros))));
        }
        if bare.contains(char::is_alphabetic) {
            let with = |sign| [bare.replace(['-', '_'], sign), bare.replace(is_sign, sign)];
            for spelled in [bare.to_owned()].into_iter().chain(["-", "_", ""].into_iter().flat_map(with)) {
                let (upper, lower) = (spelled.to_uppercase(), spelled.to_lowercase());
                let mut rest = lower.chars();
                let capitalized = rest.next().map(|first| first.to_uppercase().chain(rest).collect());
                found.extend([spelled, upper, lower]);
                found.extend(capitalized);
            }
        }
    }
    found
}

/// These, and more that can be looked up: those of a number in another format.
pub(crate) fn more_spellings(key: &str) -> Vec<String> {
    let mut found = likely_spellings(key);
    let Forms { exact, rounded, .. } = Forms::of(key);
    for number in [exact, rounded].concat().into_iter().filter(|form| is_number(&form.replacen('.', "", 1))) {
        let (whole, decimals) = number.split_once('.').unwrap_or((&number, ""));
        found.extend([decimals.len() + 1, 2].map(|digits| format!("{whole}.{decimals:0<digits$}")));
        if let Some((thousands, rest)) = whole.split_at_checked(whole.len().saturating_sub(3))
            && (1..=3).contains(&thousands.len())
        {
            let decimals = if decimals.is_empty() { String::new() } else { format!(".{decimals:0<2}") };
            found.extend([",", "."].map(|sign| format!("{thousands}{sign}{rest}{decimals}")));
        }
        found.extend(likely_spellings(&number));
    }
    found
}

/// Letters and digits in lower case and in plain forms, without signs around them.
fn plain_text(key: &str) -> String {
    let plain = key.chars().filter(|sign| !is_invisible(*sign)).map(|sign| match sign {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(sign) - 0xfee0).unwrap_or(sign),
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2019}' => '\'',
        _ if sign.is_whitespace() => ' ',
        _ => sign,
    });
    let plain: String = plain.flat_map(char::to_lowercase).collect();
    let inner = plain.trim_matches(|sign: char| !sign.is_alphanumeric());
    if inner.is_empty() { plain } else { inner.to_owned() }
}

/// A run of digits or of letters, and the signs before it.
#[derive(Debug)]
struct Word<'t> {
    before: &'t str,
    text: &'t str,
    is_number: bool,
}

fn words(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (before, word) = rest.split_at(rest.find(char::is_alphanumeric).unwrap_or(rest.len()));
        let is_number = word.starts_with(|sign: char| sign.is_ascii_digit());
        let is_alike = |sign: char| sign.is_alphanumeric() && sign.is_ascii_digit() == is_number;
        let (text, after) = word.split_at(word.find(|sign| !is_alike(sign)).unwrap_or(word.len()));
        words.push(Word { before, text, is_number });
        rest = after;
    }
    words
}

/// The words, apart only where two numbers meet. Zeros before the first number after a letter mean nothing: `invoice-0017` is
/// `invoice-17`, but `12.01` is not `12.1`.
fn skeleton(words: &[Word<'_>]) -> String {
    if let [Word { before, text: "", .. }] = words {
        return (*before).to_owned();
    }
    let mut skeleton = String::new();
    let mut is_after_number = false;
    for word in words {
        if is_after_number && word.is_number {
            skeleton.push(' ');
            skeleton += word.text;
        } else if word.is_number {
            skeleton += &decimal(word.text, "");
        } else {
            skeleton += word.text;
        }
        is_after_number = word.is_number;
    }
    skeleton
}

/// The ASCII letters and digits, if the other letters are few and may be one in another encoding.
fn ascii_letters(text: &str) -> Option<String> {
    let is_mark = |sign: char| ('\u{300}'..='\u{36f}').contains(&sign);
    let mut letters = String::new();
    let mut others = 0;
    for sign in text.chars() {
        match sign {
            _ if sign.is_ascii_alphanumeric() => letters.push(sign.to_ascii_lowercase()),
            // The letter and its mark are one letter in another form.
            _ if is_mark(sign) && letters.pop().is_some() => others += 1,
            '?' => others += 1,
            _ => others += usize::from(!sign.is_ascii() && !sign.is_whitespace()),
        }
    }
    (others > 0 && letters.len() >= 2 * others).then(|| format!("ascii {letters}"))
}

/// The ASCII letters and digits, and for each part of another letter the number of the first part like it.
fn pattern(text: &str, parts: impl Fn(char) -> Vec<u32>) -> String {
    let (mut pattern, mut seen) = (String::new(), Vec::new());
    for letter in text.chars() {
        if letter.is_ascii_alphanumeric() {
            pattern.push(letter.to_ascii_lowercase());
        } else if !letter.is_ascii() || letter == '?' {
            for part in parts(letter) {
                let first = seen.iter().position(|it| *it == part).unwrap_or_else(|| {
                    seen.push(part);
                    seen.len() - 1
                });
                let _ = write!(pattern, "*{first}");
            }
        }
    }
    pattern
}

/// The values that the text can have as a number, without zeros that mean nothing. A point or comma before three digits may group
/// them, or begin decimals.
fn numbers(text: &str, words: &[Word<'_>]) -> Vec<String> {
    if let Some(number) = with_exponent(text) {
        return vec![number];
    }
    let Some((first, others)) = words.split_first() else { return Vec::new() };
    // A currency may stand before or after the number.
    let others = match others.split_last() {
        Some((last, others))
            if !last.is_number && last.before.trim().is_empty() && is_currency(last.text) =>
        {
            others
        }
        _ => others,
    };
    let (first, others) = match others.split_first() {
        Some((number, others)) if is_currency(first.text) && number.before.trim().is_empty() => {
            (number, others)
        }
        _ => (first, others),
    };
    if !first.is_number || others.iter().any(|word| !word.is_number || word.before.trim().chars().count() > 1)
    {
        return Vec::new();
    }
    let mut found = Vec::new();
    let joined = |groups: &[Word<'_>]| {
        let are_groups = groups.iter().all(|group| {
            group.text.len() == 3 && group.before == groups[0].before && ".,' ".contains(group.before)
        });
        are_groups.then(|| groups.iter().fold(first.text.to_owned(), |whole, group| whole + group.text))
    };
    found.extend(joined(others).map(|whole| decimal(&whole, "")));
    if let Some((decimals, groups)) = others.split_last()
        && [".", ","].contains(&decimals.before)
        && groups.iter().all(|group| group.before != decimals.before)
        && let Some(whole) = joined(groups)
    {
        let number = decimal(&whole, decimals.text);
        if !found.contains(&number) {
            found.push(number);
        }
    }
    found
}

fn is_currency(text: &str) -> bool {
    ["usd", "eur", "gbp", "chf", "cad", "aud", "kr"].contains(&text)
}

/// The number without zeros that mean nothing.
fn decimal(whole: &str, decimals: &str) -> String {
    let (whole, decimals) = (whole.trim_start_matches('0'), decimals.trim_end_matches('0'));
    let whole = if whole.is_empty() { "0" } else { whole };
    if decimals.is_empty() { whole.to_owned() } else { format!("{whole}.{decimals}") }
}

/// `12e3` as 12000.
fn with_exponent(text: &str) -> Option<String> {
    let (number, exponent) = text.split_once('e')?;
    let (whole, decimals) = number.split_once(['.', ',']).unwrap_or((number, ""));
    let exponent = exponent.strip_prefix('+').unwrap_or(exponent);
    let (exponent, zeros) = match exponent.strip_prefix('-') {
        Some(places) => ("0", places),
        None => (exponent, "0"),
    };
    if ![whole, exponent, zeros].into_iter().all(is_number) || !(decimals.is_empty() || is_number(decimals)) {
        return None;
    }
    let [places, zeros] = [exponent, zeros].map(|text| text.parse().ok().filter(|places| *places <= 30));
    let (places, zeros): (usize, usize) = (places?, zeros?);
    // The point moves to the right by the places, or to the left, behind zeros.
    let mut digits = format!("{}{whole}{decimals}", "0".repeat(zeros));
    let end = whole.len() + places;
    while digits.len() < end {
        digits.push('0');
    }
    Some(decimal(&digits[..end], &digits[end..]))
}

/// The number as programs keep it that lose digits.
fn roundings(number: &str) -> Vec<String> {
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    if whole.len() + decimals.len() <= DIGITS {
        return Vec::new();
    }
    let kept_whole = whole.len().min(DIGITS);
    let cut = format!("{}{}", &whole[..kept_whole], "0".repeat(whole.len() - kept_whole));
    let cut = decimal(&cut, &decimals[..(DIGITS - kept_whole).min(decimals.len())]);
    let mut found = vec![cut];
    if let Ok(binary) = number.parse::<f64>() {
        let shortest = with_exponent(&format!("{binary:e}")).unwrap_or_else(|| binary.to_string());
        let rounded = with_exponent(&format!("{binary:.*e}", DIGITS - 1)).unwrap_or_default();
        found.extend([shortest, rounded]);
    }
    found.retain(|form| form != number);
    found
}

/// Whether a program that keeps numbers as 64-bit floats writes this one, and loses digits of others: `9007199254740993` becomes
/// `9007199254740992`, and `12345678901234567890` becomes `12345678901234567168`, or `12345678901234567000` with as few digits as possible.
fn is_binary_fraction(number: &str) -> bool {
    /// Below it, floats keep every whole number.
    const EXACT: f64 = 9_007_199_254_740_992.0;

    let number = decimal(number, "");
    let float = number.parse().unwrap_or(0.0_f64);
    float >= EXACT
        && (format!("{float:.0}") == number
            || with_exponent(&format!("{float:e}")).is_some_and(|it| it == number))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Spreadsheets keep so many digits of a number.
const DIGITS: usize = 15;

/// A time of day, and its part of a day as a spreadsheet shows it.
fn time(words: &[Word<'_>]) -> Option<[String; 2]> {
    let (words, half_day) = match words.split_last() {
        Some((last, words)) if last.text == "am" => (words, Some(0)),
        Some((last, words)) if last.text == "pm" => (words, Some(12)),
        _ => (words, None),
    };
    let (first, others) = words.split_first().filter(|(_, others)| (1..=2).contains(&others.len()))?;
    if !first.is_number
        || others.iter().any(|word| word.before != ":" || !word.is_number || word.text.len() > 2)
    {
        return None;
    }
    let number = |word: &Word<'_>| word.text.parse::<u32>().ok();
    let hours = number(first)?;
    let hours = half_day.map_or(hours, |after| hours % 12 + after);
    let (minutes, seconds) = (number(&others[0])?, others.get(1).map_or(Some(0), number)?);
    // Spreadsheets keep more hours than a day has.
    if hours > 9999 || minutes > 59 || seconds > 59 {
        return None;
    }
    let seconds = hours * 3600 + minutes * 60 + seconds;
    let days = format!("{:.*}", DIGITS, f64::from(seconds) / 86_400.0);
    let (days, part) = days.split_once('.')?;
    Some([format!("time {seconds}"), decimal(days, part)])
}

/// A key that a spreadsheet reads as a date and writes in another way: it makes `02-Jan` of `1-2`, `Feb-43` of `2043-2`, and
/// `1-Mar` of `MAR1`.
#[derive(Debug)]
struct Date {
    /// Month, day or year, in the order of the key.
    numbers: Vec<u16>,
    /// What each of them is, and the signs between them.
    style: String,
    /// The time of day after it.
    time: Option<String>,
}

impl Date {
    fn read_with_time(words: &[Word<'_>]) -> Option<Self> {
        let hours =
            words.iter().position(|word| word.before == ":").and_then(|minutes| minutes.checked_sub(1));
        let (date, hours) = words.split_at(hours.unwrap_or(words.len()));
        let date = Self::read(date)?;
        if hours.is_empty() { Some(date) } else { Some(Self { time: Some(time(hours)?[0].clone()), ..date }) }
    }

    fn read(words: &[Word<'_>]) -> Option<Self> {
        let mut date = Self { numbers: Vec::new(), style: String::new(), time: None };
        for word in words {
            date.style += word.before;
            if word.is_number {
                let number: u16 = word.text.parse().ok()?;
                let is_year = word.text.len() == 4 && (1900..=9999).contains(&number);
                if word.text.len() > 2 && !is_year {
                    return None;
                }
                date.numbers.push(number);
                date.style.push(if is_year { 'y' } else { 'n' });
            } else {
                let month = (1..).zip(MONTHS).find(|(_, names)| names.contains(&word.text))?;
                date.numbers.push(month.0);
                date.style.push('m');
            }
        }
        // `12 10` is no date without a name or a year, and of `2026.10` a spreadsheet changes the zeros.
        let is_number =
            words.iter().all(|word| word.is_number) && date.style.contains('.') && words.len() == 2;
        let is_date = (date.style.contains(['-', '/', 'm', 'y']) || date.style == "n.n.n")
            && date.style.chars().all(|sign| "-/. ,nmy".contains(sign))
            && date.style.matches('y').count() <= 1
            && !is_number;
        ((2..=3).contains(&date.numbers.len()) && is_date).then_some(date)
    }

    fn form(mut numbers: Vec<u16>) -> String {
        numbers.sort_unstable();
        format!("date {numbers:?}")
    }

    /// The same for each order of its numbers, with and without the century, a first day, and a year that a spreadsheet adds; and
    /// the number of its days.
    fn forms(&self) -> Vec<String> {
        let form = |numbers: &[u16]| Self::form(numbers.iter().map(|number| number % 100).collect());
        let mut forms = vec![form(&self.numbers)];
        let kinds = self.style.chars().filter(|sign| "nmy".contains(*sign));
        let year = kinds.clone().position(|kind| kind == 'y');
        let mut others = self.numbers.clone();
        let year = year.map(|place| others.remove(place));
        if self.numbers.len() == 2 && self.style.contains(['y', 'm']) {
            forms.push(form(&[&self.numbers[..], &[1]].concat()));
            others.push(1);
        } else if year.is_some() {
            forms.push(form(&others));
        }
        if let (Some(year), &[one, other]) = (year, &others[..]) {
            for (month, day) in [(one, other), (other, one)] {
                forms.extend(days(year, month, day).map(|days| days.to_string()));
            }
        }
        forms.dedup();
        if let Some(time) = &self.time {
            for form in &mut forms {
                *form += time;
            }
        }
        forms
    }
}

/// The number by which spreadsheets keep a date: the days since 30 December 1899.
fn days(year: u16, month: u16, day: u16) -> Option<u32> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let (year, month, day) = (u32::from(year), u32::from(month), u32::from(day));
    // The year begins in March, so that a leap day is its last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let since_year_0 = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    since_year_0.checked_sub(693_899)
}

/// The day without its year, as a form of a date, if this may be its number: that of `3-4` in 2026 is 46085 or 46115.
fn day_of_some_year(number: &str) -> Option<String> {
    // From 1982 to 2119.
    let days = number.parse::<u64>().ok().filter(|days| (30_000..80_000).contains(days))?;
    let since_1970 = Duration::from_hours((days - 25_569) * 24);
    let date = humantime::format_rfc3339(SystemTime::UNIX_EPOCH + since_1970).to_string();
    Some(Date::form([5..7, 8..10].map(|part| date[part].parse().unwrap_or_default()).to_vec()))
}

/// As spreadsheets abbreviate them: English, German, French, Spanish, Italian, Dutch, Portuguese, Scandinavian, Polish, Romanian and
/// Turkish.
const MONTHS: [&[&str]; 12] = [
    &["jan", "january", "januar", "janv", "ene", "gen", "sty", "ian", "oca"],
    &["feb", "february", "februar", "f\u{e9}vr", "fev", "lut", "\u{15f}ub"],
    &["mar", "march", "mrz", "m\u{e4}r", "m\u{e4}rz", "mars", "mrt"],
    &["apr", "april", "avr", "abr", "kwi", "nis"],
    &["may", "mai", "mag", "mei", "maj"],
    &["jun", "june", "juni", "juin", "giu", "cze", "iun", "haz"],
    &["jul", "july", "juli", "juil", "lug", "lip", "iul", "tem"],
    &["aug", "august", "ao\u{fb}t", "ago", "sie", "a\u{11f}u"],
    &["sep", "sept", "september", "set", "wrz", "eyl"],
    &["oct", "october", "okt", "oktober", "ott", "out", "pa\u{17a}", "eki"],
    &["nov", "november", "lis", "noi", "kas"],
    &["dec", "december", "dez", "dezember", "d\u{e9}c", "dic", "des", "gru", "ara"],
];

/// How a spreadsheet or a program seems to have changed a key. A lost digit cannot be seen in each of them, only the number that was
/// written in its place.
pub(crate) fn apparent_change(key: &str) -> Option<&'static str> {
    const QUOTES: [char; 3] = ['\'', '"', '`'];
    if key.starts_with(QUOTES) {
        return Some("begins with a quotation mark");
    }
    let plain = key.strip_prefix(['+', '-']).unwrap_or(key);
    if is_number(plain) {
        let lost = plain.trim_start_matches('0').get(DIGITS..).unwrap_or_default();
        if !lost.is_empty() && lost.bytes().all(|digit| digit == b'0') {
            return Some("is a number of which a spreadsheet keeps only 15 digits");
        }
        return is_binary_fraction(plain)
            .then_some("is a number as a program writes it that has kept it as a 64-bit float");
    }
    if let Some((mantissa, exponent)) = plain.split_once(['e', 'E']) {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let is_shortened = is_number(exponent) && is_number(&mantissa.replacen(['.', ','], "", 1));
        return is_shortened.then_some("is a number with an exponent");
    }
    let (whole, decimals) = plain.rsplit_once(['.', ',']).unwrap_or((plain, ""));
    if is_number(decimals)
        && decimals.bytes().all(|digit| digit == b'0')
        && is_number(&whole.replace(SIGNS, ""))
    {
        return Some("is a number with decimals of zeros");
    }
    let groups: Vec<_> = plain.split(SIGNS).collect();
    let is_grouped = groups.len() > 1
        && groups.iter().all(|group| is_number(group))
        && groups[0].len() <= 3
        && groups[1..].iter().all(|group| group.len() == 3);
    is_grouped.then_some("is a number with signs between its thousands")
}

/// What stands between the thousands of a number.
const SIGNS: [char; 4] = [',', '.', '\'', '_'];

#[cfg(test)]
mod tests {
    use super::*;

    /// No two of them are variants.
    #[rustfmt::skip]
    const OTHERS: [&str; 62] = [
        "\u{410}\u{440}\u{435}\u{43d}\u{434}\u{430} 17",
        "\u{421}\u{447}\u{451}\u{442} 17", "\u{421}\u{447}\u{451}\u{442} 18", "\u{414}\u{43e}\u{43c} 17",
        "M\u{fc}ller 1", "M\u{fc}ller 2", "\u{623f}\u{79df} a", "\u{6c34}\u{8d39} a", "M\u{f6}ll",
        "17", "170", "1.7", "17a", "a17", "a107", "12.1", "12.01", "1.2.10", "1.2.1", "sub7-2026.1", "sub7-2026.10",
        "sub 1 11", "sub 11 1", "123456789012345", "12345678901234560", "1234567890123456", "1234567890123457",
        "ord-1234567890123456", "ord-1234567890123450", "inv-5", "inv-50", "inv-5-0", "", "2-1", "1-3", "7-1-2",
        "2026-11", "2026-12", "2026-11-27", "2026-27-11", "abc-1", "may", "mayor 5", "1899-2", "123-4", "4512-1",
        "4612-1", "05-Jun-2026", "06-May-2027", "2027.11", "Jan-45", "46354", "17:06",
        "2026-11-27 10:30", "2026-11-28 10:30", "2026-11-27 10:31",
        "2026-10-4512", "2025-10-4512", "17_100", "17100", "e10", "1f10",
    ];

    #[test]
    fn variants_share_a_form_and_other_keys_do_not_d53() {
        for (key, variants) in [
            ("0017", "17 | 017 | 17.0 | 17.00 | '0017 | \"0017\" | +17 | -17 | (17) | 17% | 17. | 17,"),
            (
                "1843",
                "1,843 | 1,843.00 | 1'843 | 1\u{2019}843 | 1.843 | 1843,00 | $1843.00 | 1 843 | 1843 EUR",
            ),
            ("1234567", "1,234,567 | 1.234.567,00 | 1 234 567 | \u{ff11}234567"),
            ("12.10", "12.1 | 012.1 | 12,10 | 12,1"),
            ("0.50", "0.5 | 00.5 | 0,5"),
            (
                "1234567890123456",
                "1234567890123450 | 01234567890123450 | 1234567890123460 | 1,234,567,890,123,450",
            ),
            ("12345678901234567", "12345678901234568 | 12345678901234500 | 12345678901234600"),
            ("12345678901234567890", "12345678901234500000 | 12345678901234567000"),
            ("1e10", "10000000000"),
            ("12E3", "12000 | 12,000"),
            (
                "Inv-5",
                "inv-5 | INV-5 | INV-0005 | inv05 | inv5 | inv_5 | inv 5 | 'inv-5 | Inv\u{2011}5 | Inv-\u{200b}5 | inv\u{2212}5 | inv-5,",
            ),
            ("@order-9", "'@order-9 | order-9"),
            ("order 2026-01-07", "Order 2026-01-07 | order2026-01-07 | order\u{a0}2026\u{2013}01-07"),
            ("0", "00 | 0.0"),
            (
                "M\u{fc}ller Stra\u{df}e 5",
                "M\u{c3}\u{bc}ller Stra\u{c3}\u{178}e 5 | M?ller Stra?e 5 | Mu\u{308}ller Stra\u{df}e 5 | m\u{fffd}ller stra\u{fffd}e 5",
            ),
            (
                "\u{421}\u{447}\u{451}\u{442} 17",
                "???? 17 | \u{fffd}\u{fffd}\u{fffd}\u{fffd} 17 | \u{420}\u{40e}\u{421}\u{2021}\u{421}\u{2018}\u{421}\u{201a} 17 | \
                 \u{d0}\u{a1}\u{d1}\u{2021}\u{d1}\u{2018}\u{d1}\u{201a} 17",
            ),
            ("\u{623f}\u{79df} a", "?? a | \u{e6}\u{2c6}\u{bf}\u{e7}\u{a7}\u{178} a"),
            ("1-2", "02-Jan | 2-Jan | 01. Feb | 1-Feb | 01-02 | 1/2 | 2026-01-02 | 2027-02-01 | 01.lut"),
            ("3-4", "46085 | 46115"),
            ("2026.10", "2026.1 | 02026.10"),
            ("4512.50", "4512.5"),
            ("2026.00", "2026"),
            ("2043-2", "Feb-43 | Feb 43 | 02/2043 | fev/43 | 2043-02-01 | 1/2/2043"),
            ("4711-2", "Feb-11 | 2/4711 | 4711-02-01"),
            ("2043-3", "mrt-43"),
            ("2043-5", "maj-43 | mei-43"),
            ("2043-10", "out/43 | okt-43"),
            ("MAR1", "1-Mar | 01. Mrz | mar-1"),
            ("2026-11-27", "11/27/2026 | 27.11.2026 | 27-Nov-26 | 27 Nov 2026 | 46353"),
            ("2026-11", "2026-11-01 | 11/1/2026 | 46327"),
            ("17:05", "17:05:00 | 17:5 | 5:05 PM | 0.711805555555556"),
            ("25:10", "25:10:00"),
            ("1843:01", "1843:01:00"),
            ("12E-3", "0.012 | 1.2E-02"),
            ("1E-5", "0.00001"),
            ("1.2.26", "01.02.2026"),
            ("2026-11-27 10:30", "11/27/2026 10:30 | 27.11.2026 10:30:00"),
            ("10:30", "0.4375"),
        ] {
            for variant in variants.split(" | ") {
                assert!(is_variant(key, variant) && is_variant(variant, key), "{key} {variant}");
            }
        }
        for (index, one) in OTHERS.iter().enumerate() {
            for other in &OTHERS[index + 1..] {
                assert!(!is_variant(one, other), "{one} {other}");
            }
        }
        assert!(!is_exact_variant("1234567890123456", "1234567890123450"));
    }

    #[test]
    fn changed_keys_are_seen() {
        let changed = "'inv-5 | \"inv-5\" | `a | 1234567890123450 | 12345678901234500000 | -1234567890123450 | \
                       9007199254740992 | 012345678901234567168 | 12345678901234567000 | 1e5 | 1.23E+15 | \
                       1,5e3 | 1843.0 | 1,843.00 | 1.843,0 | 1,843 | 1.843 | 1'843'000 | 12,345,678";
        for key in changed.split(" | ") {
            assert!(apparent_change(key).is_some(), "{key}");
        }
        let others = "inv-5 | inv'5 | 0017 | 1234567890123456 | 123456789012345 | 9007199254740991 | \
                      9007199254740993 | 12345678901234567 | 12345678901234567890 | 0000001234567890 | 100 | 1e | e5 | 0x1e5a | \
                      1e5a | 1.84 | 2026.10 | 2026.001 | 1,84 | 1-843 | 12345678901234567a | ";
        for key in others.split(" | ") {
            assert!(apparent_change(key).is_none(), "{key}");
        }
    }
}
