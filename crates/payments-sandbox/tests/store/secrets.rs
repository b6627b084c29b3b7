//! The file never holds card numbers, security codes, expiry dates, accounts or API keys.

use std::fs;

use bytes::Bytes;
use payments_fake::block_on;
use payments_fake::test_values::{AMERICAN_EXPRESS, DECLINED, VISA};

use crate::round_trip::{account_payment, card_payment};
use crate::support::{KEYS, Place, StoredGateway};

/// Not a test value, but passes the Luhn check.
const REAL_LOOKING: &str = "4539578763621486";

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn no_secret_is_in_the_file_or_its_log() {
    let place = Place::new();
    let stored = place.open(&KEYS);
    everything_with_secrets(&stored);
    block_on(stored.flushed()).unwrap();
    let mut images = vec![fs::read(place.file()).unwrap(), fs::read(place.log()).unwrap()];
    assert!(
        images.iter().any(|image| contains(image, "************1486")),
        "the last four digits are stored"
    );
    stored.close();
    images.push(fs::read(place.file()).unwrap());
    for last_four in ["4242", "1486", "0002", "0005"] {
        assert!(contains(&images[2], last_four), "{last_four}");
    }
    for image in &images {
        for secret in
            [VISA, AMERICAN_EXPRESS, DECLINED, REAL_LOOKING, "9876543210", "021000021", KEYS[0], KEYS[1]]
        {
            assert!(!contains(image, secret), "{secret}");
        }
        for member in ["987", "12/31", "1231", "8642"] {
            let quoted = format!("\"{member}\"");
            assert!(!contains(image, &quoted), "{quoted}");
        }
    }
}

fn everything_with_secrets(stored: &StoredGateway) {
    let pay = |key, body| stored.post(key, "/transaction", Bytes::from_owner(body));
    for key in KEYS {
        for number in [VISA, DECLINED, REAL_LOOKING] {
            for (auth, tokenize) in [(false, false), (true, true)] {
                pay(key, card_payment(number, auth, tokenize));
            }
        }
        pay(key, account_payment());
        let tenant = stored.gateway.tenant(key).unwrap();
        let token = tenant.tokens().first().map(|token| token.token_id.to_string());
        stored.charge(key, &token.expect("a payment created a token"));
        let token = format!(r#"{{"TokenId":"tok_own","CardNumber":"{AMERICAN_EXPRESS}"}}"#);
        tenant.add_token_json(&token).unwrap();
        stored.add_customer(key, "cus_7");
        let authorized = stored.post(key, "/transaction", Bytes::from_owner(card_payment(VISA, true, false)));
        stored.void(key, authorized["data"]["TransactionId"].as_str().unwrap());
    }
}

#[test]
fn two_files_do_not_reveal_a_common_key() {
    let hash = || {
        let place = Place::new();
        place.open(&KEYS).close();
        let hashes = "SELECT key_hash FROM tenant ORDER BY id LIMIT 1";
        place.sql().query_row(hashes, [], |row| row.get::<_, Vec<u8>>(0)).unwrap()
    };
    let (one, other) = (hash(), hash());
    assert_eq!(one.len(), 32);
    assert_ne!(one, other);
}

#[test]
fn debug_shows_neither_keys_nor_records() {
    let place = Place::new();
    let stored = place.open(&KEYS);
    stored.add_customer(KEYS[0], "cus_7");
    let shown = format!("{:?}", stored.store);
    stored.close();
    let shown = format!("{shown}{:?}", payments_sandbox::DataFile::open(place.file(), &KEYS).unwrap());
    assert!(!shown.contains(KEYS[0]) && !shown.contains("cus_7"), "{shown}");
}
