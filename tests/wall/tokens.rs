//! Rust text as the compiler splits it, so that a word in a comment or a string is not taken for code.

use std::collections::BTreeSet;
use std::fmt;

use proc_macro2::{Delimiter, Group, Spacing, TokenStream, TokenTree};

/// What is wrong, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Path from the root of the project.
    pub(crate) path: String,
    /// From 1; 0 for the whole file.
    pub(crate) line: usize,
    /// In one line.
    pub(crate) what: String,
}

impl Finding {
    pub(crate) fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.what),
            line => write!(f, "{}:{line}: {}", self.path, self.what),
        }
    }
}

/// A word, a mark such as `::` or `{`, or a literal; comments are none of them.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) line: usize,
    pub(crate) kind: Kind,
    /// Whether it is compiled for tests only.
    pub(crate) in_test: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Word,
    Mark,
    Literal,
}

/// One file of Rust.
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) tokens: Vec<Token>,
    /// Lines that are compiled for tests only.
    test_lines: BTreeSet<usize>,
}

impl Source {
    /// Splits `text`.
    ///
    /// # Panics
    ///
    /// If it is no Rust, so that no rule passes because nothing was looked at.
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let stream: TokenStream =
            text.parse().unwrap_or_else(|error| panic!("{path} cannot be split into tokens: {error}"));
        let mut tokens = Vec::new();
        flatten(stream, &mut tokens);
        let mut source =
            Self { path: path.to_owned(), text: text.to_owned(), tokens, test_lines: BTreeSet::new() };
        source.mark_tests();
        source
    }

    /// Declares the whole file to be compiled for tests only.
    pub(crate) fn mark_all_as_test(&mut self) {
        self.tokens.iter_mut().for_each(|token| token.in_test = true);
        self.test_lines = (1..=self.text.lines().count()).collect();
    }

    pub(crate) fn line_count_without_tests(&self) -> usize {
        self.text.lines().count() - self.test_lines.len()
    }

    /// The lines on which `pattern` stands outside tests: tokens separated by blanks, as in `Instant :: now`.
    pub(crate) fn lines_with(&self, pattern: &str) -> Vec<usize> {
        self.places_of(pattern).filter(|token| !token.in_test).map(|token| token.line).collect()
    }

    /// As [`Self::lines_with`], in tests too.
    pub(crate) fn lines_anywhere_with(&self, pattern: &str) -> Vec<usize> {
        self.places_of(pattern).map(|token| token.line).collect()
    }

    fn places_of(&self, pattern: &str) -> impl Iterator<Item = &Token> {
        let wanted: Vec<&str> = pattern.split_whitespace().collect();
        self.tokens.windows(wanted.len()).filter_map(move |window| {
            let same = window
                .iter()
                .zip(&wanted)
                .all(|(token, wanted)| token.kind != Kind::Literal && token.text == **wanted);
            same.then(|| &window[0])
        })
    }

    /// The names of the modules that are declared here for tests only and stand in files of their own.
    pub(crate) fn test_modules(&self) -> Vec<&str> {
        let declared = self
            .tokens
            .windows(3)
            .filter(|window| window[0].in_test && window[0].text == "mod" && window[2].text == ";");
        declared.map(|window| window[1].text.as_str()).collect()
    }

    /// The attributes, from `#` to `]`, as ranges of tokens.
    pub(crate) fn attributes(&self) -> Vec<&[Token]> {
        let mut found = Vec::new();
        for start in 0..self.tokens.len() {
            if let Some(end) = attribute_end(&self.tokens, start) {
                found.push(&self.tokens[start..=end]);
            }
        }
        found
    }

    fn mark_tests(&mut self) {
        let mut at = 0;
        while at < self.tokens.len() {
            let Some(end) =
                attribute_end(&self.tokens, at).filter(|end| is_for_tests(&self.tokens[at..=*end]))
            else {
                at += 1;
                continue;
            };
            let last = item_end(&self.tokens, end + 1);
            self.tokens[at..=last].iter_mut().for_each(|token| token.in_test = true);
            self.test_lines.extend(self.tokens[at].line..=self.tokens[last].line);
            at = last + 1;
        }
    }
}

