//! Whether a payment may be the same as a charge under another key: a key that is made anew for each try, or that a spreadsheet or a
//! person has spelled anew, protects nobody. [`consequence`] is the rule of every place: of a single call, and of a billing run before
//! and while it sends.

use std::collections::{BTreeSet, HashMap};

use payments_journal::{Intent, IntentKey, IntentRequest, IntentState, Subject};
use payments_model::{Amount, TokenId};

use crate::rows::spreadsheet::{Forms, is_exact_variant, is_variant, likely_spellings, more_spellings};

/// A charge under its key.
pub(crate) type Keyed<'a> = (&'a IntentKey, &'a IntentRequest);

/// What became of a charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The same run sends it, unless another process is sending it.
    ToSend,
    /// It is being sent, or unknown.
    Open,
    /// It was charged; of a row of a file, it may have been.
    Charged,
    /// It moved no money, and no call with its key sends it again unasked.
    Rejected,
    /// It moved no money, and a call with its key would send it again.
    MovedNothing,
}

impl Fate {
    /// Whether it was charged, or may have been.
    pub(crate) const fn is_made(self) -> bool {
        matches!(self, Self::Open | Self::Charged)
    }
}

impl From<&Intent> for Fate {
    fn from(intent: &Intent) -> Self {
        match &intent.state {
            _ if intent.is_unresolved() => Self::Open,
            _ if !intent.moved_nothing() => Self::Charged,
            IntentState::Rejected(_) => Self::Rejected,
            _ => Self::MovedNothing,
        }
    }
}

/// What two charges under two keys have in common, besides token, card or account, and, unless it is said, amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Likeness {
    /// The key, in two spellings, and the reference, if both have one.
    Key,
    /// The key, in two spellings, and each has a reference of its own.
    KeyAlone,
    /// The key of one token, in two likely spellings, and the reference, with another amount: a spreadsheet in which the amount was
    /// corrected has changed the key too.
    KeyOfOtherAmount,
    /// As `Key`, and one of them has lost digits.
    RoundedKey,
    /// The key of one is the reference of the other: the column Key, without which the reference is the key, was added or removed.
    KeyIsReference,
    /// Only the reference, in any spelling.
    Reference,
}

/// Who compares the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// A single call, with a charge of the journal.
    Call,
    /// A billing run, with a charge of the journal whose key is not in the file.
    Run,
    /// The same, with another row of the file, or with what the journal has for it.
    File,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Consequence {
    Send,
    Warn,
    Refuse,
}

/// What follows for a payment that would be sent.
pub(crate) const fn consequence(likeness: Likeness, other: Fate, scope: Scope) -> Consequence {
    use Fate::{Charged, MovedNothing, Rejected, ToSend};
    use Likeness::{KeyAlone, KeyIsReference, KeyOfOtherAmount, Reference, RoundedKey};
    use Scope::{Call, File};

    match (likeness, other, scope) {
        // Instalments look the same. A rejected row of the same file is meant to be charged too.
        (Reference, ToSend | Charged, _) | (Reference, Rejected, File) => Consequence::Warn,
        // It is compared when that one is sent. Two rows of a file may have long numbers that are much alike. Another key may be a
        // new try, and so may another spelling of the key if a person gives it; a file is not that explicit.
        (_, MovedNothing, _)
        | (RoundedKey, _, File)
        | (KeyAlone | KeyIsReference | KeyOfOtherAmount | Reference, Rejected, _)
        | (_, Rejected, Call) => Consequence::Send,
        // It may be next month's payment.
        (KeyAlone, ..) => Consequence::Warn,
        _ => Consequence::Refuse,
    }
}

