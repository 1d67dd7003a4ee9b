//! The JSON of Grafana. A table asks for numbers of now and joins them by their labels; numbers of now are never the last
//! one that was known, so that what is gone is gone.

use serde_json::{Value, json};

use super::board::{Annotation, Board, Row, Variable};
use super::panel::{Kind, Limits, Lines, Panel, Query, Tint, Unit};

/// The form of Grafana 10; later ones read it.
const SCHEMA_VERSION: u32 = 39;
/// Columns of Grafana's grid.
const GRID: u8 = 24;
/// Carried by all dashboards: their links to each other are found by it.
const TAG: &str = "rocewatch";
/// Between two points of an annotation: a mark is not off by more.
const ANNOTATION_STEP: &str = "15s";

/// A dashboard as Grafana imports it.
pub(super) fn json(board: &Board) -> Value {
    json!({
        "uid": board.uid,
        "title": format!("rocewatch / {}", board.title),
        "description": board.about,
        "tags": [TAG],
        "schemaVersion": SCHEMA_VERSION,
        "editable": true,
        // One crosshair on all panels.
        "graphTooltip": 1,
        "time": { "from": "now-1h", "to": "now" },
        "refresh": "30s",
        "timezone": "browser",
        "templating": { "list": board.variables().map(|variable| self::variable(variable, board)).collect::<Vec<_>>() },
        "annotations": { "list": board.annotations.iter().map(annotation).collect::<Vec<_>>() },
        "links": [{
            "type": "dashboards", "tags": [TAG], "title": "rocewatch", "icon": "external link", "tooltip": "",
            "asDropdown": false, "includeVars": true, "keepTime": true, "targetBlank": false,
        }],
        "panels": laid_out(&board.rows),
    })
}

fn data_source() -> Value {
    json!({ "type": "prometheus", "uid": format!("${{{}}}", Variable::DataSource.name()) })
}

fn variable(variable: Variable, board: &Board) -> Value {
    let (name, label) = (variable.name(), variable.label());
    let Some(series) = variable.series() else {
        return json!({ "type": "datasource", "name": name, "label": label, "query": "prometheus", "refresh": 1 });
    };
    let query = format!("label_values({}, {name})", series.promql());
    // A page about one node shows one.
    let one = variable == Variable::Instance && board.uid == super::node::UID;
    let all = json!({ "text": "All", "value": "$__all" });
    let mut json = json!({
        "type": "query", "name": name, "label": label, "datasource": data_source(),
        "query": { "query": query, "refId": name },
        "refresh": 2, "sort": 7, "multi": !one, "includeAll": !one,
    });
    if !one {
        // Also what lacks the label, and short however many there are.
        json["allValue"] = ".*".into();
        json["current"] = all;
    }
    json
}

fn annotation(annotation: &Annotation) -> Value {
    json!({
        "name": annotation.name, "datasource": data_source(), "enable": true, "hide": false,
        "iconColor": annotation.colour, "expr": annotation.expression.promql(), "step": ANNOTATION_STEP,
        "titleFormat": annotation.name, "textFormat": annotation.text,
    })
}

/// All panels with their places.
fn laid_out(rows: &[Row]) -> Vec<Value> {
    let mut all = Vec::new();
    let mut top = 0;
    for row in rows {
        let place = json!({ "x": 0, "y": top, "w": GRID, "h": 1 });
        let id = all.len() + 1;
        all.push(json!({
            "id": id, "type": "row", "title": row.title, "collapsed": false, "gridPos": place, "panels": [],
        }));
        top += 1;
        let (mut left, mut height) = (0, 0);
        for panel in &row.panels {
            if left + panel.width > GRID {
                top += u32::from(height);
                (left, height) = (0, 0);
            }
            let place = json!({ "x": left, "y": top, "w": panel.width, "h": panel.height });
            all.push(self::panel(panel, all.len() + 1, &place));
            left += panel.width;
            height = height.max(panel.height);
        }
        top += u32::from(height);
    }
    all
}

