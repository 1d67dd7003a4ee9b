//! Every driver table against a fixture folder: the names of a device in, the bound slots with their values out.
//! `UPDATE_GOLDEN=1` writes `expected.json`.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use rocewatch_core::action::ActionKind;
use rocewatch_core::binding::{Binding, Bound, PauseEvidence, PauseSupport};
use rocewatch_core::delta::Tracker;
use rocewatch_core::drivers::{self, Driver, Kind, Row};
use rocewatch_core::units::{Direction, Queue};
use serde_json::{Value, json};

#[test]
fn every_fixture_binds_as_recorded() {
    let differs = |folder: &PathBuf| {
        let expected = folder.join("expected.json");
        let text = serde_json::to_string_pretty(&bind(folder)).unwrap() + "\n";
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&expected, &text).unwrap();
        }
        fs::read_to_string(&expected).unwrap_or_default() != text
    };
    let stale: Vec<_> = folders().into_iter().filter(differs).collect();
    assert!(stale.is_empty(), "stale: run with UPDATE_GOLDEN=1 and read the difference in {stale:#?}");
}

#[test]
fn a_fixture_says_where_it_comes_from() {
    for folder in folders() {
        assert!(folder.join("README.md").is_file(), "{} has no README.md", folder.display());
    }
}

/// A table that is not listed, or takes over the folder of another, would be recorded as if that were meant.
#[test]
fn a_folder_is_bound_by_the_table_it_is_named_after() {
    for folder in folders() {
        let (name, table) = (folder.file_name().unwrap().to_str().unwrap(), driver(&folder).name);
        let rest = name.strip_prefix(table);
        assert!(
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-')),
            "{name} is bound by the table {table}: is its own in ALL, and does `driver` name it?"
        );
    }
}

/// Whoever allows an action has to find there what it does on his NIC.
#[test]
fn the_page_of_actions_speaks_of_every_driver_and_of_every_action() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/actions.md");
    let page = fs::read_to_string(page).unwrap();
    let words = page.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').collect::<BTreeSet<_>>();
    let drivers = drivers::ALL.iter().map(|driver| driver.name);
    let actions = ActionKind::ALL.into_iter().map(ActionKind::label);
    let missing = drivers.chain(actions).filter(|name| !words.contains(name)).collect::<Vec<_>>();
    assert!(missing.is_empty(), "docs/actions.md says nothing of {missing:?}");
}

/// A misspelt name would only leave its counter out.
#[test]
fn every_row_of_a_table_knows_a_name_of_some_fixture() {
    let names_in = |file: &str, table: Option<&'static Driver>| -> BTreeSet<String> {
        // A driver that has another one's names has its fixtures too.
        let shares = |table: &Driver, folder: &PathBuf| names_of(driver(folder)).eq(names_of(table));
        let own = |folder: &PathBuf| table.is_none_or(|table| shares(table, folder));
        let texts =
            folders().into_iter().filter(own).filter_map(|folder| fs::read_to_string(folder.join(file)).ok());
        texts.flat_map(|text| lines(&text).0).map(|name| name.trim().to_owned()).collect()
    };
    // RDMA halves are shared by tables: a folder of any of them will do.
    let of_rdma = names_in("rdma.txt", None);
    let mut unseen = Vec::new();
    for table in drivers::ALL {
        let of_ethtool = names_in("ethtool.txt", Some(table));
        for (rows, names) in [(table.ethtool, &of_ethtool), (table.rdma, &of_rdma)] {
            let known = |row: &&Row| names.iter().any(|name| row.matches(name).is_some());
            unseen.extend(rows.iter().filter(|row| !known(row)).map(|row| (table.name, row.pattern)));
        }
    }
    assert!(unseen.is_empty(), "rows that no fixture has a name for: {unseen:#?}");
}

/// The names that a table knows.
fn names_of(table: &Driver) -> impl Iterator<Item = &'static str> {
    table.ethtool.iter().map(|row| row.pattern)
}

/// The folders under tests/fixtures that hold the names of a device.
fn folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut folders: Vec<_> = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.retain(|folder| folder.join("driver").is_file());
    folders.sort();
    folders
}

fn driver(folder: &Path) -> &'static Driver {
    drivers::for_driver(&fs::read_to_string(folder.join("driver")).unwrap())
}

fn bind(folder: &Path) -> Value {
    let driver = driver(folder);
    let mut bound = json!({ "driver": driver.name });
    if let Ok(text) = fs::read_to_string(folder.join("ethtool.txt")) {
        let (names, values) = lines(&text);
        let binding = Binding::new(driver, &names);
        bound["ethtool"] = describe(&binding, &names, &values);
        bound["pause"] = json!(pause(binding.pause_support()));
    }
    if let Ok(text) = fs::read_to_string(folder.join("rdma.txt")) {
        let (names, values) = lines(&text);
        bound["rdma"] = describe(&Binding::rdma(driver, &names), &names, &values);
    }
    bound
}

/// `name: value` per line, the value behind the last colon; lines without a value are headings.
fn lines(text: &str) -> (Vec<String>, Vec<u64>) {
    let pair = |line: &str| {
        let (name, value) = line.rsplit_once(':')?;
        Some((name.to_owned(), value.trim().parse::<u64>().ok()?))
    };
    text.lines().filter_map(pair).unzip()
}

/// The slots with their values in base units as they are shown after a first reading, and what was not bound.
fn describe(binding: &Binding, names: &[String], values: &[u64]) -> Value {
    let mut picked = Vec::new();
    binding.pick(values, &mut picked).unwrap();
    let shown = |(bound, native): (&Bound, u64)| {
        let mut tracker = Tracker::default();
        tracker.advance(native, bound.width, bound.overflow, u64::MAX);
        let value = if bound.kind == Kind::Gauge { Some(native) } else { tracker.total() };
        (bound.slot.to_string(), value.map(|value| value * bound.scale))
    };
    let slots: BTreeMap<_, _> = binding.layout().iter().zip(picked).map(shown).collect();
    let named = |places: &[u32]| places.iter().map(|at| names[*at as usize].trim()).collect::<Vec<_>>();
    json!({
        "slots": slots,
        "missing": binding.missing(),
        "spare": named(binding.spare()),
        "unmapped": named(binding.unmapped()),
        "no_counters": named(binding.no_counters()),
    })
}

/// The queues with any evidence, as `3/rx`.
fn pause(support: PauseSupport) -> BTreeMap<String, PauseEvidence> {
    let queues = Queue::all().flat_map(|queue| Direction::ALL.map(|direction| (queue, direction)));
    queues
        .map(|(queue, direction)| (format!("{queue}/{direction}"), support.get(queue, direction)))
        .filter(|(_, evidence)| *evidence != PauseEvidence::Absent)
        .collect()
}
