//! Files that an operator, another program or an earlier run has written.

use std::cell::OnceCell;
use std::fs;
use std::path::Path;
use std::time::Duration;

use rocewatch::actuate::{Journal, Stored};
use rocewatch::config::{Config, ConfigError, Style};
use rocewatch::node::{DirectoryNode, Node};
use rocewatch::profile::Profile;
use rocewatch::replay::{self, Recording};
use rocewatch::sources::{DirectorySource, Source};
use rocewatch_core::input::{Input, JournalState};

use super::told::Told;

thread_local! {
    static FOLDER: OnceCell<tempfile::TempDir> = const { OnceCell::new() };
}

/// A folder of this thread, the same each time.
pub(super) fn in_folder(body: impl FnOnce(&Path)) {
    FOLDER.with(|folder| body(folder.get_or_init(|| tempfile::tempdir().unwrap()).path()));
}

/// `ethtool.txt`: names and values agree, or there is no reading.
pub(super) fn ethtool_text(bytes: &[u8]) {
    in_folder(|folder| {
        let file = folder.join("ethtool.txt");
        fs::write(&file, bytes).unwrap();
        let mut source = DirectorySource::new(file, None);
        let Ok(names) = source.names() else { return assert!(str::from_utf8(bytes).is_err()) };
        let mut values = Vec::new();
        source.read(&mut values).expect("the text is still the same");
        assert_eq!(values.len(), names.len());
        assert!(names.iter().all(|name| !name.is_empty() && name.trim() == name));
    });
}

/// `link.json`, `dcb.json` and `driver`, one behind the other with a NUL between.
pub(super) fn port_folder(bytes: &[u8]) {
    in_folder(|folder| {
        let port = folder.join("net/eth0");
        fs::create_dir_all(&port).unwrap();
        let mut parts = bytes.split(|byte| *byte == 0);
        for name in ["link.json", "dcb.json", "driver"] {
            fs::write(port.join(name), parts.next().unwrap_or_default()).unwrap();
        }
        let mut node = DirectoryNode::open(folder).unwrap();
        let seen = node.scan().unwrap();
        assert_eq!(seen.len(), 1, "no file costs the port");
        let identity = node.identity(&seen[0]);
        assert_eq!(identity.netdev, "eth0");
        assert!(node.source(&seen[0]).unwrap().is_none(), "there is no ethtool.txt");
    });
}

/// The configuration: what is taken is the same when it is written down, what is refused is shown.
pub(super) fn config(bytes: &[u8]) {
    written_or_refused(bytes, Config::parse, Config::to_toml);
}

/// A profile: likewise.
pub(super) fn profile(bytes: &[u8]) {
    written_or_refused(bytes, Profile::parse, Profile::to_toml);
}

fn written_or_refused<T: PartialEq>(
    bytes: &[u8],
    parse: fn(&str, &str) -> Result<T, ConfigError>,
    write: fn(&T) -> String,
) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    match parse("hostile.toml", text) {
        Ok(taken) => {
            let written = write(&taken);
            let again = parse("again.toml", &written).unwrap_or_else(|error| panic!("{written}\n{error}"));
            assert!(again == taken, "{written}");
        }
        Err(error) => {
            let ConfigError::Refused(problems) = &error else { panic!("{error}") };
            assert!(!problems.list().is_empty());
            for style in [Style::Lines, Style::Snippets, Style::Coloured] {
                assert!(!error.render(style).is_empty());
            }
        }
    }
}

/// The journal: whatever it holds, the engine takes it and goes on, and what it then wants kept can be kept.
pub(super) fn journal(bytes: &[u8]) {
    in_folder(|folder| {
        let folder = folder.join("run");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("journal"), bytes).unwrap();
        let (mut journal, stored) = Journal::open(&folder, "boot").unwrap();
        let Stored::Of(durable) = stored else { return };
        let mut told = Told::new();
        told.tell(
            0,
            Input::Journal(Box::new(JournalState {
                durable: *durable,
                writable: true,
                seed: 1,
                ..JournalState::default()
            })),
        );
        told.add_port();
        for _ in 0..8 {
            told.pass(Duration::from_secs(3600));
        }
        journal.store(&told.engine.durable(), 1).unwrap();
        told.show();
        told.keep();
    });
}

/// A recording: it is read to its end or to a line that is named.
pub(super) fn recording(bytes: &[u8]) {
    in_folder(|folder| {
        let file = folder.join("hostile.rec");
        fs::write(&file, bytes).unwrap();
        match Recording::open(&file).and_then(|mut recording| replay::check(&mut recording)) {
            Ok(_) => {}
            Err(error) => assert!(error.to_string().contains("hostile.rec")),
        }
    });
}
