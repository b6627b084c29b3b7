//! An earlier charge that may be the same payment under another key: a key that is made anew for each try, or that a spreadsheet or a
//! person has spelled anew, protects nobody.

use std::collections::{BTreeSet, HashMap};

use payments_journal::{Intent, IntentKey, IntentRequest, IntentState, Subject, Verdict};
use payments_model::{Amount, TokenId};

use crate::report::advice;
use crate::rows::spreadsheet::{Forms, is_exact_variant, is_variant, likely_spellings, more_spellings};

/// Why a payment with this key is not sent, and what to do about it: the journal has the intent for the same with another key, or its
/// outcome is open.
pub(crate) fn why_not_sent(
    intent: &Intent,
    service: &str,
    key: &IntentKey,
    payment: &IntentRequest,
) -> Option<[String; 2]> {
    if intent.key == *key || !intent.is_of(service) || is_sent_again(intent) {
        return None;
    }
    in_another_spelling(intent, key, payment).or_else(|| open(intent, payment))
}

/// Whether a call with the same key would send it again, because no money has moved. One that was rejected is not sent again.
pub(crate) fn is_sent_again(intent: &Intent) -> bool {
    match &intent.state {
        IntentState::Rejected(_) => false,
        IntentState::Resolved { resolution, .. } => resolution.verdict == Verdict::NotProcessed,
        _ => intent.moved_nothing(),
    }
}

/// Whether a single call is compared with this earlier charge, which it has looked up by [`keys_to_look_up`]. `1.1` and `1.10` may be
/// two instalments, unless they have the same reference.
pub(crate) fn is_compared(intent: &Intent, key: &IntentKey, payment: &IntentRequest) -> bool {
    let reference = reference(payment);
    let is_likely = |text: &str| likely_spellings(text).iter().any(|it| it == intent.key.as_str());
    is_likely(key.as_str())
        || reference.is_some_and(|it| is_likely(it) || intent.request.reference.as_deref() == Some(it))
}

/// The keys of earlier charges that may be the same payment. A single call looks them up instead of reading the whole journal.
pub(crate) fn keys_to_look_up(key: &IntentKey, payment: &IntentRequest) -> BTreeSet<IntentKey> {
    let keys = match reference(payment) {
        Some(reference) => [more_spellings(key.as_str()), likely_spellings(reference)].concat(),
        None => likely_spellings(key.as_str()),
    };
    keys.into_iter().filter_map(|key| IntentKey::new(key).ok()).collect()
}

fn reference(payment: &IntentRequest) -> Option<&str> {
    payment.reference.as_deref().filter(|reference| !reference.trim().is_empty())
}

/// The intent is for the same with another key: a spreadsheet or a person has changed it, or the column Key, without which the
/// reference is the key, was added or removed.
fn in_another_spelling(intent: &Intent, key: &IntentKey, payment: &IntentRequest) -> Option<[String; 2]> {
    let is_lost = intent.request.subject == Subject::Lost;
    // A void charges nobody.
    let is_void = !is_lost && matches!(payment.subject, Subject::Transaction(_));
    if is_void || !intent.differences(payment).is_empty() {
        return None;
    }
    let (recorded, given) = (intent.request.reference.as_deref(), payment.reference.as_deref());
    let [old_key, key] = [&intent.key, key].map(IntentKey::as_str);
    // Only the key of a lost charge is known, so keys that may be rounded are no evidence.
    let is_variant = if is_lost { is_exact_variant(old_key, key) } else { is_variant(old_key, key) };
    // After a rejection, another key with the reference of the old one is a new try.
    let is_reference = |reference: Option<&str>, key| {
        !intent.moved_nothing() && reference.is_some_and(|it| is_exact_variant(it, key))
    };
    let is_same = (is_variant || is_reference(recorded, key) || is_reference(given, old_key))
        && (is_lost || is_same_reference(recorded, given));
    let what = match (&intent.request.subject, given) {
        (Subject::Lost, _) => "which may have been sent in a lost time,",
        (Subject::Token(_), Some(_)) => "with this ReferenceNo, token and amount",
        (Subject::Token(_), None) => "with this token and amount",
        (Subject::Card { .. }, _) => "with these last four digits and this amount",
        _ => "with this amount",
    };
    let otherwise =
        if is_variant { "use a key that is clearly another" } else { "give it another ReferenceNo" };
    is_same.then(|| advice::in_another_spelling(intent, what, otherwise))
}

