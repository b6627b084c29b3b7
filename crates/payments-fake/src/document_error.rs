use std::error::Error;
use std::fmt;

/// Everything that is wrong with a document that somebody wrote: a fixture file, a fault, a customer, a token.
///
/// Nothing of the document took effect. It names places and rules and never a value, which may be a card number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentError {
    problems: Vec<String>,
}

impl DocumentError {
    pub(crate) fn new(problems: Vec<String>) -> Self {
        Self { problems }
    }

    /// The problems, never none: a sentence each, such as `transactions[3]: Amount must be there and above zero`.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problems.join("; "))
    }
}

impl Error for DocumentError {}
