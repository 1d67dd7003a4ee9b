//! The configuration file: what is refused and how it is said, which layer counts, and the documents made from the
//! table of keys.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use proptest::prelude::*;
use rocewatch::config::{Assignment, Config, ConfigError, FileChoice, Request, Style, example, flags, page};
use rocewatch_core::action::ActionKind;
use rocewatch_core::settings::{Rule, Settings};
use rocewatch_core::units::Permille;

fn lines(text: &str) -> Vec<String> {
    match Config::parse("a.toml", text) {
        Ok(_) => Vec::new(),
        Err(error) => error.render(Style::Lines).lines().map(str::to_owned).collect(),
    }
}

fn parse(text: &str) -> Config {
    Config::parse("a.toml", text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn set(config: &Config, assignments: &[&str]) -> Result<Config, ConfigError> {
    let assignments: Vec<_> = assignments.iter().map(|text| Assignment::parse_set(text).unwrap()).collect();
    config.assign(&assignments)
}

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn assert_golden(path: &str, current: &str) {
    let path = root(path);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, current).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(written == current, "{} is stale: run with UPDATE_GOLDEN=1", path.display());
}

/// One mistake each, and the line that says so.
const REFUSED: &[(&str, &str)] = &[
    (
        "[poll]\nfast = \"20\"",
        "a.toml:2:8: poll.fast: \"20\": expected a duration with its unit, from 5ms to 10s, such as \"200ms\"",
    ),
    (
        "[poll]\nfast_enter = 2",
        "a.toml:2:14: poll.fast_enter: 2: expected a ratio from 0 to 1 in steps of 0.001",
    ),
    (
        "[poll]\nfast = \"300ms\"\n[watchdog]\ndetect = \"1s\"",
        "a.toml:2:8: poll.fast: \"300ms\": expected at most poll.calm (250ms)",
    ),
    (
        "[poll]\nfast = \"150ms\"",
        "a.toml:2:8: poll.fast: \"150ms\": expected at most half of watchdog.detect (200ms)",
    ),
    (
        "[poll]\ninterval = \"1s\"",
        "a.toml:2:1: poll.interval: \"1s\": expected a key of [poll]: calm, fast, fast_enter, quiet, rtnl_share_max",
    ),
    ("[poll]\nquick = \"20ms\"", "a.toml:2:1: poll.quick: \"20ms\": expected a key of [poll], perhaps quiet"),
    (
        "[watchdog.rx]\nrestor = \"1s\"",
        "a.toml:2:1: watchdog.rx.restor: \"1s\": expected a key of [watchdog.rx], perhaps restore",
    ),
    (
        "[watchdog]\ndetect = \"99ms\"",
        "a.toml:2:10: watchdog.detect: \"99ms\": expected at least twice poll.fast (50ms)",
    ),
    (
        "[watchdog]\nrestore = \"0s\"",
        "a.toml:2:11: watchdog.restore: \"0s\": expected a duration with its unit, from 1ms to 1h, such as \"200ms\"",
    ),
    (
        "[watchdog]\nshare = 0",
        "a.toml:2:9: watchdog.share: 0: expected a ratio from 0.001 to 1 in steps of 0.001",
    ),
    (
        "[watchdog]\nhold_max = \"1m\"",
        "a.toml:2:12: watchdog.hold_max: \"1m\": expected at least watchdog.hold_link (5m)",
    ),
    (
        "[watchdog]\nguard_query = \"up\"",
        "a.toml:2:15: watchdog.guard_query: \"up\": expected watchdog.guard_url to be set as well",
    ),
    (
        "[watchdog]\nguard_url = \"prometheus\"",
        "a.toml:2:13: watchdog.guard_url: \"prometheus\": expected an address such as \"http://prometheus:9090\", or \"\" for none",
    ),
    (
        "[watchdog]\nactions = []",
        "a.toml:2:1: watchdog.actions: []: expected a key of [watchdog], perhaps watchdog.rx.actions",
    ),
    (
        "[watchdog]\nbudget_port = 0x1_0000",
        "a.toml:2:15: watchdog.budget_port: 0x1_0000: expected a whole number from 0 to 1000",
    ),
    (
        "[watchdog]\nchoppy_acts = \"yes\"",
        "a.toml:2:15: watchdog.choppy_acts: \"yes\": expected true or false",
    ),
    (
        "[watchdog.tx]\nactions = [\"exec\", \"alert\", \"exec\"]",
        "a.toml:2:29: watchdog.tx.actions: \"exec\": expected \"exec\" to stand here once",
    ),
    (
        "[web]\nlisten_address = [\":10019\", \"::1\"]",
        "a.toml:2:29: web.listen_address: \"::1\": expected an address with a port, such as \":10019\", \"127.0.0.1:10019\", \"[::1]:10019\" or \"host:10019\"",
    ),
    ("[runtime]\npath = \"\"", "a.toml:2:8: runtime.path: \"\": expected a path"),
    ("[[ports]]\nselect = \"\"", "a.toml:2:10: ports[0].select: \"\": expected a text that is not empty"),
    (
        "[ports]\nselect = \"eth0\"",
        "a.toml:1:1: ports: [ports]: expected tables, each under its own [[ports]]",
    ),
    ("ports = [3]", "a.toml:1:9: ports: [3]: expected tables, each under its own [[ports]]"),
    (
        "[[ports]]\nselect = \"eth0\"\n[ports.rx]\nhold = \"2h\"",
        "a.toml:4:8: ports[0].rx.hold: \"2h\": expected at most watchdog.hold_max (1h)",
    ),
    ("[log]\n\"\\u001b[31m\" = 1", "a.toml:2:1: log.\u{fffd}[31m: 1: expected a key of [log]: level, format"),
    ("[[web]]\nmax_requests = 1", "a.toml:1:1: web: [[web]]: expected the table [web]"),
];

#[test]
fn every_mistake_is_named_with_place_key_value_and_what_was_expected() {
    for (text, expected) in REFUSED {
        assert_eq!(lines(text), [*expected], "{text}");
    }
}

#[test]
fn all_mistakes_are_reported_at_once_in_the_order_of_the_file() {
    let text = fs::read_to_string(root("tests/golden/config/everything-wrong.toml")).unwrap();
    let Err(ConfigError::Refused(problems)) = Config::parse("everything-wrong.toml", &text) else { panic!() };
    let render = |style| format!("{}\n", ConfigError::Refused(problems.clone()).render(style));
    assert_golden("tests/golden/config/everything-wrong.lines.txt", &render(Style::Lines));
    assert_golden("tests/golden/config/everything-wrong.snippets.txt", &render(Style::Snippets));
}

#[test]
fn a_syntax_error_is_reported_alone() {
    let problems = lines("[poll]\nfast = 3\ncalm = = 4\nquiet = 5\n");
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].starts_with("a.toml:3:8: "), "{problems:?}");
    let twice = lines("[poll]\nfast = \"20ms\"\nfast = \"30ms\"\n");
    assert_eq!(twice, ["a.toml:3:1: duplicate key"]);
}

