//! A charge with a key, which the journal allows to be sent at most once.

use std::cell::Cell;
use std::error::Error as StdError;
use std::pin::pin;
use std::time::{Duration, SystemTime};

use payments_core::{NextStep, Outcome, Success};
use payments_journal::{
    Error, Intent, IntentKey, IntentRequest, IntentState, Journal, JournaledClient, MovesMoney, StateName,
    StoreError, Subject,
};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::args::ClientOptions;
use crate::args::journal_place::IntentOptions;
use crate::call::same_payment::{is_compared, keys_to_look_up, why_not_sent};
use crate::call::{self, Call, Prepared, trace};
use crate::failure::{Abandoned, FailedOutcome, FailedResponse, Failure, Purpose, Sent, Situation, hints};
use crate::intent::IntentNote;
use crate::output::Output;
use crate::process::Interrupt;
use crate::process::run_to_report::{self, catch_panic};
use crate::report::advice::{NEW_ATTEMPT, earlier_call, of_journal, of_other_service, shell_word};
use crate::report::{DryRun, ExitCode, Processed, Report};
use crate::rows::card_like_ids::{self, NOT_CARDS, is_like_a_card};
use crate::settings::{JOURNAL, JournalPlace, OpenFor, Settings, warn_of_a_loss};
use crate::stderr;

/// A call that can be recorded in a journal.
pub(crate) trait Charge: Call {
    /// What the journal keeps of the request.
    fn request(&self) -> IntentRequest;

    /// Sends the request if the journal allows it.
    async fn send_with(&self, attempt: &Attempt<'_>) -> Result<Processed, Error>;
}

/// How a charge is sent.
pub(crate) struct Attempt<'a> {
    pub(crate) client: &'a JournaledClient,
    pub(crate) key: &'a IntentKey,
    /// Whether the journal should allow one more attempt with a key that was rejected.
    pub(crate) is_after_rejection: bool,
}

impl Attempt<'_> {
    /// Sends the request if the journal allows it, and describes its response with `moved`.
    pub(crate) async fn send<P: MovesMoney>(
        &self,
        request: &P,
        moved: impl FnOnce(&Success<P::Data>) -> Processed,
    ) -> Result<Processed, Error> {
        let sent = if self.is_after_rejection {
            self.client.after_rejection(self.key).call(request).await
        } else {
            self.client.call(self.key, request).await
        };
        Ok(Processed::journaled(sent?, self.key, moved))
    }
}

/// Like [`call::run`], through a journal if the options name one.
pub(crate) fn run<C: Charge>(
    options: ClientOptions,
    output: Output,
    intent: &IntentOptions,
    read: impl FnOnce() -> Result<C, Failure> + Send + 'static,
) -> ExitCode {
    let (place, key) = match place_and_key(intent) {
        Ok(Some(found)) => found,
        Ok(None) => return call::run(options, output, read),
        Err(failure) => return output.write(&Report::from(failure)),
    };
    let call = async |interrupt: &mut Interrupt, has_begun: &Cell<bool>| {
        let ended = send_once(options, interrupt, intent, (&place, &key), read, has_begun).await;
        let is_interrupted = matches!(&ended, Err(failure) if failure.advice.is_interrupted);
        // If it panics, the result of the call is still reported.
        let _ = catch_panic(place.close(!is_interrupted)).await;
        ended
    };
    run_to_report::run(output, C::PURPOSE, 0, call, |has_begun| {
        if has_begun {
            Abandoned::Panic.after_sending(None, Some(&key))
        } else {
            journal_not_opened(Abandoned::Panic.harmless(""))
        }
    })
}

/// Where and under which key a charge is recorded, if it is. A key without a journal, or a journal without a key, is refused: a
/// user who sets one of them relies on both.
fn place_and_key(intent: &IntentOptions) -> Result<Option<(JournalPlace, IntentKey)>, Failure> {
    let message = match (JournalPlace::find(&intent.place, Purpose::MoveMoney)?, &intent.key) {
        (Some(place), Some(key)) => {
            return Ok(Some((place.must_exist(intent.existing_journal)?, key.clone())));
        }
        (None, None) => return Ok(None),
        (None, Some(_)) => {
            format!("--key needs a journal; nothing was sent: give --journal PLACE or set {JOURNAL}")
        }
        (Some(_), None) if intent.place.journal.is_some() => {
            "--journal needs --key; nothing was sent: give your own name for the payment, such as an invoice number"
                .to_owned()
        }
        (Some(_), None) => format!(
            "{JOURNAL} names a journal and --key is missing; nothing was sent: give --key KEY, or unset the variable \
             to charge without a journal"
        ),
    };
    Err(Failure::usage(message))
}

