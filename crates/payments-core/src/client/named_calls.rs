/// The named calls of both clients: short forms of `call`, with `async` and `.await` or without.
macro_rules! named_calls {
    ($($async:ident, $($await:tt)+)?) => {
        /// Processes a card payment, a sale or an authorization. Sent at most once.
        ///
        /// # Errors
        ///
        /// [`Error::outcome`](crate::Error::outcome) says whether the card can have been charged.
        pub $($async)? fn process_card(
            &self,
            payment: &payments_model::CardTransaction,
        ) -> Result<crate::Success<payments_model::TransactionRecord>, crate::Error> {
            self.call(payment)$($($await)+)?
        }

        /// Processes an ACH payment. Sent at most once.
        ///
        /// # Errors
        ///
        /// [`Error::outcome`](crate::Error::outcome) says whether the account can have been debited.
        pub $($async)? fn process_ach(
            &self,
            payment: &payments_model::AchTransaction,
        ) -> Result<crate::Success<payments_model::TransactionRecord>, crate::Error> {
            self.call(payment)$($($await)+)?
        }

        /// Processes a payment with a stored token. Sent at most once.
        ///
        /// # Errors
        ///
        /// [`Error::outcome`](crate::Error::outcome) says whether the token can have been charged.
        pub $($async)? fn process_token(
            &self,
            payment: &payments_model::TokenTransaction,
        ) -> Result<crate::Success<payments_model::TransactionReceipt>, crate::Error> {
            self.call(payment)$($($await)+)?
        }

        /// Voids a previously authorized transaction. Sent at most once.
        ///
        /// # Errors
        ///
        /// [`Error::outcome`](crate::Error::outcome) says whether the authorization can have been voided. After
        /// [`Outcome::Unknown`](crate::Outcome::Unknown), [look the transaction up](Self::transaction) before voiding again.
        pub $($async)? fn void(
            &self,
            void: &payments_model::Void,
        ) -> Result<crate::Success<crate::VoidReceipt>, crate::Error> {
            self.call(void)$($($await)+)?
        }

        /// Looks up one transaction. Retried within the deadline after a transient failure.
        ///
        /// The record is returned as the service sent it. Compare its id with the one that you asked for before you decide about money: a
        /// cache in between may return another one.
        ///
        /// # Errors
        ///
        /// [`LookupError`](crate::LookupError). It says nothing about an earlier charge, so do not send a charge again because of it.
        pub $($async)? fn transaction(
            &self,
            id: &payments_model::TransactionId,
        ) -> Result<crate::Success<payments_model::TransactionRecord>, crate::LookupError> {
            self.call(&crate::GetTransaction::new(id.clone()))$($($await)+)?
        }

        /// Looks up one customer. Retried within the deadline after a transient failure.
        ///
        /// # Errors
        ///
        /// [`LookupError`](crate::LookupError). It says nothing about an earlier charge, so do not send a charge again because of it.
        pub $($async)? fn customer(
            &self,
            id: &payments_model::CustomerId,
        ) -> Result<crate::Success<payments_model::CustomerRecord>, crate::LookupError> {
            self.call(&crate::GetCustomer::new(id.clone()))$($($await)+)?
        }
    };
}
pub(crate) use named_calls;