/// Whether two references are one, maybe in two spellings.
pub(crate) fn is_same_reference(one: Option<&str>, other: Option<&str>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one == other || is_variant(one, other),
        (one, other) => one == other,
    }
}

/// The outcome of the intent is open, and it has the same token, amount and reference, maybe in another spelling. Two payments without
/// a reference are never the same: nothing tells two equal sales apart.
fn open(intent: &Intent, payment: &IntentRequest) -> Option<[String; 2]> {
    let request = &intent.request;
    let is_same_reference = reference(payment)
        .zip(reference(request))
        .is_some_and(|(one, other)| one == other || is_exact_variant(one, other));
    let is_same = intent.is_unresolved()
        && is_same_reference
        && request.amount == payment.amount
        && request.operation() == payment.operation()
        && matches!(&request.subject, Subject::Token(_))
        && request.subject == payment.subject;
    is_same.then(|| advice::open_under_another_key(intent))
}

/// By what an earlier charge of [`why_not_sent`] is found among many: a form of a key or reference, and the charge. One in another
/// spelling shares a mark with the payment.
pub(crate) type Mark = (MarkOf, String, Charge);

/// What is charged, and whether it has a reference; `None` if the journal has lost it.
pub(crate) type Charge = Option<(TokenId, Option<Amount>, bool)>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum MarkOf {
    Key,
    RoundedKey,
    Reference,
}

pub(crate) fn marks(of: MarkOf, forms: &[String], charge: &Charge) -> impl Iterator<Item = Mark> {
    forms.iter().map(move |form| (of, form.clone(), charge.clone()))
}

/// Of a token. The journal may have lost what was charged.
pub(crate) fn charge_of(request: &IntentRequest) -> Charge {
    match &request.subject {
        Subject::Token(token) => Some((token.clone(), request.amount, request.reference.is_some())),
        _ => None,
    }
}

/// The marks of a payment, of whose key the forms are.
pub(crate) fn marks_of_payment(payment: &IntentRequest, forms: &Forms) -> Vec<Mark> {
    let reference = forms_of_reference(payment);
    let of = |charge: &Charge| {
        let of_key =
            marks(MarkOf::Key, &forms.exact, charge).chain(marks(MarkOf::RoundedKey, &forms.rounded, charge));
        of_key.chain(marks(MarkOf::Reference, &reference, charge)).collect::<Vec<_>>()
    };
    [of(&charge_of(payment)), of(&None)].concat()
}

/// Any of these is a [`Mark`] of a payment that may be the same charge: its key or reference may be the key of this one, its key the
/// reference, and the references may be one while the outcome is open.
pub(crate) fn marks_of_intent(intent: &Intent) -> Vec<Mark> {
    let Some((charge, forms)) = charge_and_forms(intent) else { return Vec::new() };
    let reference = forms_of_reference(&intent.request);
    let open_reference = if intent.is_unresolved() { &*reference } else { &[] };
    let mut found = in_another_form(&charge, &forms);
    found.extend(marks(MarkOf::Reference, &[&forms.exact[..], open_reference].concat(), &charge));
    found.extend(marks(MarkOf::Key, &reference, &charge));
    found
}

/// Those of a payment whose key may be the same in another spelling.
pub(crate) fn marks_of_spelling(intent: &Intent) -> Vec<Mark> {
    charge_and_forms(intent).map(|(charge, forms)| in_another_form(&charge, &forms)).unwrap_or_default()
}

/// The forms of its key too. `None` if it charged no token and is not lost.
fn charge_and_forms(intent: &Intent) -> Option<(Charge, Forms)> {
    let charge = charge_of(&intent.request);
    let is_compared = charge.is_some() || intent.request.subject == Subject::Lost;
    is_compared.then(|| (charge, Forms::of(intent.key.as_str())))
}

