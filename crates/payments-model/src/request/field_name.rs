//! The names of the request fields in the interface.

macro_rules! field_names {
    ($($name:ident)*) => {
        /// A field of the interface's requests.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum FieldName {
            $(#[doc = concat!("`", stringify!($name), "`.")] $name,)*
        }

        impl FieldName {
            /// Every field, in the order of the interface's tables. The table of `POST /transaction` comes first.
            pub(crate) const ALL: &[Self] = &[$(Self::$name),*];

            /// The field with this name.
            #[expect(non_upper_case_globals, reason = "the constants are used as patterns")]
            pub fn find(name: &str) -> Option<Self> {
                $(const $name: &str = stringify!($name);)*
                match name {
                    $($name => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// The name as it is sent.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }
        }
    };
}

field_names! {
    Amount
    BillingAddress BillingCity BillingCountry BillingCountryCode BillingCustomerName BillingEmail BillingPhoneNumber
    BillingPostalCode BillingState
    ShippingSameAsBilling ShippingCustomerName ShippingEmail ShippingPhoneNumber ShippingAddress ShippingCountry ShippingCity
    ShippingState ShippingPostalCode
    CardNumber Cvv ExpiryDate
    SuggestedMode ConvenienceFeeActive TransactionType PaymentTokenization IpAddress
    TokenId GatewayCustomerId Description ReferenceNo
    TransactionId TransactionFor Reason
}

impl FieldName {
    /// Whether `POST /transaction` has the field.
    pub(crate) const fn is_of_payment(self) -> bool {
        self as usize <= Self::IpAddress as usize
    }

    /// Whether the field holds card data, which must not be shown. Account data is in fields that the interface does not name.
    pub const fn is_of_card(self) -> bool {
        matches!(self, Self::CardNumber | Self::Cvv | Self::ExpiryDate)
    }
}
