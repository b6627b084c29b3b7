use payments_core::model::Payer;

pub(crate) const PAYER: Payer<'static> = Payer {
    customer_name: "Ada Lovelace",
    email: "ada@example.com",
    country_code: "+1",
    phone_number: "415-555-0100",
    country: "US",
    postal_code: "94107",
    ip_address: "203.0.113.7",
};
