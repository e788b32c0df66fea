//! The page that Prometheus scrapes.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::response::Html;
use axum::routing::get;
use thiserror::Error;
use tokio::runtime::Builder;
use tokio::sync::oneshot;

use crate::listen::listen_hint;

/// Shown to a person who opens the address in a browser.
const INDEX: &str = include_str!("index.html");

/// Why the server could not start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WebError {
    #[error("cannot listen on {address}: {source}")]
    Listen { address: String, source: io::Error },
    #[error("cannot start the web server: {0}")]
    Start(io::Error),
}

impl WebError {
    /// What to do; `None` if the message says it.
    pub fn hint(&self) -> Option<&'static str> {
        let Self::Listen { source, .. } = self else { return None };
        Some(listen_hint(source))
    }
}

/// The page at `/metrics`.
pub struct MetricsPage {
    /// The `Content-Type` header.
    pub content_type: &'static str,
    /// Renders the page for each request, on the server's thread.
    pub render: Box<dyn Fn() -> String + Send + Sync>,
}

/// Serves until it is dropped.
pub struct MetricsServer {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl MetricsServer {
    /// Listens on `address`, `HOST:PORT`; port 0 picks a free one. When this returns, the server answers.
    pub fn start(address: &str, page: MetricsPage) -> Result<Self, WebError> {
        let failed = |source| WebError::Listen { address: address.to_owned(), source };
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let bound = listener.local_addr().map_err(failed)?;
        let runtime =
            Builder::new_current_thread().enable_io().enable_time().build().map_err(WebError::Start)?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener).map_err(failed)?
        };
        let (stop, stopped) = oneshot::channel();
        let router = router(page);
        let serve = move || {
            runtime.spawn(async move { axum::serve(listener, router).await });
            // The server was stopped or its handle dropped. The runtime closes open connections.
            let _ = runtime.block_on(stopped);
        };
        let thread = std::thread::Builder::new()
            .name("iostall-metrics".into())
            .spawn(serve)
            .map_err(WebError::Start)?;
        Ok(Self { address: bound, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // If the server panicked, there is nothing left to stop.
            let _ = thread.join();
        }
    }
}

fn router(page: MetricsPage) -> Router {
    let page = Arc::new(page);
    let metrics = move || {
        let page = Arc::clone(&page);
        async move { ([(CONTENT_TYPE, page.content_type)], (page.render)()) }
    };
    Router::new().route("/metrics", get(metrics)).route("/", get(async || Html(INDEX)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpStream;

    fn server() -> MetricsServer {
        let page =
            MetricsPage { content_type: "text/plain; version=0.0.4", render: Box::new(|| "a 1\n".into()) };
        MetricsServer::start("127.0.0.1:0", page).unwrap()
    }

    fn fetch(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "{request} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn metrics_are_plain_text_the_root_leads_there_and_all_else_is_not_found() {
        let server = server();
        let metrics = fetch(server.address(), "GET /metrics");
        assert!(metrics.starts_with("HTTP/1.1 200 ") && metrics.ends_with("\r\n\r\na 1\n"), "{metrics}");
        assert!(metrics.contains("content-type: text/plain; version=0.0.4\r\n"), "{metrics}");
        let root = fetch(server.address(), "GET /");
        assert!(root.contains("content-type: text/html") && root.contains("href=\"/metrics\""), "{root}");
        assert!(fetch(server.address(), "GET /other").starts_with("HTTP/1.1 404 "));
        assert!(fetch(server.address(), "POST /metrics").starts_with("HTTP/1.1 405 "));
    }

    #[test]
    fn an_address_in_use_is_refused_at_once_and_free_again_after_the_server() {
        // Bound without listening and shared, so that nobody else gets the port between the two servers.
        let kept = tokio::net::TcpSocket::new_v4().unwrap();
        kept.set_reuseaddr(true).unwrap();
        kept.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = kept.local_addr().unwrap().to_string();
        let page = || MetricsPage { content_type: "text/plain", render: Box::new(String::new) };
        let first = MetricsServer::start(&address, page()).unwrap();
        let refused = MetricsServer::start(&address, page()).err().unwrap();
        assert!(refused.to_string().contains(&address), "{refused}");
        // A silent client does not keep the server from ending.
        let _silent = TcpStream::connect(first.address()).unwrap();
        drop(first);
        assert!(MetricsServer::start(&address, page()).is_ok());
    }

    #[test]
    fn an_address_that_is_none_is_refused() {
        let page = MetricsPage { content_type: "text/plain", render: Box::new(String::new) };
        assert!(matches!(MetricsServer::start("9497", page), Err(WebError::Listen { .. })));
    }
}
