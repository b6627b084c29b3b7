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

        /// A client of another merchant with the same journal, as in [`Client::for_merchant`]. A key belongs to the merchant for
        /// which it was first used: for another one the call fails with [`is_other_service`](Error::is_other_service), and nothing
        /// is sent.
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

/// A short form of `call`, with `async` and `.await` or without.
macro_rules! named_call {
    ($doc:literal, $name:ident($request:ty) -> $data:ty $(, $async:ident, $($await:tt)+)?) => {
        #[doc = $doc]
        ///
        /// # Errors
        ///
        /// As [`call`](Self::call).
        pub $($async)? fn $name(&self, key: &IntentKey, request: &$request) -> CallResult<$data> {
            self.call(key, request)$($($await)+)?
        }
    };
    (after_rejection $doc:literal, $name:ident($request:ty) -> $data:ty $(, $async:ident, $($await:tt)+)?) => {
        #[doc = $doc]
        ///
        /// # Errors
        ///
        /// As [`call`](Self::call).
        pub $($async)? fn $name(self, request: &$request) -> CallResult<$data> {
            self.call(request)$($($await)+)?
        }
    };
}

/// The calls of both clients.
macro_rules! named_calls {
    (@call $(, $async:ident, $($await:tt)+)?) => {
        /// Sends a request that moves money, at most once for this key. [`process_card`](Self::process_card),
        /// [`process_ach`](Self::process_ach), [`process_token`](Self::process_token) and [`void`](Self::void) are this with the
        /// type of their request.
        ///
        /// # Errors
        ///
        /// [`Error::outcome`] says whether money can have moved for this key, by this call or an earlier one.
        pub $($async)? fn call<P: MovesMoney>(&self, key: &IntentKey, request: &P) -> CallResult<P::Data> {
            self.begin(key, request, Begin::First)$($($await)+)?
        }
    };
    ($($calls:tt)*) => {
        named_calls!(@call $($calls)*);
        named_call!("Processes a card payment.", process_card(CardTransaction) -> TransactionRecord $($calls)*);
        named_call!("Processes an ACH payment.", process_ach(AchTransaction) -> TransactionRecord $($calls)*);
        named_call!(
            "Processes a payment with a stored token.",
            process_token(TokenTransaction) -> TransactionReceipt $($calls)*
        );
        named_call!("Voids a previously authorized transaction.", void(Void) -> VoidReceipt $($calls)*);
    };
}

/// A new attempt after a rejection, and its named calls.
macro_rules! after_rejection {
    ($must_use:literal $($calls:tt)*) => {
        /// One new attempt with a rejected key: see [`JournaledClient::after_rejection`].
        #[derive(Clone, Copy, Debug)]
        #[must_use = $must_use]
        pub struct AfterRejection<'a> {
            client: &'a JournaledClient,
            key: &'a IntentKey,
        }

        impl AfterRejection<'_> {
            after_rejection!(@call $($calls)*);
            named_call!(
                after_rejection "As [`call`](Self::call), with a stored token.",
                process_token(TokenTransaction) -> TransactionReceipt $($calls)*
            );
            named_call!(
                after_rejection "As [`call`](Self::call), with a card.",
                process_card(CardTransaction) -> TransactionRecord $($calls)*
            );
            named_call!(
                after_rejection "As [`call`](Self::call), with an ACH payment.",
                process_ach(AchTransaction) -> TransactionRecord $($calls)*
            );
        }
    };
    (@call $(, $async:ident, $($await:tt)+)?) => {
        /// Sends the request if the key moved no money so far.
        ///
        /// # Errors
        ///
        /// [`Error::outcome`] says whether money can have moved for this key, by this call or an earlier one.
        pub $($async)? fn call<P: MovesMoney>(self, request: &P) -> CallResult<P::Data> {
            self.client.begin(self.key, request, Begin::AfterRejection)$($($await)+)?
        }
    };
}
pub(crate) use {after_rejection, named_call, named_calls, same_journal};