#[test]
fn nothing_is_concluded_from_a_value_that_is_refused_itself() {
    let problems = lines("[poll]\nfast = \"150ms\"\n[watchdog]\ndetect = 500\n");
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].contains("watchdog.detect: 500"), "{problems:?}");
}

#[test]
fn one_key_that_spoils_many_rules_is_reported_once() {
    let text = "[watchdog]\ndetect = \"60ms\"\n[[ports]]\nselect = \"a\"\n[[ports]]\nselect = \"b\"\n";
    assert_eq!(lines(text).len(), 1);
}

#[test]
fn the_defaults_are_those_of_the_engine() {
    let config = Config::default();
    assert_eq!(config.settings, Settings::default());
    assert_eq!(config, parse(""));
    assert_eq!(config.warnings(), []);
}

#[test]
fn a_direction_goes_before_the_node_and_a_port_before_both() {
    let config = parse(
        "[watchdog]\ndetect = \"300ms\"\nshare = 0.9\n\
         [watchdog.rx]\ndetect = \"400ms\"\nhold = \"20s\"\n\
         [[ports]]\nselect = \"eth1\"\ndetect = \"500ms\"\n[ports.tx]\ndetect = \"600ms\"\nactions = [\"pause-off\"]\n\
         [[ports]]\nselect = \"ice\"\nshare = 0.8\n",
    );
    let Settings { rx, tx, ports, .. } = &config.settings;
    let detects = |rules: [&Rule; 2]| rules.map(|rule| rule.detect.as_millis());
    assert_eq!(detects([rx, tx]), [400, 300]);
    assert_eq!(detects([&ports[0].rx, &ports[0].tx]), [500, 600]);
    assert_eq!(detects([&ports[1].rx, &ports[1].tx]), [400, 300]);
    assert_eq!((ports[0].detect_explicit, ports[1].detect_explicit), (true, false));
    assert_eq!(ports[0].tx.actions, [ActionKind::PauseOff]);
    assert_eq!(ports[0].rx.hold, Duration::from_secs(20));
    assert_eq!(ports[1].tx.share, Permille::new(800).unwrap());
}

