//! A stored token as JSON: what a change log writes down, what the state shows and what a fixture file holds. The
//! interface does not show such a record; this one is the fake's own.

use payments_model::MaskedCard;
use serde_json::json;

use crate::document_reader::DocumentReader;
use crate::test_values::{self, TestEffect, TestField, TestValue};
use crate::{StoredToken, seeded_customer};

pub(crate) fn write(token: &StoredToken) -> String {
    let StoredToken { token_id, gateway_customer_id, card, transaction_id, declines } = token;
    let document = json!({
        "TokenId": token_id.as_str(),
        "GatewayCustomerId": gateway_customer_id.as_str(),
        "CardNumber": card.as_str(),
        "TransactionId": transaction_id.as_ref().map(AsRef::as_ref),
        "Declines": declines,
    });
    document.to_string()
}

/// The token that a document holds, or everything that is wrong with it. Only `TokenId` is required.
///
/// A card number is masked at once. If it was a test card whose payments are declined, so are the token's.
pub(crate) fn read(json: &str) -> Result<StoredToken, Vec<String>> {
    let mut reader = DocumentReader::new(json)?;
    let token_id = reader.required("TokenId", ID);
    let owner = reader.parsed("GatewayCustomerId", ID);
    let number = reader.value::<String>("CardNumber", "must be a text");
    let transaction_id = reader.parsed("TransactionId", ID);
    let declines = reader.flag("Declines");
    reader.finish()?;

    let number = number.as_deref().unwrap_or(test_values::VISA);
    let row = TestValue::find(TestField::CardNumber, &number.replace([' ', '-'], ""));
    let card_declines =
        row.is_some_and(|row| matches!(row.effect, TestEffect::Declines | TestEffect::DeclinesAsToken));
    Ok(StoredToken {
        token_id: token_id.expect("a missing one is a problem"),
        gateway_customer_id: owner.unwrap_or_else(seeded_customer::gateway_customer_id),
        card: MaskedCard::new(number),
        transaction_id,
        declines: declines || card_declines,
    })
}

const ID: &str = "must be an id as a text";
