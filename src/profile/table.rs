//! What a key of a profile is. The keys themselves are rows of the table in `rows`.

use crate::config::{Entry, Mismatch};

use super::Profile;

/// A table of the file.
pub(super) struct Section {
    /// As in its header.
    pub(super) name: &'static str,
    /// What it is about.
    pub(super) doc: &'static str,
    pub(super) fields: &'static [Field],
}

/// A key of a section.
pub struct Field {
    /// The table it stands in.
    pub section: &'static str,
    /// As in the file.
    pub key: &'static str,
    /// Meaning and unit, one sentence without final dot.
    pub meaning: &'static str,
    /// Where the figure of the built-in profile, or what the key is compared with, comes from.
    pub source: &'static str,
    /// What it takes, to follow the word "expected".
    pub expected: fn() -> String,
    pub(super) read: fn(&mut Profile, &Entry) -> Result<(), Mismatch>,
    pub(super) show: fn(&Profile) -> Option<String>,
}

impl Field {
    /// As messages name it, such as `pfc.priorities`.
    #[must_use]
    pub fn path(&self) -> String {
        format!("{}.{}", self.section, self.key)
    }

    /// The value that a profile has for it as TOML; none where the profile has no opinion.
    #[must_use]
    pub fn value(&self, profile: &Profile) -> Option<String> {
        (self.show)(profile)
    }
}

/// Makes the types of a profile, and the table of their keys, from one list.
macro_rules! profile {
    ($(
        $(#[doc = $doc:literal])+
        $member:ident: $Section:ident {
            $($key:ident: $type:ty, $limit:expr, $meaning:literal, $source:literal;)+
        }
    )+) => {
        /// What ports are meant to be set to. A field that is `None` is no opinion.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Profile {
            $($(#[doc = $doc])+ pub $member: $Section,)+
        }

        $(
            $(#[doc = $doc])+
            #[derive(Clone, Debug, Default, PartialEq, Eq)]
            pub struct $Section {
                $(#[doc = concat!($meaning, ".")] pub $key: Option<$type>,)+
            }
        )+

        /// All sections in the order of the file.
        pub(super) const SECTIONS: &[Section] = &[$(
            Section {
                name: stringify!($member),
                doc: concat!($($doc),+),
                fields: &[$(
                    Field {
                        section: stringify!($member),
                        key: stringify!($key),
                        meaning: $meaning,
                        source: $source,
                        expected: || <$type as Setting>::expected(&$limit),
                        read: |profile, entry| {
                            profile.$member.$key = Some(<$type as Setting>::read(entry, &$limit)?);
                            Ok(())
                        },
                        show: |profile| profile.$member.$key.as_ref().map(Setting::show),
                    },
                )+],
            },
        )+];
    };
}

pub(super) use profile;
