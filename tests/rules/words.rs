//! A PromQL expression as words, texts and signs, and which series it selects.

/// A piece of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Piece {
    /// A name or a number.
    Word(String),
    /// What stood in quotes.
    Text(String),
    /// Any other character.
    Sign(char),
}

/// A series selector of an expression.
#[derive(Clone, Debug)]
pub(crate) struct Selector {
    pub(crate) name: String,
    /// Label and value of each matcher; of a pattern, each alternative.
    pub(crate) matchers: Vec<(String, String)>,
}

pub(crate) fn pieces(expr: &str) -> Vec<Piece> {
    let mut found = Vec::new();
    let mut rest = expr.chars().peekable();
    while let Some(c) = rest.next() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || "_:.".contains(c);
        if c == '"' {
            found.push(Piece::Text(rest.by_ref().take_while(|c| *c != '"').collect()));
        } else if is_word(c) {
            let mut word = String::from(c);
            while let Some(c) = rest.next_if(|c| is_word(*c)) {
                word.push(c);
            }
            found.push(Piece::Word(word));
        } else if !c.is_whitespace() {
            found.push(Piece::Sign(c));
        }
    }
    found
}

/// The series that `expr` selects: what begins like a metric of the agent, is recorded, or is Prometheus's own `up`.
pub(crate) fn selectors(expr: &str) -> Vec<Selector> {
    let pieces = pieces(expr);
    let mut found = Vec::new();
    for (index, piece) in pieces.iter().enumerate() {
        let Piece::Word(name) = piece else { continue };
        let ours = name.starts_with("rocewatch") || name.starts_with("process_") || name == "up";
        if !ours {
            continue;
        }
        let mut matchers = Vec::new();
        if pieces.get(index + 1) == Some(&Piece::Sign('{')) {
            let inner = pieces[index + 2..].iter().take_while(|piece| **piece != Piece::Sign('}'));
            let mut label = String::new();
            for piece in inner {
                match piece {
                    Piece::Word(word) => label.clone_from(word),
                    Piece::Text(value) => {
                        matchers.extend(value.split('|').map(|value| (label.clone(), value.to_owned())));
                    }
                    Piece::Sign(_) => {}
                }
            }
        }
        found.push(Selector { name: name.clone(), matchers });
    }
    found
}

/// The labels by which an expression groups or matches, and those that it makes, in this order.
pub(crate) fn labels(expr: &str) -> (Vec<String>, Vec<String>) {
    let pieces = pieces(expr);
    let (mut used, mut made) = (Vec::new(), Vec::new());
    for (index, piece) in pieces.iter().enumerate() {
        let Piece::Word(word) = piece else { continue };
        if ["by", "without", "on", "ignoring", "group_left"].contains(&word.as_str()) {
            let inner = pieces[index + 2..].iter().take_while(|piece| **piece != Piece::Sign(')'));
            used.extend(inner.filter_map(|piece| match piece {
                Piece::Word(label) => Some(label.clone()),
                Piece::Text(_) | Piece::Sign(_) => None,
            }));
        } else if word == "label_replace" {
            let texts = texts_of_call(&pieces[index + 2..]);
            made.push(texts[0].clone());
            used.extend(Some(texts[2].clone()).filter(|source| !source.is_empty()));
        }
    }
    (used, made)
}

/// The texts that a call has as arguments of its own, after its opening bracket.
fn texts_of_call(pieces: &[Piece]) -> Vec<String> {
    let (mut depth, mut texts) = (0, Vec::new());
    for piece in pieces {
        match piece {
            Piece::Sign('(' | '{') => depth += 1,
            Piece::Sign(')') if depth == 0 => break,
            Piece::Sign(')' | '}') => depth -= 1,
            Piece::Text(text) if depth == 0 => texts.push(text.clone()),
            Piece::Text(_) | Piece::Word(_) | Piece::Sign(_) => {}
        }
    }
    texts
}
