//! Names that the journal makes up: random, so that nothing has to be asked to be sure that they are new.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! random_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(Box<str>);

        impl $name {
            /// A new one, of 128 random bits.
            ///
            /// # Panics
            ///
            /// If the operating system has no randomness to give.
            #[expect(clippy::new_without_default, reason = "a default that differs each time would surprise")]
            pub fn new() -> Self {
                let mut bytes = [0; 16];
                getrandom::fill(&mut bytes).expect("the system has randomness");
                Self(format!("{:032x}", u128::from_be_bytes(bytes)).into())
            }

            /// One that a store has kept.
            pub fn from_kept(text: impl Into<Box<str>>) -> Self {
                Self(text.into())
            }

            /// The text to keep.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
    };
}

random_id! {
    /// One attempt to send the request of an intent. Only the attempt that a row names may say how it ended.
    AttemptId
}

random_id! {
    /// One opened store: who sends. As long as it is [live](crate::IntentStore::is_live), what it sends is in progress.
    OwnerId
}