fn panel(panel: &Panel, id: usize, place: &Value) -> Value {
    let kind = match panel.kind {
        Kind::TimeSeries(_) => "timeseries",
        Kind::Stat | Kind::Name => "stat",
        Kind::BarGauge => "bargauge",
        Kind::Table => "table",
        Kind::Text => "text",
    };
    let mut json = json!({
        "id": id, "type": kind, "title": panel.title, "gridPos": place, "options": options(panel),
    });
    if panel.kind == Kind::Text {
        return json;
    }
    let which = if is_of_the_highest(panel) { " Shows the ten highest." } else { "" };
    json["description"] = format!("{}{which}", panel.about).into();
    json["datasource"] = data_source();
    json["targets"] =
        panel.queries.iter().zip('A'..='Z').map(|(query, id)| target(panel.kind, query, id)).collect();
    json["fieldConfig"] = json!({ "defaults": defaults(panel), "overrides": overrides(panel) });
    if panel.kind == Kind::Table {
        json["transformations"] = transformations(panel);
    }
    json
}

fn target(kind: Kind, query: &Query, id: char) -> Value {
    let (instant, format) = match kind {
        Kind::TimeSeries(_) | Kind::Text => (false, "time_series"),
        Kind::Stat | Kind::Name | Kind::BarGauge => (true, "time_series"),
        Kind::Table => (true, "table"),
    };
    json!({
        "refId": id.to_string(), "datasource": data_source(), "expr": query.expression.promql(),
        "legendFormat": query.legend, "instant": instant, "range": !instant, "format": format,
    })
}

fn options(panel: &Panel) -> Value {
    let now = json!({ "calcs": ["lastNotNull"], "fields": "", "values": false });
    match panel.kind {
        Kind::TimeSeries(_) => {
            // Of many lines one wants the worst; of a few, each by its name.
            let (mode, calcs) = if is_per_series(panel) {
                ("table", vec!["lastNotNull", "max"])
            } else {
                ("list", Vec::new())
            };
            json!({
                "legend": { "displayMode": mode, "placement": "bottom", "showLegend": true, "calcs": calcs,
                            "sortBy": "Max", "sortDesc": true },
                "tooltip": { "mode": "multi", "sort": "desc" },
            })
        }
        Kind::Stat | Kind::Name => json!({
            "reduceOptions": now, "colorMode": "background", "graphMode": "none", "justifyMode": "center",
            "orientation": "auto", "textMode": if panel.kind == Kind::Name { "name" } else { "auto" }, "wideLayout": true,
            "percentChangeColorMode": "standard", "showPercentChange": false,
        }),
        Kind::BarGauge => json!({
            "reduceOptions": now, "orientation": "horizontal", "displayMode": "basic", "valueMode": "color",
            "namePlacement": "left", "showUnfilled": true, "sizing": "auto",
            "minVizWidth": 8, "minVizHeight": 16, "maxVizHeight": 28,
            "legend": { "displayMode": "list", "placement": "bottom", "showLegend": false, "calcs": [] },
        }),
        Kind::Table => {
            // Where the first columns are alike, the next ones tell.
            let worst = panel.queries.iter().take(6);
            let worst: Vec<_> =
                worst.map(|query| json!({ "displayName": query.legend, "desc": true })).collect();
            json!({ "showHeader": true, "cellHeight": "sm", "frameIndex": 0, "sortBy": worst })
        }
        Kind::Text => json!({ "mode": "markdown", "content": panel.about }),
    }
}

fn defaults(panel: &Panel) -> Value {
    let mut json = unit(panel.unit);
    let healthy = match (panel.kind, panel.queries.first().map(|query| query.tint)) {
        // A bar without a colour would not be seen.
        (Kind::BarGauge, Some(tint)) => hue(tint),
        _ => "transparent",
    };
    json["thresholds"] = thresholds(panel.limits, healthy);
    json["mappings"] = json!([]);
    // Grafana would print 0 or nothing; neither is what a missing series means.
    json["noValue"] = "no data".into();
    match panel.kind {
        Kind::TimeSeries(lines) => {
            json["min"] = 0.into();
            json["color"] = colour(panel.queries.first().map_or(Tint::Quiet, |query| query.tint));
            json["custom"] = line_style(lines, panel);
        }
        Kind::Stat | Kind::Name | Kind::BarGauge => {
            json["color"] = json!({ "mode": "thresholds" });
            if panel.kind == Kind::BarGauge {
                json["min"] = 0.into();
            }
        }
        Kind::Table => {
            json["color"] = json!({ "mode": "thresholds" });
            json["custom"] = json!({ "align": "auto", "cellOptions": { "type": "auto" }, "inspect": false, "minWidth": 70 });
            json["noValue"] = "".into();
        }
        Kind::Text => {}
    }
    json
}