async fn send_once<C: Charge>(
    options: ClientOptions,
    interrupt: &mut Interrupt,
    intent: &IntentOptions,
    (place, key): (&JournalPlace, &IntentKey),
    read: impl FnOnce() -> Result<C, Failure> + Send + 'static,
    has_begun: &Cell<bool>,
) -> Result<Report, Failure> {
    let ClientOptions { dry_run, verbose, .. } = options;
    let Prepared { settings, client, call } = Prepared::new(options, interrupt, read).await?;
    settings.require_one_key()?;
    trace::introduce(place, verbose);
    // With a new key, what looks like a card number is refused, without creating a journal.
    let like_a_card = like_a_card(key, &call.request()).filter(|_| !intent.ids_are_not_cards);
    let known = if like_a_card.is_some() || dry_run {
        open_to_find(key, place, dry_run, interrupt).await?
    } else {
        None
    };
    let is_recorded = matches!(known, Some((_, Some(_))));
    if let Some(field) = like_a_card.filter(|_| !is_recorded) {
        let message = format!("{field} {}; nothing was sent; {NOT_CARDS}", card_like_ids::rule(field));
        return Err(Failure::usage(message));
    }
    let service = settings.endpoint.service();
    let to_send = async |journal: &Journal| {
        let found = journal.find(key).await.map_err(|error| unreadable(&error))?;
        if found.is_none() {
            place.warn_of_first_use(journal, service).await.map_err(journal_not_opened)?;
        }
        let is_sent = found.is_none_or(|found| match found.state {
            IntentState::Rejected(_) => intent.after_rejection,
            _ => found.moved_nothing(),
        });
        if is_sent {
            refuse_same_payment(journal, key, service, &call).await?;
        }
        Ok(is_sent)
    };
    if dry_run {
        if let Some((journal, _)) = &known {
            interrupt.unless_arrived(to_send(journal)).await?;
        }
        let dry_run = DryRun::of(&settings, async |client| call.send(client).await).await?;
        return Ok(Report::DryRun(DryRun { is_key_recorded: is_recorded, ..dry_run }));
    }
    let journal = match known {
        Some((journal, _)) => journal,
        None => interrupt.unless_arrived(place.open(OpenFor::Charging)).await.map_err(journal_not_opened)?,
    };
    let may_be_sent = interrupt.unless_arrived(to_send(&journal)).await?;
    let client = JournaledClient::new(client.build(), journal);
    let at = SystemTime::now();
    let attempt = Attempt { client: &client, key, is_after_rejection: intent.after_rejection };
    has_begun.set(true);
    let abandoned = |why| {
        let failure = call::after_sending(&call, Some(key), why);
        Err(call::with_sent(failure, &call, &settings, at))
    };
    let sending = catch_panic(call.send_with(&attempt));
    let ended = match until_second_signal(sending, interrupt).await {
        Ok(ended) => ended,
        Err(signal) => return abandoned(Abandoned::Signal(signal)),
    };
    let Some(mut ended) = ended else { return abandoned(Abandoned::Panic) };
    let is_unrecorded = match &ended {
        Ok(processed) => processed.note.as_ref().is_some_and(|note| note.not_recorded.is_some()),
        Err(error) => error.write_error().is_some(),
    };
    if is_unrecorded {
        let outcome = ended.as_ref().err().map(Error::outcome);
        let recording = timeout(LAST_WRITES, catch_panic(record_late(client.journal(), key, outcome)));
        if let Ok(Ok(Some(true))) = interrupt.or_signal(recording).await {
            ended = ended.map(Processed::recorded_late).map_err(Error::flushed);
        }
    }
    match ended {
        Ok(mut processed) => {
            if let Some(note) = &mut processed.note {
                note.may_have_been_sent = may_be_sent;
            }
            Ok(Report::Processed(processed))
        }
        Err(error) => Err(failed(&error, &call, &settings, at)),
    }
}

/// What the journal would keep as it is, and looks like a card number.
fn like_a_card(key: &IntentKey, request: &IntentRequest) -> Option<&'static str> {
    let token = match &request.subject {
        Subject::Token(token) => Some(token.as_str()),
        _ => None,
    };
    let texts =
        [("--key", Some(key.as_str())), ("TokenId", token), ("ReferenceNo", request.reference.as_deref())];
    let like_cards = texts.into_iter().filter(|(_, text)| text.is_some_and(is_like_a_card));
    like_cards.map(|(field, _)| field).next()
}

