use std::cell::Cell;
use std::error::Error;
use std::fmt;

/// The return type of a test that uses `?` beside armed faults: its own error is shown, and not hidden by theirs.
///
/// A test that ends early has often not come to its fault. The [`FakeGateway`](crate::FakeGateway) is dropped then as at any
/// end, and a drop cannot see what the function returns. With this type it can: `?` makes a [`TestError`] before anything is
/// dropped. While one exists on the thread, faults that never fired are printed and panic nowhere. A test that
/// returns `Ok` fails for them as ever.
///
/// With any other error type, such as `Box<dyn Error>`, the drop panics, and the test's own error is lost.
///
/// ```should_panic
/// use payments_core::OperationName;
/// use payments_fake::{FakeGateway, Fault, TestResult, block_on};
///
/// // #[test]
/// fn a_lost_void_is_looked_up() -> TestResult {
///     let gateway = FakeGateway::new();
///     gateway.arm(Fault::response_lost(OperationName::Void));
///     // The test fails here, and says that there is no such transaction.
///     let found = block_on(gateway.client().transaction(&"txn_1".parse()?))?;
///     // ...
/// #   drop(found);
///     Ok(())
/// }
/// # a_lost_void_is_looked_up().unwrap();
/// ```
pub type TestResult = Result<(), TestError>;

/// Any error, on its way out of a test. Its `Debug` is that of the error.
///
/// Made by `?`, or by `into()` from an error or a text. It stays on its thread. See [`TestResult`].
pub struct TestError(Box<dyn Error>);

thread_local! {
    static ON_THEIR_WAY: Cell<usize> = const { Cell::new(0) };
}

/// Whether a test of this thread is about to return an error.
pub(crate) fn is_error_on_its_way() -> bool {
    ON_THEIR_WAY.get() > 0
}

impl<E: Into<Box<dyn Error>>> From<E> for TestError {
    fn from(error: E) -> Self {
        ON_THEIR_WAY.set(ON_THEIR_WAY.get() + 1);
        Self(error.into())
    }
}

impl Drop for TestError {
    fn drop(&mut self) {
        ON_THEIR_WAY.set(ON_THEIR_WAY.get() - 1);
    }
}

impl fmt::Debug for TestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