/// What a charge under another key means for a payment, and what they have in common. `None` if it means nothing.
pub(crate) fn compare(
    payment: Keyed<'_>,
    other: Keyed<'_>,
    fate: Fate,
    scope: Scope,
) -> Option<(Consequence, Likeness)> {
    let must_be_certain = scope == Scope::Call && fate == Fate::Charged;
    if payment.0 == other.0
        || !is_for_the_same(payment.1, other.1)
        || must_be_certain && !is_certain(payment, other)
    {
        return None;
    }
    let consequences = likenesses(payment, other).map(|it| (consequence(it, fate, scope), it));
    let most = consequences.reduce(|most, next| if next.0 > most.0 { next } else { most });
    most.filter(|(consequence, _)| *consequence != Consequence::Send)
}

/// Whether both charge the same token, card or account. Sale or authorization and the fee make no other payment.
fn is_for_the_same(payment: &IntentRequest, other: &IntentRequest) -> bool {
    // Of a lost one only that it was a void may be known.
    let is_same_operation = other.operation().is_none_or(|it| Some(it) == payment.operation());
    is_same_operation
        && match &payment.subject {
            _ if other.subject == Subject::Lost => true,
            // It charges nobody.
            Subject::Transaction(_) => false,
            subject => *subject == other.subject,
        }
}

/// Whether two payments are nearly certainly one that was charged twice, if both were charged: their keys are one in two spellings.
fn is_twin(payment: Keyed<'_>, other: Keyed<'_>) -> bool {
    let is_of_key = |it| matches!(it, Likeness::Key | Likeness::RoundedKey);
    payment.0 != other.0 && is_for_the_same(payment.1, other.1) && likenesses(payment, other).any(is_of_key)
}

fn likenesses(payment: Keyed<'_>, other: Keyed<'_>) -> impl Iterator<Item = Likeness> {
    let is_lost = other.1.subject == Subject::Lost;
    let [key, other_key] = [payment, other].map(|(key, _)| key.as_str());
    let [reference, other_reference] = [payment, other].map(|(_, request)| request.reference.as_deref());
    let is_key = |reference: Option<&str>, key| reference.is_some_and(|it| is_exact_variant(it, key));
    let has_same = is_lost || is_same_reference(reference, other_reference);
    // The column of references was added or removed.
    let may_have_same = has_same || reference.is_none() || other_reference.is_none();
    let has_same_key = is_exact_variant(key, other_key);
    let has_same_amount = is_lost || payment.1.amount == other.1.amount;
    let found = [
        (Likeness::Reference, has_same_amount && other_reference.is_some_and(|it| is_key(reference, it))),
        (Likeness::Key, has_same_amount && may_have_same && has_same_key),
        (Likeness::KeyAlone, has_same_amount && !may_have_same && has_same_key),
        // Instalments may have keys such as `1.1` and `1.10`.
        (
            Likeness::KeyOfOtherAmount,
            !has_same_amount
                && matches!(payment.1.subject, Subject::Token(_))
                && reference.is_some()
                && has_same
                && has_same_key
                && (is_likely_spelling(key, other_key) || is_likely_spelling(other_key, key)),
        ),
        // Only the key of a lost charge is known, so keys that may be rounded are no evidence.
        (Likeness::RoundedKey, has_same_amount && may_have_same && !is_lost && is_variant(key, other_key)),
        (
            Likeness::KeyIsReference,
            has_same_amount && has_same && (is_key(reference, other_key) || is_key(other_reference, key)),
        ),
    ];
    found.into_iter().filter_map(|(likeness, is_found)| is_found.then_some(likeness))
}

/// Whether two references are one, maybe in two spellings.
pub(crate) fn is_same_reference(one: Option<&str>, other: Option<&str>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => is_variant(one, other),
        (one, other) => one == other,
    }
}

/// Whether a single call is compared with this known charge. `1.1` and `1.10` may be two instalments, unless they have the same
/// reference.
fn is_certain(payment: Keyed<'_>, other: Keyed<'_>) -> bool {
    let [reference, other_reference] = [payment, other].map(|(_, request)| request.reference.as_deref());
    let is_likely = |text| is_likely_spelling(text, other.0.as_str());
    is_likely(payment.0.as_str()) || reference.is_some_and(|it| is_likely(it) || other_reference == Some(it))
}

