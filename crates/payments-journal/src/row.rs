//! An intent as a database keeps it: one document, and beside it what is searched.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[cfg(feature = "sqlite")]
pub(crate) use columns::COLUMNS;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) use columns::{IS_VOID, IntentRow, OLDER, intent};

#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod columns {
    use payments_model::{Amount, TransactionId};

    use super::milliseconds;
    use crate::{Intent, StoreError};

    /// A row of a database, all of it made from the intent.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct IntentRow {
        pub(crate) key: String,
        pub(crate) state: String,
        pub(crate) operation: String,
        pub(crate) amount: Option<String>,
        pub(crate) transaction_id: Option<String>,
        pub(crate) processed_as: Option<String>,
        pub(crate) created_at: i64,
        pub(crate) begun_at: i64,
        pub(crate) changed_at: i64,
        pub(crate) revision: i64,
        /// The intent as JSON: what is read back.
        pub(crate) document: String,
    }

    /// The names of its columns in every database, in its order.
    #[cfg(feature = "sqlite")]
    pub(crate) const COLUMNS: [&str; 11] = [
        "key",
        "state",
        "operation",
        "amount",
        "transaction_id",
        "processed_as",
        "created_at",
        "begun_at",
        "changed_at",
        "revision",
        "document",
    ];

    /// The condition that the rows of voids meet, as every database understands it. A void and its payment may have the
    /// same transaction; two payments, or two voids, may not.
    pub(crate) const IS_VOID: &str = "(operation = 'void')";

    /// What to do with a journal of an older version.
    pub(crate) const OLDER: &str = "with the version that wrote it, resolve what is unknown and export it (payments journal \
         export), then begin a new journal, for new keys only: it does not know the old ones and would charge them again";

    impl From<&Intent> for IntentRow {
        fn from(intent: &Intent) -> Self {
            // PostgreSQL keeps no NUL. The document has it escaped; here it is only searched for, in the same form.
            let searched = |id: &TransactionId| id.as_str().replace('\0', "\u{fffd}");
            Self {
                key: intent.key.as_str().to_owned(),
                state: intent.state.name().as_str().to_owned(),
                operation: intent.request.operation.as_str().to_owned(),
                amount: intent.request.amount.as_ref().map(Amount::to_string),
                transaction_id: intent.transaction_id().map(searched),
                processed_as: intent.processed_as().map(searched),
                created_at: milliseconds::of(intent.created_at),
                begun_at: milliseconds::of(intent.begun_at),
                changed_at: milliseconds::of(intent.changed_at),
                revision: i64::try_from(intent.revision).unwrap_or(i64::MAX),
                document: serde_json::to_string(intent).expect("every key of it is a text"),
            }
        }
    }

    /// The intent of a document that stands in a row with this key and state.
    pub(crate) fn intent(key: &str, state: &str, document: &str) -> Result<Intent, StoreError> {
        let damaged = |how: &str| {
            StoreError::damaged(format!(
                "the journal is damaged: {how} of the intent {}; nothing was sent",
                key.escape_debug()
            ))
        };
        // The text of the error may repeat the document.
        let intent: Intent =
            serde_json::from_str(document).map_err(|_| damaged("this version cannot read the document"))?;
        if intent.key.as_str() != key || intent.state.name().as_str() != state {
            return Err(damaged("the columns contradict the document"));
        }
        Ok(intent)
    }

    #[cfg(test)]
    mod tests {
        use std::time::SystemTime;

        use payments_model::{ConvenienceFee, TokenTransaction};

        use super::*;
        use crate::{AttemptId, Change, Ending, Failure, IntentKey, OwnerId, Resolution};

        fn row() -> IntentRow {
            let amount = Amount::from_cents(10_50);
            let payment = TokenTransaction::builder("tok_1", amount, ConvenienceFee::Active).build().unwrap();
            let (key, now) = (IntentKey::new("k").unwrap(), SystemTime::UNIX_EPOCH);
            let attempt = AttemptId::from_kept("a");
            let begin =
                Change::begin(key.clone(), (&payment).into(), attempt.clone(), OwnerId::from_kept("o"), now);
            let mut failure = Failure::of_kind("timeout");
            failure.reason = Some("no\0answer".to_owned());
            let sending = begin.decide(None).unwrap();
            let end = Change::end(key.clone(), attempt, Ending::Unknown(failure), now);
            let unknown = end.decide(Some(&sending)).unwrap();
            let id = TransactionId::from_answer("txn\0_1").unwrap();
            let resolve = Change::resolve(key, Resolution::processed(id, "ada"), now);
            (&resolve.decide(Some(&unknown)).unwrap()).into()
        }

        fn read(row: &IntentRow) -> Result<Intent, StoreError> {
            intent(&row.key, &row.state, &row.document)
        }

        #[test]
        fn the_document_is_read_by_people_and_holds_every_character() {
            let row = row();
            assert_eq!(
                row.document,
                r#"{"key":"k","request":{"operation":"token-transaction","subject":{"token":"tok_1"},"amount":"10.50","transaction_type":null,"convenience_fee":"active","reference":null},"state":{"resolved":{"resolution":{"verdict":{"processed":"txn\u0000_1"},"by":"ada","note":null},"before":{"kind":"timeout","http_status":null,"reason":"no\u0000answer","transaction_id":null}}},"attempt":"a","owner":"o","follows":null,"attempts":1,"created_at":0,"begun_at":0,"changed_at":0,"revision":3}"#
            );
            assert_eq!(
                (row.state.as_str(), row.processed_as.as_deref()),
                ("resolved", Some("txn\u{fffd}_1"))
            );
            let intent = read(&row).unwrap();
            assert_eq!(intent.processed_as().unwrap().as_str(), "txn\0_1");
            assert_eq!(IntentRow::from(&intent), row);
        }

        /// What a version takes for a card number may change. The rows that are there must not.
        #[test]
        fn a_key_that_would_be_refused_today_is_still_read() {
            let mut row = row();
            row.key = "charge-4242424242424242".to_owned();
            row.document = row.document.replace(r#"{"key":"k""#, r#"{"key":"charge-4242424242424242""#);
            assert!(IntentKey::new(row.key.as_str()).is_err());
            assert_eq!(read(&row).unwrap().key.as_str(), row.key);
        }

        /// An older version of this crate must not write down half of what a newer one has kept.
        #[test]
        fn a_document_with_an_unknown_member_is_not_read_and_nothing_of_it_is_shown() {
            for (member, with_another) in [
                ("{\"key\"", "{\"4242424242424242\":1,\"key\""),
                ("{\"verdict\"", "{\"4242424242424242\":1,\"verdict\""),
                ("{\"kind\"", "{\"4242424242424242\":1,\"kind\""),
                ("{\"operation\"", "{\"4242424242424242\":1,\"operation\""),
            ] {
                let mut row = row();
                assert!(row.document.contains(member));
                row.document = row.document.replace(member, with_another);
                let error = read(&row).unwrap_err();
                assert!(error.is_damaged(), "{error:?}");
                let text = format!("{error:#} {error:?}");
                assert!(text.contains("the intent k") && !text.contains("4242"), "{text}");
            }
        }
    }
}

/// Times as stores keep them: milliseconds since 1970 UTC.
pub(crate) mod milliseconds {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    use super::{Duration, SystemTime, UNIX_EPOCH};

    /// What is before 1970 counts as 1970.
    pub(crate) fn of(time: SystemTime) -> i64 {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    pub(crate) fn time(milliseconds: i64) -> Option<SystemTime> {
        UNIX_EPOCH.checked_add(Duration::from_millis(u64::try_from(milliseconds).ok()?))
    }

    pub(crate) fn serialize<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(of(*time))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SystemTime, D::Error> {
        time(i64::deserialize(deserializer)?).ok_or_else(|| D::Error::custom("the time is out of range"))
    }
}

/// The time as a row can hold it.
pub(crate) fn now() -> SystemTime {
    milliseconds::time(milliseconds::of(SystemTime::now())).expect("it came out of a time")
}
