//! The page for a person with a browser: what is watched, how it is, where to look further. Plain HTML that reloads
//! itself; works without scripts.

use std::fmt::{self, Write};
use std::time::Duration;

use rocewatch_core::event::PauseKnown;
use rocewatch_core::phase::Phase;
use rocewatch_core::snapshot::{PortView, QueueView, Snapshot};
use rocewatch_core::units::{Direction, MonoTime, Queue};

use super::routes::PATHS;
use crate::export::stats::BuildInfo;
use crate::export::{Moment, is_queue_shown};

pub(super) const HEAD: &str = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>rocewatch</title>\
    <meta name=\"viewport\" content=\"width=device-width\"><meta http-equiv=\"refresh\" content=\"5\"><style>\
    body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:75em;padding:0 1em;color:#222;background:#fff}\
    table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.35em 1em .35em 0;\
    border-bottom:1px solid #ddd}.bad{color:#b00020;font-weight:600}.dim{color:#666}code{font-size:.95em}\
    @media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}td,th{border-color:#444}\
    .bad{color:#ff8a80}.dim{color:#999}a{color:#8ab4f8}}</style></head><body>\n";

/// The page.
pub(super) fn page(snapshot: &Snapshot, build: &BuildInfo, moment: &Moment) -> String {
    let mut html = String::from(HEAD);
    // A string takes every write.
    let _ = write_page(&mut html, snapshot, build, moment);
    html
}

fn write_page(html: &mut String, snapshot: &Snapshot, build: &BuildInfo, moment: &Moment) -> fmt::Result {
    let version = Escaped(build.version);
    writeln!(html, "<h1>rocewatch <span class=\"dim\">{version}</span></h1>")?;
    write!(html, "<p>Mode <b>{}</b>", snapshot.mode.label())?;
    if snapshot.maintenance {
        html.write_str(", in maintenance: nothing is acted on")?;
    }
    if snapshot.undos_pending > 0 {
        write!(html, ", <b>{}</b> to be undone", count(snapshot.undos_pending, "action"))?;
    }
    if !snapshot.journal_writable {
        html.write_str(", <span class=\"bad\">the journal cannot be written</span>")?;
    }
    writeln!(html, ".</p>")?;
    write_ports(html, snapshot, moment)?;
    html.write_str("<ul>\n")?;
    // Without the slash: the page may stand under a path of its own.
    for (path, what) in PATHS.iter().filter(|(path, _)| *path != "/") {
        let link = path.trim_start_matches('/');
        writeln!(html, "<li><a href=\"{link}\"><code>{path}</code></a> {what}</li>")?;
    }
    html.write_str("</ul>\n</body></html>\n")
}

fn write_ports(html: &mut String, snapshot: &Snapshot, moment: &Moment) -> fmt::Result {
    if snapshot.ports.is_empty() {
        return html.write_str("<p>No port is watched.</p>\n");
    }
    html.write_str(
        "<table>\n<tr><th>port</th><th>link</th><th>pause</th><th>state</th><th>last read</th>\
         <th>a storm is found within</th></tr>\n",
    )?;
    for port in &snapshot.ports {
        write_port(html, port, moment)?;
    }
    html.write_str("</table>\n")
}

fn write_port(html: &mut String, port: &PortView, moment: &Moment) -> fmt::Result {
    let identity = &port.identity;
    let name = if identity.netdev.is_empty() { &identity.device } else { &identity.netdev };
    write!(html, "<tr><td><b>{}</b><br><span class=\"dim\">{}", Escaped(name), Escaped(&identity.driver))?;
    if !identity.device.is_empty() {
        write!(html, ", {} port {}", Escaped(&identity.device), Escaped(&identity.port))?;
    }
    write!(html, "</span></td><td>{}</td><td>{}</td><td>", link(port), pause(port))?;
    write_states(html, port, moment)?;
    html.write_str("</td><td>")?;
    match port.read_at {
        Some(at) => write!(html, "{} ago, takes {}", Span(moment.age(at)), Span(port.read_took))?,
        None if port.accounts.failures > 0 => html.write_str("<span class=\"bad\">cannot be read</span>")?,
        None => html.write_str("not yet")?,
    }
    match port.detect_bound {
        Some(bound) => writeln!(html, "</td><td>{}</td></tr>", Span(bound)),
        None => writeln!(html, "</td><td class=\"dim\">none would be found now</td></tr>"),
    }
}

fn link(port: &PortView) -> String {
    let speed = port.link.speed_mbps.map(|mbps| format!(", {} Gbit/s", mbps as f64 / 1000.0));
    match port.link.carrier {
        Some(true) => format!("up{}", speed.unwrap_or_default()),
        Some(false) => "<span class=\"bad\">down</span>".into(),
        None => "unknown".into(),
    }
}

fn pause(port: &PortView) -> &'static str {
    match port.pause_known {
        PauseKnown::Time if port.estimated => "time asked for, an upper bound",
        PauseKnown::Time => "time measured",
        PauseKnown::Frames => "frames only, an upper bound",
        PauseKnown::Absent => "not counted by this driver",
    }
}