fn line_style(lines: Lines, panel: &Panel) -> Value {
    let (steps, width, fill, stacking) = match lines {
        // Areas of many lines cover each other.
        Lines::Plain if is_per_series(panel) => ("linear", 1, 0, "none"),
        Lines::Plain | Lines::Logarithmic => ("linear", 1, 8, "none"),
        // A line would run along the top of what lies below, also where it adds nothing.
        Lines::Stacked => ("stepAfter", 0, 60, "normal"),
    };
    let scale = match lines {
        Lines::Plain | Lines::Stacked => json!({ "type": "linear" }),
        Lines::Logarithmic => json!({ "type": "log", "log": 10 }),
    };
    let limits = match panel.limits {
        Limits::Rising(..) | Limits::Falling(..) => "dashed",
        Limits::None | Limits::NoneAllowed | Limits::Unusual | Limits::AllRequired => "off",
    };
    // A line that comes and goes would leave dots.
    let points = if is_of_the_highest(panel) { "never" } else { "auto" };
    let mut style = json!({
        "drawStyle": "line", "lineInterpolation": steps, "lineWidth": width, "fillOpacity": fill,
        "showPoints": points, "pointSize": 4, "spanNulls": false, "insertNulls": false,
        "stacking": { "mode": stacking, "group": "A" }, "axisPlacement": "auto", "axisLabel": "",
        "scaleDistribution": scale, "thresholdsStyle": { "mode": limits },
    });
    if panel.unit == Unit::Share {
        // Grafana would draw nothing but zeros on a scale of 10,000 percent.
        style["axisSoftMax"] = 0.1.into();
    }
    style
}

/// Whether it has a line for each port, queue or the like.
fn is_per_series(panel: &Panel) -> bool {
    panel.queries.iter().any(|query| query.legend.contains("{{"))
}

/// Whether it asks for the highest alone, of which there are others at each moment.
fn is_of_the_highest(panel: &Panel) -> bool {
    panel.queries.iter().any(|query| query.expression.promql().starts_with("topk(10, "))
}

fn overrides(panel: &Panel) -> Vec<Value> {
    let by = |matcher: &str, name: &str, properties: Value| json!({ "matcher": { "id": matcher, "options": name }, "properties": properties });
    match panel.kind {
        Kind::TimeSeries(_) => {
            let first = panel.queries.first().map(|query| query.tint);
            let others = panel.queries.iter().zip('A'..='Z').filter(|(query, _)| Some(query.tint) != first);
            let own_colour = |(query, id): (&Query, char)| {
                by("byFrameRefID", &id.to_string(), json!([{ "id": "color", "value": colour(query.tint) }]))
            };
            others.map(own_colour).collect()
        }
        Kind::Table => {
            let labels = panel.labels.iter().filter_map(|label| Some((label, link(label)?)));
            let labels =
                labels.map(|(label, link)| by("byName", label, json!([{ "id": "links", "value": [link] }])));
            labels
                .chain(panel.queries.iter().map(|query| by("byName", query.legend, column(query))))
                .collect()
        }
        Kind::Stat | Kind::Name | Kind::BarGauge | Kind::Text => Vec::new(),
    }
}

fn column(query: &Query) -> Value {
    let (unit, limits) = query.column.unwrap_or((Unit::Count, Limits::None));
    let unit = self::unit(unit);
    let mut properties = vec![
        json!({ "id": "unit", "value": unit["unit"] }),
        json!({ "id": "custom.align", "value": "right" }),
    ];
    if let Some(decimals) = unit.get("decimals") {
        properties.push(json!({ "id": "decimals", "value": decimals }));
    }
    if limits != Limits::None {
        properties.push(json!({ "id": "thresholds", "value": thresholds(limits, "transparent") }));
        let cell = json!({ "type": "color-background", "mode": "basic" });
        properties.push(json!({ "id": "custom.cellOptions", "value": cell }));
    }
    properties.into()
}

