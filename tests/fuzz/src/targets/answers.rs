use std::fmt::Debug;

use http::header::CONTENT_ENCODING;
use payments_core::model::unversioned::salvaged_transaction_ids;
use payments_core::model::{
    AchTransaction, Amount, Card, CardTransaction, ConvenienceFee, Payer, TokenTransaction,
    TransactionRecord, TransactionType, Void,
};
use payments_core::{
    ApiKey, Endpoint, Error, GetCustomer, GetTransaction, LookupError, Operation, Outcome, Success,
    TransportError, TransportErrorKind,
};

use crate::http_text;
use crate::json::{Json, NotRead, body_text};

type Answer = http::Response<bytes::Bytes>;

/// The answer to a card payment.
pub fn decode_card_answer(data: &[u8]) {
    let request = CardTransaction::builder(
        Amount::from_cents(10_50),
        TransactionType::Sale,
        ConvenienceFee::Inactive,
        Card { number: CARD_NUMBER, cvv: "917", expiry: "1137" },
        PAYER,
    );
    Asked::payment(&request.build().expect("a valid request"), &[CARD_NUMBER, API_KEY]).check(data);
}

/// The answer to an ACH payment.
pub fn decode_ach_answer(data: &[u8]) {
    let request = AchTransaction::builder(
        Amount::from_cents(10_50),
        TransactionType::Sale,
        ConvenienceFee::Inactive,
        PAYER,
    );
    let request = request.account_field("AccountNumber", ACCOUNT_NUMBER).build();
    Asked::payment(&request.expect("a valid request"), &[ACCOUNT_NUMBER, API_KEY]).check(data);
}

/// The answer to a payment by token.
pub fn decode_token_answer(data: &[u8]) {
    let request =
        TokenTransaction::builder("tok_1", Amount::from_cents(10_50), ConvenienceFee::Inactive).build();
    Asked::payment(&request.expect("a valid request"), &[API_KEY]).check(data);
}

/// The answer to a void.
pub fn decode_void_answer(data: &[u8]) {
    let void = Void::new(VOIDED.parse().expect("a valid id"));
    Asked { sent_id: Some(VOIDED), ..Asked::payment(&void, &[API_KEY]) }.check(data);
}

/// The answer to the look-up of a transaction.
pub fn decode_transaction_answer(data: &[u8]) {
    Asked::look_up(&GetTransaction::new("txn_1".parse().expect("a valid id")), true).check(data);
}

/// The answer to the look-up of a customer.
pub fn decode_customer_answer(data: &[u8]) {
    Asked::look_up(&GetCustomer::new("cus_1".parse().expect("a valid id")), false).check(data);
}

/// An operation whose answer is to be read, and what its kind of answer must hold.
struct Asked<'a, O> {
    operation: &'a O,
    moves_money: bool,
    success_code: &'static str,
    needs_id: bool,
    /// The transaction that the request itself names.
    sent_id: Option<&'static str>,
    /// What no text made of the answer may hold.
    secrets: &'static [&'static str],
    endpoint: Endpoint,
}

