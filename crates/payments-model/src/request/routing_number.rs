/// Whether a text is a plausible ABA routing number: nine digits with a correct check digit.
///
/// Offered for forms that ask a payer for bank details. No request uses it by itself, because the interface
/// does not show which field carries a routing number.
///
/// ```
/// assert!(payments_model::is_valid_routing_number("021000021"));
/// assert!(!payments_model::is_valid_routing_number("021000022"));
/// ```
pub fn is_valid_routing_number(text: &str) -> bool {
    if text.len() != 9 || !text.bytes().all(|byte| byte.is_ascii_digit()) || text == "000000000" {
        return false;
    }
    let weighted = text.bytes().zip([3, 7, 1].into_iter().cycle());
    let sum: u32 = weighted.map(|(digit, weight)| u32::from(digit - b'0') * weight).sum();
    sum.is_multiple_of(10)
}
