use std::borrow::Cow;

use http::Method;
use payments_core::OperationName;

/// The path prefix of the interface's version, with which every base address ends.
const PATH_PREFIX: &str = "/api/v1/public";

/// What a request line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route<'a> {
    Transaction,
    TokenTransaction,
    Void,
    GetTransaction(Cow<'a, str>),
    GetCustomer(Cow<'a, str>),
    /// The path exists, for the named method alone.
    WrongMethod(&'static str),
    UnknownPath,
}

impl<'a> Route<'a> {
    /// Routes by method and path; a query is no part of the path.
    pub(crate) fn of(method: &Method, path: &'a str) -> Self {
        let Some(path) = path.strip_prefix(PATH_PREFIX) else { return Self::UnknownPath };
        let (route, allowed) = match path {
            "/transaction" => (Self::Transaction, Method::POST),
            "/token-transaction" => (Self::TokenTransaction, Method::POST),
            "/void" => (Self::Void, Method::POST),
            _ => match path.strip_prefix('/').and_then(|path| path.split_once('/')) {
                Some((_, id)) if id.is_empty() || id.contains('/') => return Self::UnknownPath,
                Some(("transaction", id)) => (Self::GetTransaction(percent_decode(id)), Method::GET),
                Some(("customer", id)) => (Self::GetCustomer(percent_decode(id)), Method::GET),
                _ => return Self::UnknownPath,
            },
        };
        match allowed {
            _ if *method == allowed => route,
            Method::POST => Self::WrongMethod("POST"),
            _ => Self::WrongMethod("GET"),
        }
    }

    /// The operation, if the request is for one.
    pub(crate) fn operation(&self) -> Option<OperationName> {
        match self {
            Self::Transaction => Some(OperationName::Transaction),
            Self::TokenTransaction => Some(OperationName::TokenTransaction),
            Self::Void => Some(OperationName::Void),
            Self::GetTransaction(_) => Some(OperationName::GetTransaction),
            Self::GetCustomer(_) => Some(OperationName::GetCustomer),
            Self::WrongMethod(_) | Self::UnknownPath => None,
        }
    }
}

/// The segment with `%40` and its like decoded; an escape that is none stands for itself, and finds no record.
fn percent_decode(segment: &str) -> Cow<'_, str> {
    if !segment.contains('%') {
        return Cow::Borrowed(segment);
    }
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escaped = after.get(..2).filter(|_| *first == b'%').and_then(|digits| {
            let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
            u8::from_str_radix(digits, 16).ok()
        });
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(path: &str) -> Route<'_> {
        Route::of(&Method::POST, path)
    }

    fn get(path: &str) -> Route<'_> {
        Route::of(&Method::GET, path)
    }

    #[test]
    fn the_five_operations_are_found() {
        assert_eq!(post("/api/v1/public/transaction"), Route::Transaction);
        assert_eq!(post("/api/v1/public/token-transaction"), Route::TokenTransaction);
        assert_eq!(post("/api/v1/public/void"), Route::Void);
        assert_eq!(get("/api/v1/public/transaction/txn_1"), Route::GetTransaction("txn_1".into()));
        assert_eq!(get("/api/v1/public/customer/a%40b%3A%"), Route::GetCustomer("a@b:%".into()));
    }

    #[test]
    fn another_method_on_a_known_path_is_told_from_an_unknown_path() {
        assert_eq!(get("/api/v1/public/void"), Route::WrongMethod("POST"));
        assert_eq!(post("/api/v1/public/customer/cus_1"), Route::WrongMethod("GET"));
        assert_eq!(Route::of(&Method::HEAD, "/api/v1/public/customer/cus_1"), Route::WrongMethod("GET"));
        for path in [
            "/",
            "/transaction",
            "/api/v1/public",
            "/api/v1/public/",
            "/api/v1/public/refund",
            "/api/v1/public/transaction/",
            "/api/v1/public/transaction/a/b",
            "/api/v1/public//transaction",
            "/api/v1/publictransaction",
            "/api/v2/public/transaction",
        ] {
            assert_eq!(post(path), Route::UnknownPath, "{path}");
            assert_eq!(get(path), Route::UnknownPath, "{path}");
        }
    }
}
