use std::fmt;

use bytes::Bytes;
use http::HeaderValue;
use zeroize::Zeroizing;

use crate::Error;
use crate::configuration_error::ConfigurationError;

/// The key that opens the service, sent as the bare value of `Authorization` with no scheme before it.
///
/// It cannot be printed: `Debug` is redacted, and there is no `Display`. The header value made from it is marked
/// sensitive, so that an HTTP stack which respects the mark does not log or index it. Its memory is set to zero when the
/// last clone is dropped; copies that an HTTP stack makes are beyond its reach.
#[derive(Clone)]
pub struct ApiKey(HeaderValue);

impl ApiKey {
    /// Takes the key as it was issued.
    ///
    /// # Errors
    ///
    /// A configuration error if the key is empty or holds anything but visible ASCII: a space, a line break or another
    /// control character in a key is nearly always a file read with its newline. The error does not show the key.
    pub fn new(key: &str) -> Result<Self, Error> {
        if key.is_empty() {
            return Err(ConfigurationError::ApiKeyEmpty.into());
        }
        if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(ConfigurationError::ApiKeyCharacters.into());
        }
        let wiped_on_drop = Bytes::from_owner(Zeroizing::new(key.as_bytes().to_vec()));
        let mut value = HeaderValue::from_maybe_shared(wiped_on_drop)
            .map_err(|_| ConfigurationError::ApiKeyCharacters)?;
        value.set_sensitive(true);
        Ok(Self(value))
    }

    pub(crate) fn header_value(&self) -> &HeaderValue {
        &self.0
    }

    pub(crate) fn expose(&self) -> &str {
        self.0.to_str().expect("only visible ASCII passes ApiKey::new")
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(_) = self;
        f.write_str("ApiKey([redacted])")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Outcome;

    #[test]
    fn d25_a_key_is_visible_ascii_and_never_shown() {
        for bad in ["", " ", "key\n", "a key", "key\t", "schl\u{fc}ssel", "k\0"] {
            let error = ApiKey::new(bad).expect_err("refused");
            assert_eq!(error.outcome(), Outcome::NotProcessed);
            assert!(error.is_configuration());
            assert!(bad.is_empty() || bad == " " || !error.to_string().contains(bad));
        }
        let key = ApiKey::new("sk_live_51H").unwrap();
        assert_eq!(format!("{key:?} {key:#?}"), "ApiKey([redacted]) ApiKey([redacted])");
    }

    #[test]
    fn d25_the_header_is_the_bare_key_marked_sensitive() {
        let key = ApiKey::new("sk_live_51H").unwrap();
        assert_eq!(key.header_value(), "sk_live_51H");
        assert!(key.header_value().is_sensitive());
    }
}
