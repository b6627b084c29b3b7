use payments_core::model::{CustomerId, TransactionId};
use payments_core::{ApiKey, Endpoint, GetCustomer, GetTransaction, Operation};

/// An identifier that becomes one segment of a path, and one that came out of an answer.
pub fn read_path_id(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let key = ApiKey::new("sk_live_8Qw2Zr5T").expect("visible ASCII");
    let endpoint = Endpoint::new(BASE_URL, key).expect("a valid address");

    let new = TransactionId::new(text);
    assert_eq!(new.is_ok(), CustomerId::new(text).is_ok(), "one rule for both");
    assert_eq!(new.is_ok(), is_safe(text), "{text:?}");

    let answered = TransactionId::from_answer(text);
    assert_eq!(answered.is_some(), !text.is_empty());
    let Some(answered) = answered else { return };
    assert_eq!(answered.path_segment().ok(), new.as_ref().ok().map(TransactionId::as_str));

    match GetTransaction::new(answered).request(&endpoint) {
        Ok(request) => {
            check_address(request.uri(), "transaction", text);
            let customer = GetCustomer::new(CustomerId::new(text).expect("the rule is the same"));
            let request = customer.request(&endpoint).expect("the rule is the same");
            check_address(request.uri(), "customer", text);
        }
        Err(error) => {
            assert!(new.is_err() && error.is_validation());
            let shown = format!("{error} {error:?}");
            assert!(text.len() < 12 || !shown.contains(text), "{shown}");
        }
    }
}

/// The address is that of one record under the base, to whoever reads it.
fn check_address(address: &http::Uri, collection: &str, id: &str) {
    assert_eq!(address.to_string(), format!("{BASE_URL}/{collection}/{id}"));
    let again: http::Uri = address.to_string().parse().expect("what was an address stays one");
    assert_eq!((again.path(), again.query()), (address.path(), None));
    let segments: Vec<&str> = again.path().split('/').collect();
    assert_eq!(segments, ["", "api", "v1", "public", collection, id]);
    assert!(id != "." && id != ".." && !id.contains('%'));
}

/// The decision in other words: what RFC 3986 lets stand in a segment, less what a reader may give a meaning to.
fn is_safe(id: &str) -> bool {
    let allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:@+=,";
    (1..=256).contains(&id.len())
        && !matches!(id, "." | "..")
        && id.chars().all(|letter| allowed.contains(letter))
}

const BASE_URL: &str = "https://pay.example.com/api/v1/public";
