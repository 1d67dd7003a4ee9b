//! A client that scrapes as Prometheus does: one connection, compressed pages.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use rocewatch::clock;

/// A page that takes longer will never come.
const ANSWER_MAX: Duration = Duration::from_secs(20);

pub(crate) struct Client {
    stream: BufReader<TcpStream>,
    address: String,
}

/// How a page is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Plain,
    Compressed,
}

impl Client {
    pub(crate) fn connect(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(ANSWER_MAX))?;
        Ok(Self { stream: BufReader::with_capacity(1 << 20, stream), address: address.into() })
    }

    /// The metrics page as it was sent, and how long it took.
    pub(crate) fn scrape(&mut self, form: Form) -> (Vec<u8>, Duration) {
        let accept = match form {
            Form::Plain => "",
            Form::Compressed => "accept-encoding: gzip\r\n",
        };
        let request = format!("GET /metrics HTTP/1.1\r\nhost: {}\r\n{accept}\r\n", self.address);
        let began = clock::now();
        self.stream.get_mut().write_all(request.as_bytes()).unwrap();
        let page = self.page().unwrap();
        (page, clock::now().since(began))
    }

    fn page(&mut self) -> io::Result<Vec<u8>> {
        let (mut length, mut chunked) = (0, false);
        let status = self.line()?;
        assert!(status.starts_with("HTTP/1.1 200"), "{status}");
        loop {
            let line = self.line()?.to_lowercase();
            match line.split_once(": ") {
                None => break,
                Some(("content-length", value)) => length = value.parse().unwrap(),
                Some(("transfer-encoding", "chunked")) => chunked = true,
                Some(_) => {}
            }
        }
        let mut page = Vec::new();
        loop {
            if chunked {
                length = u64::from_str_radix(&self.line()?, 16).unwrap();
            }
            self.stream.by_ref().take(length).read_to_end(&mut page)?;
            if !chunked {
                return Ok(page);
            }
            self.line()?;
            if length == 0 {
                return Ok(page);
            }
        }
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }
}

/// The values of all series of one name, added up.
pub(crate) fn sum(page: &str, name: &str) -> f64 {
    let lines = page.lines().filter(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with('{')));
    lines.map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()).sum()
}
