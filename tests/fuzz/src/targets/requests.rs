use std::fmt::Debug;
use std::net::IpAddr;

use payments_core::model::{
    AchTransaction, Amount, CardTransaction, SecretBytes, TokenTransaction, TransactionRequest,
    UnknownFields, ValidationError, Void,
};

use crate::decimal::Decimal;
use crate::digits::{check_no_long_number_of, has_check_digit};
use crate::json::{Json, NotRead, body_text};

/// A card payment as a JSON document.
pub fn parse_card_request(data: &[u8]) {
    let Some(card) = parsed(data, CardTransaction::from_json, CardTransaction::encode) else { return };
    let number = card.card_number().expose_secret().to_owned();
    check_card_number(&number);
    assert_eq!(card.expiry().expose_secret().len(), 4);
    check_amount(card.amount());
    check_hidden(&card, &number, card.amount());
    assert_eq!(TransactionRequest::from_json(data), Ok(TransactionRequest::Card(card.clone())));
    assert_eq!(CardTransaction::from_json_with(data, UnknownFields::Ignored), Ok(card));
}

/// An ACH payment as a JSON document.
pub fn parse_ach_request(data: &[u8]) {
    let Some(ach) = parsed(data, AchTransaction::from_json, AchTransaction::encode) else { return };
    check_amount(ach.amount());
    for secret in ach.secrets().into_iter().filter(|secret| secret.len() >= 12) {
        check_hidden(&ach, secret, ach.amount());
    }
    assert_eq!(TransactionRequest::from_json(data), Ok(TransactionRequest::Ach(ach)));
}

/// A payment by token as a JSON document.
pub fn parse_token_request(data: &[u8]) {
    let Some(token) = parsed(data, TokenTransaction::from_json, TokenTransaction::encode) else { return };
    check_amount(token.amount());
    assert_eq!(TokenTransaction::from_json_with(data, UnknownFields::Ignored), Ok(token));
}

/// A void as a JSON document.
pub fn parse_void_request(data: &[u8]) {
    let Some(void) = parsed(data, Void::from_json, Void::encode) else { return };
    assert!(!void.transaction_id().as_str().is_empty());
    assert_eq!(Void::from_json_with(data, UnknownFields::Ignored), Ok(void));
}

/// The request of a document that is one, written and read again, and compared with the document.
fn parsed<T: PartialEq + Debug>(
    document: &[u8],
    from_json: impl Fn(&[u8]) -> Result<T, ValidationError>,
    encode: impl Fn(&T) -> SecretBytes,
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
    let encoded = encode(&request);
    assert!((1..=64 * 1024).contains(&encoded.len()));
    let again = from_json(encoded.as_ref()).expect("what was written can be read");
    assert!(again == request, "what was written reads back different");
    assert_eq!(encode(&again).as_ref(), encoded.as_ref());

    let text = body_text(document).expect("a request is UTF-8");
    match Json::read(text) {
        Ok(asked) => {
            let sent = str::from_utf8(encoded.as_ref()).expect("JSON is UTF-8");
            compare(&asked, &Json::read(sent).expect("a request is JSON"));
        }
        Err(NotRead::TooDeep) => {}
        Err(NotRead::NotJson) => panic!("a request was read out of what is no JSON"),
    }
    Some(request)
}

/// Every member is sent as it was asked for, and no other.
fn compare(asked: &Json, sent: &Json) {
    let names = |json: &Json| {
        let members = json.members().expect("an object whose names are Unicode");
        let mut names: Vec<_> = members.into_iter().map(|(name, _)| name.to_owned()).collect();
        names.sort_unstable();
        names
    };
    let (asked_names, mut sent_names) = (names(asked), names(sent));
    // A void says what it is for, also where nobody asked it to.
    let implied = ["TransactionFor"].into_iter().find(|name| !asked_names.iter().any(|own| own == name));
    sent_names.retain(|name| implied != Some(name));
    assert_eq!(asked_names, sent_names);
    for (name, value) in sent.members().expect("an object") {
        if implied == Some(name) {
            continue;
        }
        let asked = asked.once(name).expect("a repeated name is a violation");
        assert!(is_same(name, asked, value), "{name} is not sent as it was asked for");
    }
}

/// Spelled in another way are only those that the decisions name.
fn is_same(name: &str, asked: &Json, sent: &Json) -> bool {
    match (name, asked, sent) {
        ("Amount", Json::Number(asked), Json::Number(sent)) => {
            !sent.contains(['e', 'E']) && Decimal::read(asked) == Decimal::read(sent)
        }
        ("CardNumber", Json::Text(Some(asked)), Json::Text(Some(sent))) => {
            asked.replace([' ', '-'], "") == *sent
        }
        ("ExpiryDate", Json::Text(Some(asked)), Json::Text(Some(sent))) => asked.replace('/', "") == *sent,
        ("IpAddress", Json::Text(Some(asked)), Json::Text(Some(sent))) => {
            asked.parse::<IpAddr>().ok() == sent.parse().ok()
        }
        _ => asked == sent,
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

/// `Debug` shows the amount, which may have any digits.
fn check_hidden(request: &impl Debug, secret: &str, amount: Amount) {
    let shown = format!("{request:?} {request:#?}").replace(&amount.to_string(), "");
    assert!(!shown.contains(secret), "{shown}");
}
