use std::fmt;

use serde::Serializer;

use super::FieldName;
use super::check::{Check, Fields};
use crate::secret::Redacted;

/// Declares the fields. Each is optional text and has a setter with its name.
macro_rules! shipping {
    ($($field:ident: $name:ident,)*) => {
        /// The shipping details. Every field is optional and accepts any text, because the interface documents no rules for
        /// them.
        ///
        /// Fields that are `None` are not sent. Each field has a setter with its name. The fields are personal data, so
        /// `Debug` does not show them.
        ///
        /// ```
        /// use payments_model::Shipping;
        ///
        /// let shipping = Shipping::default().customer_name("A. Payer").city("Lisbon");
        /// assert_eq!(shipping.city.as_deref(), Some("Lisbon"));
        /// ```
        #[non_exhaustive]
        #[derive(Clone, Default, PartialEq, Eq)]
        #[must_use]
        pub struct Shipping {
            $(
                #[doc = concat!("`", stringify!($name), "`.")]
                pub $field: Option<String>,
            )*
        }

        impl Shipping {
            $(
                #[doc = concat!("Sets `", stringify!($name), "`.")]
                pub fn $field(mut self, text: impl Into<String>) -> Self {
                    self.$field = Some(text.into());
                    self
                }
            )*

            pub(crate) fn set_fields(self, fields: &mut Fields<'_>) {
                $(
                    if let Some(text) = self.$field {
                        fields.set_text(FieldName::$name, text);
                    }
                )*
            }

            pub(crate) fn check(check: &mut Check<'_>) -> Option<Self> {
                $(let $field = check.text(FieldName::$name);)*
                Some(Self { $($field: $field?,)* })
            }

            pub(crate) fn wire<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let fields = [$((stringify!($name), &self.$field)),*].into_iter();
                serializer.collect_map(fields.filter_map(|(name, text)| Some((name, text.as_ref()?))))
            }
        }
    };
}

shipping! {
    customer_name: ShippingCustomerName,
    email: ShippingEmail,
    phone_number: ShippingPhoneNumber,
    address: ShippingAddress,
    country: ShippingCountry,
    city: ShippingCity,
    state: ShippingState,
    postal_code: ShippingPostalCode,
}

impl fmt::Debug for Shipping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Shipping").field(&Redacted).finish()
    }
}
