/// What becomes of fields that the interface does not have, when a request is read out of JSON.
///
/// The enum is complete: they are refused or they are not.
#[expect(clippy::exhaustive_enums, reason = "complete: a field is refused or it is not")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownFields {
    /// Each is a violation: a misspelt optional field must not vanish silently.
    #[default]
    Refused,
    /// They are passed over, for those who play a service that is not as strict. An ACH payment has none: what the
    /// interface does not name is the account's.
    Ignored,
}