/// From a node or a port to the page about it.
fn link(label: &str) -> Option<Value> {
    let narrowed = match label {
        "instance" => "&var-instance=${__value.raw}",
        "netdev" => "&var-instance=${__data.fields.instance}&var-netdev=${__value.raw}",
        _ => return None,
    };
    let kept = "${datasource:queryparam}&${cluster:queryparam}&${__url_time_range}";
    let url = format!("/d/{}?{kept}{narrowed}", super::node::UID);
    Some(json!({ "title": "Look at this node", "url": url, "targetBlank": false }))
}

/// Joins the answers of a table by their labels, and names the columns.
fn transformations(panel: &Panel) -> Value {
    let heads = panel.queries.iter().zip('A'..='Z').map(|(query, id)| (format!("Value #{id}"), query.legend));
    // With one question there is nothing to number.
    let heads = heads.chain(panel.queries.first().map(|query| ("Value".to_owned(), query.legend)));
    let renamed: serde_json::Map<_, Value> = heads.map(|(from, to)| (from, to.into())).collect();
    let order = panel.labels.iter().map(|label| (*label).to_owned());
    let order = order.chain(panel.queries.iter().zip('A'..='Z').map(|(_, id)| format!("Value #{id}")));
    let order: serde_json::Map<_, Value> = order.zip(0..).map(|(name, place)| (name, place.into())).collect();
    json!([
        { "id": "merge", "options": {} },
        { "id": "organize", "options": { "excludeByName": { "Time": true }, "indexByName": order, "renameByName": renamed } },
    ])
}

fn unit(unit: Unit) -> Value {
    match unit {
        Unit::Count => json!({ "unit": "locale", "decimals": 0 }),
        Unit::PerSecond => json!({ "unit": "cps" }),
        Unit::PacketsPerSecond => json!({ "unit": "pps" }),
        Unit::Share => json!({ "unit": "percentunit", "decimals": 1 }),
        Unit::Seconds => json!({ "unit": "s" }),
        Unit::Ago => json!({ "unit": "dateTimeFromNow" }),
        Unit::Bytes => json!({ "unit": "bytes" }),
        Unit::BitsPerSecond => json!({ "unit": "bps" }),
    }
}

/// Grafana's thresholds. Healthy has no colour of its own, so that what has one is seen. Anything above zero is anything that a rate or
/// an increase can make of one event.
fn thresholds(limits: Limits, healthy: &str) -> Value {
    const ANY: f64 = 1e-9;
    let steps = match limits {
        Limits::None => vec![(None, healthy)],
        Limits::NoneAllowed => vec![(None, healthy), (Some(ANY), "red")],
        Limits::Unusual => vec![(None, healthy), (Some(ANY), "orange")],
        Limits::AllRequired => vec![(None, "red"), (Some(1.0), healthy)],
        Limits::Rising(warning, fault) => {
            vec![(None, healthy), (Some(warning), "orange"), (Some(fault), "red")]
        }
        Limits::Falling(warning, fault) => {
            vec![(None, "red"), (Some(fault), "orange"), (Some(warning), healthy)]
        }
    };
    let steps: Vec<_> =
        steps.iter().map(|(value, colour)| json!({ "value": value, "color": colour })).collect();
    json!({ "mode": "absolute", "steps": steps })
}

fn colour(tint: Tint) -> Value {
    match tint {
        Tint::Own => json!({ "mode": "palette-classic" }),
        Tint::Rx | Tint::Tx | Tint::Fault | Tint::Quiet | Tint::Named(_) => {
            json!({ "mode": "shades", "fixedColor": hue(tint) })
        }
    }
}

const fn hue(tint: Tint) -> &'static str {
    match tint {
        Tint::Rx => "blue",
        Tint::Tx => "purple",
        Tint::Fault => "red",
        Tint::Quiet | Tint::Own => "#8f98a3",
        Tint::Named(name) => name,
    }
}
