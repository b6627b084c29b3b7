/// Creates one named `#[test]` for each contract. The expression must return a [`Stack`](crate::Stack):
/// [getting started](crate#getting-started) has an example.
///
/// Each test evaluates the expression again. To test several stacks, use the macro in a separate module for each. A stack that differs
/// from a tested one only in its TLS provider or its way to the server needs only the [themes](crate::contracts) about that:
/// `contract_tests!(stack, themes: never_sent, broken_tls)`.
#[macro_export]
macro_rules! contract_tests {
    ($stack:expr) => {
        $crate::__each_theme!(__contract_tests { $stack });
    };
    ($stack:expr, themes: $($theme:ident),+ $(,)?) => {
        $crate::__each_theme!(__contract_tests { $stack }: $($theme)+);
    };
}

/// Creates one named `#[test]` for each contract, for a blocking stack, such as `blocking_contract_tests!(stack(|_setup| MyTransport))`.
/// See [`blocking`](crate::blocking()).
#[macro_export]
macro_rules! blocking_contract_tests {
    ($stack:expr) => {
        $crate::contract_tests!($crate::blocking($stack));
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __contract_tests {
    ({ $stack:expr } $theme:ident: $($contract:ident,)*) => {
        $(
            #[test]
            fn $contract() {
                let place = concat!(module_path!(), "::", stringify!($contract));
                $crate::__run_as_test(place, || $crate::contracts::$theme::$contract(&$stack).assert_kept());
            }
        )*
    };
}