/// Waits for a charge, which a first signal does not end: its response can still be recorded. The error is a second signal.
async fn until_second_signal<T>(
    sending: impl Future<Output = T>,
    interrupt: &mut Interrupt,
) -> Result<T, &'static str> {
    let mut sending = pin!(sending);
    let signal = match interrupt.or_signal(&mut sending).await {
        Ok(ended) => return Ok(ended),
        Err(signal) => signal,
    };
    stderr::write(format!(
        "{signal}: waiting for the response so that it can be recorded in the journal; a second signal ends at once\n"
    ));
    interrupt.or_signal(sending).await
}

/// Lets the journal record what it could not record at first. Returns whether it then has this outcome of the key, or a success:
/// another process or a person may have decided otherwise meanwhile.
async fn record_late(journal: &Journal, key: &IntentKey, outcome: Option<Outcome>) -> bool {
    // One that cannot be recorded does not keep the journal from recording others.
    let _ = journal.flush().await;
    journal.find(key).await.is_ok_and(|found| found.is_some_and(|intent| is_recorded(outcome, &intent.state)))
}

/// Whether this state is what a call with this outcome, or with a success, leaves behind.
pub(crate) const fn is_recorded(outcome: Option<Outcome>, state: &IntentState) -> bool {
    matches!(
        (outcome, state),
        (None, IntentState::Processed { .. })
            | (Some(Outcome::Rejected), IntentState::Rejected(_))
            | (Some(Outcome::NotProcessed), IntentState::NotProcessed(_))
            | (Some(Outcome::Unknown), IntentState::Unknown(_))
    )
}

/// Chosen by this command: how long it waits at its end for a journal that could not record an outcome. Outcomes that are still
/// not recorded are reported.
pub(crate) const LAST_WRITES: Duration = Duration::from_secs(5);

/// Refuses a call that would be sent while the same payment is open or lost under another key, or was charged under one of the keys
/// to look up. The whole journal is not read before each call. Two calls at the same moment do not see each other: the key of the
/// payment is what protects it.
async fn refuse_same_payment<C: Charge>(
    journal: &Journal,
    key: &IntentKey,
    service: &str,
    call: &C,
) -> Result<(), Failure> {
    let payment = call.request();
    let refuse = |intents: &[Intent]| {
        let refused = |intent| why_not_sent(intent, service, key, &payment);
        intents.iter().find_map(refused).map_or(Ok(()), |[what, advice]| {
            Err(Failure::invalid("same_payment", format!("{what}; nothing was sent now: {advice}")))
        })
    };
    let mut pages = journal.pages(StateName::UNRESOLVED);
    while let Some(intents) = pages.next().await.map_err(|error| unreadable(&error))? {
        refuse(&intents)?;
    }
    if !matches!(payment.subject, Subject::Token(_)) {
        return Ok(());
    }
    let found = find_all(journal, keys_to_look_up(key, &payment)).await;
    let found = found.map_err(|error| unreadable(&error))?.into_iter().flatten();
    refuse(&found.filter(|intent| is_compared(intent, key, &payment)).collect::<Vec<_>>())
}

/// The intent of each key, which are looked up together.
pub(crate) async fn find_all(
    journal: &Journal,
    keys: impl IntoIterator<Item = IntentKey>,
) -> Result<Vec<Option<Intent>>, StoreError> {
    let mut lookups = JoinSet::new();
    for (index, key) in keys.into_iter().enumerate() {
        let journal = journal.clone();
        lookups.spawn(async move { (index, journal.find(&key).await) });
    }
    let mut found = lookups.join_all().await;
    found.sort_unstable_by_key(|(index, _)| *index);
    found.into_iter().map(|(_, found)| found).collect()
}

/// The journal, and the intent of this key. None is created.
async fn open_to_find(
    key: &IntentKey,
    place: &JournalPlace,
    is_dry_run: bool,
    interrupt: &mut Interrupt,
) -> Result<Option<(Journal, Option<Intent>)>, Failure> {
    let finding = async {
        let purpose = if is_dry_run { OpenFor::DryRun } else { OpenFor::Changing };
        let Some(journal) = place.open_if_exists(purpose).await? else { return Ok(None) };
        if is_dry_run {
            warn_of_a_loss(&journal).await;
        }
        let found = journal.find(key).await.map_err(|error| Failure::of_store(&error))?;
        Ok(Some((journal, found)))
    };
    interrupt.unless_arrived(finding).await.map_err(journal_not_opened)
}

