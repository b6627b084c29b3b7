/// Checks that no text contains a number of eight or more digits from the input, which may be a card or an account.
pub(crate) fn check_no_long_number_of(input: &str, shown: &[String]) {
    for number in long_numbers(input) {
        for text in shown {
            assert!(!text.contains(number), "{number} from the input is quoted in {text:?}");
        }
    }
}

/// Every run of eight or more digits.
pub(crate) fn long_numbers(input: &str) -> impl Iterator<Item = &str> {
    input.split(|letter: char| !letter.is_ascii_digit()).filter(|run| run.len() >= 8)
}

/// Whether the digits end with the check digit of ISO/IEC 7812.
pub(crate) fn has_check_digit(digits: &str) -> bool {
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(place, digit)| match (place % 2, u32::from(digit - b'0')) {
            (0, digit) => digit,
            (_, digit @ 0..5) => digit * 2,
            (_, digit) => digit * 2 - 9,
        })
        .sum();
    sum.is_multiple_of(10)
}
