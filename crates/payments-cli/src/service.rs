//! The name of a service, as the journal keeps it: the base URL, and after a `#` the label of one of several merchants there.

use payments_core::{ApiKey, Endpoint};

/// The parts of a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Service<'a> {
    /// Empty if the service is not known.
    pub(crate) base_url: &'a str,
    pub(crate) merchant: Option<&'a str>,
}

impl<'a> Service<'a> {
    pub(crate) fn of(name: &'a str) -> Self {
        // A base URL has no `#`.
        match name.split_once('#') {
            Some((base_url, merchant)) => Self { base_url, merchant: Some(merchant) },
            None => Self { base_url: name, merchant: None },
        }
    }

    /// Whether it can name a service. Any other text, such as a URL with a password, must not be repeated.
    pub(crate) fn is_valid(self) -> bool {
        // In place of an API key, which no URL can have.
        let base_url = self.base_url.replace("[redacted]", "redacted");
        let any = || ApiKey::new("any");
        let endpoint = any().and_then(|key| Endpoint::new(&base_url, key));
        match self.merchant {
            Some(label) => endpoint.and_then(|endpoint| endpoint.for_merchant(label, any()?)).is_ok(),
            None => endpoint.is_ok(),
        }
    }
}