fn is_likely_spelling(text: &str, key: &str) -> bool {
    likely_spellings(text).iter().any(|it| it == key)
}

/// The keys of earlier charges that may be the same payment. A single call looks them up instead of reading the whole journal.
pub(crate) fn keys_to_look_up((key, request): Keyed<'_>) -> BTreeSet<IntentKey> {
    let keys = match &request.reference {
        Some(reference) => [more_spellings(key.as_str()), likely_spellings(reference)].concat(),
        None => likely_spellings(key.as_str()),
    };
    keys.into_iter().filter_map(|key| IntentKey::new(key).ok()).collect()
}

/// Why a payment is refused that is so alike an intent, and what to do about it.
pub(crate) fn why_refused(payment: &IntentRequest, likeness: Likeness, intent: &Intent) -> [String; 2] {
    let key = &intent.key;
    if likeness == Likeness::Reference {
        let state = if matches!(intent.state, IntentState::Sending) { "being sent now" } else { "unknown" };
        return [
            format!(
                "a charge with this token, amount and ReferenceNo is {state} under the key {key}, and may have been processed"
            ),
            format!(
                "find out what became of {key} and resolve it first, with `payments journal resolve`; if this is another payment, \
                 give it another ReferenceNo"
            ),
        ];
    }
    let what = match (&intent.request.subject, &payment.reference) {
        _ if likeness == Likeness::KeyOfOtherAmount => "with this token, but with another amount,",
        (Subject::Lost, _) => "which may have been sent in a lost time,",
        (Subject::Token(_), Some(reference))
            if is_same_reference(Some(reference), intent.request.reference.as_deref()) =>
        {
            "with this ReferenceNo, token and amount"
        }
        (Subject::Token(_), _) => "with this token and amount",
        (Subject::Card { .. }, _) => "with these last four digits and this amount",
        _ => "with this amount",
    };
    let (state, or_else) = if intent.moved_nothing() {
        (", and was rejected", "sent again, and a rejected key is not sent again by itself")
    } else {
        ("", "charged again")
    };
    let otherwise = match likeness {
        Likeness::Key | Likeness::KeyAlone | Likeness::KeyOfOtherAmount | Likeness::RoundedKey => {
            "use a key that is clearly another"
        }
        _ => "give it another ReferenceNo",
    };
    [
        format!("a charge {what} is in the journal under the key {key}{state}"),
        format!(
            "if it is the same, write that key, because with another one it would be {or_else}; else {otherwise}"
        ),
    ]
}

/// By what charges that may be the same are found among many: a form of the payment's key or reference, and the charge.
pub(crate) type Mark = (Form, String, Charge);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Form {
    Key,
    RoundedKey,
    Reference,
    /// The key of a charge that has a reference too.
    KeyBesideReference,
}

/// What is charged; `None` if the journal has lost it.
pub(crate) type Charge = Option<(TokenId, Option<Amount>)>;

/// Which form of another charge is also a form of the payment, and what the two have in common then.
const LINKS: [(Form, Form, Likeness); 6] = [
    (Form::Key, Form::Key, Likeness::Key),
    (Form::Key, Form::RoundedKey, Likeness::RoundedKey),
    (Form::RoundedKey, Form::Key, Likeness::RoundedKey),
    (Form::KeyBesideReference, Form::Reference, Likeness::KeyIsReference),
    (Form::Reference, Form::KeyBesideReference, Likeness::KeyIsReference),
    (Form::Reference, Form::Reference, Likeness::Reference),
];

/// Those of each [`Form`].
fn forms((key, request): Keyed<'_>) -> Vec<(Form, Vec<String>)> {
    let Forms { exact, rounded, .. } = Forms::of(key.as_str());
    let mut forms = vec![(Form::Key, exact.clone()), (Form::RoundedKey, rounded)];
    // A lost charge may have had one.
    if let Some(reference) = &request.reference {
        forms.push((Form::Reference, Forms::of(reference).exact));
    }
    if request.reference.is_some() || request.subject == Subject::Lost {
        forms.push((Form::KeyBesideReference, exact));
    }
    forms
}

