//! A dashboard: rows of panels under the variables it is asked for.

use super::expression::Expression;
use super::panel::Panel;

/// What the reader chooses. Each asks for what the ones before it leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Variable {
    /// The Prometheus.
    DataSource,
    /// The cluster: a label that Prometheus gives, or none.
    Cluster,
    /// The node.
    Instance,
    /// The network device.
    Netdev,
    /// The priority.
    Priority,
}

impl Variable {
    /// From the whole to the part.
    pub const ALL: [Self; 5] =
        [Self::DataSource, Self::Cluster, Self::Instance, Self::Netdev, Self::Priority];

    /// Its name in expressions and addresses.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DataSource => "datasource",
            Self::Cluster => "cluster",
            Self::Instance => "instance",
            Self::Netdev => "netdev",
            Self::Priority => "priority",
        }
    }

    /// What the reader sees.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::DataSource => "Prometheus",
            Self::Cluster => "Cluster",
            Self::Instance => "Node",
            Self::Netdev => "Port",
            Self::Priority => "Priority",
        }
    }

    /// The series whose label holds the choices; none where Grafana itself knows them.
    #[must_use]
    pub const fn series(self) -> Option<Expression> {
        match self {
            Self::DataSource => None,
            Self::Cluster => Some(promql!("rocewatch_build_info")),
            Self::Instance => Some(promql!("rocewatch_build_info{@fleet}")),
            Self::Netdev => Some(promql!("rocewatch_port_up{@node}")),
            Self::Priority => Some(promql!("rocewatch_watchdog_armed{@port}")),
        }
    }
}

/// Moments that all panels of a dashboard are marked with.
#[derive(Clone, Copy, Debug)]
pub struct Annotation {
    /// What they are.
    pub name: &'static str,
    /// Above zero at these moments.
    pub expression: Expression,
    /// What is told of one, with labels in `{{}}`.
    pub text: &'static str,
    /// Colour of the mark.
    pub colour: &'static str,
}

/// Panels under a heading.
#[derive(Clone, Debug)]
pub struct Row {
    /// The heading.
    pub title: &'static str,
    /// Left to right; what does not fit any more begins a new line.
    pub panels: Vec<Panel>,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Board {
    /// What Grafana knows it by; never changes.
    pub uid: &'static str,
    /// Its title.
    pub title: &'static str,
    /// What it answers.
    pub about: &'static str,
    /// The part that the reader can narrow it to; all parts before it belong to it.
    pub narrowest: Variable,
    /// Storms and actions, as far as it can be narrowed.
    pub annotations: [Annotation; 2],
    /// From the most urgent to the most particular.
    pub rows: Vec<Row>,
}

impl Board {
    /// A dashboard of the whole fleet.
    pub(super) const fn of_fleet(uid: &'static str, title: &'static str, about: &'static str) -> Self {
        let annotations = [
            storms(promql!(
                "sum by (direction) (increase(rocewatch_watchdog_storms_total{@fleet}[$__rate_interval])) > 0"
            )),
            actions(promql!(concat!(
                "sum by (action, result) (",
                growth!("rocewatch_watchdog_actions_total{@fleet}", "$__rate_interval"),
                ") > 0"
            ))),
        ];
        Self { uid, title, about, narrowest: Variable::Cluster, annotations, rows: Vec::new() }
    }

    /// A dashboard that can be narrowed to nodes, ports or priorities.
    pub(super) const fn of_nodes(
        uid: &'static str,
        title: &'static str,
        about: &'static str,
        narrowest: Variable,
    ) -> Self {
        let annotations = [
            storms(promql!(
                "sum by (instance, netdev, priority, direction) (increase(rocewatch_watchdog_storms_total{@node}[$__rate_interval])) > 0"
            )),
            actions(promql!(concat!(
                "sum by (instance, netdev, action, result) (",
                growth!("rocewatch_watchdog_actions_total{@node}", "$__rate_interval"),
                ") > 0"
            ))),
        ];
        Self { uid, title, about, narrowest, annotations, rows: Vec::new() }
    }

    /// Adds a row.
    pub(super) fn row(mut self, title: &'static str, panels: Vec<Panel>) -> Self {
        self.rows.push(Row { title, panels });
        self
    }

    /// The variables it has.
    pub fn variables(&self) -> impl Iterator<Item = Variable> {
        let narrowest = self.narrowest;
        Variable::ALL.into_iter().filter(move |variable| *variable <= narrowest)
    }

    /// Every panel.
    pub fn panels(&self) -> impl Iterator<Item = &Panel> {
        self.rows.iter().flat_map(|row| &row.panels)
    }
}

const fn storms(expression: Expression) -> Annotation {
    let text = "storm {{direction}} {{instance}} {{netdev}} {{priority}}";
    Annotation { name: "Storms", expression, text, colour: "red" }
}

const fn actions(expression: Expression) -> Annotation {
    let text = "{{action}}: {{result}} {{instance}} {{netdev}}";
    Annotation { name: "Actions", expression, text, colour: "green" }
}
