//! Enums whose variants have names.

/// An enum of which each variant stands beside its name, as tables, files and options write it: `Read = "read"`, or
/// `Read = "read" => 1` with a number that is stored.
/// It knows `ALL` in the order in which they are shown, `name`, `named` (the variant of a name) and `Display`.
#[macro_export]
macro_rules! named {
    (
        $(#[$about:meta])*
        $visible:vis enum $type:ident {
            $($(#[$about_one:meta])* $variant:ident = $name:literal $(=> $number:literal)?,)*
        }
    ) => {
        $(#[$about])*
        $visible enum $type {
            $($(#[$about_one])* $variant $(= $number)?,)*
        }

        #[allow(dead_code, reason = "no enum needs everything")]
        impl $type {
            $visible const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            $visible fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            $visible fn named(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|known| known.name() == name)
            }
        }

        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

#[cfg(test)]
mod tests {
    named! {
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        enum Way {
            In = "in",
            /// Back.
            #[default]
            Out = "out again",
        }
    }

    #[test]
    fn a_name_and_its_variant_find_each_other() {
        assert_eq!(Way::ALL, [Way::In, Way::Out]);
        for way in Way::ALL {
            assert_eq!(Way::named(way.name()), Some(way));
        }
        assert_eq!(Way::named("out"), None);
        assert_eq!(format!("{:>10}|{:?}", Way::In, Way::default()), "        in|Out");
    }
}
