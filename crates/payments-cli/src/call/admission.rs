//! Whether a charge with a key may be sent.

use payments_journal::{
    Intent, IntentKey, IntentRequest, IntentState, Journal, StateName, StoreError, Subject,
};
use tokio::task::JoinSet;

use crate::args::journal::IntentOptions;
use crate::call::journaled_failure::{journal_not_opened, unreadable};
use crate::call::same_payment::{Consequence, Scope, compare, keys_to_look_up, why_refused};
use crate::failure::{Failure, Purpose, Situation};
use crate::process::Interrupt;
use crate::rows::card_like_ids::is_like_a_card;
use crate::settings::{JOURNAL, JournalPlace, MOST_PAGES, OpenFor, warn_of_a_loss};

/// A charge that asks whether it may be sent.
pub(super) struct Admission<'a> {
    pub(super) place: &'a JournalPlace,
    pub(super) key: &'a IntentKey,
    pub(super) service: &'a str,
    pub(super) payment: &'a IntentRequest,
    pub(super) is_after_rejection: bool,
}

impl Admission<'_> {
    /// Whether the journal would let the key be sent. The failure is that the same payment has another key.
    pub(super) async fn may_be_sent(&self, journal: &Journal) -> Result<bool, Failure> {
        let found = journal.find(self.key).await.map_err(|error| unreadable(&error))?;
        if found.is_none() {
            let checked = self.place.check_first_use(journal, self.service, MOST_PAGES).await;
            checked.map_err(|failure| match failure.situation {
                Situation::Journal => journal_not_opened(failure),
                _ => failure,
            })?;
        }
        let is_sent = found.is_none_or(|found| match found.state {
            IntentState::Rejected(_) => self.is_after_rejection,
            _ => found.moved_nothing(),
        });
        if is_sent {
            self.refuse_same_payment(journal).await?;
        }
        Ok(is_sent)
    }

    /// Refuses a call that would be sent while the same payment is open or lost under another key, or was charged under one of the keys
    /// to look up. The whole journal is not read before each call. Two calls at the same moment do not see each other: the key of the
    /// payment is what protects it.
    async fn refuse_same_payment(&self, journal: &Journal) -> Result<(), Failure> {
        let Self { key, service, payment, .. } = *self;
        let refuse = |intents: Vec<Intent>| {
            for intent in intents.iter().filter(|intent| intent.is_of(service)) {
                let other = (&intent.key, &intent.request);
                if let Some((Consequence::Refuse, likeness)) =
                    compare((key, payment), other, intent.into(), Scope::Call)
                {
                    let [what, advice] = why_refused(payment, likeness, intent);
                    let message = format!("{what}; nothing was sent now: {advice}");
                    return Err(Failure::invalid("same_payment", message));
                }
            }
            Ok(())
        };
        let mut pages = journal.pages(StateName::UNRESOLVED);
        while let Some(intents) = pages.next().await.map_err(|error| unreadable(&error))? {
            refuse(intents)?;
        }
        if matches!(payment.subject, Subject::Transaction(_)) {
            return Ok(());
        }
        let found = find_all(journal, keys_to_look_up((key, payment))).await;
        refuse(found.map_err(|error| unreadable(&error))?.into_iter().flatten().collect())
    }
}

/// Where and under which key a charge is recorded, if it is. A key without a journal, or a journal without a key, is refused: a
/// user who sets one of them relies on both.
pub(super) fn place_and_key(intent: &IntentOptions) -> Result<Option<(JournalPlace, IntentKey)>, Failure> {
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
             to make this call without a journal"
        ),
    };
    Err(Failure::usage(message))
}

/// What the journal would keep as it is, and looks like a card number.
pub(super) fn like_a_card(key: &IntentKey, request: &IntentRequest) -> Option<&'static str> {
    let token = match &request.subject {
        Subject::Token(token) => Some(token.as_str()),
        _ => None,
    };
    let texts =
        [("--key", Some(key.as_str())), ("TokenId", token), ("ReferenceNo", request.reference.as_deref())];
    texts.into_iter().find(|(_, text)| text.is_some_and(is_like_a_card)).map(|(field, _)| field)
}

/// How many keys are looked up together: the connections to a database are few, and the charges of a run need them too.
pub(crate) const ASKED_AT_ONCE: usize = 256;

/// The intent of each key.
pub(crate) async fn find_all(
    journal: &Journal,
    keys: impl IntoIterator<Item = IntentKey>,
) -> Result<Vec<Option<Intent>>, StoreError> {
    let (mut keys, mut found) = (keys.into_iter().enumerate(), Vec::new());
    loop {
        let mut lookups = JoinSet::new();
        for (index, key) in keys.by_ref().take(ASKED_AT_ONCE) {
            let journal = journal.clone();
            lookups.spawn(async move { (index, journal.find(&key).await) });
        }
        if lookups.is_empty() {
            return Ok(found);
        }
        let mut some = lookups.join_all().await;
        some.sort_unstable_by_key(|(index, _)| *index);
        for (_, intent) in some {
            found.push(intent?);
        }
    }
}

/// The journal, and the intent of this key. None is created.
pub(super) async fn open_to_find(
    key: &IntentKey,
    place: &JournalPlace,
    is_dry_run: bool,
    interrupt: &mut Interrupt,
) -> Result<Option<(Journal, Option<Intent>)>, Failure> {
    let finding = async {
        let open_for = if is_dry_run { OpenFor::DryRun } else { OpenFor::Changing };
        let Some(journal) = place.open_if_exists(open_for).await? else { return Ok(None) };
        if is_dry_run {
            warn_of_a_loss(&journal).await;
        }
        let found = journal.find(key).await.map_err(|error| Failure::of_store(&error))?;
        Ok(Some((journal, found)))
    };
    interrupt.unless_arrived(finding).await.map_err(journal_not_opened)
}