/// What is worth a line; a port where nothing is has one line that says so.
fn write_states(html: &mut String, port: &PortView, moment: &Moment) -> fmt::Result {
    let shown: Vec<_> = port.queues.iter().filter(|queue| is_queue_shown(queue)).collect();
    let mut lines: Vec<String> = Vec::new();
    if let Some(gap) = port.blind {
        lines.push(format!("<span class=\"bad\">cannot be judged: {}</span>", gap.label().replace('_', " ")));
    }
    if port.link.carrier == Some(false) {
        lines.push("waiting for the link".into());
    }
    if port.maintenance {
        lines.push("in maintenance".into());
    }
    let told = shown.iter().filter_map(|queue| {
        let words = words(queue, moment)?;
        Some(format!("{} {}: {words}", place(queue), flow(queue.direction)))
    });
    lines.extend(told);
    if lines.is_empty() && shown.is_empty() {
        lines.push("<span class=\"dim\">no queue is watched</span>".into());
    } else if lines.is_empty() {
        lines.push(format!("healthy; watching priority {}", queues(&shown)));
    }
    html.write_str(&lines.join("<br>"))
}

fn place(queue: &QueueView) -> String {
    match queue.queue {
        Queue::Priority(priority) => format!("priority {priority}"),
        Queue::Global => "802.3x".into(),
    }
}

const fn flow(direction: Direction) -> &'static str {
    match direction {
        Direction::Rx => "held by its peer",
        Direction::Tx => "holding its peer",
    }
}

/// The watched queues by their labels.
fn queues(shown: &[&QueueView]) -> String {
    let mut names: Vec<_> = shown.iter().map(|queue| queue.queue.label()).collect();
    names.dedup();
    names.join(", ")
}

/// The state of a queue in words; `None` if there is nothing to say.
fn words(queue: &QueueView, moment: &Moment) -> Option<String> {
    let bad = |text: String| Some(format!("<span class=\"bad\">{text}</span>"));
    let until = |at: MonoTime| Span(at.since(moment.now));
    match &queue.phase {
        Phase::Storm(storm) => bad(format!("storm for {}", Span(moment.age(storm.since)))),
        Phase::Testing(_) => Some("an action is being tried out".into()),
        Phase::Mitigated(mitigated) => {
            let what = if mitigated.purpose.is_storm() { "an action" } else { "a test" };
            Some(format!("{what} holds, undone in {}", until(mitigated.undo_at())))
        }
        Phase::Undoing(_) => Some("the action is being undone".into()),
        Phase::UndoFailed(_) => bad("the action could not be undone".into()),
        Phase::Probation(_) => Some("on probation after an action".into()),
        Phase::Locked(locked) => bad(format!("locked for {}, no more actions", until(locked.until))),
        // Said once for the port.
        Phase::Suspended(suspended) if suspended.carrier_lost => None,
        Phase::Suspended(_) => Some("pause is off".into()),
        Phase::Suspect => Some("paused".into()),
        Phase::Healthy => milder(queue).map(str::to_owned),
    }
}

const fn milder(queue: &QueueView) -> Option<&'static str> {
    if queue.milder.choppy {
        Some("paused most of the time, with gaps")
    } else if queue.milder.xon_storm {
        Some("pause frames keep coming, without pause")
    } else if queue.demand_unknown {
        Some("paused, and nothing shows that it has anything to send")
    } else if queue.milder.throttled[0] || queue.milder.throttled[1] || queue.milder.throttled[2] {
        Some("throttled")
    } else {
        None
    }
}

pub(super) fn count(number: u32, word: &str) -> String {
    if number == 1 { format!("1 {word}") } else { format!("{number} {word}s") }
}

/// A span as a person reads it.
struct Span(Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs_f64();
        match self.0.as_secs() {
            0 if seconds < 0.001 => write!(f, "{} µs", self.0.as_micros()),
            0 => write!(f, "{} ms", self.0.as_millis()),
            1..120 => write!(f, "{seconds:.1} s"),
            minutes => write!(f, "{} min", minutes / 60),
        }
    }
}

/// A text from outside, with everything that means something in HTML taken away.
pub(super) struct Escaped<'a>(pub(super) &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_from_outside_cannot_become_markup() {
        let hostile = "<script>alert('x')</script> & \"more\"";
        let escaped = Escaped(hostile).to_string();
        assert_eq!(escaped, "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;more&quot;");
    }

    #[test]
    fn spans_read_as_a_person_says_them() {
        for (span, text) in [
            (Duration::from_micros(730), "730 µs"),
            (Duration::from_millis(250), "250 ms"),
            (Duration::from_millis(2345), "2.3 s"),
            (Duration::from_secs(7300), "121 min"),
        ] {
            assert_eq!(Span(span).to_string(), text);
        }
    }
}