/// Of a payment by token. The journal may have lost what was charged.
pub(crate) fn marks(payment: Keyed<'_>) -> Vec<Mark> {
    let mut marks = Vec::new();
    for (form, texts) in forms(payment) {
        let charge = charge_of(payment.1);
        let corrected = of_any_amount(&charge).filter(|_| form == Form::Key).map(Some);
        for charge in [charge, None].into_iter().chain(corrected) {
            marks.extend(texts.iter().map(|text| (form, text.clone(), charge.clone())));
        }
    }
    marks
}

/// Whether it is one of the key. Few charges have such a mark, where many may have the same reference.
pub(crate) const fn is_of_key((form, ..): &Mark) -> bool {
    matches!(form, Form::Key | Form::RoundedKey)
}

/// The [marks] of payments that may be the same, and what each has in common with this charge. None if it charged no token and is
/// not lost.
pub(crate) fn links(other: Keyed<'_>) -> Vec<(Likeness, Mark)> {
    let (charge, is_lost) = (charge_of(other.1), other.1.subject == Subject::Lost);
    let mut links = Vec::new();
    if charge.is_none() && !is_lost {
        return links;
    }
    for (own, texts) in forms(other) {
        for (_, form, likeness) in LINKS.into_iter().filter(|(form, ..)| *form == own) {
            if !is_lost || likeness != Likeness::RoundedKey {
                links.extend(texts.iter().map(|text| (likeness, (form, text.clone(), charge.clone()))));
            }
        }
        if let Some(charge) = of_any_amount(&charge).filter(|_| own == Form::Key) {
            let mark = |text: &String| (own, text.clone(), Some(charge.clone()));
            links.extend(texts.iter().map(|text| (Likeness::KeyOfOtherAmount, mark(text))));
        }
    }
    links
}

/// The amount may have been corrected.
fn of_any_amount(charge: &Charge) -> Charge {
    charge.as_ref().map(|(token, _)| (token.clone(), None))
}

pub(crate) fn charge_of(request: &IntentRequest) -> Charge {
    match &request.subject {
        Subject::Token(token) => Some((token.clone(), request.amount)),
        _ => None,
    }
}

/// What charges of the journal mean for a payment.
pub(crate) enum Compared<'a> {
    Send,
    /// The charge with this key may be the same, because of what they have in common.
    Warn(&'a IntentKey, Likeness),
    /// Why it is not sent, and what to do about it.
    Refuse([String; 2]),
}

/// Charges of one service, among which those that may be the same as a payment by token are found.
pub(crate) struct EarlierCharges {
    service: String,
    charges: HashMap<IntentKey, (Intent, Scope)>,
    by_mark: HashMap<Mark, Vec<IntentKey>>,
}

