//! The card in a request, and the masked card number in a record.

mod brand;
mod masked;
mod number;
mod printed;

pub use brand::Brand;
pub use masked::MaskedCard;
pub use number::CardNumber;
pub(crate) use number::{Luhn, passes_luhn};
pub use printed::{Cvv, Expiry};