fn in_another_form(charge: &Charge, Forms { exact, rounded, .. }: &Forms) -> Vec<Mark> {
    let mut found: Vec<_> = marks(MarkOf::Key, exact, charge).collect();
    // A lost charge has no other evidence, and a rounded key is none.
    if charge.is_some() {
        found.extend(marks(MarkOf::RoundedKey, exact, charge));
        found.extend(marks(MarkOf::Key, rounded, charge));
    }
    found
}

fn forms_of_reference(request: &IntentRequest) -> Vec<String> {
    request.reference.as_deref().map(|it| Forms::of(it).exact).unwrap_or_default()
}

/// Charges of one service, among which the same payment under another key is found.
pub(crate) struct EarlierCharges {
    service: String,
    intents: HashMap<IntentKey, Intent>,
    /// The keys with each form of key or reference.
    by_name: HashMap<String, Vec<IntentKey>>,
}

impl EarlierCharges {
    pub(crate) fn of_service(service: impl Into<String>) -> Self {
        Self { service: service.into(), intents: HashMap::new(), by_name: HashMap::new() }
    }

    pub(crate) fn service(&self) -> &str {
        &self.service
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.intents.is_empty()
    }

    /// Adds a charge, or what has become of it.
    pub(crate) fn add(&mut self, intent: Intent) {
        if !intent.is_of(&self.service) {
            return;
        }
        let before = self.intents.get(&intent.key);
        // A corrected request may have another reference.
        if before.is_none_or(|before| before.request.reference != intent.request.reference) {
            for name in names(&intent.key, &intent.request) {
                self.by_name.entry(name).or_default().push(intent.key.clone());
            }
        }
        self.intents.insert(intent.key.clone(), intent);
    }

    /// Why a payment with this key is not sent, if one of them is the same, and what to do about it.
    pub(crate) fn same_as(&self, key: &IntentKey, payment: &IntentRequest) -> Option<[String; 2]> {
        self.find(key, payment, |other| why_not_sent(other, &self.service, key, payment))
    }

    /// The same, only if the outcome of that charge is open: two rows of a file may have keys that are much alike.
    pub(crate) fn open_as(&self, key: &IntentKey, payment: &IntentRequest) -> Option<[String; 2]> {
        self.find(key, payment, |other| open(other, payment).filter(|_| other.key != *key))
    }

    fn find<T>(
        &self,
        key: &IntentKey,
        payment: &IntentRequest,
        found: impl Fn(&Intent) -> Option<T>,
    ) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let names = names(key, payment);
        let mut others = names.iter().filter_map(|name| self.by_name.get(name)).flatten();
        others.find_map(|other| found(&self.intents[other]))
    }

    /// The keys that may be charged later, or whose charge may turn out to have moved no money.
    pub(crate) fn undecided(&self) -> Vec<IntentKey> {
        let undecided =
            self.intents.values().filter(|intent| intent.moved_nothing() || intent.is_unresolved());
        undecided.map(|intent| intent.key.clone()).collect()
    }
}

/// Under which a charge is found again: the forms of its key and reference.
fn names(key: &IntentKey, request: &IntentRequest) -> Vec<String> {
    let Forms { mut exact, rounded, .. } = Forms::of(key.as_str());
    exact.extend(rounded);
    exact.extend(forms_of_reference(request));
    exact
}

#[cfg(test)]
mod tests {
    use payments_fake::FakeGateway;
    use payments_journal::{Failure, Journal, JournaledClient, MemoryStore};
    use payments_model::{ConvenienceFee, TokenTransaction, TransactionId};

    use super::*;

