use payments_model::{CustomerRecord, Field, GatewayCustomerId};

use crate::store::Store;
use crate::test_values::{CUSTOMER, GATEWAY_CUSTOMER};

/// The record of the customer that is always there.
pub(crate) fn record() -> CustomerRecord {
    let text = |text: &str| Field::Value(text.to_owned());
    let mut customer = CustomerRecord::new();
    customer.customer_id = Field::Value(CUSTOMER.parse().expect("a test value is a valid id"));
    customer.customer_name = text("Grace Example");
    customer.email = text("grace@example.com");
    customer.phone_number = text("555-0100");
    customer.country_id = Field::Value(COUNTRY_ID);
    customer.country_code = text("+1");
    customer.address = text("1 Example Street");
    customer.city = text("Exampleton");
    customer.postal_code = text("94105");
    customer.state_id = Field::Value(5);
    customer
}

/// Whether the store has no other customer in its place.
pub(crate) fn is_missing(store: &Store) -> bool {
    let id = CUSTOMER.parse().expect("a test value is a valid id");
    store.customer(&id).is_none()
}

/// The owner of the named tokens and of every token made from a card.
pub(crate) fn gateway_customer_id() -> GatewayCustomerId {
    GATEWAY_CUSTOMER.parse().expect("a test value is a valid id")
}

/// The number of the seeded customer's country. It has no meaning beyond this fake.
pub(crate) const COUNTRY_ID: i64 = 1;