impl EarlierCharges {
    pub(crate) fn of_service(service: impl Into<String>) -> Self {
        Self { service: service.into(), charges: HashMap::new(), by_mark: HashMap::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.charges.is_empty()
    }

    /// Adds a charge, or what has become of it.
    pub(crate) fn add(&mut self, intent: Intent, scope: Scope) {
        if !intent.is_of(&self.service) {
            return;
        }
        let before = self.charges.get(&intent.key);
        // A corrected request may have another token or reference.
        if before.is_none_or(|(before, _)| before.request != intent.request) {
            for (_, mark) in links((&intent.key, &intent.request)) {
                self.by_mark.entry(mark).or_default().push(intent.key.clone());
            }
        }
        self.charges.insert(intent.key.clone(), (intent, scope));
    }

    /// What they mean for a payment.
    pub(crate) fn compare(&self, payment: Keyed<'_>) -> Compared<'_> {
        if self.is_empty() {
            return Compared::Send;
        }
        let mut warning = None;
        for key in marks(payment).iter().filter_map(|mark| self.by_mark.get(mark)).flatten() {
            let (intent, scope) = &self.charges[key];
            match compare(payment, (key, &intent.request), intent.into(), *scope) {
                Some((Consequence::Refuse, likeness)) => {
                    return Compared::Refuse(why_refused(payment.1, likeness, intent));
                }
                Some((_, likeness)) => warning = warning.or(Some((key, likeness))),
                None => {}
            }
        }
        warning.map_or(Compared::Send, |(key, likeness)| Compared::Warn(key, likeness))
    }

    /// Whether a payment that was charged may have been charged under one of these keys too.
    pub(crate) fn may_have_twins(&self) -> bool {
        self.charges.values().any(|(intent, scope)| *scope == Scope::Run && Fate::from(intent).is_made())
    }

    /// The key under which a payment that was charged may have been charged too.
    pub(crate) fn twin(&self, payment: Keyed<'_>) -> Option<&IntentKey> {
        let marks = marks(payment);
        let of_key = marks.iter().filter(|mark| is_of_key(mark));
        let mut keys = of_key.filter_map(|mark| self.by_mark.get(mark)).flatten();
        keys.find(|key| {
            let (intent, scope) = &self.charges[*key];
            *scope == Scope::Run && Fate::from(intent).is_made() && is_twin(payment, (key, &intent.request))
        })
    }

    /// The keys that may be charged later, or whose charge may turn out to have moved no money.
    pub(crate) fn undecided(&self) -> Vec<IntentKey> {
        let undecided = self.charges.values().filter(|(intent, scope)| {
            *scope == Scope::Run && (intent.moved_nothing() || intent.is_unresolved())
        });
        undecided.map(|(intent, _)| intent.key.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use payments_fake::FakeGateway;
    use payments_journal::{Failure, Journal, JournaledClient, MemoryStore};
    use payments_model::{ConvenienceFee, TokenTransaction, TransactionId, Void};

    use super::*;

    fn key(text: &str) -> IntentKey {
        IntentKey::new(text.replace(' ', "_")).unwrap()
    }

    fn request(reference: &str) -> IntentRequest {
        let payment =
            TokenTransaction::builder("tok_approved", Amount::from_cents(1_00), ConvenienceFee::Inactive);
        let mut request = IntentRequest::from(&payment.build().unwrap());
        request.reference = Some(reference.to_owned()).filter(|it| !it.is_empty());
        request
    }

    /// What follows for a payment that would be sent, beside another charge.
    #[test]
    fn consequence_of_a_charge_under_another_key_is_one_in_every_place_d43() {
        const FATES: [Fate; 5] =
            [Fate::ToSend, Fate::Open, Fate::Charged, Fate::Rejected, Fate::MovedNothing];
        let token = request;
        let card = |last_four: &str| {
            let mut request = request("");
            request.subject = Subject::Card { last_four: last_four.to_owned() };
            request
        };
        let lost = || {
            let mut request = request("");
            (request.subject, request.amount) = (Subject::Lost, None);
            request
        };
        let void = || IntentRequest::from(&Void::new(TransactionId::new("txn_1").unwrap()));
        let with = |change: fn(&mut IntentRequest)| {
            let mut request = request("rent");
            change(&mut request);
            request
        };
        let with_fee = with(|it| it.convenience_fee = Some(ConvenienceFee::Active));
        let of_101_cents = with(|it| it.amount = Some(Amount::from_cents(1_01)));
        let by_token_2 = with(|it| it.subject = Subject::Token(TokenId::new("tok_2").unwrap()));
        let (whole, rounded) = ("1234567890123456", "1234567890123450");
        // Send, warn or refuse, for each of the fates: of a call, a run, and a row of the same file.
        for (payment, other, expected) in [
            // The key in another spelling.
            (("0017", token("rent")), ("17", token("rent")), ["RRRSS", "RRRRS", "RRRRS"]),
            (("0017", token("")), ("17", token("")), ["RRRSS", "RRRRS", "RRRRS"]),
            (("inv5", token("rent")), ("Inv-5", token("Rent")), ["RRSSS", "RRRRS", "RRRRS"]),
            (("1.10", token("")), ("1.1", token("")), ["RRSSS", "RRRRS", "RRRRS"]),
            (("1.10", token("rent")), ("1.1", token("rent")), ["RRRSS", "RRRRS", "RRRRS"]),
            (("'17", card("4242")), ("17", card("4242")), ["RRRSS", "RRRRS", "RRRRS"]),
            (("inv5", lost()), ("Inv-5", lost()), ["RRSSS", "RRRRS", "RRRRS"]),
            (("inv5", token("rent")), ("Inv-5", lost()), ["RRSSS", "RRRRS", "RRRRS"]),
            (("ABC-1", token("rent")), ("abc_1", token("")), ["RRRSS", "RRRRS", "RRRRS"]),
            // The column of references was added or removed, or read in another encoding.
            (("0017", token("rent")), ("17", token("")), ["RRRSS", "RRRRS", "RRRRS"]),
            (("0017", token("")), ("17", token("Invoice 17")), ["RRRSS", "RRRRS", "RRRRS"]),
            (("0017", token("M\u{fc}ller")), ("17", token("M\u{c3}\u{bc}ller")), ["RRRSS", "RRRRS", "RRRRS"]),
            (
                ("0017", token("\u{421}\u{447}\u{451}\u{442} 17")),
                ("17", token("???? 17")),
                ["RRRSS", "RRRRS", "RRRRS"],
            ),
            // Unless each has its own.
            (("0017", token("rent")), ("17", token("water")), ["WWWSS"; 3]),
            (("0017", token("M\u{fc}ller")), ("17", token("Mueller")), ["WWWSS"; 3]),
            // The amount was corrected.
            (("0017", of_101_cents.clone()), ("17", token("rent")), ["RRRSS"; 3]),
            (("INV-5", of_101_cents.clone()), ("inv-5", token("Rent")), ["RRRSS"; 3]),
            (("0017", of_101_cents.clone()), ("17", token("")), ["SSSSS"; 3]),
            (("1.10", of_101_cents.clone()), ("1.1", token("rent")), ["SSSSS"; 3]),
            ((rounded, of_101_cents), (whole, token("rent")), ["SSSSS"; 3]),
            // One that has lost digits.
            ((whole, token("")), (rounded, token("")), ["RRSSS", "RRRRS", "SSSSS"]),
            ((rounded, token("rent")), (whole, token("rent")), ["RRRSS", "RRRRS", "WRWWS"]),
            ((rounded, token("rent")), (whole, token("")), ["RRSSS", "RRRRS", "SSSSS"]),
            ((rounded, token("rent")), (whole, token("water")), ["SSSSS"; 3]),
            ((rounded, token("rent")), (whole, lost()), ["SSSSS"; 3]),
            // The key of one is the reference of the other.
            (("order-1", token("0017")), ("17", token("17")), ["RRRSS", "RRRSS", "RRRWS"]),
            (("17", token("17")), ("order-1", token("0017")), ["RRSSS", "RRRSS", "RRRWS"]),
            (("order-1", token("17")), ("0017", lost()), ["RRRSS", "RRRSS", "RRRSS"]),
            (("17", token("")), ("order-1", token("17")), ["SSSSS"; 3]),
            // Only the reference.
            (("a", token("rent")), ("b", token("Rent")), ["WRSSS", "WRWSS", "WRWWS"]),
            (("a", token("1.8430")), ("b", token("1.843")), ["WRSSS", "WRWSS", "WRWWS"]),
            (("a", token("1-2")), ("b", token("2-1")), ["SSSSS"; 3]),
            // The fee makes no other payment.
            (("0017", with_fee), ("17", token("rent")), ["RRRSS", "RRRRS", "RRRRS"]),
            // Others.
            (("a", token("")), ("b", token("")), ["SSSSS"; 3]),
            (("17", token("rent")), ("17", token("rent")), ["SSSSS"; 3]),
            (("0017", by_token_2), ("17", token("rent")), ["SSSSS"; 3]),
            (("'17", card("4242")), ("17", card("1881")), ["SSSSS"; 3]),
            (("'17", void()), ("17", void()), ["SSSSS"; 3]),
        ] {
            let keys = [payment.0, other.0].map(key);
            let (payment, other) = ((&keys[0], &payment.1), (&keys[1], &other.1));
            let letters = |scope| {
                let of = |fate| compare(payment, other, fate, scope).map(|(consequence, _)| consequence);
                let letter = |fate| match of(fate) {
                    None | Some(Consequence::Send) => 'S',
                    Some(Consequence::Warn) => 'W',
                    Some(Consequence::Refuse) => 'R',
                };
                FATES.map(letter).iter().collect::<String>()
            };
            let found = [Scope::Call, Scope::Run, Scope::File].map(letters);
            assert_eq!(found, expected, "{payment:?} {other:?}");
        }
    }

    /// What a spreadsheet makes of one another, and others.
    const SPELLINGS: &str = "17 | 0017 | 17.0 | '17 | 1843 | 1,843 | 1.843 | 1.8430 | R-77 | r77 | R 77 | Inv-5 | inv5 | 1-2 | 02-Jan | \
                             2026-01-02 | 2-1 | 46353 | 2026-11-27 | 1234567890123456 | 1234567890123450 | 17:05 | 17:05:00 | 1.1 | \
                             1.10 | x";

    /// A run compares only what shares a mark.
    #[test]
    fn what_is_not_sent_shares_a_mark_with_what_is_in_the_journal() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let template = runtime.block_on(async {
            let journal = Journal::open(MemoryStore::new()).await.unwrap();
            let client = JournaledClient::new(FakeGateway::new().client(), journal.clone());
            let payment =
                TokenTransaction::builder("tok_approved", Amount::from_cents(1_00), ConvenienceFee::Inactive);
            client.process_token(&key("any"), &payment.build().unwrap()).await.unwrap();
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
        let spellings: Vec<_> = SPELLINGS.split(" | ").collect();
        let mut random = fastrand::Rng::with_seed(77);
        let (mut refused, mut refused_lost, mut warned) = (0, 0, 0);
        for _ in 0..40_000 {
            let mut text = || spellings[random.usize(..spellings.len())];
            let mut intent = template.clone();
            let [old_key, new_key] = [text(), text()].map(key);
            let mut given = request(text());
            intent.request.reference = Some(text().to_owned());
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
            let (payment, other) = ((&new_key, &given), (&intent.key, &intent.request));
            let fate = Fate::from(&intent);
            let Some((most, _)) = compare(payment, other, fate, Scope::Run) else { continue };
            *if most == Consequence::Warn { &mut warned } else { &mut refused } += 1;
            refused_lost += u32::from(is_lost);
            let marks = marks(payment);
            let found = links(other).into_iter().filter(|(_, mark)| marks.contains(mark));
            let of_marks = found.map(|(likeness, _)| consequence(likeness, fate, Scope::Run)).max();
            assert!(of_marks >= Some(most), "{payment:?} {intent:?}");
            let mut earlier = EarlierCharges::of_service(&*service);
            earlier.add(intent.clone(), Scope::Run);
            let is_refused = matches!(earlier.compare(payment), Compared::Refuse(_));
            assert_eq!(is_refused, most == Consequence::Refuse, "{payment:?} {intent:?}");
        }
        assert!(refused > 1000 && refused_lost > 100 && warned > 100, "{refused} {refused_lost} {warned}");
    }
}
