//! The name of a service, as the journal keeps it: the base URL, and after a `#` the label of one of several merchants there.

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
}
