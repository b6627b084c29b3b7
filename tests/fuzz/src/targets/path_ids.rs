use payments_core::model::{CustomerId, TransactionId};
use payments_core::{ApiKey, Endpoint, GetCustomer, GetTransaction, Operation};

/// An identifier that becomes one segment of a path, and the same identifier from a response.
pub fn read_path_id(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let key = ApiKey::new("sk_live_8Qw2Zr5T").expect("visible ASCII");
    let endpoint = Endpoint::new(BASE_URL, key).expect("a valid URL");

    let new = TransactionId::new(text);
    assert_eq!(new.is_ok(), CustomerId::new(text).is_ok(), "both types have the same rule");
    assert_eq!(new.is_ok(), is_safe(text), "{text:?}");

    let from_response = TransactionId::from_answer(text);
    assert_eq!(from_response.is_some(), !text.is_empty());
    let Some(from_response) = from_response else { return };
    assert_eq!(from_response.path_segment().ok(), new.as_ref().ok().map(TransactionId::as_str));

    match GetTransaction::new(from_response).request(&endpoint) {
        Ok(request) => {
            check_uri(request.uri(), "transaction", text);
            let customer = GetCustomer::new(CustomerId::new(text).expect("both types have the same rule"));
            let request = customer.request(&endpoint).expect("both types have the same rule");
            check_uri(request.uri(), "customer", text);
        }
        Err(error) => {
            assert!(new.is_err() && error.is_validation());
            let shown = format!("{error} {error:?}");
            assert!(text.len() < 12 || !shown.contains(text), "{shown}");
        }
    }
}

/// The URI names one record under the base URL, for every parser.
fn check_uri(uri: &http::Uri, collection: &str, id: &str) {
    assert_eq!(uri.to_string(), format!("{BASE_URL}/{collection}/{id}"));
    let again: http::Uri = uri.to_string().parse().expect("a URI can be parsed again");
    assert_eq!((again.path(), again.query()), (uri.path(), None));
    let segments: Vec<&str> = again.path().split('/').collect();
    assert_eq!(segments, ["", "api", "v1", "public", collection, id]);
    assert!(id != "." && id != ".." && !id.contains('%'));
}

/// The decision, implemented again: the characters that RFC 3986 allows in a segment, except those that some parsers
/// interpret.
fn is_safe(id: &str) -> bool {
    let allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:@+=,";
    (1..=256).contains(&id.len())
        && !matches!(id, "." | "..")
        && id.chars().all(|letter| allowed.contains(letter))
}

const BASE_URL: &str = "https://pay.example.com/api/v1/public";
