//! Errors that say what to do.

/// What may stand as a hint.
pub trait IntoHint {
    fn into_hint(self) -> Option<String>;
}

impl IntoHint for &str {
    fn into_hint(self) -> Option<String> {
        Some(self.to_owned())
    }
}

impl IntoHint for String {
    fn into_hint(self) -> Option<String> {
        Some(self)
    }
}

impl<T: IntoHint> IntoHint for Option<T> {
    fn into_hint(self) -> Option<String> {
        self.and_then(T::into_hint)
    }
}

/// An error enum with the hint of each variant beside it: message, variant, hint.
///
/// ```text
/// #[error("{} exists", path.display())]
/// Exists { path: PathBuf } => format!("remove {}", path.display()),
/// #[error(transparent)]
/// Read(#[from] error: ReadError) => error.hint(),
/// ```
///
/// A hint is a text, or an `Option` of one, and knows the variant's fields; those without names get one for it. A
/// variant without a hint has none: `hint` is `None` then.
#[macro_export]
macro_rules! hinted {
    (
        $(#[$about:meta])*
        $visible:vis enum $type:ident {
            $(
                $(#[$about_one:meta])*
                $variant:ident
                $({ $($(#[$about_field:meta])* $field:ident: $field_type:ty),* $(,)? })?
                $(($($(#[$about_part:meta])* $part:ident: $part_type:ty),*))?
                $(=> $hint:expr)?,
            )*
        }
    ) => {
        $(#[$about])*
        $visible enum $type {
            $(
                $(#[$about_one])*
                $variant $({ $($(#[$about_field])* $field: $field_type),* })? $(($($(#[$about_part])* $part_type),*))?,
            )*
        }

        impl $type {
            /// What the user can do about it.
            #[allow(unused_variables, reason = "few hints need every field")]
            $visible fn hint(&self) -> Option<String> {
                match self {
                    $(
                        Self::$variant $({ $($field),* })? $(($($part),*))? => {
                            None::<String>$(.or($crate::hint::IntoHint::into_hint($hint)))?
                        }
                    )*
                }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    hinted! {
        enum Refused {
            Unknown,
            Long { chars: usize, most: usize } => format!("write at most {most}"),
            Of(inner: Option<&'static str>) => *inner,
            Empty => "write something",
        }
    }

    #[test]
    fn each_variant_has_its_hint_which_knows_the_fields() {
        let hints = [
            Refused::Unknown,
            Refused::Long { chars: 9, most: 8 },
            Refused::Of(Some("ask")),
            Refused::Of(None),
            Refused::Empty,
        ]
        .map(|refused| refused.hint());
        let expected = [None, Some("write at most 8"), Some("ask"), None, Some("write something")];
        assert_eq!(hints, expected.map(|hint| hint.map(str::to_owned)));
    }
}
