//! A panel: what it asks, what it is called, and from which value on it calls for attention.

use super::expression::Expression;

/// How a panel draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Lines over time.
    TimeSeries(Lines),
    /// One number of now, or one for each series.
    Stat,
    /// The name of the one series there is.
    Name,
    /// Bars of now, the longest first.
    BarGauge,
    /// Rows of now, the worst first.
    Table,
    /// Words.
    Text,
}

/// How lines are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// From point to point.
    Plain,
    /// On top of each other, in steps: the sum is what is looked at.
    Stacked,
    /// On a scale of powers of ten: events that differ a thousandfold in one picture.
    Logarithmic,
}

/// The unit of the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Whole things.
    Count,
    /// Things each second.
    PerSecond,
    /// Packets or frames each second.
    PacketsPerSecond,
    /// 0 to 1, shown in percent.
    Share,
    /// A span in seconds.
    Seconds,
    /// Seconds since 1970, shown as time that has gone by.
    Ago,
    /// An amount of data.
    Bytes,
    /// A data rate in bits.
    BitsPerSecond,
}

/// From which values on a number is coloured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limits {
    /// A number to know, neither good nor bad.
    None,
    /// Anything above zero is a fault.
    NoneAllowed,
    /// Anything above zero is worth a look.
    Unusual,
    /// Worth a look from the first value on, a fault from the second.
    Rising(f64, f64),
    /// Anything below one is a fault: not all, none left, not so.
    AllRequired,
    /// Worth a look below the first value, a fault below the second.
    Falling(f64, f64),
}

/// What a line is about, and so its colour: the same on every dashboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tint {
    /// The fabric stopped us, or comes in.
    Rx,
    /// We stopped the fabric, or goes out.
    Tx,
    /// Something is broken.
    Fault,
    /// Context.
    Quiet,
    /// One of several that are told apart by name alone.
    Own,
    /// A colour by Grafana's name, where a picture mixes lines of all kinds.
    Named(&'static str),
}

/// A question to Prometheus.
#[derive(Clone, Debug)]
pub struct Query {
    /// The question.
    pub expression: Expression,
    /// What a series is called, with labels in `{{}}`; the head of the column in a table.
    pub legend: &'static str,
    /// Colour of its lines.
    pub tint: Tint,
    /// Unit and limits of a column of a table.
    pub column: Option<(Unit, Limits)>,
    /// Why a healthy fleet may have no answer to it.
    pub may_be_empty: Option<&'static str>,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Panel {
    /// Its title.
    pub title: &'static str,
    /// What it means and what is healthy; the whole text of a panel of words.
    pub about: &'static str,
    /// How it draws.
    pub kind: Kind,
    /// What it asks.
    pub queries: Vec<Query>,
    /// Unit of its numbers.
    pub unit: Unit,
    /// From which values on they are coloured.
    pub limits: Limits,
    /// Labels that a table shows as columns, in front of the numbers.
    pub labels: &'static [&'static str],
    /// Width in 24ths of the page.
    pub width: u8,
    /// Height in Grafana's steps of 30 pixels.
    pub height: u8,
}

/// Lines over time, three in a row.
pub(super) const fn lines(title: &'static str, about: &'static str, unit: Unit) -> Panel {
    Panel {
        title,
        about,
        kind: Kind::TimeSeries(Lines::Plain),
        queries: Vec::new(),
        unit,
        limits: Limits::None,
        labels: &[],
        width: 8,
        height: 8,
    }
}

/// A number of now, six in a row.
pub(super) fn stat(title: &'static str, about: &'static str, unit: Unit, limits: Limits) -> Panel {
    Panel { kind: Kind::Stat, limits, width: 4, height: 4, ..lines(title, about, unit) }
}

/// A number of now that should be zero.
pub(super) fn faults(title: &'static str, about: &'static str) -> Panel {
    stat(title, about, Unit::Count, Limits::NoneAllowed)
}

/// A number of now that is worth a look above zero.
pub(super) fn oddities(title: &'static str, about: &'static str) -> Panel {
    stat(title, about, Unit::Count, Limits::Unusual)
}

/// Bars of now, two in a row.
pub(super) fn bars(title: &'static str, about: &'static str, unit: Unit, limits: Limits) -> Panel {
    Panel { kind: Kind::BarGauge, limits, width: 12, ..lines(title, about, unit) }
}

/// A table as wide as the page. It is sorted by the first column of numbers, the largest first.
pub(super) fn table(title: &'static str, about: &'static str, labels: &'static [&'static str]) -> Panel {
    Panel { kind: Kind::Table, labels, width: 24, ..lines(title, about, Unit::Count) }
}

/// Words.
pub(super) fn text(title: &'static str, words: &'static str) -> Panel {
    Panel { kind: Kind::Text, width: 24, height: 3, ..lines(title, words, Unit::Count) }
}

impl Panel {
    /// Lines of `expression`, one for each series.
    pub(super) fn ask(self, tint: Tint, legend: &'static str, expression: Expression) -> Self {
        self.with(Query { expression, legend, tint, column: None, may_be_empty: None })
    }

    /// The same where a healthy fleet may have no answer, because of `reason`.
    pub(super) fn ask_rare(
        self,
        tint: Tint,
        legend: &'static str,
        reason: &'static str,
        expression: Expression,
    ) -> Self {
        self.with(Query { expression, legend, tint, column: None, may_be_empty: Some(reason) })
    }

    /// The number of a panel that shows one.
    pub(super) fn number(self, expression: Expression) -> Self {
        self.ask(Tint::Quiet, "", expression)
    }

    /// The same where a healthy fleet may have none, because of `reason`.
    pub(super) fn number_rare(self, reason: &'static str, expression: Expression) -> Self {
        self.ask_rare(Tint::Quiet, "", reason, expression)
    }

    /// A column of numbers.
    pub(super) fn column(
        self,
        head: &'static str,
        unit: Unit,
        limits: Limits,
        expression: Expression,
    ) -> Self {
        let column = Some((unit, limits));
        self.with(Query { expression, legend: head, tint: Tint::Quiet, column, may_be_empty: None })
    }

    /// A column of what should not be there at all.
    pub(super) fn faults(self, head: &'static str, expression: Expression) -> Self {
        self.column(head, Unit::Count, Limits::NoneAllowed, expression)
    }

    /// A column of what is worth a look.
    pub(super) fn oddities(self, head: &'static str, expression: Expression) -> Self {
        self.column(head, Unit::Count, Limits::Unusual, expression)
    }

    /// The same where a healthy fleet may have none, because of `reason`.
    pub(super) fn column_rare(
        self,
        head: &'static str,
        unit: Unit,
        limits: Limits,
        reason: &'static str,
        expression: Expression,
    ) -> Self {
        let column = Some((unit, limits));
        let may_be_empty = Some(reason);
        self.with(Query { expression, legend: head, tint: Tint::Quiet, column, may_be_empty })
    }

    /// Draws the limits.
    pub(super) const fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Draws lines otherwise.
    pub(super) const fn drawn(mut self, lines: Lines) -> Self {
        self.kind = Kind::TimeSeries(lines);
        self
    }

    /// Shows the name of the series instead of the number.
    pub(super) const fn names(mut self) -> Self {
        self.kind = Kind::Name;
        self
    }

    /// Takes as much room: width in 24ths of the page, height in steps of 30 pixels.
    pub(super) const fn size(mut self, width: u8, height: u8) -> Self {
        self.width = width;
        self.height = height;
        self
    }

    fn with(mut self, query: Query) -> Self {
        self.queries.push(query);
        self
    }
}
