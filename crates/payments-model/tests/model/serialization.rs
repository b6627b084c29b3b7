//! Every valid request is sent as the interface's table says, and reads back equal.

use std::net::IpAddr;

use payments_model::unversioned::is_blank;
use payments_model::{
    AchTransaction, Amount, Card, CardTransaction, ConvenienceFee, Payer, Shipping, TokenTransaction,
    TransactionId, TransactionRequest, TransactionType, Void,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value};

use crate::table_checks::{assert_follows, assert_in_order};
use crate::tables::{CARD_TRANSACTION, TOKEN_TRANSACTION, VOID};

/// The names of the optional texts of a card transaction, in the order of [`Payment::optional`].
const OPTIONAL_TEXTS: [&str; 11] = [
    "BillingAddress",
    "BillingCity",
    "BillingState",
    "ShippingCustomerName",
    "ShippingEmail",
    "ShippingPhoneNumber",
    "ShippingAddress",
    "ShippingCountry",
    "ShippingCity",
    "ShippingState",
    "ShippingPostalCode",
];

/// The values that a caller passes for a card or ACH payment.
#[derive(Clone, Debug)]
struct Payment {
    cents: i64,
    transaction_type: TransactionType,
    fee: bool,
    customer_name: String,
    email: String,
    country_code: String,
    phone_number: String,
    country: String,
    postal_code: String,
    ip_address: IpAddr,
    optional: Vec<Option<String>>,
    same: Option<bool>,
    tokenize: Option<bool>,
}

impl Payment {
    fn payer<'a>(&'a self, ip_address: &'a str) -> Payer<'a> {
        Payer {
            customer_name: &self.customer_name,
            email: &self.email,
            country_code: &self.country_code,
            phone_number: &self.phone_number,
            country: &self.country,
            postal_code: &self.postal_code,
            ip_address,
        }
    }

    fn convenience_fee(&self) -> ConvenienceFee {
        if self.fee { ConvenienceFee::Active } else { ConvenienceFee::Inactive }
    }

    fn shipping(&self) -> Shipping {
        let mut shipping = Shipping::default();
        let places = [
            &mut shipping.customer_name,
            &mut shipping.email,
            &mut shipping.phone_number,
            &mut shipping.address,
            &mut shipping.country,
            &mut shipping.city,
            &mut shipping.state,
            &mut shipping.postal_code,
        ];
        for (place, text) in places.into_iter().zip(&self.optional[3..]) {
            place.clone_from(text);
        }
        shipping
    }

    /// The members that must be sent, without the amount, which a `Value` cannot keep exactly.
    fn expected(&self, mode: &str) -> Map<String, Value> {
        let mut members = Map::new();
        let mut put = |name: &str, value: Value| members.insert(name.to_owned(), value);
        put("BillingCountry", self.country.as_str().into());
        put("BillingCountryCode", self.country_code.as_str().into());
        put("BillingCustomerName", self.customer_name.as_str().into());
        put("BillingEmail", self.email.as_str().into());
        put("BillingPhoneNumber", self.phone_number.as_str().into());
        put("BillingPostalCode", self.postal_code.as_str().into());
        put("SuggestedMode", mode.into());
        put("ConvenienceFeeActive", self.fee.into());
        put("IpAddress", self.ip_address.to_string().into());
        for (name, text) in OPTIONAL_TEXTS.iter().zip(&self.optional) {
            if let Some(text) = text {
                put(name, text.as_str().into());
            }
        }
        for (name, flag) in [("ShippingSameAsBilling", self.same), ("PaymentTokenization", self.tokenize)] {
            if let Some(flag) = flag {
                put(name, flag.into());
            }
        }
        match self.transaction_type {
            TransactionType::Sale => put("TransactionType", "1".into()),
            TransactionType::Auth => put("TransactionType", "2".into()),
            TransactionType::GatewayDefault => None,
        };
        members
    }
}

