/// An enum with a name for each of its values.
macro_rules! named {
    (
        $(#[$meta:meta])*
        pub enum $type:ident {
            $($(#[$value_meta:meta])* $value:ident $({ $($fields:tt)* })? = $name:literal,)*
        }
    ) => {
        $(#[$meta])*
        pub enum $type {
            $($(#[$value_meta])* $value $({ $($fields)* })?,)*
        }

        impl $type {
            /// The name of the value:
            ///
            $(#[doc = concat!("- `", $name, "`")])*
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value { .. } => $name,)*
                }
            }
        }
    };
}