#[test]
fn a_guard_and_a_command_are_configured_by_their_texts() {
    let config = parse(
        "[watchdog]\nguard_url = \"http://p:9090\"\nguard_query = \"sum(x)\"\nguard_limit = 4\n\
         [watchdog.tx]\nactions = [\"exec\"]\n[actions.exec]\ncommand = [\"/bin/drain\", \"now\"]\ndisruption = \"none\"\n",
    );
    let guard = config.settings.guard.unwrap();
    assert_eq!((guard.limit, guard.delay), (4, Duration::from_secs(30)));
    assert_eq!(config.settings.exec.unwrap().command, ["/bin/drain", "now"]);
    let spooled = "[watchdog.tx]\nactions = [\"exec\"]\n[actions.exec]\nspool = \"/run/spool\"\n";
    let config = parse(spooled);
    assert!(config.settings.exec.unwrap().command.is_empty(), "the worker has its own");
    assert_eq!(config.exec.spool.unwrap().to_str(), Some("/run/spool"));
}

#[test]
fn a_flag_goes_before_the_file_and_the_file_before_a_subcommands_defaults() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.toml");
    fs::write(&path, "[watchdog]\nmode = \"dry_run\"\ndetect = \"300ms\"\n").unwrap();
    let config = Config::load(&Request {
        presets: vec![
            Assignment::preset("demo", "watchdog.mode", "enforce"),
            Assignment::preset("demo", "watchdog.budget_node", "100"),
            Assignment::preset("demo", "web.listen_address", "127.0.0.1:10019"),
        ],
        file: FileChoice::Named(path.clone()),
        flags: vec![Assignment::flag("watchdog.detect".into(), vec!["400ms".into()])],
        ..Request::default()
    })
    .unwrap();
    assert_eq!(config.settings.mode.label(), "dry_run");
    assert_eq!(config.settings.rx.detect, Duration::from_millis(400));
    assert_eq!(config.settings.budget_node, 100);
    let shown = config.to_toml_with_origins();
    for line in [
        format!("mode = \"dry_run\" # {}:2\n", path.display()),
        "detect = \"400ms\" # --watchdog.detect\n".into(),
        "budget_node = 100 # demo\n".into(),
        "listen_address = [\"127.0.0.1:10019\"] # demo\n".into(),
        "calm = \"250ms\" # default\n".into(),
    ] {
        assert!(shown.contains(&line), "{line}{shown}");
    }
}

#[test]
fn a_file_that_is_named_has_to_be_there_and_the_usual_one_has_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.toml");
    let load = |file| Config::load(&Request { file, ..Request::default() });
    assert_eq!(load(FileChoice::IfPresent(path.clone())).unwrap(), Config::default());
    let error = load(FileChoice::Named(path.clone())).unwrap_err().render(Style::Lines);
    assert!(error.contains(path.to_str().unwrap()) && error.contains("No such file"), "{error}");
    fs::write(&path, b"[poll]\n\xff\n").unwrap();
    let error = load(FileChoice::IfPresent(path)).unwrap_err().render(Style::Lines);
    assert!(error.ends_with("is not UTF-8 from byte 7 on"), "{error}");
}

