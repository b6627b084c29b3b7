//! Public card numbers, tokens and other values that select how the fake behaves.
//!
//! The numbers are public and in wide use; none is a real card. The card number selects the result of a card payment, an
//! account number that of an ACH payment, and a named token exists for each kind of card. If several values of one request
//! conflict, the precedence is: an armed fault, then the token, the card number or the account number, then the postal code,
//! then approval.

use serde_json::json;

/// One row of the table of test values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TestValue {
    /// The field of the request that the value belongs in.
    pub field: TestField,
    /// The value to send.
    pub value: &'static str,
    /// What the fake does with it.
    pub effect: TestEffect,
    /// The same as text. A decline has exactly this text as its reason.
    pub result: &'static str,
}

named! {
    /// The field that a test value belongs in.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum TestField {
        /// `CardNumber` of a card payment.
        CardNumber = "CardNumber",
        /// Any account field of an ACH payment, because the interface does not name them.
        AccountField = "account field",
        /// `TokenId` of a token payment.
        TokenId = "TokenId",
        /// `BillingPostalCode` of a card or ACH payment.
        BillingPostalCode = "BillingPostalCode",
        /// The id of a customer lookup.
        CustomerId = "CustomerId",
        /// `GatewayCustomerId` of a token payment.
        GatewayCustomerId = "GatewayCustomerId",
    }
}

named! {
    /// What a test value makes the fake do.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum TestEffect {
        /// Approves.
        Approves = "approves",
        /// Declines, with the row's result as the reason.
        Declines = "declines",
        /// Approves the card payment; every charge of a token created from the card is declined.
        DeclinesAsToken = "declines_as_token",
        /// Approves two charges, then declines every further one.
        ApprovesTwice = "approves_twice",
        /// The token is gone: HTTP 400, invalid token.
        Removed = "removed",
        /// Refused as invalid: HTTP 400.
        Invalid = "invalid",
        /// Known from the start.
        Exists = "exists",
    }
}

macro_rules! test_values {
    ($($name:ident = $field:ident $value:literal $effect:ident $result:literal)*) => {
        $(
            #[doc = concat!("`", $value, "`: ", $result, ".")]
            pub const $name: &str = $value;
        )*

        /// Every test value.
        ///
        /// | field | value | constant | result |
        /// |---|---|---|---|
        $(#[doc = concat!(
            "| `", stringify!($field), "` | `", $value, "` | [`", stringify!($name), "`] | ", $result, " |",
        )])*
        pub const TEST_VALUES: &[TestValue] = &[
            $(TestValue {
                field: TestField::$field,
                value: $name,
                effect: TestEffect::$effect,
                result: $result,
            },)*
        ];
    };
}