    /// What a spreadsheet makes of one another, and others.
    const SPELLINGS: [&str; 26] = [
        "17",
        "0017",
        "17.0",
        "'17",
        "1843",
        "1,843",
        "1.843",
        "1.8430",
        "R-77",
        "r77",
        "R 77",
        "Inv-5",
        "inv5",
        "1-2",
        "02-Jan",
        "2026-01-02",
        "2-1",
        "46353",
        "2026-11-27",
        "1234567890123456",
        "1234567890123450",
        "17:05",
        "17:05:00",
        "1.1",
        "1.10",
        "x",
    ];

    /// A run compares only what shares a mark, or is the same payment.
    #[test]
    fn what_is_not_sent_shares_a_mark_with_what_is_in_the_journal() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let key = |text: &str| IntentKey::new(text.replace(' ', "_")).unwrap();
        let payment = |cents| {
            TokenTransaction::builder("tok_approved", Amount::from_cents(cents), ConvenienceFee::Inactive)
                .build()
                .unwrap()
        };
        let template = runtime.block_on(async {
            let journal = Journal::open(MemoryStore::new()).await.unwrap();
            let client = JournaledClient::new(FakeGateway::new().client(), journal.clone());
            client.process_token(&key("any"), &payment(100)).await.unwrap();
            journal.find(&key("any")).await.unwrap().unwrap()
        });
        let service = template.service.clone().unwrap();
        let failure = || Failure::of_kind("timeout");
        let states = [
            IntentState::Processed { transaction_id: TransactionId::new("txn_1").unwrap() },
            IntentState::Unknown(failure()),
            IntentState::Sending,
            IntentState::NotProcessed(failure()),
            IntentState::Rejected(failure()),
        ];
        let token = template.request.subject.clone();
        let subjects = [token.clone(), token, Subject::Lost, Subject::Account];
        let mut random = fastrand::Rng::with_seed(77);
        let (mut refused, mut refused_lost) = (0, 0);
        for _ in 0..40_000 {
            let mut text = || SPELLINGS[random.usize(..SPELLINGS.len())];
            let mut intent = template.clone();
            let [old_key, new_key] = [text(), text()].map(key);
            let mut given = IntentRequest::from(&payment(100));
            (intent.request.reference, given.reference) = (Some(text().to_owned()), Some(text().to_owned()));
            for reference in [&mut intent.request.reference, &mut given.reference] {
                if random.u8(..4) == 0 {
                    *reference = None;
                }
            }
            if random.u8(..3) == 0 {
                given.reference.clone_from(&intent.request.reference);
            }
            intent.key = old_key;
            intent.state = states[random.usize(..states.len())].clone();
            intent.request.subject = subjects[random.usize(..subjects.len())].clone();
            let is_lost = intent.request.subject == Subject::Lost;
            if is_lost {
                (intent.request.amount, intent.request.reference) = (None, None);
            }
            if why_not_sent(&intent, &service, &new_key, &given).is_none() {
                continue;
            }
            refused += 1;
            refused_lost += u32::from(is_lost);
            let marks = marks_of_payment(&given, &Forms::of(new_key.as_str()));
            let moved_nothing = intent.moved_nothing();
            let of_intent = if moved_nothing { marks_of_spelling(&intent) } else { marks_of_intent(&intent) };
            let is_found = of_intent.iter().any(|mark| marks.contains(mark));
            let is_same = intent.is_unresolved()
                && (&intent.request.subject, &intent.request.amount, &intent.request.reference)
                    == (&given.subject, &given.amount, &given.reference);
            assert!(is_found || is_same, "{new_key} {given:?} {intent:?}");
            let mut earlier = EarlierCharges::of_service(&*service);
            earlier.add(intent.clone());
            assert!(is_same || earlier.same_as(&new_key, &given).is_some(), "{new_key} {intent:?}");
        }
        assert!(refused > 1000 && refused_lost > 100, "{refused} {refused_lost}");
        // Its key is the reference of the other, and it has none itself.
        let mut intent = template;
        (intent.key, intent.request.reference) = (key("first"), Some("r77".to_owned()));
        let marks = marks_of_payment(&IntentRequest::from(&payment(100)), &Forms::of("r77"));
        assert!(!marks_of_intent(&intent).iter().any(|mark| marks.contains(mark)));
    }
}