#[test]
fn a_flag_is_held_to_the_same_and_named_instead_of_a_line() {
    let flag = |name: &str, value: &str| Assignment::flag(name.into(), vec![value.into()]);
    let error = Config::load(&Request {
        flags: vec![
            flag("poll.fast", "90"),
            flag("watchdog.tx.detect", "40ms"),
            flag("watchdog.rx.actions", "exec"),
        ],
        ..Request::default()
    })
    .unwrap_err();
    assert_eq!(
        error.render(Style::Lines).lines().collect::<Vec<_>>(),
        [
            "--poll.fast: 90: expected a duration with its unit, from 5ms to 10s, such as \"200ms\"",
            "--watchdog.rx.actions: exec: expected actions.exec.command to be set, because exec runs it",
        ]
    );
}

#[test]
fn what_would_have_been_takes_keys_by_their_path() {
    let config = parse("[watchdog.rx]\ndetect = \"400ms\"\n");
    let changed =
        set(&config, &["watchdog.rx.detect=100ms", "poll.fast=20ms", "watchdog.hold_off=1s"]).unwrap();
    assert_eq!(changed.settings.rx.detect, Duration::from_millis(100));
    assert_eq!(changed.settings.tx.hold_off, Duration::from_secs(1));
    assert!(changed.to_toml_with_origins().contains("fast = \"20ms\" # --set poll.fast\n"));
    let error = set(&config, &["watchdog.detekt=1s", "poll.fast=240ms", "nonsense=1"]).unwrap_err();
    assert_eq!(
        error.render(Style::Snippets).lines().filter(|line| !line.is_empty()).collect::<Vec<_>>(),
        [
            "error: --set watchdog.detekt: 1s: expected a key of the configuration, perhaps watchdog.detect",
            "error: --set nonsense: 1: expected a key of the configuration: `rocewatch config show` lists them",
            "error: --set poll.fast: 240ms: expected at most half of watchdog.rx.detect (400ms)",
            "error: --set poll.fast: 240ms: expected at most half of watchdog.detect (200ms)",
        ]
    );
    for text in ["watchdog.detect", "=1s", ""] {
        assert!(Assignment::parse_set(text).is_err(), "{text}");
    }
}

#[test]
fn what_works_but_surely_not_as_meant_is_a_warning() {
    let warnings = |text: &str| parse(text).warnings().iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        warnings("[watchdog.rx]\nactions = [\"alert\", \"pfc-off\"]\n"),
        [
            "a.toml:2:11: watchdog.rx.actions: [\"alert\", \"pfc-off\"]: watchdog.mode is observe: nothing but alert is done"
        ]
    );
    assert_eq!(
        warnings("[watchdog]\nmode = \"enforce\"\n"),
        ["a.toml:2:8: watchdog.mode: \"enforce\": every ladder holds alert only, so nothing is ever planned",]
    );
    let text = "[watchdog]\nmode = \"dry_run\"\ndisruption_max = \"link\"\n[watchdog.rx]\nactions = [\"link-bounce\"]\n";
    assert_eq!(
        warnings(text),
        [
            "a.toml:3:18: watchdog.disruption_max: \"link\": without watchdog.guard_url and guard_query nothing that \
         disturbs a link or more is done",
            "a.toml:5:11: watchdog.rx.actions: [\"link-bounce\"]: link-bounce has disruption device, above \
         watchdog.disruption_max (link): never taken",
        ]
    );
    let fine = "[watchdog]\nmode = \"enforce\"\n[watchdog.tx]\nactions = [\"pfc-off\"]\n";
    assert!(warnings(fine).is_empty());
}

#[test]
fn the_example_file_is_current_and_holds_every_key_with_its_default() {
    assert_golden("packaging/rocewatch.toml", &example());
    assert_eq!(parse(&example()), Config::default());
    let (mut section, mut in_file) = (String::new(), BTreeSet::new());
    for line in example().lines().filter(|line| !line.starts_with('#')) {
        if let Some((key, _)) = line.split_once(" = ") {
            in_file.insert(format!("{section}.{key}").replace('_', "-"));
        } else if !line.is_empty() {
            section = line.trim_matches(['[', ']']).to_owned();
        }
    }
    let with_default = flags().filter(|flag| flag.default.is_some()).map(|flag| flag.name);
    assert_eq!(in_file, with_default.collect());
}

