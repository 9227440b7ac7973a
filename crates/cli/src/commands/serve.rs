//! `serve`: the page, in any browser on this machine.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use afterstate_web::{Access, Config, Server, ServerError};
use clap::Args;
use serde_json::json;

use crate::failure::{Outcome, complain};
use crate::interrupt;

/// The port unless another is named; if it is taken, any free one.
const PORT: u16 = 2048;

/// Serve the page: play, watch agents, analyse positions and games, compare, follow training runs.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  afterstate serve --open
  afterstate serve --port 8000 --runs runs --records records
  afterstate serve --bind 0.0.0.0 --allow-host lab.local     (asks every visitor for the token in the printed address)

`afterstate` alone serves too. Everything stays on this machine: nothing is fetched from elsewhere. The JSON interface that the
page uses is described in docs/api.md.")]
pub struct ServeArgs {
    /// Port to listen on; 0 is any free one (default: 2048, or a free one if that is taken)
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
    /// Address to listen on; beyond loopback a token is needed
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    bind: IpAddr,
    /// Another host name under which the page may be asked for (may be given several times)
    #[arg(long = "allow-host", value_name = "NAME")]
    hosts: Vec<String>,
    /// Folder of training runs to show
    #[arg(long, value_name = "DIR", default_value = "runs")]
    runs: PathBuf,
    /// Folder of game records (*.rec) to show
    #[arg(long, value_name = "DIR", default_value = "records")]
    records: PathBuf,
}

impl Default for ServeArgs {
    fn default() -> Self {
        Self {
            port: None,
            open: false,
            bind: Ipv4Addr::LOCALHOST.into(),
            hosts: Vec::new(),
            runs: "runs".into(),
            records: "records".into(),
        }
    }
}

pub fn run(args: &ServeArgs, json: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let server = bind(args)?;
    let url = server.url();
    if json {
        writeln!(out, "{}", json!({"url": url, "port": server.port()}))?;
    } else {
        writeln!(out, "Serving on {url} (Ctrl-C ends it)")?;
    }
    out.flush()?;
    if args.open {
        open(&url);
    }
    stop_on_interrupt(&server)?;
    server.run()?;
    Ok(Outcome::Done)
}

/// The port asked for or none; without a wish, any.
fn bind(args: &ServeArgs) -> anyhow::Result<Server> {
    let config = |port| Config {
        access: Access { address: args.bind, hosts: args.hosts.clone() },
        port,
        runs: args.runs.clone(),
        records: args.records.clone(),
        log: Arc::new(|line| complain!("{line}")),
        ..Config::default()
    };
    match Server::bind(config(args.port.unwrap_or(PORT))) {
        Err(ServerError::Bind { .. }) if args.port.is_none() => Ok(Server::bind(config(0))?),
        other => Ok(other?),
    }
}

/// Asking now and then is cheap, and a signal handler may do next to nothing itself.
fn stop_on_interrupt(server: &Server) -> anyhow::Result<()> {
    interrupt::flag()?;
    let stop = server.stopper();
    thread::Builder::new().name("interrupt".to_owned()).spawn(move || {
        while !interrupt::requested() {
            thread::sleep(Duration::from_millis(50));
        }
        stop.stop();
    })?;
    Ok(())
}

/// Asks the desktop to show the page. Where there is none, the address on the screen must do.
fn open(url: &str) {
    let program = if cfg!(target_os = "macos") {
        "open"
    } else if cfg!(target_os = "windows") {
        "explorer"
    } else {
        "xdg-open"
    };
    let started =
        Command::new(program).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    if started.is_err() {
        complain!("no browser could be opened; open {url} yourself");
    }
}
