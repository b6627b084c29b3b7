use std::fmt::Debug;

use http::HeaderName;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, TRANSFER_ENCODING};
use payments_core::model::unversioned::salvaged_transaction_ids;
use payments_core::model::{
    AchTransaction, Amount, Card, CardTransaction, ConvenienceFee, Payer, TokenTransaction,
    TransactionRecord, TransactionType, Void,
};
use payments_core::{
    ApiKey, Endpoint, Error, FailedCall, GetCustomer, GetTransaction, LookupError, Operation, Outcome,
    Success, TransportError, TransportErrorKind,
};

use crate::http_text;
use crate::json::{Json, NotRead, body_text};

type Response = http::Response<bytes::Bytes>;

/// The response to a card payment.
pub(crate) fn decode_card_answer(data: &[u8]) {
    let request = CardTransaction::builder(
        Amount::from_cents(10_50),
        TransactionType::Sale,
        ConvenienceFee::Inactive,
        Card { number: CARD_NUMBER, cvv: "917", expiry: "1137" },
        PAYER,
    );
    Case::payment(&request.build().expect("a valid request"), &[CARD_NUMBER, API_KEY]).check(data);
}

/// The response to an ACH payment.
pub(crate) fn decode_ach_answer(data: &[u8]) {
    let request = AchTransaction::builder(
        Amount::from_cents(10_50),
        TransactionType::Sale,
        ConvenienceFee::Inactive,
        PAYER,
    );
    let request = request.account_field("AccountNumber", ACCOUNT_NUMBER).build();
    Case::payment(&request.expect("a valid request"), &[ACCOUNT_NUMBER, API_KEY]).check(data);
}

/// The response to a token payment.
pub(crate) fn decode_token_answer(data: &[u8]) {
    let request =
        TokenTransaction::builder("tok_1", Amount::from_cents(10_50), ConvenienceFee::Inactive).build();
    Case::payment(&request.expect("a valid request"), &[API_KEY]).check(data);
}

/// The response to a void.
pub(crate) fn decode_void_answer(data: &[u8]) {
    let void = Void::new(VOIDED.parse().expect("a valid id"));
    Case { sent_id: Some(VOIDED), ..Case::payment(&void, &[API_KEY]) }.check(data);
}

/// The response to a lookup of a transaction.
pub(crate) fn decode_transaction_answer(data: &[u8]) {
    Case::lookup(&GetTransaction::new("txn_1".parse().expect("a valid id")), true).check(data);
}

/// The response to a lookup of a customer.
pub(crate) fn decode_customer_answer(data: &[u8]) {
    Case::lookup(&GetCustomer::new("cus_1".parse().expect("a valid id")), false).check(data);
}

/// An operation that reads a response, and what its responses must contain.
struct Case<'a, O> {
    operation: &'a O,
    moves_money: bool,
    success_code: &'static str,
    needs_id: bool,
    /// The transaction that the request names.
    sent_id: Option<&'static str>,
    /// What no text derived from the response may contain.
    secrets: &'static [&'static str],
    endpoint: Endpoint,
}

