//! Which form of a page a client wants.

use axum::http::HeaderMap;
use axum::http::header::ACCEPT_ENCODING;

/// The form a page is sent in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// As it is.
    Plain,
    /// Compressed.
    Gzip,
}

/// Compressed exactly if the client says it takes that (RFC 9110, 12.5.3): by name, or by `*` if not by name.
pub(super) fn encoding(headers: &HeaderMap) -> Encoding {
    let (mut named, mut any) = (None, None);
    let values = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    for item in values.flat_map(|value| value.split(',')) {
        let mut parts = item.split(';').map(str::trim);
        let coding = parts.next().unwrap_or_default();
        let wanted = is_wanted(parts);
        if coding.eq_ignore_ascii_case("gzip") || coding.eq_ignore_ascii_case("x-gzip") {
            named = Some(wanted);
        } else if coding == "*" {
            any = Some(wanted);
        }
    }
    if named.or(any).unwrap_or(false) { Encoding::Gzip } else { Encoding::Plain }
}

/// Whether the weight among an item's parameters is above zero. One that cannot be read is none: then the client
/// gets what every client can read.
fn is_wanted<'a>(mut parameters: impl Iterator<Item = &'a str>) -> bool {
    let weight = parameters.find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("q").then(|| value.trim())
    });
    weight.is_none_or(|weight| weight.parse::<f32>().is_ok_and(|weight| weight > 0.0))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn asked(values: &[&'static str]) -> Encoding {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(ACCEPT_ENCODING, HeaderValue::from_static(value));
        }
        encoding(&headers)
    }

    #[test]
    fn compressed_only_for_those_who_take_it() {
        for values in [
            &["gzip"][..],
            &["deflate, gzip;q=0.5"],
            &["GZIP ; Q=1"],
            &["identity", "x-gzip"],
            &["*"],
            &["*;q=0.1"],
            &["gzip;q=1.0, *;q=0"],
        ] {
            assert_eq!(asked(values), Encoding::Gzip, "{values:?}");
        }
        for values in [
            &[][..],
            &[""],
            &["identity"],
            &["gzip;q=0"],
            &["gzip;q=0.000"],
            &["*, gzip;q=0"],
            &["*;q=0"],
            &["gzip;q=much"],
            &["gzip;q=-1"],
            &["gzipped"],
            &["br, deflate"],
        ] {
            assert_eq!(asked(values), Encoding::Plain, "{values:?}");
        }
    }
}