test_values! {
    VISA = CardNumber "4242424242424242" Approves "approved"
    VISA_CLASSIC = CardNumber "4111111111111111" Approves "approved"
    VISA_ALTERNATIVE = CardNumber "4012888888881881" Approves "approved"
    VISA_DEBIT = CardNumber "4000056655665556" Approves "approved"
    VISA_13_DIGITS = CardNumber "4007000000027" Approves "approved"
    MASTERCARD = CardNumber "5555555555554444" Approves "approved"
    MASTERCARD_DEBIT = CardNumber "5200828282828210" Approves "approved"
    MASTERCARD_2_SERIES = CardNumber "2223000010309703" Approves "approved"
    AMERICAN_EXPRESS = CardNumber "378282246310005" Approves "approved"
    AMERICAN_EXPRESS_ALTERNATIVE = CardNumber "371449635398431" Approves "approved"
    DISCOVER = CardNumber "6011111111111117" Approves "approved"
    DINERS_CLUB = CardNumber "30569309025904" Approves "approved"
    DINERS_CLUB_ALTERNATIVE = CardNumber "38520000023237" Approves "approved"
    JCB = CardNumber "3530111333300000" Approves "approved"
    UNIONPAY = CardNumber "6200000000000005" Approves "approved"
    DECLINED = CardNumber "4000000000000002" Declines "declined"
    INSUFFICIENT_FUNDS = CardNumber "4000000000009995" Declines "insufficient funds"
    LOST_CARD = CardNumber "4000000000009987" Declines "lost card"
    STOLEN_CARD = CardNumber "4000000000009979" Declines "stolen card"
    EXPIRED_CARD = CardNumber "4000000000000069" Declines "expired card"
    INCORRECT_SECURITY_CODE = CardNumber "4000000000000127" Declines "incorrect security code"
    PROCESSING_ERROR = CardNumber "4000000000000119" Declines "processing error"
    DECLINED_AS_TOKEN = CardNumber "4000000000000341" DeclinesAsToken
        "approved; every charge of a token made from it is declined"
    FAILS_LUHN = CardNumber "4242424242424241" Invalid "refused as invalid: fails the Luhn check"

    DECLINED_ACCOUNT = AccountField "000111111116" Declines "declined"

    TOK_APPROVED = TokenId "tok_approved" Approves "approved"
    TOK_DECLINED = TokenId "tok_declined" Declines "declined"
    TOK_INSUFFICIENT_FUNDS = TokenId "tok_insufficient_funds" Declines "insufficient funds"
    TOK_LOST_CARD = TokenId "tok_lost_card" Declines "lost card"
    TOK_STOLEN_CARD = TokenId "tok_stolen_card" Declines "stolen card"
    TOK_EXPIRED_CARD = TokenId "tok_expired_card" Declines "expired card"
    TOK_INCORRECT_SECURITY_CODE = TokenId "tok_incorrect_security_code" Declines "incorrect security code"
    TOK_PROCESSING_ERROR = TokenId "tok_processing_error" Declines "processing error"
    TOK_CHARGE_DECLINED = TokenId "tok_charge_declined" Declines "declined"
    TOK_THEN_DECLINED = TokenId "tok_then_declined" ApprovesTwice "approved twice, then declined"
    TOK_REMOVED = TokenId "tok_removed" Removed "refused: invalid token"

    INVALID_POSTAL_CODE = BillingPostalCode "00000" Invalid "refused: invalid postal code"
    CUSTOMER = CustomerId "cus_1" Exists "the customer that is always there"
    GATEWAY_CUSTOMER = GatewayCustomerId "gc_1" Exists "the owner of every named token"
}

/// [`TEST_VALUES`] as JSON: `{"values": [{"field", "value", "effect", "result"}]}`.
pub fn test_values_json() -> String {
    let rows = TEST_VALUES.iter().map(|TestValue { field, value, effect, result }| {
        json!({"field": field.as_str(), "value": value, "effect": effect.as_str(), "result": result})
    });
    json!({"values": rows.collect::<Vec<_>>()}).to_string()
}

impl TestValue {
    /// The row for a value of a field, if the value is a test value.
    pub(crate) fn find(field: TestField, value: &str) -> Option<&'static Self> {
        TEST_VALUES.iter().find(|row| row.field == field && row.value == value)
    }

    /// The card of a named token: the one with the same result, or else the first of all.
    pub(crate) fn mirrored_card(&self) -> &'static str {
        let is_mirrored = |row: &&Self| row.field == TestField::CardNumber && row.result == self.result;
        TEST_VALUES.iter().find(is_mirrored).map_or(VISA, |row| row.value)
    }
}

#[cfg(test)]
mod tests {
    use payments_model::CardNumber;

    use super::*;

    fn of_field(field: TestField) -> impl Iterator<Item = &'static TestValue> {
        TEST_VALUES.iter().filter(move |row| row.field == field)
    }

    #[test]
    fn every_test_card_but_the_invalid_one_passes_luhn_d31() {
        for row in of_field(TestField::CardNumber) {
            assert_eq!(
                CardNumber::new(row.value).is_ok(),
                row.effect != TestEffect::Invalid,
                "{}",
                row.value
            );
        }
    }

    #[test]
    fn a_named_token_exists_for_every_kind_of_declined_card() {
        for card in of_field(TestField::CardNumber).filter(|row| row.effect == TestEffect::Declines) {
            let mirror = format!("tok_{}", card.result.replace(' ', "_"));
            let token = TestValue::find(TestField::TokenId, &mirror).expect(&mirror);
            assert_eq!((token.effect, token.result), (card.effect, card.result));
        }
    }

    #[test]
    fn test_values_are_unique() {
        for (index, row) in TEST_VALUES.iter().enumerate() {
            assert_eq!(
                TEST_VALUES.iter().position(|other| other.value == row.value),
                Some(index),
                "{}",
                row.value
            );
        }
    }
}
