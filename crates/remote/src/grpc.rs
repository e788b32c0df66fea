//! Calls of gRPC with one message each way: one stream of HTTP/2, with the status at its end.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use h2::RecvStream;
use h2::client;
use http::{HeaderMap, Request};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::post::{PostAddress, PostError, roots};

/// For a whole call: a receiver that takes longer is overloaded.
const LIMIT: Duration = Duration::from_secs(30);
/// What is read of an answer.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// The answer to a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrpcAnswer {
    /// The status of gRPC; 0 is success.
    pub status: u32,
    /// What the receiver says of it.
    pub text: String,
    /// The message of a success.
    pub message: Vec<u8>,
}

/// Calls methods of one receiver.
pub struct GrpcClient {
    runtime: Runtime,
    address: PostAddress,
    tls: Option<Arc<ClientConfig>>,
}

impl GrpcClient {
    /// Calls the receiver at `address`, whose path does not matter. Its certificate must be signed by an authority of this system, or by
    /// one in `authorities`, in PEM form.
    pub fn new(address: PostAddress, authorities: Option<&[u8]>) -> Result<Self, PostError> {
        let tls = if address.is_encrypted() { Some(tls(&roots(authorities)?)?) } else { None };
        let runtime = Builder::new_current_thread().enable_io().enable_time().build();
        let runtime = runtime.map_err(|error| PostError::Start { reason: error.to_string() })?;
        Ok(Self { runtime, address, tls })
    }

    /// Calls the method at `path`, such as `/package.Service/Method`. Without an answer, the reason, which names no address.
    pub fn call(
        &self,
        path: &str,
        authorization: Option<&str>,
        message: &[u8],
    ) -> Result<GrpcAnswer, String> {
        self.runtime.block_on(async {
            let call = self.connect_and_call(path, authorization, message);
            timeout(LIMIT, call).await.unwrap_or_else(|_| Err("timeout".to_owned()))
        })
    }

    async fn connect_and_call(
        &self,
        path: &str,
        authorization: Option<&str>,
        message: &[u8],
    ) -> Result<GrpcAnswer, String> {
        let (host, port) = self.address.host_and_port();
        let socket = TcpStream::connect((host, port)).await.map_err(|error| error.to_string())?;
        // Requests are whole when they are written, so waiting for more delays them only.
        let _ = socket.set_nodelay(true);
        let request = self.request(path, authorization)?;
        match &self.tls {
            None => call_on(socket, request, message).await,
            Some(config) => {
                let name = ServerName::try_from(host.to_owned()).map_err(|error| error.to_string())?;
                let stream = TlsConnector::from(Arc::clone(config)).connect(name, socket).await;
                call_on(stream.map_err(|error| error.to_string())?, request, message).await
            }
        }
    }

    fn request(&self, path: &str, authorization: Option<&str>) -> Result<Request<()>, String> {
        let (host, port) = self.address.host_and_port();
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        let mut request = Request::post(format!("{scheme}://{host}:{port}{path}"))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .header("grpc-timeout", format!("{}S", LIMIT.as_secs()))
            .header("user-agent", concat!("iostall/", env!("CARGO_PKG_VERSION")));
        if let Some(value) = authorization {
            request = request.header("authorization", value);
        }
        request.body(()).map_err(|error| error.to_string())
    }
}

fn tls(roots: &[CertificateDer<'static>]) -> Result<Arc<ClientConfig>, PostError> {
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(roots.iter().cloned());
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    let builder = builder.with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| PostError::Start { reason: error.to_string() })?;
    let mut config = builder.with_root_certificates(store).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(Arc::new(config))
}

/// A call on a connection of its own, which ends with it.
async fn call_on(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<()>,
    message: &[u8],
) -> Result<GrpcAnswer, String> {
    let failed = |error: h2::Error| error.to_string();
    let (sender, connection) = client::handshake(stream).await.map_err(failed)?;
    // It moves what the call below waits for. Its failure is also that of the call.
    let driver = tokio::spawn(async move { drop(connection.await) });
    let answer = call_with(sender, request, message).await.map_err(failed);
    driver.abort();
    answer
}

async fn call_with(
    sender: client::SendRequest<Bytes>,
    request: Request<()>,
    message: &[u8],
) -> Result<GrpcAnswer, h2::Error> {
    let mut sender = sender.ready().await?;
    let (answer, mut body) = sender.send_request(request, false)?;
    send_all(&mut body, framed(message)).await?;
    let answer = answer.await?;
    let (head, mut body) = answer.into_parts();
    if !head.status.is_success() {
        let text = format!("it answered {}", head.status);
        return Ok(GrpcAnswer { status: of_http(head.status.as_u16()), text, message: Vec::new() });
    }
    // A refusal without a message has its status in the head.
    if head.headers.contains_key("grpc-status") {
        return Ok(answered(&head.headers, &[]));
    }
    let bytes = read(&mut body).await?;
    let trailers = body.trailers().await?.unwrap_or_default();
    Ok(answered(&trailers, &bytes))
}

/// Not compressed, with its length.
fn framed(message: &[u8]) -> Bytes {
    let mut framed = BytesMut::with_capacity(message.len() + 5);
    framed.extend_from_slice(&[0]);
    framed.extend_from_slice(&u32::try_from(message.len()).unwrap_or(u32::MAX).to_be_bytes());
    framed.extend_from_slice(message);
    framed.freeze()
}

/// Sends as much at a time as the receiver allows.
async fn send_all(stream: &mut h2::SendStream<Bytes>, mut bytes: Bytes) -> Result<(), h2::Error> {
    while !bytes.is_empty() {
        stream.reserve_capacity(bytes.len());
        let Some(room) = poll_fn(|context| stream.poll_capacity(context)).await.transpose()? else {
            // The receiver has closed the stream, and its answer says why.
            return Ok(());
        };
        let part = bytes.split_to(room.min(bytes.len()));
        stream.send_data(part, bytes.is_empty())?;
    }
    Ok(())
}

async fn read(body: &mut RecvStream) -> Result<Vec<u8>, h2::Error> {
    let mut bytes = Vec::new();
    while let Some(part) = body.data().await {
        let part = part?;
        body.flow_control().release_capacity(part.len())?;
        if bytes.len() + part.len() <= ANSWER_BYTES_MAX {
            bytes.extend_from_slice(&part);
        }
    }
    Ok(bytes)
}

fn answered(headers: &HeaderMap, body: &[u8]) -> GrpcAnswer {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    // Without a status the call did not succeed: 2 is "unknown".
    let status = text("grpc-status").parse().unwrap_or(2);
    let message = body.get(5..).unwrap_or_default().to_vec();
    GrpcAnswer { status, text: text("grpc-message").to_owned(), message }
}

/// The status that gRPC gives to an answer of HTTP.
fn of_http(status: u16) -> u32 {
    match status {
        400 => 13,
        401 => 16,
        403 => 7,
        404 => 12,
        429 | 502..=504 => 14,
        _ => 2,
    }
}