fn unreadable(error: &StoreError) -> Failure {
    journal_not_opened(Failure::of_store(error))
}

/// The failure of a call whose journal could not be opened: an earlier call may have paid.
fn journal_not_opened(failure: Failure) -> Failure {
    let is_interrupted = failure.advice.is_interrupted;
    let message = format!("{}; {}", failure.message, earlier_call(failure.situation, is_interrupted));
    let failure = Failure { outcome: FailedOutcome::Unknown, message, ..failure };
    if is_interrupted {
        Failure { kind: "journal".into(), situation: Situation::Journal, ..failure }
    } else {
        failure
    }
}

/// The failure of a call with a key. With an unknown outcome, also what it can be found by. `at` is the start of this call.
pub(crate) fn failed<C: Call>(error: &Error, call: &C, settings: &Settings, at: SystemTime) -> Failure {
    let failure = with_note(error, settings);
    if error.is_store() || error.is_other_service() {
        // Nothing was sent now, and this service knows of nothing that was sent before: there is nothing to search for yet.
        return failure;
    }
    match error.intent().filter(|_| error.outcome() == Outcome::Unknown) {
        // An earlier attempt was sent at another time, maybe with another reference.
        Some(intent) => {
            let reference =
                intent.request.reference.as_deref().map(|text| settings.reference_without_key(text));
            let sent = Sent { amount: intent.request.amount, reference, at: intent.begun_at };
            failure.with_sent(sent)
        }
        None if failure.outcome == FailedOutcome::Unknown => call::with_sent(failure, call, settings, at),
        None => failure,
    }
}

/// The failure of a call with a key, with hints and the journal's part.
fn with_note(error: &Error, settings: &Settings) -> Failure {
    let (situation, message) = (Situation::of(error), error.to_string());
    let mut failure = match (error.call_error(), error.store_error()) {
        (Some(call_error), _) => hints::failure_saying(call_error, message, settings),
        (None, Some(store_error)) => {
            Failure { outcome: FailedOutcome::Unknown, message, ..Failure::of_store(store_error) }
        }
        (None, None) => Failure { situation, ..without_response(error) },
    };
    failure.note = Some(Box::new(note(error)));
    if let Some(what_happened) = &mut failure.advice.what_happened {
        *what_happened = format!("{}: {what_happened}", error.key());
    }
    let status = failure.response.as_ref().map(|response| response.http_status);
    match (failure.outcome, status.filter(|_| !error.is_decline())) {
        (FailedOutcome::Rejected, Some(status)) => failure.hint(format!(
            "the key stays rejected until a person allows it to be sent again: {}",
            of_journal(&format!("retry --status {status} --key={}", shell_word(error.key().as_str())))
        )),
        (FailedOutcome::Rejected, _) => failure.hint(NEW_ATTEMPT),
        (FailedOutcome::Invalid, _) if situation == Situation::KeyReused => failure.hint(NEW_ATTEMPT),
        _ => match error.other_service() {
            Some(recorded) => failure.hint(of_other_service(recorded, settings.endpoint.service())),
            None => failure,
        },
    }
}

fn note(error: &Error) -> IntentNote {
    let own_failure = error.source().filter(|_| error.call_error().is_none());
    IntentNote {
        key: (Situation::of(error) != Situation::SecretInKey).then(|| error.key().clone()),
        is_recorded: error.is_from_the_journal(),
        may_have_been_sent: own_failure.is_some_and(<dyn StdError>::is::<payments_core::Error>),
        not_recorded: error.write_error().map(|error| format!("{error:#}")),
        ..IntentNote::default()
    }
}

/// A failure that the journal reports without a response to this call.
fn without_response(error: &Error) -> Failure {
    let outcome = FailedOutcome::of(error.outcome(), !error.is_from_the_journal());
    let response =
        match error.intent().map(|intent| &intent.state) {
            Some(
                IntentState::Rejected(kept) | IntentState::NotProcessed(kept) | IntentState::Unknown(kept),
            ) if error.is_from_the_journal() => FailedResponse::recorded(kept),
            _ => None,
        };
    let failure = Failure::new(outcome, error.kind(), error.to_string());
    let mut failure = Failure { response: response.map(Box::new), ..failure };
    failure.advice.next_step = error.next_step();
    let id = failure.advice.next_step.as_ref().and_then(NextStep::transaction_id);
    if let Some(response) = &mut failure.response {
        // The journal keeps one id, which is not the response's if the response named none.
        response.transaction_id.take_if(|kept| Some(&*kept) == id);
    }
    failure
}