impl<'a, O: Operation> Asked<'a, O>
where
    O::Data: Debug,
    O::Error: Failed,
{
    fn payment(operation: &'a O, secrets: &'static [&'static str]) -> Self {
        let endpoint = endpoint();
        let (moves_money, success_code, needs_id, sent_id) = (true, "100", true, None);
        Self { operation, moves_money, success_code, needs_id, sent_id, secrets, endpoint }
    }

    fn look_up(operation: &'a O, needs_id: bool) -> Self {
        let (secrets, endpoint) = (&[API_KEY], endpoint());
        let (moves_money, success_code, sent_id) = (false, "200", None);
        Self { operation, moves_money, success_code, needs_id, sent_id, secrets, endpoint }
    }

    fn check(&self, data: &[u8]) {
        let answer = http_text::answer(data);
        let read = self.operation.read(&self.endpoint, answer.clone());
        let found = match &read {
            Ok(_) => Verdict::Done,
            Err(error) => error.verdict(),
        };
        let said = Said::of(&answer, self.sent_id);
        if let Some(expected) = said.map(|said| self.expected(answer.status().as_u16(), &said)) {
            assert_eq!(found, expected, "HTTP {}", answer.status());
        }
        match &read {
            Ok(success) => {
                check_success(success, self.secrets);
                self.check_prefixes(&answer);
            }
            Err(error) => {
                check_error(error, self.secrets);
                let snippet = [error.snippet().unwrap_or_default()];
                check_one_line(&snippet);
                check_nothing_secret(&snippet, self.secrets);
            }
        }
        self.check_broken_off(answer);
    }

    /// The decisions on an answered request, told once more without the code that makes them.
    fn expected(&self, http: u16, said: &Said) -> Verdict {
        const REFUSALS: [u16; 13] = [400, 401, 404, 405, 411, 413, 414, 415, 417, 421, 422, 429, 431];
        let has_data = if self.needs_id { said.has_id } else { said.has_data };
        let fails = said.status == Word::Failure;
        let open = if self.moves_money { Verdict::Unknown } else { Verdict::Unclear };
        let is_another_code = self.moves_money && !said.has_code_of_a_no();
        match http {
            // It has no body, so whatever comes with it is no response.
            204 => open,
            200..=299 if fails && !is_another_code => Verdict::Rejected,
            200..=299 => {
                let agrees = said.code.as_deref() == Some(self.success_code)
                    && matches!(said.status, Word::Absent | Word::Success)
                    && has_data;
                if agrees { Verdict::Done } else { open }
            }
            400..=499 if !self.moves_money => Verdict::Rejected,
            408 | 409 | 425 => Verdict::Unknown,
            400..=499 if is_another_code || matches!(said.status, Word::Success | Word::Other) => {
                Verdict::Unknown
            }
            400..=499 if fails => Verdict::Rejected,
            _ if REFUSALS.contains(&http) && !said.names_a_transaction => Verdict::Rejected,
            _ => open,
        }
    }

    /// A body that lost its end never says that it was done.
    fn check_prefixes(&self, answer: &Answer) {
        let body = answer.body();
        let whole = body.trim_ascii_end().len();
        for length in [whole - 1, whole - whole / 3, whole / 2, whole / 7] {
            let mut cut = answer.clone();
            *cut.body_mut() = body.slice(..length);
            assert!(self.operation.read(&self.endpoint, cut).is_err(), "the first {length} bytes of it pass");
        }
    }

    /// What a transport hands over of an answer that broke off is never a success, whatever stands in it.
    fn check_broken_off(&self, answer: Answer) {
        let http = answer.status().as_u16();
        let names_a_transaction = names_a_transaction(answer.body(), self.sent_id);
        let error = TransportError::answered(TransportErrorKind::BodyTruncated, answer);
        let error = self.operation.not_answered(&self.endpoint, error);
        let unread = Said { names_a_transaction, ..Said::NOTHING };
        assert_eq!(error.verdict(), self.expected(http, &unread));
        check_error(&error, self.secrets);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Done,
    Rejected,
    Unknown,
    /// Of a lookup, which has no outcome.
    Unclear,
}

/// What both error types are checked for.
trait Failed: std::error::Error {
    fn verdict(&self) -> Verdict;
    fn snippet(&self) -> Option<String>;
    fn record(&self) -> Option<&TransactionRecord>;
    /// Everything else that it shows.
    fn shown(&self) -> Vec<String>;
}

impl Failed for Error {
    fn verdict(&self) -> Verdict {
        match self.outcome() {
            Outcome::Rejected => Verdict::Rejected,
            Outcome::Unknown => Verdict::Unknown,
            Outcome::NotProcessed => panic!("a request that was answered is not processed: {self}"),
        }
    }

    fn snippet(&self) -> Option<String> {
        self.body_snippet()
    }

    fn record(&self) -> Option<&TransactionRecord> {
        self.record()
    }

    fn shown(&self) -> Vec<String> {
        let id = self.transaction_id().map(ToString::to_string);
        assert_ne!(id.as_deref(), Some(""));
        let texts = [self.reason(), self.status_code(), self.request_id(), self.record_status()];
        let texts = texts.into_iter().flatten().map(str::to_owned);
        texts.chain(id).collect()
    }
}

impl Failed for LookupError {
    fn verdict(&self) -> Verdict {
        if self.is_rejected() { Verdict::Rejected } else { Verdict::Unclear }
    }

    fn snippet(&self) -> Option<String> {
        self.body_snippet()
    }

    fn record(&self) -> Option<&TransactionRecord> {
        None
    }

    fn shown(&self) -> Vec<String> {
        let texts = [self.reason(), self.status_code(), self.request_id()];
        texts.into_iter().flatten().map(str::to_owned).collect()
    }
}

/// Whether a transaction other than the one that was sent can be read out of it.
fn names_a_transaction(body: &[u8], sent_id: Option<&str>) -> bool {
    salvaged_transaction_ids(body).any(|id| Some(id.as_str()) != sent_id)
}

/// What a body says, read by this package's own reader.
struct Said {
    status: Word,
    code: Option<String>,
    has_id: bool,
    has_data: bool,
    names_a_transaction: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Absent,
    Success,
    Failure,
    /// Another text.
    Other,
    /// An empty text, or no text.
    Unreadable,
}

impl Said {
    const NOTHING: Self =
        Self { status: Word::Absent, code: None, has_id: false, has_data: false, names_a_transaction: false };

    /// Whether the code may stand beside a `status` that says no.
    fn has_code_of_a_no(&self) -> bool {
        let Some(code) = &self.code else { return true };
        let is_refusal = |code: &u16| matches!(code, 400..=407 | 410..=424 | 426..=499 | 200);
        code.len() == 3 && code.parse().is_ok_and(|code| is_refusal(&code))
    }

    /// `None` for what is nested so deeply that this reader cannot tell.
    fn of(answer: &Answer, sent_id: Option<&str>) -> Option<Self> {
        let names_a_transaction = names_a_transaction(answer.body(), sent_id);
        let nothing = Self { names_a_transaction, ..Self::NOTHING };
        let codings = answer.headers().get_all(CONTENT_ENCODING).iter();
        let is_encoded = |coding: &http::HeaderValue| {
            !coding.is_empty() && !coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity")
        };
        let text = body_text(answer.body()).filter(|_| !codings.into_iter().any(is_encoded));
        let body = match text.map(Json::read) {
            Some(Ok(body)) => body,
            Some(Err(NotRead::TooDeep)) => return None,
            Some(Err(NotRead::NotJson)) | None => return Some(nothing),
        };
        let is_ambiguous = ["status", "status_code", "message", "msg", "error", "data"]
            .into_iter()
            .any(|name| body.all(name).len() > 1);
        if body.members().is_none() || is_ambiguous {
            return Some(nothing);
        }
        let data = body.once("data").filter(|data| data.members().is_some());
        let id = data.and_then(|data| data.once("TransactionId")).filter(|id| is_id(id));
        let is_another = |id: &Json| number_or_text(id).as_deref() != sent_id;
        Some(Self {
            status: body.once("status").map_or(Word::Absent, word),
            code: body.once("status_code").and_then(code),
            has_id: id.is_some(),
            has_data: data.is_some(),
            names_a_transaction: names_a_transaction || id.is_some_and(is_another),
        })
    }
}

fn word(status: &Json) -> Word {
    match status {
        Json::Null => Word::Absent,
        Json::Text(Some(word)) => match word.to_ascii_lowercase().as_str() {
            "success" => Word::Success,
            "" => Word::Unreadable,
            "failed" | "failure" | "error" | "declined" | "rejected" => Word::Failure,
            _ => Word::Other,
        },
        // A text that is no Unicode.
        Json::Text(None) => Word::Other,
        _ => Word::Unreadable,
    }
}

/// As text; what is neither a number nor a text is no code that anybody accepts.
fn code(code: &Json) -> Option<String> {
    (!matches!(code, Json::Null)).then(|| number_or_text(code).unwrap_or_default())
}

fn number_or_text(json: &Json) -> Option<String> {
    match json {
        Json::Number(text) => Some(text.clone()),
        other => other.text().map(str::to_owned),
    }
}

fn is_id(id: &Json) -> bool {
    match id {
        Json::Number(digits) => !digits.contains(['.', 'e', 'E']),
        other => other.text().is_some_and(|text| !text.is_empty()),
    }
}

fn check_success<T: Debug>(success: &Success<T>, secrets: &[&str]) {
    assert!(success.http_status().is_success());
    check_debug(success, Some(&**success), secrets);
    let shown = [
        success.body_snippet(),
        success.message().unwrap_or_default().to_owned(),
        success.status_code().unwrap_or_default().to_owned(),
        success.request_id().unwrap_or_default().to_owned(),
    ];
    check_one_line(&shown);
    check_nothing_secret(&shown, secrets);
}

fn check_error(error: &impl Failed, secrets: &[&str]) {
    let messages = [error.to_string(), format!("{error:#}")];
    check_one_line(&messages[..1]);
    check_nothing_secret(&messages, secrets);
    check_debug(error, error.record(), secrets);
    check_nothing_secret(&error.shown(), secrets);
}

/// `Debug` shows no secret outside of the record, and no card number anywhere that is not part of a longer one.
///
/// A record has no copy of the request's secrets: an account or a key that the service returns as a code or as the name of a
/// field is shown as it came (decision 62).
fn check_debug(shown: &impl Debug, record: Option<&impl Debug>, secrets: &[&str]) {
    let whole = format!("{shown:?}");
    let record = record.map(|record| format!("{record:?}")).unwrap_or_default();
    check_nothing_secret(&[without_values(&whole.replace(&record, ""))], secrets);
    if !secrets.contains(&CARD_NUMBER) {
        return;
    }
    for shown in [without_values(&whole), without_values(&format!("{shown:#?}"))] {
        let mut numbers = shown.split(|letter: char| !letter.is_ascii_digit() && letter != '*');
        assert!(!numbers.any(|number| number == CARD_NUMBER), "{shown}");
    }
}

/// An amount is shown whatever its digits are, and so is the identifier of a payment that was made: nobody could
/// reconcile it otherwise. An error shows no identifier that is an echo.
fn without_values(debug: &str) -> String {
    let mut shown = debug.to_owned();
    for opening in ["Amount(", "TransactionId("] {
        let mut pieces = shown.split(opening);
        let first = pieces.next().unwrap_or_default().to_owned();
        let after = |piece: &str| piece.split_once(')').map_or_else(String::new, |(_, rest)| rest.to_owned());
        shown = pieces.fold(first, |shown, piece| shown + &after(piece));
    }
    shown
}

fn check_one_line(shown: &[String]) {
    for text in shown {
        assert!(!text.contains(char::is_control), "a log grows a line: {text:?}");
    }
}

fn check_nothing_secret(shown: &[String], secrets: &[&str]) {
    for secret in secrets {
        for text in shown {
            assert!(!text.contains(*secret), "{secret} is shown in {text:?}");
        }
    }
}

fn endpoint() -> Endpoint {
    let key = ApiKey::new(API_KEY).expect("visible ASCII");
    Endpoint::new("https://pay.example.com/api/v1/public", key).expect("a valid address")
}

const PAYER: Payer<'_> = Payer {
    customer_name: "A. Payer",
    email: "payer@example.com",
    country_code: "+1",
    phone_number: "555-0100",
    country: "US",
    postal_code: "94105",
    ip_address: "203.0.113.7",
};

const VOIDED: &str = "txn_1";
const CARD_NUMBER: &str = "4929907390318794";
const ACCOUNT_NUMBER: &str = "000991827364550";
const API_KEY: &str = "sk_live_8Qw2Zr5T";
