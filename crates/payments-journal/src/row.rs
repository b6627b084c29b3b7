//! An intent as a database stores it: one JSON document.

use payments_model::TransactionId;

use crate::{Intent, StateName, StoreError};

/// The intent as JSON.
pub(crate) fn document(intent: &Intent) -> String {
    serde_json::to_string(intent).expect("every map key is a string")
}

/// What a row has in its columns, so that it can be searched.
pub(crate) struct Columns<'a> {
    pub(crate) key: &'a str,
    pub(crate) state: &'static str,
    pub(crate) processed_as: Option<&'a str>,
    pub(crate) also_held: Vec<&'a str>,
    pub(crate) is_void: bool,
    pub(crate) service: &'a str,
    pub(crate) document: String,
}

impl<'a> Columns<'a> {
    pub(crate) fn of(intent: &'a Intent) -> Self {
        Self {
            key: intent.key.as_str(),
            state: intent.state.name().as_str(),
            processed_as: first_held(intent),
            also_held: also_held(intent),
            is_void: intent.is_void(),
            service: intent.stored_service(),
            document: document(intent),
        }
    }
}

/// The first transaction that the intent holds.
fn first_held(intent: &Intent) -> Option<&str> {
    intent.held_transactions().next().map(TransactionId::as_str)
}

/// The further transactions that the intent holds.
pub(crate) fn also_held(intent: &Intent) -> Vec<&str> {
    intent.held_transactions().skip(1).map(TransactionId::as_str).collect()
}

/// The columns by which a row is searched, beside key and state: the first transaction that it holds, whether it is a void, and its
/// service.
pub(crate) type Searched<'a> = (Option<&'a str>, bool, &'a str);

/// The intent of a document in a row with these columns.
pub(crate) fn intent(
    key: &str,
    state: &str,
    document: &str,
    (processed_as, is_void, service): Searched<'_>,
) -> Result<Intent, StoreError> {
    let damaged = |how: &str| {
        StoreError::damaged(format!(
            "the journal is damaged: {how} of the intent {}; it was left unchanged: reconcile the key with the service, and restore \
             its row from an export",
            key.escape_debug()
        ))
    };
    // The error is dropped, because its text may repeat the document.
    let intent: Intent =
        serde_json::from_str(document).map_err(|_| damaged("this version cannot read the document"))?;
    let held = first_held(&intent);
    // PostgreSQL cannot store NUL.
    let is_held =
        held == processed_as || held.map(|id| id.replace('\0', "\u{fffd}")).as_deref() == processed_as;
    let is_found = (intent.key.as_str(), intent.state.name().as_str()) == (key, state)
        && (is_held, intent.is_void(), intent.stored_service()) == (true, is_void, service);
    if !is_found {
        return Err(damaged("the columns contradict the document"));
    }
    Ok(intent)
}

/// These states as an SQL list.
pub(crate) fn names<'a>(states: impl IntoIterator<Item = &'a StateName>) -> String {
    let names: Vec<_> = states.into_iter().map(|state| format!("'{}'", state.as_str())).collect();
    names.join(", ")
}

