//! Log lines: where they go, how they look, which are left out. What is logged is decided elsewhere.

use std::fmt;
use std::io::{self, IsTerminal};
use std::time::Duration;

use jiff::tz::TimeZone;
use serde_json::json;
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing::subscriber::SetGlobalDefaultError;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::layer::SubscriberExt;

use crate::clock;
use crate::config::{LogConfig, LogFormat, LogLevel};
use crate::lines::Lines;

/// How long the end waits for a reader of the log: the agent has 2 s to stop.
const LAST_LINES: Duration = Duration::from_millis(300);

/// Log lines have nowhere to go.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// They would be written twice.
    #[error("log lines cannot be set up: something receives them already")]
    Twice(#[from] SetGlobalDefaultError),
    /// They cannot be written at all.
    #[error("log lines cannot be written to standard error")]
    Unwritable(#[from] io::Error),
}

/// Log lines that may still wait to be written; dropped at the end, it waits for them a moment.
#[derive(Debug)]
#[must_use = "the last lines of the log are lost without it"]
pub struct Telemetry(Lines);

impl Drop for Telemetry {
    fn drop(&mut self) {
        self.0.flush(LAST_LINES);
    }
}

/// Sends the log lines of the whole process to standard error, and waits for nobody to read them.
///
/// # Errors
/// It was called before, or standard error cannot be used.
pub fn init(log: LogConfig) -> Result<Telemetry, TelemetryError> {
    let looks = if io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        Looks::Coloured
    } else {
        Looks::Plain
    };
    let told = match log.format {
        LogFormat::Human => |count| format!("{count} {LOST}\n"),
        LogFormat::Json => |count| format!("{}\n", json!({"level": "WARN", "message": LOST, "count": count})),
    };
    let lines = Lines::start(io::stderr(), told)?;
    let writer = lines.clone();
    let subscriber = subscriber(log, looks, TimeZone::system(), move || writer.clone());
    tracing::subscriber::set_global_default(subscriber)?;
    Ok(Telemetry(lines))
}

const LOST: &str = "log lines lost: nobody was reading them";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Looks {
    Plain,
    Coloured,
}

fn subscriber<W>(log: LogConfig, looks: Looks, zone: TimeZone, writer: W) -> impl Subscriber + Send + Sync
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let lines = tracing_subscriber::fmt::layer().with_writer(writer);
    let lines = match log.format {
        LogFormat::Human => {
            lines.with_ansi(looks == Looks::Coloured).with_target(false).with_timer(LocalTime(zone)).boxed()
        }
        LogFormat::Json => lines.json().flatten_event(true).with_timer(UniversalTime).boxed(),
    };
    tracing_subscriber::registry().with(lines.with_filter(filter(log.level)))
}

/// The level is that of the agent; the libraries under it speak from warnings on.
fn filter(level: LogLevel) -> Targets {
    let own = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    Targets::new().with_default(own.min(LevelFilter::WARN)).with_target("rocewatch", own)
}

/// The time of the operator's clock on the wall, to the millisecond.
struct LocalTime(TimeZone);

impl FormatTime for LocalTime {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let time = clock::wall().to_zoned_datetime(self.0.clone());
        write!(writer, "{}", time.strftime("%F %T%.3f"))
    }
}

/// RFC 3339 in UTC, for machines.
struct UniversalTime;

impl FormatTime for UniversalTime {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        write!(writer, "{:.6}", clock::wall())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Page(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Page {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn written(log: LogConfig, write: impl FnOnce()) -> String {
        let page = Page::default();
        let to = page.clone();
        let subscriber = subscriber(log, Looks::Plain, TimeZone::UTC, move || to.clone());
        tracing::subscriber::with_default(subscriber, write);
        let bytes = page.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_human_line_has_time_level_message_and_fields() {
        let line =
            written(LogConfig::default(), || tracing::info!(port = "eth0", took_ms = 3, "storm detected"));
        let (time, rest) = line.split_at("2026-11-30 14:00:00.000".len());
        assert!(time.bytes().filter(u8::is_ascii_digit).count() == 17, "{line}");
        assert_eq!(rest, "  INFO storm detected port=\"eth0\" took_ms=3\n");
    }

    #[test]
    fn a_json_line_is_one_object_with_the_fields_at_the_top() {
        let log = LogConfig { format: LogFormat::Json, ..LogConfig::default() };
        let line = written(log, || tracing::warn!(port = "eth0", "storm detected"));
        let object: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(object["message"], "storm detected");
        assert_eq!(object["port"], "eth0");
        assert_eq!(object["level"], "WARN");
        assert!(object["timestamp"].as_str().unwrap().ends_with('Z'));
        assert_eq!(line.matches('\n').count(), 1);
    }

    #[test]
    fn the_level_is_that_of_the_agent_and_libraries_only_warn() {
        let log = LogConfig { level: LogLevel::Debug, ..LogConfig::default() };
        let lines = written(log, || {
            tracing::debug!("ours");
            tracing::trace!("too fine");
            tracing::info!(target: "hyper::proto", "theirs");
            tracing::warn!(target: "hyper::proto", "theirs to look at");
        });
        assert_eq!(lines.lines().count(), 2);
        assert!(lines.contains("ours") && lines.contains("theirs to look at"), "{lines}");
    }
}
