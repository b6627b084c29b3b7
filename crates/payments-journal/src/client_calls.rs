/// What both clients have, with `async` and `.await` or without: their two parts, clients of other calls with the same journal,
/// and the calls.
macro_rules! client_calls {
    ($must_use:literal $(, $async:ident, $($await:tt)+)?) => {
        impl JournaledClient {
            /// The client, for lookups. A payment made directly through it is in no journal.
            pub const fn client(&self) -> &Client {
                &self.client
            }

            /// The journal.
            pub const fn journal(&self) -> &Journal {
                &self.journal
            }

            /// The same client with another total deadline, as in [`Client::with_total_timeout`].
            #[must_use]
            pub fn with_total_timeout(&self, total: std::time::Duration) -> Self {
                Self { client: self.client.with_total_timeout(total), ..self.clone() }
            }

            /// The same client with another number of retries for lookups, as in [`Client::with_lookup_retries`].
            #[must_use]
            pub fn with_lookup_retries(&self, retries: u32) -> Self {
                Self { client: self.client.with_lookup_retries(retries), ..self.clone() }
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

            /// A client of another merchant with the same journal, as in [`Client::for_merchant`]. A key belongs to the merchant
            /// for which it was first used: for another one the call fails with [`OtherService`](crate::Cause::OtherService), and
            /// nothing is sent.
            ///
            /// # Errors
            ///
            /// A configuration error if the label is not valid.
            pub fn for_merchant(&self, label: &str, key: payments_core::ApiKey) -> Result<Self, payments_core::Error> {
                Ok(Self { client: self.client.for_merchant(label, key)?, ..self.clone() })
            }

            /// Sends a request that moves money, at most once for this key. [`process_card`](Self::process_card),
            /// [`process_ach`](Self::process_ach), [`process_token`](Self::process_token) and [`void`](Self::void) are this with
            /// the type of their request.
            ///
            /// # Errors
            ///
            /// [`Error::outcome`](crate::Error::outcome) says whether money can have moved for this key, by this call or an earlier one.
            pub $($async)? fn call<P: MovesMoney>(&self, key: &IntentKey, request: &P) -> CallResult<P::Data> {
                self.begin(key, request, Begin::Plain)$($($await)+)?
            }

            /// Processes a card payment.
            ///
            /// # Errors
            ///
            /// As [`call`](Self::call).
            pub $($async)? fn process_card(
                &self,
                key: &IntentKey,
                payment: &CardTransaction,
            ) -> CallResult<TransactionRecord> {
                self.call(key, payment)$($($await)+)?
            }

            /// Processes an ACH payment.
            ///
            /// # Errors
            ///
            /// As [`call`](Self::call).
            pub $($async)? fn process_ach(
                &self,
                key: &IntentKey,
                payment: &AchTransaction,
            ) -> CallResult<TransactionRecord> {
                self.call(key, payment)$($($await)+)?
            }

            /// Processes a payment with a stored token.
            ///
            /// # Errors
            ///
            /// As [`call`](Self::call).
            pub $($async)? fn process_token(
                &self,
                key: &IntentKey,
                payment: &TokenTransaction,
            ) -> CallResult<TransactionReceipt> {
                self.call(key, payment)$($($await)+)?
            }

            /// Voids a previously authorized transaction.
            ///
            /// # Errors
            ///
            /// As [`call`](Self::call).
            pub $($async)? fn void(&self, key: &IntentKey, void: &Void) -> CallResult<VoidReceipt> {
                self.call(key, void)$($($await)+)?
            }
        }

        /// One new attempt with a rejected key: see [`JournaledClient::after_rejection`].
        #[derive(Clone, Copy, Debug)]
        #[must_use = $must_use]
        pub struct AfterRejection<'a> {
            client: &'a JournaledClient,
            key: &'a IntentKey,
        }

        impl AfterRejection<'_> {
            /// Sends the request if the key moved no money so far.
            ///
            /// # Errors
            ///
            /// [`Error::outcome`](crate::Error::outcome) says whether money can have moved for this key, by this call or an earlier one.
            pub $($async)? fn call<P: MovesMoney>(self, request: &P) -> CallResult<P::Data> {
                self.client.begin(self.key, request, Begin::AfterRejection)$($($await)+)?
            }

            /// As [`call`](Self::call), with a stored token.
            ///
            /// # Errors
            ///
            /// As [`call`](Self::call).
            pub $($async)? fn process_token(self, payment: &TokenTransaction) -> CallResult<TransactionReceipt> {
                self.call(payment)$($($await)+)?
            }

            /// As [`call`](Self::call), with a card.
            ///
            /// # Errors
            ///
            /// As [`call`](Self::call).
            pub $($async)? fn process_card(self, payment: &CardTransaction) -> CallResult<TransactionRecord> {
                self.call(payment)$($($await)+)?
            }

            /// As [`call`](Self::call), with an ACH payment.
            ///
            /// # Errors
            ///
            /// As [`call`](Self::call).
            pub $($async)? fn process_ach(self, payment: &AchTransaction) -> CallResult<TransactionRecord> {
                self.call(payment)$($($await)+)?
            }
        }
    };
}
pub(crate) use client_calls;