#[cfg(test)]
mod tests {
    use payments_core::{Client, Transport, TransportError, TransportRequest, TransportResponse};
    use payments_fake::FakeGateway;
    use payments_hyper::TokioTimer;
    use payments_journal::internals::{Begin, Change, Ending, IntentStore as _, NewAttempt};
    use payments_journal::{AttemptId, Failure, MemoryStore, Resolution};
    use payments_model::{Amount, ConvenienceFee, TokenTransaction, TransactionId};

    use super::*;
    use crate::report::advice::headline;

    /// Declines, after an earlier attempt has turned out to be paid.
    struct Overtaken {
        store: MemoryStore,
        earlier: Change,
    }

    impl Transport for Overtaken {
        async fn send(&self, _request: TransportRequest) -> Result<TransportResponse, TransportError> {
            self.store.apply(self.earlier.clone()).await.expect("it is writable");
            let body = r#"{"status":"failed","status_code":400,"msg":"no"}"#;
            Ok(TransportResponse::new(http::Response::new(body.into())))
        }
    }

    #[tokio::test]
    async fn call_that_was_sent_does_not_say_that_nothing_was_sent_d48() {
        let (store, key) = (MemoryStore::new(), IntentKey::new("invoice-17").unwrap());
        let payment = |cents| {
            TokenTransaction::builder("tok_1", Amount::from_cents(cents), ConvenienceFee::Inactive)
                .build()
                .unwrap()
        };
        let dead = store.another_owner();
        let attempt = NewAttempt {
            begin: Begin::First,
            service: FakeGateway::BASE_URL.to_owned(),
            request: (&payment(100)).into(),
            attempt_id: AttemptId::new(),
            owner: dead.owner().clone(),
        };
        let begun = dead.apply(Change::begin(key.clone(), attempt, SystemTime::now())).await.unwrap();
        let ending = Ending::Processed(TransactionId::new("txn_1").unwrap());
        let earlier = Change::end_of(begun.written().unwrap(), ending, SystemTime::now());
        drop(dead);
        let transport = Overtaken { store: store.another_owner(), earlier };
        let journal = Journal::open(store).await.unwrap();
        let unknown = journal.find(&key).await.unwrap().unwrap();
        journal.resolve(&unknown, Resolution::not_processed("ada").note("not found")).await.unwrap();
        let client = Client::builder(FakeGateway::new().endpoint(), transport, TokioTimer::new()).build();
        let client = JournaledClient::new(client, journal);
        let pay = async || client.after_rejection(&key).process_token(&payment(200)).await.unwrap_err();
        for now in ["this call moved no money", "nothing was sent now"] {
            let error = pay().await;
            let failure = crate::failure::Failure {
                situation: Situation::of(&error),
                note: Some(Box::new(note(&error))),
                ..without_response(&error)
            };
            assert!(failure.message.contains(now), "{failure:?}");
            let heading = format!("KEY OF ANOTHER REQUEST, {now}: do not pay it another way");
            assert_eq!(headline(&failure).1, heading);
        }
    }

    /// A person may have resolved the key before its outcome arrived: then the journal says something else.
    #[test]
    fn only_the_same_outcome_is_recorded() {
        let id = TransactionId::new("txn_1").unwrap();
        let (before, failure) = (Failure::of_kind("crash"), Failure::of_kind("timeout"));
        let resolution = Resolution::processed(id.clone(), "ada");
        let states = [
            (IntentState::Processed { transaction_id: id }, Some(None)),
            (IntentState::Rejected(failure.clone()), Some(Some(Outcome::Rejected))),
            (IntentState::NotProcessed(failure.clone()), Some(Some(Outcome::NotProcessed))),
            (IntentState::Unknown(failure), Some(Some(Outcome::Unknown))),
            (IntentState::Resolved { resolution, before }, None),
            (IntentState::Sending, None),
        ];
        for (state, expected) in states {
            for outcome in
                [None, Some(Outcome::Rejected), Some(Outcome::NotProcessed), Some(Outcome::Unknown)]
            {
                assert_eq!(is_recorded(outcome, &state), expected == Some(outcome), "{outcome:?} {state:?}");
            }
        }
    }
}
