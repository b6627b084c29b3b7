use std::fmt::Debug;
use std::net::IpAddr;

use payments_core::model::{
    AchTransaction, Amount, CardTransaction, SecretBytes, TokenTransaction, TransactionRequest,
    ValidationError, Void,
};

use crate::decimal::Decimal;
use crate::digits::{check_no_long_number_of, has_check_digit};
use crate::json::{Json, NotRead, body_text};

/// A card payment as a JSON document.
pub(crate) fn parse_card_request(data: &[u8]) {
    let Some(card) = parsed(data, CardTransaction::from_json, CardTransaction::to_json) else { return };
    let number = card.card_number().expose_secret().to_owned();
    check_card_number(&number);
    assert_eq!(card.expiry().expose_secret().len(), 4);
    check_amount(card.amount());
    check_hidden(&card, &number, card.amount());
    assert_eq!(TransactionRequest::from_json(data), Ok(TransactionRequest::Card(card)));
}

/// An ACH payment as a JSON document.
pub(crate) fn parse_ach_request(data: &[u8]) {
    let Some(ach) = parsed(data, AchTransaction::from_json, AchTransaction::to_json) else { return };
    check_amount(ach.amount());
    for secret in ach.secrets().into_iter().filter(|secret| secret.len() >= 12) {
        check_hidden(&ach, secret, ach.amount());
    }
    assert_eq!(TransactionRequest::from_json(data), Ok(TransactionRequest::Ach(ach)));
}

/// A token payment as a JSON document.
pub(crate) fn parse_token_request(data: &[u8]) {
    let Some(token) = parsed(data, TokenTransaction::from_json, TokenTransaction::to_json) else { return };
    check_amount(token.amount());
}

/// A void as a JSON document.
pub(crate) fn parse_void_request(data: &[u8]) {
    let Some(void) = parsed(data, Void::from_json, Void::to_json) else { return };
    assert!(!void.transaction_id().as_str().is_empty());
}

/// The request from the document, if it is valid. It is written, read again, and compared with the document.
fn parsed<T: PartialEq + Debug>(
    document: &[u8],
    from_json: impl Fn(&[u8]) -> Result<T, ValidationError>,
    to_json: impl Fn(&T) -> SecretBytes,
) -> Option<T> {
    let request = match from_json(document) {
        Ok(request) => request,
        Err(error) => {
            assert!(!error.violations().is_empty());
            let shown = [error.to_string(), format!("{error:?}")];
            assert!(!shown[0].contains(char::is_control), "{:?}", shown[0]);
            check_no_long_number_of(&String::from_utf8_lossy(document), &shown);
            return None;
        }
    };
    let encoded = to_json(&request);
    assert!((1..=64 * 1024).contains(&encoded.len()));
    let again = from_json(encoded.as_ref()).expect("an encoded request can be read");
    assert!(again == request, "the encoded request reads back different");
    assert_eq!(to_json(&again).as_ref(), encoded.as_ref());

    let text = body_text(document).expect("a request is UTF-8");
    match Json::read(text) {
        Ok(document) => {
            let sent = str::from_utf8(encoded.as_ref()).expect("JSON is UTF-8");
            compare(&document, &Json::read(sent).expect("a request is JSON"));
        }
        Err(NotRead::TooDeep) => {}
        Err(NotRead::NotJson) => panic!("a request was read from a document that is not JSON"),
    }
    Some(request)
}

/// Exactly the members of the document are sent, with the same values.
fn compare(document: &Json, sent: &Json) {
    let names = |json: &Json| {
        let members = json.members().expect("an object whose names are Unicode");
        let mut names: Vec<_> = members.into_iter().map(|(name, _)| name.to_owned()).collect();
        names.sort_unstable();
        names
    };
    let (document_names, mut sent_names) = (names(document), names(sent));
    // A void always sends `TransactionFor`, even if the document does not have it.
    let implied = Some("TransactionFor").filter(|name| !document_names.iter().any(|other| other == name));
    sent_names.retain(|name| implied != Some(name));
    assert_eq!(document_names, sent_names);
    for (name, value) in sent.members().expect("an object") {
        if implied == Some(name) {
            continue;
        }
        let read = document.once(name).expect("a repeated name is a violation");
        assert!(is_same(name, read, value), "{name} is sent with another value");
    }
}

/// Whether the values are equal. Only the fields named in the decisions may have another spelling.
fn is_same(name: &str, read: &Json, sent: &Json) -> bool {
    match (name, read, sent) {
        ("Amount", Json::Number(read), Json::Number(sent)) => {
            !sent.contains(['e', 'E']) && Decimal::read(read) == Decimal::read(sent)
        }
        ("CardNumber", Json::Text(Some(read)), Json::Text(Some(sent))) => {
            read.replace([' ', '-'], "") == *sent
        }
        ("ExpiryDate", Json::Text(Some(read)), Json::Text(Some(sent))) => read.replace('/', "") == *sent,
        ("IpAddress", Json::Text(Some(read)), Json::Text(Some(sent))) => {
            read.parse::<IpAddr>().ok() == sent.parse().ok()
        }
        _ => read == sent,
    }
}

fn check_card_number(number: &str) {
    assert!((12..=19).contains(&number.len()) && number.bytes().all(|digit| digit.is_ascii_digit()));
    assert!(number.starts_with("62") || has_check_digit(number));
    assert!(number.bytes().any(|digit| digit != b'0'));
}

fn check_amount(amount: Amount) {
    let value = Decimal::read(&amount.to_string()).expect("an amount is a number");
    assert!(value.is_positive() && value.exponent() >= -2, "{amount}");
}

/// `Debug` does not show the secret. The amount is shown, and may have the same digits.
fn check_hidden(request: &impl Debug, secret: &str, amount: Amount) {
    let shown = format!("{request:?} {request:#?}").replace(&amount.to_string(), "");
    assert!(!shown.contains(secret), "{shown}");
}