/// The states that may be purged. They are listed by name, so that a row in a state that only a newer version knows is kept.
pub(crate) fn ended() -> String {
    names(StateName::ALL.iter().filter(|state| !StateName::UNRESOLVED.contains(state)))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use payments_core::OperationName;
    use payments_model::{Amount, ConvenienceFee, TokenId, TokenTransaction, TransactionType};
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::{
        AttemptId, Begin, Change, Ending, Failure, HistoryEvent, IntentKey, IntentRequest, IntentState,
        NewAttempt, OwnerId, RecordedResolution, Resolution, Subject, Verdict,
    };

    fn resolved() -> Intent {
        let amount = Amount::from_cents(10_50);
        let payment = TokenTransaction::builder("tok_1", amount, ConvenienceFee::Active).build().unwrap();
        let (key, now) = (IntentKey::new("k").unwrap(), SystemTime::UNIX_EPOCH);
        let attempt = AttemptId::from_kept("a");
        let (service, owner) = ("https://pay.example.com", OwnerId::from_kept("o"));
        let begin = Change::begin(
            key.clone(),
            NewAttempt {
                begin: Begin::Plain,
                service: service.to_owned(),
                request: (&payment).into(),
                attempt_id: attempt.clone(),
                owner,
            },
            now,
        );
        let mut failure = Failure::of_kind("timeout");
        failure.reason = Some("no\0answer".to_owned());
        let sending = begin.decide(None).unwrap();
        let end = Change::end(key, attempt, Ending::Unknown(failure), now);
        let unknown = end.decide(Some(&sending)).unwrap();
        let id = TransactionId::from_response("txn\0_1").unwrap();
        let resolve = Change::resolve(&unknown, Resolution::processed(id, "ada"), now);
        resolve.decide(Some(&unknown)).unwrap()
    }

    /// Reads a row whose other columns are those of this intent.
    fn read(key: &str, state: &str, document: &str, written: &Intent) -> Result<Intent, StoreError> {
        let processed_as = written.held_transactions().next().map(TransactionId::as_str);
        intent(key, state, document, (processed_as, written.is_void(), written.stored_service()))
    }

    fn transaction_id() -> impl Strategy<Value = TransactionId> {
        any::<String>().prop_filter_map("no id", TransactionId::from_response)
    }

    fn failure() -> impl Strategy<Value = Failure> {
        let statuses = any::<[Option<u16>; 2]>();
        (any::<String>(), statuses, any::<Option<String>>(), option::of(transaction_id())).prop_map(
            |(kind, [http_status, status_code], reason, transaction_id)| Failure {
                http_status,
                status_code,
                reason,
                transaction_id,
                ..Failure::of_kind(kind)
            },
        )
    }

    fn resolution() -> impl Strategy<Value = Resolution> {
        let verdict = prop_oneof![
            Just(Verdict::NotProcessed),
            transaction_id().prop_map(Verdict::Processed),
            option::of(transaction_id()).prop_map(Verdict::Rejected),
        ];
        let texts = (any::<String>(), any::<Option<String>>());
        (verdict, texts, any::<Option<u32>>(), any::<[bool; 2]>()).prop_map(
            |(verdict, (by, note), attempt, [is_unverified, is_reported])| Resolution {
                verdict,
                by,
                note,
                attempt,
                is_unverified,
                is_reported,
                is_void: false,
            },
        )
    }

    fn recorded() -> impl Strategy<Value = RecordedResolution> {
        (any::<u32>(), any::<u32>(), resolution(), option::of(failure())).prop_map(
            |(at, attempt, resolution, before)| RecordedResolution {
                at: time(at),
                attempt,
                resolution,
                before,
            },
        )
    }

    fn ending() -> impl Strategy<Value = Ending> {
        prop_oneof![
            transaction_id().prop_map(Ending::Processed),
            failure().prop_map(Ending::Rejected),
            failure().prop_map(Ending::NotProcessed),
            failure().prop_map(Ending::Unknown),
        ]
    }

    fn event() -> impl Strategy<Value = HistoryEvent> {
        let (at, number, by) = (any::<u32>().prop_map(time), any::<u32>(), any::<String>());
        let (note, since) = (any::<Option<String>>(), any::<u32>().prop_map(time));
        prop_oneof![
            (at.clone(), number, by, request()).prop_map(|(at, attempt, id, request)| {
                HistoryEvent::Begun { at, attempt, attempt_id: AttemptId::from_kept(id), request }
            }),
            (at.clone(), number, ending()).prop_map(|(at, attempt, ending)| HistoryEvent::Ended {
                at,
                attempt,
                ending
            }),
            recorded().prop_map(HistoryEvent::Resolved),
            (at.clone(), by, note.clone()).prop_map(|(at, by, note)| HistoryEvent::Reopened { at, by, note }),
            (at.clone(), by, by, any::<u64>()).prop_map(|(at, by, service, intents)| {
                HistoryEvent::Renamed { at, by, service, intents }
            }),
            (at, number, note, since).prop_map(|(at, attempt, by, since)| HistoryEvent::Lost {
                at,
                attempt,
                by,
                since
            }),
        ]
    }

    fn time(seconds: u32) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(u64::from(seconds))
    }

    fn state() -> impl Strategy<Value = IntentState> {
        prop_oneof![
            Just(IntentState::Sending),
            transaction_id().prop_map(|transaction_id| IntentState::Processed { transaction_id }),
            failure().prop_map(IntentState::Rejected),
            failure().prop_map(IntentState::NotProcessed),
            failure().prop_map(IntentState::Unknown),
            (resolution(), failure())
                .prop_map(|(resolution, before)| IntentState::Resolved { resolution, before }),
        ]
    }

    fn request() -> impl Strategy<Value = IntentRequest> {
        let subject = prop_oneof![
            any::<String>().prop_map(|last_four| Subject::Card { last_four }),
            Just(Subject::Account),
            any::<String>()
                .prop_filter_map("no token", |text| TokenId::new(text).ok())
                .prop_map(Subject::Token),
            transaction_id().prop_map(Subject::Transaction),
        ];
        (
            option::of(select(OperationName::ALL)),
            subject,
            option::of(any::<i64>().prop_map(Amount::from_cents)),
            option::of(select(&[
                TransactionType::Sale,
                TransactionType::Auth,
                TransactionType::GatewayDefault,
            ])),
            option::of(select(&[ConvenienceFee::Active, ConvenienceFee::Inactive])),
            any::<Option<String>>(),
        )
            .prop_map(
                |(operation, subject, amount, transaction_type, convenience_fee, reference)| IntentRequest {
                    operation,
                    subject,
                    amount,
                    transaction_type,
                    convenience_fee,
                    reference,
                },
            )
    }

    proptest! {
        /// No store reads a row back before it relies on it, so every written row must be readable.
        #[test]
        fn every_intent_is_read_back_unchanged(
            key in "[!-~]{1,128}",
            (request, state, follows) in (request(), state(), option::of(failure())),
            (service, attempt, owner) in any::<(String, String, String)>(),
            (attempts, dropped_events, revision) in any::<(u32, u32, u64)>(),
            (times, lost_since) in any::<([u32; 3], Option<u32>)>(),
            events in vec(event(), 0..5),
        ) {
            let [created_at, begun_at, changed_at] = times.map(time);
            let (attempt_id, owner) = (AttemptId::from_kept(attempt), OwnerId::from_kept(owner));
            let key = IntentKey::from_kept(key);
            let written = Intent {
                key, service: Some(service), request, state, attempt_id, owner, follows, attempts, created_at, begun_at, changed_at, revision,
                events, dropped_events, lost_since: lost_since.map(time),
            };
            let read = read(written.key.as_str(), written.state.name().as_str(), &document(&written), &written);
            prop_assert_eq!(read.unwrap(), written);
        }
    }

    #[test]
    fn document_is_readable_and_keeps_every_character() {
        let document = document(&resolved());
        assert_eq!(
            document,
            r#"{"key":"k","service":"https://pay.example.com","request":{"operation":"token-transaction","subject":{"token":"tok_1"},"amount":"10.50","transaction_type":null,"convenience_fee":"active","reference":null},"state":{"resolved":{"resolution":{"verdict":{"processed":"txn\u0000_1"},"by":"ada","note":null},"before":{"kind":"timeout","http_status":null,"reason":"no\u0000answer","transaction_id":null}}},"attempt_id":"a","owner":"o","attempts":1,"created_at":0,"begun_at":0,"changed_at":0,"revision":3,"history":[{"begun":{"at":0,"number":1,"attempt_id":"a","request":{"operation":"token-transaction","subject":{"token":"tok_1"},"amount":"10.50","transaction_type":null,"convenience_fee":"active","reference":null}}},{"ended":{"at":0,"number":1,"ending":{"unknown":{"kind":"timeout","http_status":null,"reason":"no\u0000answer","transaction_id":null}}}},{"resolved":{"at":0,"number":1,"resolution":{"verdict":{"processed":"txn\u0000_1"},"by":"ada","note":null},"before":{"kind":"timeout","http_status":null,"reason":"no\u0000answer","transaction_id":null}}}]}"#
        );
        assert_eq!(read("k", "resolved", &document, &resolved()).unwrap(), resolved());
    }

    /// A later version may refuse more keys. It must still read existing rows.
    #[test]
    fn stored_key_that_would_be_refused_today_is_still_read() {
        let key = "#REF!";
        let document = document(&resolved()).replace(r#"{"key":"k""#, &format!(r#"{{"key":"{key}""#));
        assert!(IntentKey::new(key).is_err());
        assert_eq!(read(key, "resolved", &document, &resolved()).unwrap().key.as_str(), key);
    }

    /// An older version of this crate must not drop members that a newer one has written. `tests/journal/fixtures.rs` adds one to
    /// every object.
    #[test]
    fn document_with_an_unknown_member_is_damaged_and_not_shown() {
        let document = document(&resolved()).replace("{\"verdict\"", "{\"4242424242424242\":1,\"verdict\"");
        let error = read("k", "resolved", &document, &resolved()).unwrap_err();
        assert!(error.is_damaged(), "{error:?}");
        let text = format!("{error:#} {error:?}");
        assert!(text.contains("the intent k") && !text.contains("4242"), "{text}");
    }
}
