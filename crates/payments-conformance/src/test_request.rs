use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Uri};
use payments_core::model::{
    Amount, Card, CardTransaction, ConvenienceFee, Payer, TransactionId, TransactionType,
};
use payments_core::{
    ApiKey, Deadlines, Endpoint, GetTransaction, Operation, OperationName, TransportRequest,
};

/// A request to send, with deadlines that a healthy exchange never reaches.
///
/// It is the request that `payments-core` itself would send, plus a header with a unique id.
#[derive(Clone)]
pub(crate) struct TestRequest {
    pub(crate) id: String,
    /// The request that the transport is asked to send.
    pub(crate) request: Request<Bytes>,
    operation: OperationName,
    pub(crate) connect: Duration,
    pub(crate) total: Duration,
    pub(crate) cap: usize,
}

impl TestRequest {
    /// A card payment.
    pub(crate) fn charge(base_url: &str, id: String) -> Self {
        let name = id.clone();
        Self::charge_for(&name, base_url, id)
    }

    /// A card payment for this customer.
    pub(crate) fn charge_for(customer_name: &str, base_url: &str, id: String) -> Self {
        let card = Card { number: CARD_NUMBER, cvv: CVV, expiry: EXPIRY };
        let payer = Payer {
            customer_name,
            email: "payer@example.com",
            country_code: "+1",
            phone_number: "415-555-0100",
            country: "US",
            postal_code: "94107",
            ip_address: "203.0.113.7",
        };
        let payment = CardTransaction::builder(
            Amount::from_cents(10_50),
            TransactionType::Sale,
            ConvenienceFee::Inactive,
            card,
            payer,
        );
        let payment = payment.build().expect("the kit's payment is valid");
        Self::of(&payment, OperationName::Transaction, base_url, id)
    }

    /// A lookup of a transaction that the server does not know.
    pub(crate) fn lookup(base_url: &str, id: String) -> Self {
        let transaction: TransactionId = "txn_conformance".parse().expect("an id of letters");
        Self::of(&GetTransaction::new(transaction), OperationName::GetTransaction, base_url, id)
    }

    fn of(operation: &impl Operation, name: OperationName, base_url: &str, id: String) -> Self {
        let key = ApiKey::new(API_KEY).expect("the key is visible ASCII");
        let endpoint = Endpoint::new(base_url, key).expect("the kit's server has a valid address");
        let mut request = operation.request(&endpoint).expect("the operation is valid");
        let value = HeaderValue::from_str(&id).expect("an id is visible ASCII");
        request.headers_mut().insert(HeaderName::from_static(ID_HEADER), value);
        Self {
            id,
            request,
            operation: name,
            connect: AMPLE,
            total: AMPLE,
            cap: TransportRequest::DEFAULT_RESPONSE_CAP,
        }
    }

    pub(crate) fn connect(self, connect: Duration) -> Self {
        Self { connect, ..self }
    }

    pub(crate) fn total(self, total: Duration) -> Self {
        Self { total, ..self }
    }

    pub(crate) fn cap(self, cap: usize) -> Self {
        Self { cap, ..self }
    }

    pub(crate) fn uri(mut self, uri: &str) -> Self {
        *self.request.uri_mut() = uri.parse::<Uri>().expect("the kit's addresses are valid");
        self
    }

    pub(crate) fn header(mut self, name: &'static str, value: &'static str) -> Self {
        self.request.headers_mut().append(name, HeaderValue::from_static(value));
        self
    }

    pub(crate) fn without_header(mut self, name: &'static str) -> Self {
        self.request.headers_mut().remove(name);
        self
    }

    /// Pads the body with spaces to this length.
    pub(crate) fn padded_to(mut self, length: usize) -> Self {
        let mut body = self.request.body().to_vec();
        body.resize(length.max(body.len()), b' ');
        *self.request.body_mut() = body.into();
        self
    }

    pub(crate) fn into_transport_request(self) -> TransportRequest {
        let deadlines = Deadlines::new(self.connect, self.total);
        TransportRequest::new(self.request, self.operation, deadlines, self.cap)
    }
}

/// The header with the unique id of each of the kit's requests.
pub const ID_HEADER: &str = "x-conformance-id";

/// Unlikely to occur by chance: the kit searches all results for these values.
pub(crate) const CARD_NUMBER: &str = "4716258370961436";
pub(crate) const API_KEY: &str = "sk_conformance_Canary_7f3A1c94E2";
const CVV: &str = "837";
const EXPIRY: &str = "1149";

/// A deadline that is reached only if something hangs.
pub(crate) const AMPLE: Duration = Duration::from_secs(20);
