//! The options that name a journal, and those of a charge with a key.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use payments_journal::IntentKey;

/// Where the journal is.
#[derive(Args)]
pub(crate) struct PlaceOptions {
    /// Journal, which makes sure that each key is sent at most once: a file, or postgres://… [env: PAYMENTS_JOURNAL]
    #[arg(long, global = true, value_name = "PLACE")]
    pub(crate) journal: Option<OsString>,

    /// File on another disk by which a restored older journal is noticed [env: PAYMENTS_JOURNAL_WITNESS]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) witness: Option<PathBuf>,
}

/// The help of `--existing-journal`.
pub(super) const EXISTING_JOURNAL: &str =
    "Refuse a journal that does not exist, instead of creating it [env: PAYMENTS_JOURNAL_MUST_EXIST=true]";

/// The journal and the key of a charge that is sent at most once.
#[derive(Args)]
pub(crate) struct IntentOptions {
    #[command(flatten)]
    pub(crate) place: PlaceOptions,

    /// Your own name for this payment, such as invoice-2026-0017; needs a journal
    #[arg(long, value_name = "KEY", value_parser = key)]
    pub(crate) key: Option<IntentKey>,

    #[arg(long, requires = "key", help = EXISTING_JOURNAL)]
    pub(crate) existing_journal: bool,

    /// Accept a key, TokenId, ReferenceNo or id of a void that looks like a card number
    #[arg(long, requires = "key")]
    pub(crate) ids_are_not_cards: bool,

    /// Make one new attempt with a key that was rejected or not processed, such as with another card
    #[arg(long, requires = "key")]
    pub(crate) after_rejection: bool,
}

/// No message repeats the argument: it may be a card number in the wrong place.
pub(super) fn key(text: &str) -> Result<IntentKey, String> {
    IntentKey::new(text).map_err(|error| format!("the intent key {}", error.rule()))
}
