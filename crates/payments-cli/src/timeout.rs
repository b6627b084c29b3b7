//! The deadline of a call, as people write it.

use std::time::Duration;

/// Chosen by this command: no charge is worth waiting for longer, and a larger number is nearly always milliseconds by
/// mistake.
const LONGEST_TIMEOUT: Duration = Duration::from_hours(24);

/// Seconds with or without decimals; the error is the rule.
pub(crate) fn timeout(text: &str) -> Result<Duration, &'static str> {
    const RULE: &str = "must be a number of seconds above 0 and at most 86400, such as 30 or 2.5";
    let seconds: f64 = text.parse().map_err(|_| RULE)?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(timeout) if !timeout.is_zero() && timeout <= LONGEST_TIMEOUT => Ok(timeout),
        _ => Err(RULE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_is_a_positive_number_of_seconds_within_a_day() {
        assert_eq!(timeout("30"), Ok(Duration::from_secs(30)));
        assert_eq!(timeout("0.25"), Ok(Duration::from_millis(250)));
        assert_eq!(timeout("86400"), Ok(LONGEST_TIMEOUT));
        for bad in ["", "0", "-1", "0.0000000000001", "86400.1", "1e300", "inf", "NaN", "30s", "1,5"] {
            assert!(timeout(bad).is_err(), "{bad}");
        }
    }
}
