//! What is wrong with a configuration, said in a way that an operator can act on.

use std::fmt;
use std::io;
use std::path::PathBuf;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use super::given::{Entry, Place};

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("config file {} cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// Somebody could write the file who may not.
    #[error(
        "config file {}: mode {mode:04o}, owner {owner}: expected one that group and others cannot write to, of user \
         {own} or root",
        path.display()
    )]
    Unsafe {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
        /// The number of the user it belongs to.
        owner: u32,
        /// The number of the user who reads.
        own: u32,
    },
    /// The file is no text.
    #[error("config file {} is not UTF-8 from byte {valid_bytes} on", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// How much of it is.
        valid_bytes: usize,
    },
    /// Values were refused.
    #[error("{0}")]
    Refused(Problems),
}

/// How problems are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// One line each, for logs and other programs.
    Lines,
    /// With the lines of the file, marked.
    Snippets,
    /// The same in colours.
    Coloured,
}

impl ConfigError {
    /// The text for an operator, without a final newline.
    #[must_use]
    pub fn render(&self, style: Style) -> String {
        match self {
            Self::Unreadable { source, .. } => format!("{self}: {source}"),
            Self::Unsafe { .. } | Self::NotText { .. } => self.to_string(),
            Self::Refused(problems) => problems.render(style),
        }
    }
}

/// All problems of one configuration, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems {
    list: Vec<Problem>,
    /// The file, where there is one: its name and text.
    file: Option<(String, String)>,
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where the value was given.
    pub place: Place,
    /// The key and the value; none where the text is no TOML at all.
    pub subject: Option<Subject>,
    /// What was expected, or what went wrong.
    pub message: String,
}

/// What a problem is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The path of the key, such as `watchdog.detect`.
    pub path: String,
    /// The value as given, shortened.
    pub value: String,
}

impl Problem {
    /// A value that is not what its key takes.
    pub(crate) fn expected(path: String, entry: &Entry, expected: &str) -> Self {
        Self {
            place: entry.place.clone(),
            subject: Some(Subject { path, value: entry.literal.clone() }),
            message: format!("expected {expected}"),
        }
    }

    /// A value that can stand, but cannot be meant.
    pub(super) fn warning(path: String, entry: &Entry, message: &str) -> Self {
        Self { message: message.into(), ..Self::expected(path, entry, "") }
    }
}

/// One line: place, key, value, message. A flag names its key already.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::File { column, .. } => write!(f, "{}:{column}: ", self.place)?,
            Place::Flag(_) | Place::Set(_) | Place::Preset(_) => write!(f, "{}: ", self.place)?,
        }
        if let Some(Subject { path, value }) = &self.subject {
            match &self.place {
                Place::File { .. } | Place::Preset(_) => write!(f, "{path}: {value}: ")?,
                Place::Flag(_) | Place::Set(_) => write!(f, "{value}: ")?,
            }
        }
        f.write_str(&self.message)
    }
}

/// As the operator reads them, each once: one key can spoil both directions of several ports.
pub(super) fn in_order(mut list: Vec<Problem>) -> Vec<Problem> {
    list.sort_by_key(|problem| problem.place.order());
    let mut once: Vec<Problem> = Vec::with_capacity(list.len());
    for problem in list {
        if !once.contains(&problem) {
            once.push(problem);
        }
    }
    once
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Style::Lines))
    }
}

impl Problems {
    /// Problems of the file `name` with `text`, or of none.
    pub(crate) fn new(list: Vec<Problem>, file: Option<(&str, &str)>) -> Self {
        Self { list: in_order(list), file: file.map(|(name, text)| (name.into(), text.into())) }
    }

    /// The problems, those of the file from its top first.
    #[must_use]
    pub fn list(&self) -> &[Problem] {
        &self.list
    }

    fn render(&self, style: Style) -> String {
        let renderer = match style {
            Style::Lines => {
                return self.list.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n");
            }
            Style::Snippets => Renderer::plain(),
            Style::Coloured => Renderer::styled(),
        };
        let groups: Vec<_> = self.list.iter().map(|problem| self.group(problem)).collect();
        groups.chunks(1).map(|group| renderer.render(group)).collect::<Vec<_>>().join("\n\n")
    }

    fn group<'a>(&'a self, problem: &'a Problem) -> Group<'a> {
        let (Place::File { span, .. }, Some((name, text))) = (&problem.place, &self.file) else {
            return Group::with_title(Level::ERROR.primary_title(problem.to_string()));
        };
        let title = match &problem.subject {
            Some(subject) => format!("{}: {}", subject.path, subject.value),
            None => "this is not TOML".into(),
        };
        let mark = AnnotationKind::Primary.span(span.clone()).label(problem.message.as_str());
        Level::ERROR
            .primary_title(title)
            .element(Snippet::source(text.as_str()).path(name.as_str()).annotation(mark))
    }
}