/// Sets every optional field that the two builders share.
macro_rules! with_options {
    ($builder:expr, $payment:expr) => {{
        let mut builder = $builder.shipping($payment.shipping());
        if let Some(text) = &$payment.optional[0] {
            builder = builder.billing_address(text.as_str());
        }
        if let Some(text) = &$payment.optional[1] {
            builder = builder.billing_city(text.as_str());
        }
        if let Some(text) = &$payment.optional[2] {
            builder = builder.billing_state(text.as_str());
        }
        if let Some(same) = $payment.same {
            builder = builder.shipping_same_as_billing(same);
        }
        if let Some(tokenize) = $payment.tokenize {
            builder = builder.payment_tokenization(tokenize);
        }
        builder
    }};
}

fn not_blank() -> impl Strategy<Value = String> {
    any::<String>().prop_map(|text| if is_blank(&text) { format!("{text}x") } else { text })
}

/// An id as a caller may write it.
fn typed_id() -> impl Strategy<Value = String> {
    any::<String>().prop_map(|text| format!("x{}x", text.replace(char::is_control, "")))
}

fn payment() -> impl Strategy<Value = Payment> {
    let types = prop_oneof![
        Just(TransactionType::Sale),
        Just(TransactionType::Auth),
        Just(TransactionType::GatewayDefault)
    ];
    let what = (1..i64::MAX, types, any::<bool>(), option::of(any::<bool>()), option::of(any::<bool>()));
    let who = (
        not_blank(),
        "[a-zäß.+\"-]{1,20}@[a-z0-9.-]{1,30}",
        "\\+[1-9][0-9]{0,3}",
        not_blank(),
        not_blank(),
        not_blank(),
    );
    (what, who, any::<IpAddr>(), vec(option::of(any::<String>()), 11)).prop_map(
        |(what, who, ip_address, optional)| {
            let (cents, transaction_type, fee, same, tokenize) = what;
            let (customer_name, email, country_code, phone_number, country, postal_code) = who;
            Payment {
                cents,
                transaction_type,
                fee,
                customer_name,
                email,
                country_code,
                phone_number,
                country,
                postal_code,
                ip_address,
                optional,
                same,
                tokenize,
            }
        },
    )
}

/// The number and security code of a card, with a check digit computed independently of the code under test.
fn card_number() -> impl Strategy<Value = (String, String)> {
    let start =
        prop_oneof!["4[0-9]{10,17}", "5[1-5][0-9]{13}", "3[47][0-9]{12}", "6011[0-9]{11}", "9[0-9]{10,17}"];
    (start, "[0-9]{3}", "[0-9]").prop_map(|(start, code, digit)| {
        let doubled_first: u32 = start
            .chars()
            .rev()
            .enumerate()
            .map(|(index, digit)| {
                let value = digit.to_digit(10).unwrap() * if index % 2 == 0 { 2 } else { 1 };
                value / 10 + value % 10
            })
            .sum();
        let number = format!("{start}{}", (10 - doubled_first % 10) % 10);
        let is_amex = start.starts_with("34") || start.starts_with("37");
        (number, if is_amex { code + &digit } else { code })
    })
}

/// Compares the document with the expected members, and the amount digit by digit.
fn assert_sent(document: &[u8], cents: i64, mut expected: Map<String, Value>) {
    let mut value: Value = serde_json::from_slice(document).unwrap();
    let amount = format!("\"Amount\":{}.{:02},", cents / 100, cents % 100);
    assert!(str::from_utf8(document).unwrap().contains(&amount), "{amount}");
    assert!(value["Amount"].is_number());
    value.as_object_mut().unwrap().remove("Amount");
    expected.remove("Amount");
    assert_eq!(value, Value::Object(expected));
}

fn with_separators(number: &str, separator: &str) -> String {
    number
        .as_bytes()
        .chunks(4)
        .map(|chunk| str::from_utf8(chunk).unwrap())
        .collect::<Vec<_>>()
        .join(separator)
}