#[test]
fn the_ports_of_the_example_file_can_be_taken_over() {
    let commented: String = example()
        .lines()
        .skip_while(|line| *line != "# [[ports]]")
        .take_while(|line| line.starts_with('#'))
        .map(|line| format!("{}\n", line.trim_start_matches('#').trim()))
        .collect();
    assert_eq!(parse(&commented).settings.ports.len(), 2, "{commented}");
}

#[test]
fn the_reference_page_is_current() {
    assert_golden("docs/config.md", &page());
}

#[test]
fn a_shown_configuration_reads_back_as_the_same() {
    for text in [
        "",
        "[watchdog]\nmode = \"enforce\"\ndetect = \"1.5s\"\nshare = 1\n[watchdog.rx]\nactions = []\nhold = \"1ms\"\n",
        "[[ports]]\nselect = \"a \\\"b\\\" \\u0007 # c\"\nshare = 0.5\n[[ports]]\nselect = \"eth1\"\n[ports.tx]\ndetect = \"3s\"\n",
        "[devices]\ninclude = 'eth\\d+'\n[source]\ndirectory = '/tmp/µ'\n[web]\nlisten_address = []\n",
        "[actions.exec]\ncommand = ['/bin/sh', '-c', \"a\\nb\"]\n",
    ] {
        let config = parse(text);
        assert_eq!(parse(&config.to_toml()), config);
        assert_eq!(parse(&config.to_toml_with_origins()), config);
    }
}

/// Lines that mean something, some of them wrong, so that random files get past the TOML parser.
fn line() -> impl Strategy<Value = String> {
    let key = prop::sample::select(vec![
        "calm",
        "fast",
        "detect",
        "share",
        "actions",
        "select",
        "listen_address",
        "include",
        "command",
        "mode",
        "rx",
        "hold",
        "x.y",
        "\"\"",
        "ports",
        "lock_storms",
        "path",
    ]);
    let value = prop::sample::select(vec![
        "\"200ms\"",
        "\"1h\"",
        "3",
        "0.5",
        "-1",
        "true",
        "[]",
        "[\"alert\"]",
        "[[[\"µ\"]]]",
        "{ detect = \"1s\" }",
        "\"eth(\"",
        "\"\"\"\n\u{e9}\"\"\"",
        "1979-05-27",
        "nan",
        "0x7fffffffffffffff",
        "[{}, 3]",
        "\":10019\"",
    ]);
    let header = prop::sample::select(vec![
        "[poll]",
        "[watchdog]",
        "[watchdog.rx]",
        "[[ports]]",
        "[ports.tx]",
        "[devices]",
        "[web]",
        "[log]",
        "[actions]",
        "[actions.exec]",
        "[x]",
        "[[ports.rx]]",
    ]);
    prop_oneof![
        3 => (key, value).prop_map(|(key, value)| format!("{key} = {value}")),
        1 => header.prop_map(str::to_owned),
    ]
}

fn never_panics_and_reads_back(text: &str) {
    match Config::parse("a.toml", text) {
        Ok(config) => assert_eq!(parse(&config.to_toml()), config),
        Err(error) => {
            for style in [Style::Lines, Style::Snippets, Style::Coloured] {
                assert!(!error.render(style).is_empty());
            }
        }
    }
}

proptest! {
    #[test]
    fn no_text_is_too_strange(text in any::<String>()) {
        never_panics_and_reads_back(&text);
    }

    #[test]
    fn no_file_of_known_words_is_too_strange(lines in prop::collection::vec(line(), 0..12)) {
        never_panics_and_reads_back(&lines.join("\n"));
    }

    #[test]
    fn no_assignment_is_too_strange(key in "[a-z._-]{0,20}", value in any::<String>()) {
        let text = format!("{key}={value}");
        if let Ok(assignment) = Assignment::parse_set(&text)
            && let Err(error) = Config::default().assign(&[assignment])
        {
            prop_assert!(!error.render(Style::Snippets).is_empty());
        }
    }

    #[test]
    fn no_value_of_a_flag_is_too_strange(index in 0..200_usize, value in any::<String>()) {
        let names: Vec<_> = flags().map(|flag| flag.name).collect();
        let flag = Assignment::flag(names[index % names.len()].clone(), vec![value]);
        if let Ok(config) = Config::default().assign(&[flag]) {
            prop_assert_eq!(parse(&config.to_toml()), config);
        }
    }
}
