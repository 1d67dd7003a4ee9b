//! Lists as values: of anything that is a value itself.

use super::given::{Entry, Given};
use super::setting::{Arity, Mismatch, Setting};

impl<T: Setting + PartialEq> Setting for Vec<T> {
    type Limit = T::Limit;
    const ARITY: Arity = Arity::Many;

    fn read(entry: &Entry, limit: &T::Limit) -> Result<Self, Mismatch> {
        let mut list = Self::new();
        for (index, item) in items::<T>(entry, limit)?.iter().enumerate() {
            let value = T::read(item, limit)
                .map_err(|mismatch| Mismatch { expected: mismatch.expected, item: Some(index) })?;
            if T::IS_NAME && list.contains(&value) {
                let expected = format!("{} to stand here once", value.show());
                return Err(Mismatch { expected, item: Some(index) });
            }
            list.push(value);
        }
        Ok(list)
    }

    fn placeholder(limit: &T::Limit) -> &'static str {
        T::placeholder(limit)
    }

    fn expected(limit: &T::Limit) -> String {
        format!("a list in brackets, each item {}", T::expected(limit))
    }

    fn show(&self) -> String {
        format!("[{}]", self.iter().map(T::show).collect::<Vec<_>>().join(", "))
    }
}

/// The items of a list; names from the command line may be separated by commas.
fn items<T: Setting + PartialEq>(entry: &Entry, limit: &T::Limit) -> Result<Vec<Entry>, Mismatch> {
    let Given::List(items) = &entry.given else {
        return Err(Mismatch::of(Vec::<T>::expected(limit)));
    };
    let split = |item: &Entry| match &item.given {
        Given::Bare(text) if T::IS_NAME => {
            text.split(',').map(|name| Entry::bare(name, item.place.clone())).collect()
        }
        Given::Bare(_)
        | Given::Text(_)
        | Given::Integer(_)
        | Given::Decimal(_)
        | Given::Switch(_)
        | Given::List(_)
        | Given::Foreign => vec![item.clone()],
    };
    Ok(items.iter().flat_map(split).collect())
}