proptest! {
    #[test]
    fn any_valid_card_request_matches_the_table_and_reads_back_equal_d30(
        payment in payment(),
        (number, cvv) in card_number(),
        month in 1..=12_u8,
        year in 0..100_u8,
        slash in any::<bool>(),
        separator in prop_oneof![Just(""), Just(" "), Just("-")],
        mode in option::of(not_blank()),
    ) {
        let mode = mode.filter(|mode| !mode.eq_ignore_ascii_case("ach"));
        let ip_address = payment.ip_address.to_string();
        let typed_expiry = format!("{month:02}{}{year:02}", if slash { "/" } else { "" });
        let typed_number = with_separators(&number, separator);
        let mut builder = with_options!(
            CardTransaction::builder(
                Amount::from_cents(payment.cents),
                payment.transaction_type,
                payment.convenience_fee(),
                Card { number: &typed_number, cvv: &cvv, expiry: &typed_expiry },
                payment.payer(&ip_address),
            ),
            payment
        );
        if let Some(mode) = &mode {
            builder = builder.suggested_mode(mode.as_str());
        }
        let request = builder.build().unwrap();
        let encoded = request.to_json();

        assert_follows(encoded.as_ref(), &CARD_TRANSACTION);
        let mut expected = payment.expected(mode.as_deref().unwrap_or("Card"));
        expected.insert("CardNumber".to_owned(), number.into());
        expected.insert("Cvv".to_owned(), cvv.into());
        expected.insert("ExpiryDate".to_owned(), format!("{month:02}{year:02}").into());
        assert_sent(encoded.as_ref(), payment.cents, expected);

        prop_assert_eq!(&CardTransaction::from_json(encoded.as_ref()).unwrap(), &request);
        prop_assert_eq!(TransactionRequest::from_json(encoded.as_ref()).unwrap(), TransactionRequest::Card(request));
    }

    #[test]
    fn any_valid_ach_request_matches_the_table_and_reads_back_equal_d39(
        payment in payment(),
        accounts in proptest::collection::btree_map("[a-z]{1,3}[A-Z]{3,9}|\\PC{3}x", any::<String>(), 0..5),
    ) {
        let ip_address = payment.ip_address.to_string();
        let mut builder = with_options!(
            AchTransaction::builder(
                Amount::from_cents(payment.cents),
                payment.transaction_type,
                payment.convenience_fee(),
                payment.payer(&ip_address),
            ),
            payment
        );
        let mut expected = payment.expected("ACH");
        for (name, text) in &accounts {
            builder = builder.account_field(name.as_str(), text);
            expected.insert(name.clone(), text.as_str().into());
        }
        let request = builder.build().unwrap();
        let encoded = request.to_json();

        assert_sent(encoded.as_ref(), payment.cents, expected);
        assert_in_order(encoded.as_ref(), CARD_TRANSACTION.iter().map(|row| row.name));
        prop_assert_eq!(&AchTransaction::from_json(encoded.as_ref()).unwrap(), &request);
        prop_assert_eq!(TransactionRequest::from_json(encoded.as_ref()).unwrap(), TransactionRequest::Ach(request));
    }

    #[test]
    fn any_valid_token_request_matches_the_table_and_reads_back_equal_d40(
        token_id in typed_id(),
        cents in 1..i64::MAX,
        fee in any::<bool>(),
        customer in option::of(typed_id()),
        description in option::of(any::<String>()),
        reference in option::of(any::<String>().prop_map(|text| format!("r{text}"))),
    ) {
        let convenience_fee = if fee { ConvenienceFee::Active } else { ConvenienceFee::Inactive };
        let mut builder = TokenTransaction::builder(&token_id, Amount::from_cents(cents), convenience_fee);
        let mut expected = Map::from_iter([
            ("TokenId".to_owned(), Value::from(token_id.as_str())),
            ("ConvenienceFeeActive".to_owned(), fee.into()),
        ]);
        if let Some(text) = &customer {
            builder = builder.gateway_customer_id(text.as_str());
            expected.insert("GatewayCustomerId".to_owned(), text.as_str().into());
        }
        if let Some(text) = &description {
            builder = builder.description(text.as_str());
            expected.insert("Description".to_owned(), text.as_str().into());
        }
        if let Some(text) = &reference {
            builder = builder.reference_no(text.as_str());
            expected.insert("ReferenceNo".to_owned(), text.as_str().into());
        }
        let request = builder.build().unwrap();
        let encoded = request.to_json();
        assert_follows(encoded.as_ref(), &TOKEN_TRANSACTION);
        assert_sent(encoded.as_ref(), cents, expected);
        prop_assert_eq!(TokenTransaction::from_json(encoded.as_ref()).unwrap(), request);
    }

    #[test]
    fn any_void_matches_the_table_and_reads_back_equal_d28(id in typed_id(), reason in option::of(any::<String>())) {
        let mut void = Void::new(TransactionId::from_response(id.as_str()).unwrap());
        let mut expected = Map::from_iter([
            ("TransactionId".to_owned(), Value::from(id)),
            ("TransactionFor".to_owned(), "Void".into()),
        ]);
        if let Some(text) = &reason {
            void = void.with_reason(text.as_str()).unwrap();
            expected.insert("Reason".to_owned(), text.as_str().into());
        }
        let encoded = void.to_json();
        assert_follows(encoded.as_ref(), &VOID);
        prop_assert_eq!(serde_json::from_slice::<Value>(encoded.as_ref()).unwrap(), Value::Object(expected));
        prop_assert_eq!(Void::from_json(encoded.as_ref()).unwrap(), void);
    }

    #[test]
    fn parsing_any_document_never_panics_d30(bytes in vec(any::<u8>(), 0..60), text in any::<String>()) {
        for document in [&bytes[..], text.as_bytes()] {
            let _ = TransactionRequest::from_json(document);
            let _ = TokenTransaction::from_json(document);
            let _ = Void::from_json(document);
        }
    }
}

