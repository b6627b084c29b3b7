//! Numbers, zones and instants as people and processors write them.

use std::ops::RangeInclusive;
use std::time::{Duration, SystemTime};

/// A plain date starts at midnight UTC, because every time is shown in UTC.
pub(crate) fn time(text: &str) -> Result<SystemTime, &'static str> {
    const RULE: &str = "must be a date such as 2026-11-01, or a time such as 2026-11-01T08:00:00Z";
    let text = text.to_ascii_uppercase();
    if !text.is_ascii() {
        return Err(RULE);
    }
    if text.len() == "2026-11-01".len() {
        return humantime::parse_rfc3339(&format!("{text}T00:00:00Z")).map_err(|_| RULE);
    }
    let zone = if text.ends_with('Z') { "Z" } else { "+01:00" };
    let (local, zone) = text.split_at_checked(text.len().saturating_sub(zone.len())).ok_or(RULE)?;
    let is_written_out = zone == "Z" || zone.as_bytes().get(3) == Some(&b':');
    let ahead = parse_zone(zone).filter(|_| is_written_out && !zone.contains(char::is_whitespace));
    // A second Z would make any offset valid.
    let local = Some(local).filter(|local| !local.contains('Z')).ok_or(RULE)?;
    let local = humantime::parse_rfc3339(&format!("{local}Z")).map_err(|_| RULE)?;
    ahead.and_then(|ahead| shifted(local, ahead)).ok_or(RULE)
}

/// `Z`, `UTC`, `+01:00`, `-0530` or `+01`, as minutes ahead of UTC.
pub(crate) fn parse_zone(text: &str) -> Option<i64> {
    if ["Z", "UTC", "GMT"].iter().any(|name| text.trim().eq_ignore_ascii_case(name)) {
        return Some(0);
    }
    let (sign, rest) = text.trim().split_at_checked(1)?;
    let rest = rest.replace(':', "");
    let (hours, minutes) = rest.split_at_checked(2)?;
    let hours = number(hours, 2..=2, 0..=14)?;
    let minutes = if minutes.is_empty() { 0 } else { number(minutes, 2..=2, 0..=59)? };
    let ahead = i64::try_from(hours * 60 + minutes).ok().filter(|ahead| *ahead <= FURTHEST)?;
    match sign {
        "+" => Some(ahead),
        "-" => Some(-ahead),
        _ => None,
    }
}

/// No zone is further from UTC, in minutes.
const FURTHEST: i64 = 14 * 60;

/// The instant that is this local time in a zone that many minutes ahead of UTC.
pub(crate) fn shifted(local: SystemTime, ahead: i64) -> Option<SystemTime> {
    let span = Duration::from_mins(ahead.unsigned_abs());
    if ahead >= 0 { local.checked_sub(span) } else { local.checked_add(span) }
}

/// A number of so many digits, and in this range.
pub(crate) fn number(text: &str, lengths: RangeInclusive<usize>, values: RangeInclusive<u64>) -> Option<u64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok()?;
    (is_number && lengths.contains(&text.len()) && values.contains(&number)).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_needs_a_zone_and_date_starts_in_utc() {
        let seen = |text| time(text).map(|time| humantime::format_rfc3339_millis(time).to_string());
        for (text, utc) in [
            ("2026-11-01", "2026-11-01T00:00:00.000Z"),
            ("2026-11-01T08:00:00Z", "2026-11-01T08:00:00.000Z"),
            ("2026-11-01t08:00:00.5z", "2026-11-01T08:00:00.500Z"),
            ("2026-11-01T00:30:00+01:00", "2026-10-31T23:30:00.000Z"),
            ("2026-11-01T20:00:00.123-05:30", "2026-11-02T01:30:00.123Z"),
        ] {
            assert_eq!(seen(text), Ok(utc.to_owned()), "{text}");
        }
        let bad = " | 1 | 2026-11 | 2026-11-31 | 01.11.2026 | 2026-11-01T08:00:00 | 2026-11-01T08:00:00+0100 | \
                   2026-11-01T08:00:00+24:00 | 2026-11-01T08:00:00+14:30 | 2026-11-01T08:00:00+0:100 | \
                   2026-11-01T08:00:00+01:\t\t | +1:0 | 2026-11-01T08:00:00Z+01:00 | 2026-11-01T08:00:00++1:00 | ２026-11-01";
        for bad in bad.split(" | ") {
            assert!(seen(bad).is_err(), "{bad}");
        }
    }
}
