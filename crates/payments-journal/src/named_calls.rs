/// What both clients have: their two parts, and clients of other calls with the same journal.
macro_rules! same_journal {
    () => {
        /// The client, for lookups. A payment made directly through it is in no journal.
        pub const fn client(&self) -> &Client {
            &self.client
        }

        /// The journal.
        pub const fn journal(&self) -> &Journal {
            &self.journal
        }

        /// The same client with these headers on every request, as in [`Client::with_headers`].
        #[must_use]
        pub fn with_headers(&self, headers: payments_core::CallerHeaders) -> Self {
            Self { client: self.client.with_headers(headers), ..self.clone() }
        }

        /// The same client with another API key of the same merchant, as in [`Client::with_api_key`]. Its intents stay valid.
        #[must_use]
        pub fn with_api_key(&self, api_key: payments_core::ApiKey) -> Self {
            Self { client: self.client.with_api_key(api_key), ..self.clone() }
        }

        /// A client of another merchant with the same journal, as in [`Client::for_merchant`]. A key belongs to the merchant for which
        /// it was first used: for another one the call fails with [`is_other_service`](Error::is_other_service), and nothing is sent.
        ///
        /// # Errors
        ///
        /// A configuration error if the label is not valid.
        pub fn for_merchant(
            &self,
            label: &str,
            api_key: payments_core::ApiKey,
        ) -> Result<Self, payments_core::Error> {
            Ok(Self { client: self.client.for_merchant(label, api_key)?, ..self.clone() })
        }
    };
}

/// The named calls of both clients: short forms of `call`, with `async` and `.await` or without.
macro_rules! named_calls {
    ($($async:ident, $($await:tt)+)?) => {
        /// Processes a card payment.
        ///
        /// # Errors
        ///
        /// As [`call`](Self::call).
        pub $($async)? fn process_card(
            &self,
            key: &crate::IntentKey,
            payment: &payments_model::CardTransaction,
        ) -> crate::attempt::CallResult<payments_model::TransactionRecord> {
            self.call(key, payment)$($($await)+)?
        }

        /// Processes an ACH payment.
        ///
        /// # Errors
        ///
        /// As [`call`](Self::call).
        pub $($async)? fn process_ach(
            &self,
            key: &crate::IntentKey,
            payment: &payments_model::AchTransaction,
        ) -> crate::attempt::CallResult<payments_model::TransactionRecord> {
            self.call(key, payment)$($($await)+)?
        }

        /// Processes a payment with a stored token.
        ///
        /// # Errors
        ///
        /// As [`call`](Self::call).
        pub $($async)? fn process_token(
            &self,
            key: &crate::IntentKey,
            payment: &payments_model::TokenTransaction,
        ) -> crate::attempt::CallResult<payments_model::TransactionReceipt> {
            self.call(key, payment)$($($await)+)?
        }

        /// Voids a previously authorized transaction.
        ///
        /// # Errors
        ///
        /// As [`call`](Self::call).
        pub $($async)? fn void(
            &self,
            key: &crate::IntentKey,
            void: &payments_model::Void,
        ) -> crate::attempt::CallResult<payments_core::VoidReceipt> {
            self.call(key, void)$($($await)+)?
        }
    };
}

/// The calls of one new attempt after a rejection, as above.
macro_rules! calls_after_rejection {
    ($($async:ident, $($await:tt)+)?) => {
        /// As [`call`](Self::call), with a stored token.
        ///
        /// # Errors
        ///
        /// As [`call`](Self::call).
        pub $($async)? fn process_token(
            self,
            payment: &payments_model::TokenTransaction,
        ) -> crate::attempt::CallResult<payments_model::TransactionReceipt> {
            self.call(payment)$($($await)+)?
        }

        /// As [`call`](Self::call), with a card.
        ///
        /// # Errors
        ///
        /// As [`call`](Self::call).
        pub $($async)? fn process_card(
            self,
            payment: &payments_model::CardTransaction,
        ) -> crate::attempt::CallResult<payments_model::TransactionRecord> {
            self.call(payment)$($($await)+)?
        }

        /// As [`call`](Self::call), with an ACH payment.
        ///
        /// # Errors
        ///
        /// As [`call`](Self::call).
        pub $($async)? fn process_ach(
            self,
            payment: &payments_model::AchTransaction,
        ) -> crate::attempt::CallResult<payments_model::TransactionRecord> {
            self.call(payment)$($($await)+)?
        }
    };
}
pub(crate) use {calls_after_rejection, named_calls, same_journal};