impl<'a, O: Operation> Case<'a, O>
where
    O::Data: Debug,
    O::Error: CheckedError,
{
    fn payment(operation: &'a O, secrets: &'static [&'static str]) -> Self {
        let endpoint = endpoint();
        let (moves_money, success_code, needs_id, sent_id) = (true, "100", true, None);
        Self { operation, moves_money, success_code, needs_id, sent_id, secrets, endpoint }
    }

    fn lookup(operation: &'a O, needs_id: bool) -> Self {
        let (secrets, endpoint) = (&[API_KEY], endpoint());
        let (moves_money, success_code, sent_id) = (false, "200", None);
        Self { operation, moves_money, success_code, needs_id, sent_id, secrets, endpoint }
    }

    fn check(&self, data: &[u8]) {
        let response = http_text::response(data);
        let read = self.operation.read(&self.endpoint, response.clone());
        let found = match &read {
            Ok(_) => ReadOutcome::Success,
            Err(error) => error.read_outcome(),
        };
        let facts = BodyFacts::of(&response, self.sent_id);
        if let Some(facts) = facts {
            let expected = self.expected(response.status().as_u16(), &facts);
            // This package's reader does not tell JSON that was cut, which says nothing, from other wrong JSON.
            let is_cut = facts.may_be_cut && found == self.undecided();
            if !is_cut || expected != ReadOutcome::Rejected {
                assert_eq!(found, expected, "HTTP {}", response.status());
            }
        }
        match &read {
            Ok(success) => {
                check_success(success, self.secrets);
                self.check_prefixes(&response);
            }
            Err(error) => {
                check_error(error, self.secrets);
                let snippet = [error.call().body_snippet().unwrap_or_default()];
                check_one_line(&snippet);
                check_nothing_secret(&snippet, self.secrets);
            }
        }
        self.check_truncated(response);
    }

    /// The outcome decisions, implemented again without the code under test.
    fn expected(&self, http: u16, facts: &BodyFacts) -> ReadOutcome {
        const REJECTIONS: [u16; 13] = [400, 401, 404, 405, 411, 413, 414, 415, 417, 421, 422, 429, 431];
        let has_data = if self.needs_id { facts.has_id } else { facts.has_data };
        let fails = facts.status == StatusKind::Failure;
        let undecided = self.undecided();
        let contradicts_failure = self.moves_money && !facts.code_allows_failure();
        match http {
            // 204 has no body, so a body with it is not a valid response.
            204 => undecided,
            200..=299 if fails && !contradicts_failure => ReadOutcome::Rejected,
            200..=299 => {
                let succeeds = facts.code.as_deref() == Some(self.success_code)
                    && matches!(facts.status, StatusKind::Absent | StatusKind::Success)
                    && has_data;
                if succeeds { ReadOutcome::Success } else { undecided }
            }
            400..=499 if facts.is_hidden => undecided,
            400..=499 if !self.moves_money => ReadOutcome::Rejected,
            408 | 409 | 425 => ReadOutcome::Unknown,
            400..=499
                if contradicts_failure || matches!(facts.status, StatusKind::Success | StatusKind::Other) =>
            {
                ReadOutcome::Unknown
            }
            400..=499 if fails => ReadOutcome::Rejected,
            _ if REJECTIONS.contains(&http) && !facts.names_a_transaction => ReadOutcome::Rejected,
            _ => undecided,
        }
    }

    fn undecided(&self) -> ReadOutcome {
        if self.moves_money { ReadOutcome::Unknown } else { ReadOutcome::Unclear }
    }

    /// A truncated body is never a success.
    fn check_prefixes(&self, response: &Response) {
        let body = response.body();
        let whole = body.trim_ascii_end().len();
        for length in [whole - 1, whole - whole / 3, whole / 2, whole / 7] {
            let mut truncated = response.clone();
            *truncated.body_mut() = body.slice(..length);
            let read = self.operation.read(&self.endpoint, truncated);
            assert!(read.is_err(), "the first {length} bytes are read as a success");
        }
    }

    /// A response that the transport reports as truncated is never a success, even if its content looks like one.
    fn check_truncated(&self, response: Response) {
        let http = response.status().as_u16();
        let error = TransportError::answered(TransportErrorKind::BodyTruncated, response);
        let error = self.operation.error_from_transport(&self.endpoint, error);
        let facts = BodyFacts { is_hidden: true, ..BodyFacts::UNREADABLE };
        assert_eq!(error.read_outcome(), self.expected(http, &facts));
        check_error(&error, self.secrets);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReadOutcome {
    Success,
    Rejected,
    Unknown,
    /// For a lookup, which has no outcome.
    Unclear,
}

/// What is checked for both error types.
trait CheckedError: std::error::Error {
    fn read_outcome(&self) -> ReadOutcome;
    fn call(&self) -> &FailedCall;
    fn record(&self) -> Option<&TransactionRecord> {
        None
    }
    /// The texts that only one of them shows.
    fn more_shown(&self) -> Vec<String> {
        Vec::new()
    }
}

impl CheckedError for Error {
    fn read_outcome(&self) -> ReadOutcome {
        match self.outcome() {
            Outcome::Rejected => ReadOutcome::Rejected,
            Outcome::Unknown => ReadOutcome::Unknown,
            Outcome::NotProcessed => panic!("a request with a response is reported as not processed: {self}"),
        }
    }

    fn call(&self) -> &FailedCall {
        self.failed_call()
    }

    fn record(&self) -> Option<&TransactionRecord> {
        self.record()
    }

    fn more_shown(&self) -> Vec<String> {
        let id = self.transaction_id().map(ToString::to_string);
        assert_ne!(id.as_deref(), Some(""));
        id.into_iter().chain(self.record_status().map(str::to_owned)).collect()
    }
}

impl CheckedError for LookupError {
    fn read_outcome(&self) -> ReadOutcome {
        if self.call().refused_by().is_some() { ReadOutcome::Rejected } else { ReadOutcome::Unclear }
    }

    fn call(&self) -> &FailedCall {
        self.failed_call()
    }
}

/// Whether the body contains the identifier of a transaction other than the one in the request.
fn names_a_transaction(body: &[u8], sent_id: Option<&str>) -> bool {
    salvaged_transaction_ids(body).any(|id| Some(id.as_str()) != sent_id)
}

/// The facts in a body that decide the outcome, read with this package's [`Json`].
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct BodyFacts {
    status: StatusKind,
    code: Option<String>,
    has_id: bool,
    has_data: bool,
    names_a_transaction: bool,
    /// Whether the body is encoded or known to be cut, so that an id may be in it.
    is_hidden: bool,
    /// Whether it looks like JSON and is not.
    may_be_cut: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StatusKind {
    Absent,
    Success,
    Failure,
    /// Another text.
    Other,
    /// An empty string, or not a string.
    Unreadable,
}

impl BodyFacts {
    const UNREADABLE: Self = Self {
        status: StatusKind::Absent,
        code: None,
        has_id: false,
        has_data: false,
        names_a_transaction: false,
        is_hidden: false,
        may_be_cut: false,
    };

    /// Whether the code is consistent with a `status` that reports a failure.
    fn code_allows_failure(&self) -> bool {
        let Some(code) = &self.code else { return true };
        let is_rejection = |code: &u16| matches!(code, 400..=407 | 410..=424 | 426..=499 | 200);
        code.len() == 3 && code.parse().is_ok_and(|code| is_rejection(&code))
    }

    /// `None` if the body is nested too deeply for this reader.
    fn of(response: &Response, sent_id: Option<&str>) -> Option<Self> {
        let names_a_transaction = names_a_transaction(response.body(), sent_id);
        let body = response.body();
        // Only a refusal is searched for a missing end.
        let is_short = response.status().is_client_error() && is_short(response);
        let is_hidden = is_encoded(response) || is_short;
        let json = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).trim_ascii_start();
        let may_be_cut = matches!(json.first(), Some(b'{' | b'[' | b'"'));
        let unreadable = Self { names_a_transaction, is_hidden, may_be_cut, ..Self::UNREADABLE };
        let body = match body_text(body).filter(|_| !is_hidden).map(Json::read) {
            Some(Ok(body)) => body,
            Some(Err(NotRead::TooDeep)) => return None,
            Some(Err(NotRead::NotJson)) | None => return Some(unreadable),
        };
        let is_ambiguous = ["status", "status_code", "message", "msg", "error", "data"]
            .into_iter()
            .any(|name| body.all(name).len() > 1);
        if body.members().is_none() || is_ambiguous {
            return Some(unreadable);
        }
        let data = body.once("data").filter(|data| data.members().is_some());
        let id = data.and_then(|data| data.once("TransactionId")).filter(|id| is_id(id));
        let is_another = |id: &Json| number_or_text(id).as_deref() != sent_id;
        Some(Self {
            status: body.once("status").map_or(StatusKind::Absent, status_kind),
            code: body.once("status_code").and_then(code),
            has_id: id.is_some(),
            has_data: data.is_some(),
            names_a_transaction: names_a_transaction || id.is_some_and(is_another),
            is_hidden: false,
            may_be_cut: false,
        })
    }
}

/// Whether a header or the first bytes say that the body is encoded.
fn is_encoded(response: &Response) -> bool {
    const FIRST: [&[u8]; 5] = [b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x78\x01", b"\x78\x9c", b"\x78\xda"];
    let changes = |name: HeaderName, harmless: &[&[u8]]| {
        let mut values = response.headers().get_all(name).iter();
        values.any(|value| {
            let mut codings = value.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
            let is_harmless = |coding: &[u8]| harmless.contains(&coding.to_ascii_lowercase().as_slice());
            codings.any(|coding| !coding.is_empty() && !is_harmless(coding))
        })
    };
    changes(CONTENT_ENCODING, &[b"identity"])
        || changes(TRANSFER_ENCODING, &[b"identity", b"chunked"])
        || FIRST.iter().any(|first| response.body().starts_with(first))
}

/// Whether the body is shorter than announced.
fn is_short(response: &Response) -> bool {
    let length = response.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()).map(str::trim);
    let digits = length.filter(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()));
    digits.is_some_and(|digits| {
        digits.parse().map_or(true, |length: u64| length > response.body().len() as u64)
    })
}

fn status_kind(status: &Json) -> StatusKind {
    match status {
        Json::Null => StatusKind::Absent,
        Json::Text(Some(text)) => match text.to_ascii_lowercase().as_str() {
            "success" => StatusKind::Success,
            "" => StatusKind::Unreadable,
            "failed" | "failure" | "error" | "declined" | "rejected" => StatusKind::Failure,
            _ => StatusKind::Other,
        },
        // A string that is not valid Unicode.
        Json::Text(None) => StatusKind::Other,
        _ => StatusKind::Unreadable,
    }
}

/// The code as text. A value that is neither a number nor a string becomes the empty text, which is never a valid code.
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

fn check_error(error: &impl CheckedError, secrets: &[&str]) {
    let messages = [error.to_string(), format!("{error:#}")];
    check_one_line(&messages[..1]);
    check_nothing_secret(&messages, secrets);
    check_debug(error, error.record(), secrets);
    let shown = [error.call().reason(), error.call().status_code(), error.call().request_id()];
    let shown = shown.into_iter().flatten().map(str::to_owned).chain(error.more_shown());
    check_nothing_secret(&shown.collect::<Vec<_>>(), secrets);
}

/// `Debug` shows no secret outside the record. It shows no card number anywhere, except inside a longer number.
///
/// A record does not know the request's secrets. If the service returns an account number or a key as a code or as the name
/// of a field, the record shows it unchanged (decision 62).
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

/// `Debug` output without amounts and transaction identifiers. Both are always shown, even if they have the digits of a
/// secret: reconciling a payment needs its identifier. An error still shows no identifier that repeats a secret.
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
        assert!(!text.contains(char::is_control), "the text has a control character: {text:?}");
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
    Endpoint::new("https://pay.example.com/api/v1/public", key).expect("a valid URL")
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