#[test]
fn request_waits_in_a_queue_as_json_with_the_builders_violations_d30() {
    let amount = Amount::from_cents(10_50);
    let card = Card { number: "4242424242424242", cvv: "123", expiry: "1230" };
    let sale = CardTransaction::builder(
        amount,
        TransactionType::Auth,
        ConvenienceFee::Active,
        card,
        crate::fixtures::PAYER,
    )
    .billing_city("a\"b")
    .shipping(Shipping::default().state("OR"))
    .payment_tokenization(true)
    .build()
    .unwrap();
    let queued = sale.to_json().as_ref().to_vec();
    let read = CardTransaction::from_json(&queued).unwrap();
    assert_eq!(read, sale);
    assert_eq!(read.to_json().as_ref(), queued);
    assert_ne!(read, CardTransaction::from_json(&queued_with(&queued, "10.50", "10.51")).unwrap());

    let damaged = queued_with(&queued, "4242424242424242", "4242424242424241");
    let card = Card { number: "4242424242424241", ..card };
    let built = CardTransaction::builder(
        amount,
        TransactionType::Auth,
        ConvenienceFee::Active,
        card,
        crate::fixtures::PAYER,
    );
    let skipped = built.without_luhn_check().build().unwrap();
    let built = CardTransaction::builder(
        amount,
        TransactionType::Auth,
        ConvenienceFee::Active,
        card,
        crate::fixtures::PAYER,
    );
    assert_eq!(CardTransaction::from_json(&damaged).unwrap_err(), built.build().unwrap_err());
    // A document cannot say that the check was skipped.
    assert!(CardTransaction::from_json(skipped.to_json().as_ref()).is_err());
}

fn queued_with(json: &[u8], from: &str, to: &str) -> Vec<u8> {
    str::from_utf8(json).unwrap().replace(from, to).into_bytes()
}
