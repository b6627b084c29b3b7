//! The inputs of a builder: text of every type, and validated values.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

use payments_model::{
    AchTransaction, Amount, Card, CardNumber, CardTransaction, ConvenienceFee, Cvv, DialPrefix, Email,
    Expiry, GatewayCustomerId, Payer, SuggestedMode, TokenId, TokenTransaction, TransactionType,
};
use zeroize::Zeroizing;

use crate::fixtures::{CARD, PAYER, sale};

macro_rules! sale_with {
    ($card:expr, $payer:expr) => {
        CardTransaction::builder(
            Amount::from_cents(10_50),
            TransactionType::Sale,
            ConvenienceFee::Inactive,
            $card,
            $payer,
        )
        .build()
        .unwrap()
    };
}

#[test]
fn builders_accept_every_text_type() {
    let expected = sale(CARD, PAYER).build().unwrap();
    let [number, cvv, expiry] = [CARD.number, CARD.cvv, CARD.expiry].map(String::from);
    let card = Card { number: &number, cvv: Zeroizing::new(cvv), expiry };
    let name = Zeroizing::new(String::from(PAYER.customer_name));
    let email: Box<str> = PAYER.email.into();
    let prefix: Arc<str> = PAYER.country_code.into();
    let payer = Payer {
        customer_name: &name,
        email: &email,
        country_code: &prefix,
        phone_number: String::from(PAYER.phone_number),
        country: Cow::Borrowed(PAYER.country),
        postal_code: &PAYER.postal_code,
        ip_address: &String::from(PAYER.ip_address),
    };
    assert_eq!(sale_with!(card, payer), expected);
}

#[test]
fn builders_accept_validated_values_by_value_and_by_reference() {
    let expected = sale(CARD, PAYER).build().unwrap();
    let number = CardNumber::new(CARD.number).unwrap();
    let expiry = Expiry::new(12, 2030).unwrap();
    let email = Email::new(PAYER.email).unwrap();
    let ip_address: IpAddr = PAYER.ip_address.parse().unwrap();
    let payer = Payer {
        customer_name: PAYER.customer_name,
        email: &email,
        country_code: DialPrefix::new(PAYER.country_code).unwrap(),
        phone_number: PAYER.phone_number,
        country: PAYER.country,
        postal_code: PAYER.postal_code,
        ip_address,
    };
    let card = Card { number: &number, cvv: Cvv::new(CARD.cvv).unwrap(), expiry };
    assert_eq!(sale_with!(card, payer), expected);

    let token = |builder: payments_model::TokenTransactionBuilder<'_>| builder.build().unwrap();
    let (amount, fee) = (Amount::from_cents(1), ConvenienceFee::Active);
    let customer = GatewayCustomerId::new("gc_1").unwrap();
    let typed =
        TokenTransaction::builder(TokenId::new("tok_1").unwrap(), amount, fee).gateway_customer_id(&customer);
    assert_eq!(customer.as_str(), "gc_1");
    let text = TokenTransaction::builder(String::from("tok_1"), amount, fee)
        .gateway_customer_id(String::from("gc_1"));
    assert_eq!(token(typed), token(text));
    let mode = SuggestedMode::new("CreditCard").unwrap();
    assert_eq!(sale(CARD, PAYER).suggested_mode(&mode).build().unwrap().suggested_mode(), &mode);
}

#[test]
fn builder_accepts_a_card_number_created_without_luhn_check_d31() {
    let number = CardNumber::without_luhn_check("4242424242424241").unwrap();
    let card = Card { number, cvv: CARD.cvv, expiry: CARD.expiry };
    assert_eq!(sale_with!(card, PAYER).card_number().expose_secret(), "4242424242424241");
}

#[test]
fn account_field_with_unreadable_secrets_is_rejected_s5() {
    for value in [r#""\ud800""#, r#"{"\ud800":"000123456789"}"#, r#"["a",{"b":"\ud800"}]"#] {
        let account = format!(r#"{{"SuggestedMode":"ACH","Acct":{value}}}"#);
        let violations = crate::fixtures::violations(AchTransaction::from_json(account.as_bytes()));
        let expected = "Acct: must be valid Unicode and nested at most 64 levels deep";
        assert!(violations.iter().any(|violation| violation == expected), "{violations:?}");
    }
}
