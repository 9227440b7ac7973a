//! The server as whoever starts it sees it: bind, say where, run until told to stop.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::{Notify, Semaphore};

use crate::analyze::Judges;
use crate::evaluations::Evaluations;
use crate::guard::Guard;
use crate::limits::Limits;
use crate::listener::Limited;
use crate::pool::Pool;
use crate::records::Records;
use crate::routes::router;
use crate::state::{AppState, Shared};

/// Where the server's complaints go, one line each.
pub type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// Who may reach the server.
#[derive(Clone, Debug)]
pub struct Access {
    /// The address to listen on. Anything but loopback asks every visitor for a token.
    pub address: IpAddr,
    /// Host names beside loopback's under which the server may be asked.
    pub hosts: Vec<String>,
}

impl Default for Access {
    fn default() -> Self {
        Self { address: Ipv4Addr::LOCALHOST.into(), hosts: Vec::new() }
    }
}

/// Everything a server must know.
#[derive(Clone)]
pub struct Config {
    /// Who may reach it.
    pub access: Access,
    /// The port; 0 for any that is free.
    pub port: u16,
    /// The folder of training runs.
    pub runs: PathBuf,
    /// The folder of game records.
    pub records: PathBuf,
    /// What requests may cost.
    pub limits: Limits,
    /// Where complaints go.
    pub log: Log,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            access: Access::default(),
            port: 0,
            runs: PathBuf::from("runs"),
            records: PathBuf::from("records"),
            limits: Limits::default(),
            log: Arc::new(|_| ()),
        }
    }
}

/// Why a server cannot run.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The port cannot be had.
    #[error("cannot listen on {address} (is another one running? choose another with --port)")]
    Bind {
        /// Where it was tried.
        address: SocketAddr,
        /// The system's reason.
        source: io::Error,
    },
    /// The system refused something else.
    #[error("cannot {what}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// The system's reason.
        source: io::Error,
    },
}

fn failed(what: &'static str) -> impl FnOnce(io::Error) -> ServerError {
    move |source| ServerError::Io { what, source }
}

/// Tells a running server to stop.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Notify>);

impl Stop {
    /// Ends the server: open connections are closed and searches end.
    pub fn stop(&self) {
        self.0.notify_one();
    }
}

/// A server that listens already and answers once it runs.
pub struct Server {
    listener: TcpListener,
    shared: Shared,
    address: SocketAddr,
    stop: Stop,
}

impl Server {
    /// Takes the port.
    pub fn bind(config: Config) -> Result<Self, ServerError> {
        let address = SocketAddr::new(config.access.address, config.port);
        let listener = TcpListener::bind(address).map_err(|source| ServerError::Bind { address, source })?;
        listener.set_nonblocking(true).map_err(failed("listen"))?;
        let address = listener.local_addr().map_err(failed("listen"))?;
        let token = if address.ip().is_loopback() { None } else { Some(random_token()?) };
        let mut hosts: Vec<String> = ["127.0.0.1", "localhost", "[::1]"].map(str::to_owned).to_vec();
        hosts.push(match address.ip() {
            IpAddr::V6(ip) => format!("[{ip}]"),
            ip => ip.to_string(),
        });
        hosts.extend(config.access.hosts);
        let limits = config.limits;
        let records = Records::new(config.records, limits.records).map_err(failed("make a folder for records"))?;
        let shared = Shared(Arc::new(AppState {
            guard: Guard { hosts, port: address.port(), token },
            pool: Pool::new(limits.searches, limits.waiting),
            judges: Judges::default(),
            records,
            evaluations: Evaluations::default(),
            runs: config.runs,
            sockets: Arc::new(Semaphore::new(limits.sockets)),
            log: config.log,
            limits,
        }));
        Ok(Self { listener, shared, address, stop: Stop::default() })
    }

    /// The address to open in a browser, with the token if one is needed.
    pub fn url(&self) -> String {
        let host = match self.address.ip() {
            ip if ip.is_loopback() || ip.is_unspecified() => "127.0.0.1".to_owned(),
            IpAddr::V6(ip) => format!("[{ip}]"),
            ip => ip.to_string(),
        };
        let token = self.shared.guard.token.as_ref().map_or_else(String::new, |token| format!("?token={token}"));
        format!("http://{host}:{}/{token}", self.address.port())
    }

    /// The port it listens on.
    pub const fn port(&self) -> u16 {
        self.address.port()
    }

    /// What ends it.
    pub fn stopper(&self) -> Stop {
        self.stop.clone()
    }

    /// The answers without the network: for tests.
    pub fn router(&self) -> axum::Router {
        router(&self.shared)
    }

    /// Answers until told to stop. Searches have threads of their own, so two are plenty for answering.
    pub fn run(self) -> Result<(), ServerError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(self.shared.limits.searches + 8)
            .thread_name("page")
            .enable_all()
            .build()
            .map_err(failed("start its threads"))?;
        let router = self.router();
        let (shared, stop) = (self.shared.clone(), self.stop.clone());
        let served = runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            let limited = Limited::new(listener, self.shared.limits.connections);
            // Watchers would keep a graceful end waiting for ever: whoever is connected is cut off.
            tokio::select! {
                served = axum::serve(limited, router).into_future() => served,
                () = stop.0.notified() => Ok(()),
            }
        });
        shared.evaluations.stop();
        runtime.shutdown_timeout(std::time::Duration::from_millis(500));
        served.map_err(failed("serve"))
    }
}

/// 128 random bits from the system.
fn random_token() -> Result<String, ServerError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| ServerError::Io { what: "draw a token", source: io::Error::other(error) })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
