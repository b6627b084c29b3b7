//! What reads as a card number, in groups of digits as people write them.

use std::ops::Range;

use crate::card_number::luhn_value;

/// The places of all digits of card numbers but the last four of each.
///
/// A number may begin with any group of digits and end with any: `17 4242 4242 4242 4242` may by chance read as
/// one that ends in the middle of the real one, and then both are masked.
pub(super) fn digits_to_mask(text: &str) -> Vec<Range<usize>> {
    let groups = digit_groups(text);
    let mut digits = Vec::new();
    // Each digit once, or a long text of ones would need a list fifteen times as long.
    let mut masked_to = 0;
    for first in 0..groups.len() {
        if is_rest_of_masked_number(text, &groups[first]) {
            continue;
        }
        let number = longest_card_number(text, &groups[first..]).iter().cloned().flatten();
        let count = number.clone().count();
        let hidden = number.take(count.saturating_sub(LEFT_LEGIBLE)).filter(|place| *place >= masked_to);
        digits.extend(hidden.map(|place| place..place + 1));
        masked_to = digits.last().map_or(masked_to, |last| last.end);
    }
    digits
}

/// Where each group of digits is.
fn digit_groups(text: &str) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    for (index, _) in text.bytes().enumerate().filter(|(_, byte)| byte.is_ascii_digit()) {
        match groups.last_mut() {
            Some(group) if group.end == index => group.end += 1,
            _ => groups.push(index..index + 1),
        }
    }
    groups
}

/// The groups of the longest card number that begins with the first group.
fn longest_card_number<'a>(text: &str, groups: &'a [Range<usize>]) -> &'a [Range<usize>] {
    let mut length = 0;
    // The Luhn sums for a number of even and of odd length: which digits count double depends on where it ends.
    let mut sums = [0; 2];
    let mut found = 0;
    for (index, group) in groups.iter().enumerate() {
        let is_joined = index == 0 || joins(text, &groups[index - 1], group);
        if !is_joined || length + group.len() > MOST_DIGITS {
            break;
        }
        for digit in text[group.clone()].bytes() {
            sums[length % 2] += luhn_value(digit, true);
            sums[(length + 1) % 2] += luhn_value(digit, false);
            length += 1;
        }
        if length >= FEWEST_DIGITS && sums[length % 2].is_multiple_of(10) {
            found = index + 1;
        }
    }
    &groups[..found]
}

/// Whether two groups of digits may belong to one number.
fn joins(text: &str, group: &Range<usize>, next: &Range<usize>) -> bool {
    let separators = &text[group.end..next.start];
    match separators.chars().take(MOST_SEPARATORS + 1).count() {
        1 if separators.chars().all(is_usual_separator) => true,
        // Dates, amounts and addresses have shorter groups.
        1..=MOST_SEPARATORS => group.len() >= LONG_GROUP && separators.chars().all(is_separator),
        _ => false,
    }
}

fn is_usual_separator(character: char) -> bool {
    character == '-' || character.is_whitespace() || ('\u{2010}'..='\u{2015}').contains(&character)
}

fn is_separator(character: char) -> bool {
    let is_invisible = matches!(character, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}');
    is_usual_separator(character) || is_invisible || "._/+".contains(character)
}

/// Whether these digits are what scrubbing left legible of a card number; otherwise they might be the beginning
/// of another one when a text is scrubbed twice. A star or two before a number may be Markdown.
fn is_rest_of_masked_number(text: &str, group: &Range<usize>) -> bool {
    let before = text[..group.start].chars().rev();
    let stars = before
        .take(STARS_OF_NUMBER * (1 + MOST_SEPARATORS))
        .take_while(|&character| character == '*' || is_separator(character));
    group.len() <= LEFT_LEGIBLE
        && text[..group.start].ends_with('*')
        && stars.filter(|character| *character == '*').count() >= STARS_OF_NUMBER
}

const FEWEST_DIGITS: usize = 12;
const MOST_DIGITS: usize = 19;
const LEFT_LEGIBLE: usize = 4;
const STARS_OF_NUMBER: usize = FEWEST_DIGITS - LEFT_LEGIBLE;
const MOST_SEPARATORS: usize = 3;
const LONG_GROUP: usize = 4;