fn flatten(stream: TokenStream, tokens: &mut Vec<Token>) {
    let mut joint = false;
    for tree in stream {
        let was_joint = std::mem::replace(&mut joint, false);
        let line = tree.span().start().line;
        match tree {
            TokenTree::Group(group) => flatten_group(&group, tokens),
            TokenTree::Ident(word) => tokens.push(token(word.to_string(), line, Kind::Word)),
            TokenTree::Literal(literal) => tokens.push(token(literal.to_string(), line, Kind::Literal)),
            TokenTree::Punct(mark) => {
                joint = mark.spacing() == Spacing::Joint;
                match tokens.last_mut() {
                    // The only pair of marks that a rule speaks of.
                    Some(last) if was_joint && last.text == ":" && mark.as_char() == ':' => {
                        last.text.push(':')
                    }
                    _ => tokens.push(token(mark.to_string(), line, Kind::Mark)),
                }
            }
        }
    }
}

fn flatten_group(group: &Group, tokens: &mut Vec<Token>) {
    let (open, close) = match group.delimiter() {
        Delimiter::Parenthesis => ("(", ")"),
        Delimiter::Brace => ("{", "}"),
        Delimiter::Bracket => ("[", "]"),
        Delimiter::None => ("", ""),
    };
    tokens.push(token(open.to_owned(), group.span_open().start().line, Kind::Mark));
    flatten(group.stream(), tokens);
    tokens.push(token(close.to_owned(), group.span_close().start().line, Kind::Mark));
}

fn token(text: String, line: usize, kind: Kind) -> Token {
    Token { text, line, kind, in_test: false }
}

/// Where the attribute ends that begins at `start`, if one does.
fn attribute_end(tokens: &[Token], start: usize) -> Option<usize> {
    let is = |at: usize, text: &str| tokens.get(at).is_some_and(|token| token.text == text);
    let open = match (is(start, "#"), is(start + 1, "!")) {
        (true, true) => start + 2,
        (true, false) => start + 1,
        (false, _) => return None,
    };
    is(open, "[").then(|| closing(tokens, open))
}

/// Where the bracket closes that opens at `open`.
fn closing(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match (token.kind, token.text.as_str()) {
            (Kind::Mark, "(" | "[" | "{") => depth += 1,
            (Kind::Mark, ")" | "]" | "}") => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    tokens.len() - 1
}

fn is_for_tests(attribute: &[Token]) -> bool {
    let says = |word: &str| attribute.iter().any(|token| token.kind == Kind::Word && token.text == word);
    says("cfg") && says("test") && !says("not")
}

/// Where the item ends that begins at `start`: its semicolon, or the end of its first block.
fn item_end(tokens: &[Token], start: usize) -> usize {
    let mut at = start;
    while let Some(token) = tokens.get(at) {
        match (token.kind, token.text.as_str()) {
            (Kind::Mark, "{") => return closing(tokens, at),
            (Kind::Mark, ";") => return at,
            (Kind::Mark, "(" | "[") => at = closing(tokens, at),
            _ => {}
        }
        at += 1;
    }
    tokens.len() - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_strings_and_longer_words_are_no_code() {
        let text = "// unsafe\n/* unsafe /* unsafe */ */\n/// unsafe\nfn f() { g(\"unsafe\", r#\"unsafe\"#, unsafe_code) }";
        let source = Source::new("a.rs", text);
        assert_eq!(source.lines_with("unsafe"), []);
        assert_eq!(source.lines_with("unsafe_code"), [4]);
    }

    #[test]
    fn a_pattern_is_found_across_lines_and_spacing() {
        let source = Source::new("a.rs", "fn f() {\n let x = Instant\n  ::now();\n}");
        assert_eq!(source.lines_with("Instant :: now"), [2]);
    }

    #[test]
    fn what_is_compiled_for_tests_only_is_no_code_and_has_no_lines() {
        let text = "fn f() {}\n#[cfg(test)]\n#[path = \"x.rs\"]\nmod t;\n#[cfg(test)]\nmod tests {\n fn g() { bad() }\n}\nfn bad() {}\n";
        let source = Source::new("a.rs", text);
        assert_eq!(source.lines_with("bad"), [9]);
        assert_eq!(source.lines_anywhere_with("bad"), [7, 9]);
        assert_eq!(source.line_count_without_tests(), 2);
        assert_eq!(source.test_modules(), ["t"]);
    }

    #[test]
    fn what_is_left_out_of_tests_is_code() {
        let source = Source::new("a.rs", "#[cfg(not(test))]\nfn f() { bad() }");
        assert_eq!(source.lines_with("bad"), [2]);
    }

    #[test]
    #[should_panic(expected = "a.rs cannot be split")]
    fn text_that_is_no_rust_passes_no_rule() {
        Source::new("a.rs", "fn f( {");
    }
}
