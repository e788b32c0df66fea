//! The page that Prometheus scrapes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use crate::server::{Answer, FIRST_NS, Head, Limits, Method, Serve, ServeError, Server, Stopper};

/// Scrapers keep their connection, and come once a minute or more often.
const LIMITS: Limits = Limits { connections_max: 256, first_ns: FIRST_NS, next_ns: 120_000_000_000 };
const SKIPPED_BYTES_MAX: u64 = 64 << 10;

/// Shown to a person who opens the address in a browser.
const INDEX: &str = include_str!("index.html");

/// Why nothing works now.
pub type Trouble = Box<dyn Fn() -> Option<String> + Send + Sync>;

pub struct MetricsPage {
    pub content_type: &'static str,
    /// Renders the page for each request, on the server's thread.
    pub render: Box<dyn Fn() -> String + Send + Sync>,
    /// What /healthz answers: why nothing works now. Without it there is no such page.
    pub trouble: Option<Trouble>,
}

/// Serves until it is dropped.
pub struct MetricsServer {
    address: SocketAddr,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
}

impl MetricsServer {
    /// Listens on `address`, `HOST:PORT`; port 0 picks a free one. When this returns, the server answers.
    pub fn start(address: &str, page: MetricsPage) -> Result<Self, ServeError> {
        let server = Server::open(address, None, LIMITS)?;
        let (address, stopper) = (server.address(), server.stopper());
        let serve: Serve = Arc::new(move |connection, _| {
            connection.answer_each(|connection, next| {
                // Scrapers have no key: whoever asks for something is one.
                if let Ok(head) = &next {
                    connection.is_known(head);
                }
                let answer =
                    next.map_or_else(|refusal| Answer::empty(refusal.status), |head| page.answer(&head));
                Ok((answer, SKIPPED_BYTES_MAX))
            })
        });
        let thread = std::thread::Builder::new()
            .name("metrics".into())
            .spawn(move || server.run("metrics", &serve))
            .map_err(ServeError::Start)?;
        Ok(Self { address, stopper, thread: Some(thread) })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        self.stopper.stop();
        if let Some(thread) = self.thread.take() {
            // If the server panicked, there is nothing left to stop.
            let _ = thread.join();
        }
    }
}

impl MetricsPage {
    fn answer(&self, head: &Head) -> Answer {
        let is_index = head.path.is_empty();
        let trouble = self.trouble.as_ref().filter(|_| head.path == "healthz");
        if !is_index && head.path != "metrics" && trouble.is_none() {
            return Answer::empty(404);
        }
        if !matches!(head.method, Method::Get | Method::Head) {
            return Answer::empty(405).header("allow", "GET, HEAD".to_owned());
        }
        if let Some(trouble) = trouble {
            let found = trouble();
            let answer = Answer::empty(if found.is_some() { 503 } else { 200 });
            let answer = answer.header("content-type", "text/plain; charset=utf-8".to_owned());
            return Answer { body: (found.unwrap_or_else(|| "ok".to_owned()) + "\n").into_bytes(), ..answer };
        }
        let (content_type, text) = if is_index {
            ("text/html; charset=utf-8", INDEX.to_owned())
        } else {
            (self.content_type, (self.render)())
        };
        let answer = Answer::empty(200).header("content-type", content_type.to_owned());
        Answer { body: text.into_bytes(), ..answer }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpStream;

    fn server() -> MetricsServer {
        let page = MetricsPage {
            content_type: "text/plain; version=0.0.4",
            render: Box::new(|| "a 1\n".into()),
            trouble: Some(Box::new(|| Some("the repository is gone".to_owned()))),
        };
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
        let health = fetch(server.address(), "GET /healthz");
        assert!(health.starts_with("HTTP/1.1 503 ") && health.ends_with("is gone\n"), "{health}");
    }

    #[test]
    fn an_address_in_use_is_refused_at_once_and_free_again_after_the_server() {
        let page =
            || MetricsPage { content_type: "text/plain", render: Box::new(String::new), trouble: None };
        let first = MetricsServer::start("127.0.0.1:0", page()).unwrap();
        let address = first.address().to_string();
        let refused = MetricsServer::start(&address, page()).err().unwrap();
        assert!(refused.to_string().contains(&address), "{refused}");
        // A silent client does not keep the server from ending, and keeps the port from others.
        let _silent = TcpStream::connect(first.address()).unwrap();
        drop(first);
        assert!(MetricsServer::start(&address, page()).is_ok());
    }

    #[test]
    fn an_address_that_is_none_is_refused() {
        let page = MetricsPage { content_type: "text/plain", render: Box::new(String::new), trouble: None };
        assert!(matches!(MetricsServer::start("9497", page), Err(ServeError::Listen { .. })));
    }
}
