//! Which of rustdoc's JSON the public API can be read from. The package xtask has this file too, to skip that step otherwise.

use std::ops::RangeInclusive;

/// The formats that the crate `public-api` can read. Formats 58 and 59 only added optional members.
pub(crate) const READABLE: RangeInclusive<u64> = 57..=59;
