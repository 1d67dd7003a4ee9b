//! The flags of the configuration: `--config.file`, and one for each key of it, from the table of keys.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};

use crate::config::{
    Arity, Assignment, Author, Config, ConfigError, DEFAULT_FILE, FileChoice, Flag, Request, flags,
};

const FILE: &str = "config.file";

/// The flags that `-h` shows; `--help` shows all.
const COMMON: [&str; 10] = [
    "watchdog.mode",
    "devices.include",
    "devices.exclude",
    "web.listen-address",
    "log.level",
    "log.format",
    "incidents.path",
    "runtime.path",
    "source.directory",
    "watchdog.detect",
];

/// What was given of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigFlags {
    /// The file.
    pub file: Option<PathBuf>,
    /// Values that go before those of the file.
    pub assignments: Vec<Assignment>,
}

impl ConfigFlags {
    /// The layers of a configuration; `unnamed` is read where no file is named.
    #[must_use]
    pub fn request(&self, unnamed: FileChoice) -> Request {
        Request {
            file: self.file.clone().map_or(unnamed, FileChoice::Named),
            flags: self.assignments.clone(),
            ..Request::default()
        }
    }

    /// The configuration of `run` and `config`: the file in its usual place counts, if it is there.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn load(&self) -> Result<Config, ConfigError> {
        Config::load(&self.usual())
    }

    /// The same, of a file that nobody can have written but root and the user of this process.
    ///
    /// # Errors
    /// As above, and for a file that others can write to.
    pub fn load_trusted(&self) -> Result<Config, ConfigError> {
        Config::load(&Request { author: Author::OwnOrRoot, ..self.usual() })
    }

    fn usual(&self) -> Request {
        self.request(FileChoice::IfPresent(DEFAULT_FILE.into()))
    }
}

impl Args for ConfigFlags {
    fn augment_args(command: Command) -> Command {
        let file = Arg::new(FILE)
            .long(FILE)
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help(format!("Configuration file; {DEFAULT_FILE} if none is named and there is one"));
        command.arg(file).args(flags().map(arg))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Its text is not judged here: what is wrong with it is reported together with what is wrong with the file.
fn arg(flag: Flag) -> Arg {
    let help = match flag.default.as_deref() {
        Some("\"\"" | "[]") | None => flag.doc.to_owned(),
        Some(default) => format!("{} [default: {default}]", flag.doc),
    };
    let arg = Arg::new(flag.name.clone())
        .hide_short_help(!COMMON.contains(&flag.name.as_str()))
        .long(flag.name)
        .help_heading(format!("Keys of [{}]", flag.section))
        .value_name(flag.placeholder)
        .help(help);
    match flag.arity {
        Arity::One => arg.action(ArgAction::Set),
        Arity::Many => arg.action(ArgAction::Append),
        Arity::Switch => {
            arg.action(ArgAction::Set).num_args(0..=1).require_equals(true).default_missing_value("true")
        }
    }
}

impl FromArgMatches for ConfigFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |flag: Flag| {
            let values = matches.get_many::<String>(&flag.name)?.cloned().collect();
            Some(Assignment::flag(flag.name, values))
        };
        Ok(Self {
            file: matches.get_one::<PathBuf>(FILE).cloned(),
            assignments: flags().filter_map(given).collect(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::config::{ListenAddress, LogFormat};

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        flags: ConfigFlags,
    }

    fn load(args: &[&str]) -> Result<Config, ConfigError> {
        let line = Line::try_parse_from([&["rocewatch"], args].concat()).unwrap();
        Config::load(&line.flags.request(FileChoice::None))
    }

    #[test]
    fn clap_accepts_the_flags_of_the_table() {
        Line::augment_args(Command::new("rocewatch")).debug_assert();
        for common in COMMON {
            assert!(flags().any(|flag| flag.name == common), "{common}");
        }
    }

    #[test]
    fn addresses_may_be_repeated_or_separated_by_commas() {
        let config = load(&["--web.listen-address", ":1,[::1]:2", "--web.listen-address=host:3"]).unwrap();
        let addresses: Vec<_> = config.web.listen_addresses.iter().map(ListenAddress::to_string).collect();
        assert_eq!(addresses, [":1", "[::1]:2", "host:3"]);
    }

    #[test]
    fn a_command_is_given_word_by_word() {
        let config = load(&[
            "--actions.exec.command",
            "/bin/drain",
            "--actions.exec.command=--port,all",
            "--log.format",
            "json",
        ])
        .unwrap();
        assert_eq!(config.settings.exec.unwrap().command, ["/bin/drain", "--port,all"]);
        assert_eq!(config.log.format, LogFormat::Json);
    }

    #[test]
    fn a_switch_needs_no_value() {
        assert!(load(&["--watchdog.choppy-acts"]).unwrap().settings.rx.choppy_acts);
        assert!(load(&["--watchdog.rx.choppy-acts=true"]).unwrap().settings.rx.choppy_acts);
        assert!(!load(&["--watchdog.choppy-acts=false"]).unwrap().settings.rx.choppy_acts);
    }

    #[test]
    fn a_flag_for_one_value_stands_once() {
        let error =
            Line::try_parse_from(["rocewatch", "--log.level", "info", "--log.level", "warn"]).unwrap_err();
        assert!(error.to_string().contains("--log.level"), "{error}");
    }
}
