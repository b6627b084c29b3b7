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
pub(crate) use {calls_after_rejection, named_calls};
