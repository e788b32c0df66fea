//! Azure's blob storage: a container and its client, with the requests and conditions that the library has no option for.

use std::env;
use std::fmt;
use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use iostall_model::backup::ObjectLock;
use object_store::azure::{
    AzureAuthorizer, AzureConfigKey, AzureCredentialProvider, MicrosoftAzure, MicrosoftAzureBuilder,
};
use object_store::client::HttpRequest;
use object_store::{ClientConfigKey, HeaderMap, HeaderValue};
use ureq::http::Method;
use ureq::http::header::{AUTHORIZATION, CONTENT_LENGTH, IF_NONE_MATCH};
use url::{Host, Url};

use crate::ask::{Ask, Sign};
use crate::endpoint::{is_yes, plain_url};
use crate::error::{AZURE, OF_ACCOUNT, OF_AZURE_ENDPOINT, of_store, refused};
use crate::http::{Amend, Connector, SERVICE};
use crate::lock::azure_headers_of;
use crate::wait::retry;

pub(crate) const SCHEME: &str = "az://";

/// The emulator's address and account unless the environment names others, as the library has them.
const EMULATOR: &str = "http://127.0.0.1:10000";
const EMULATOR_ACCOUNT: &str = "devstoreaccount1";
const EMULATOR_URL: &str = "AZURITE_BLOB_STORAGE_URL";

pub(crate) struct Container {
    name: String,
    access: Access,
    url: Url,
    place: Place,
}

#[derive(Clone)]
struct Access {
    account: String,
    credentials: AzureCredentialProvider,
    /// What is added to each request that makes a blob.
    lock: HeaderMap,
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.account)
    }
}

/// A client of the container of this name, with address and keys from the environment. Asks no server.
pub(crate) fn open(name: &str) -> io::Result<(MicrosoftAzure, Container)> {
    let place = Place::of_environment()?;
    let credentials = Arc::clone(built(place.builder(name))?.credentials());
    let access = Access { account: place.account.clone(), credentials, lock: HeaderMap::new() };
    let mut url = place.url.clone();
    extend(&mut url, [name]);
    let container = Container { name: name.to_owned(), access, url, place };
    Ok((container.client(HeaderMap::new())?, container))
}

fn built(builder: MicrosoftAzureBuilder) -> io::Result<MicrosoftAzure> {
    builder.build().map_err(|error| of_store(&error, &AZURE))
}

impl Container {
    pub(crate) fn locking(&self, lock: &ObjectLock) -> io::Result<MicrosoftAzure> {
        self.client(azure_headers_of(lock))
    }

    fn client(&self, lock: HeaderMap) -> io::Result<MicrosoftAzure> {
        let access = Access { lock, ..self.access.clone() };
        let builder = self.place.builder(&self.name).with_credentials(Arc::clone(&access.credentials));
        built(builder.with_http_connector(Connector(SERVICE.amended(Arc::new(access)))))
    }
}

/// The account, and the address of its containers, as the library makes it from the environment.
struct Place {
    account: String,
    url: Url,
    is_emulator: bool,
}

impl Place {
    fn of_environment() -> io::Result<Self> {
        let builder = MicrosoftAzureBuilder::from_env();
        let of = |key| builder.get_config_value(&key).filter(|value| !value.is_empty());
        let is_set = |key| of(key).is_some_and(|text| is_yes(&text));
        let account = of(AzureConfigKey::AccountName);
        let is_emulator = is_set(AzureConfigKey::UseEmulator);
        let place = if is_emulator {
            let account = account.unwrap_or_else(|| EMULATOR_ACCOUNT.to_owned());
            let mut url = parsed(&env::var(EMULATOR_URL).unwrap_or_else(|_| EMULATOR.to_owned()))?;
            extend(&mut url, [account.as_str()]);
            Self { account, url, is_emulator }
        } else {
            let account = account.ok_or_else(|| refused("no account of Azure is named", Some(OF_ACCOUNT)))?;
            let of_account = |service: &str| format!("https://{account}.blob.{service}");
            let url = match of(AzureConfigKey::Endpoint) {
                Some(endpoint) => parsed(&endpoint)?,
                None if is_set(AzureConfigKey::UseFabricEndpoint) => {
                    parsed(&of_account("fabric.microsoft.com"))?
                }
                None => parsed(&of_account("core.windows.net"))?,
            };
            Self { account, url, is_emulator }
        };
        let allows_http = is_set(AzureConfigKey::Client(ClientConfigKey::AllowHttp));
        if place.url.scheme() != "https" && !allows_http && !(is_emulator && is_of_this_machine(&place.url)) {
            let origin = place.url.origin().ascii_serialization();
            return Err(refused(format!("{origin} is not encrypted"), Some(AZURE.http)));
        }
        Ok(place)
    }

    fn builder(&self, name: &str) -> MicrosoftAzureBuilder {
        let mut builder = MicrosoftAzureBuilder::from_env();
        if !self.is_emulator {
            builder = builder.with_endpoint(self.url.as_str().trim_end_matches('/').to_owned());
        }
        builder.with_container_name(name).with_http_connector(Connector(SERVICE.clone())).with_retry(retry())
    }
}

fn parsed(text: &str) -> io::Result<Url> {
    plain_url(text).ok_or_else(|| {
        refused("the address of Azure's store is no plain https:// address", Some(OF_AZURE_ENDPOINT))
    })
}

fn is_of_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

fn extend<I: AsRef<str>>(url: &mut Url, segments: impl IntoIterator<Item = I>) {
    // Every address of these schemes has segments.
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(segments);
    }
}

impl Access {
    async fn sign(&self, request: &mut HttpRequest) -> object_store::Result<()> {
        let credential = self.credentials.get_credential().await?;
        AzureAuthorizer::new(&credential, &self.account).try_authorize(request)
    }
}

impl Sign for Container {
    async fn request(&self, ask: &Ask) -> object_store::Result<HttpRequest> {
        let mut url = self.url.clone();
        extend(&mut url, ask.key.parts());
        let mut request = ask.to(url)?;
        if ask.method == Method::PUT {
            let length = HeaderValue::from(request.body().content_length());
            request.headers_mut().insert(CONTENT_LENGTH, length);
        }
        self.access.sign(&mut request).await?;
        Ok(request)
    }
}

#[async_trait]
impl Amend for Access {
    /// The list of blocks that makes a blob gets the condition that nothing has its name, and what makes a blob its lock: the library
    /// has no option for either.
    async fn amend(&self, request: &mut HttpRequest) -> object_store::Result<()> {
        let completes = completes_a_blob(request);
        let is_locked = !self.lock.is_empty() && (completes || puts_a_blob(request));
        if !completes && !is_locked {
            return Ok(());
        }
        if completes {
            request.headers_mut().insert(IF_NONE_MATCH, HeaderValue::from_static("*"));
        }
        request.headers_mut().extend(self.lock.clone());
        let signature = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        // Of the kinds of credentials, only a key signs the headers of a request.
        if signature.is_some_and(|text| text.starts_with("SharedKey ")) {
            request.headers_mut().remove(AUTHORIZATION);
            self.sign(request).await?;
        }
        Ok(())
    }
}

fn completes_a_blob(request: &HttpRequest) -> bool {
    let query = request.uri().query().unwrap_or_default();
    request.method() == Method::PUT && query.split('&').any(|part| part == "comp=blocklist")
}

fn puts_a_blob(request: &HttpRequest) -> bool {
    request.method() == Method::PUT && request.headers().contains_key("x-ms-blob-type")
}

#[cfg(test)]
mod tests {
    use object_store::StaticCredentialProvider;
    use object_store::azure::{AzureAccessKey, AzureCredential};
    use object_store::path::Path as Key;

    use super::*;

    fn amended(method: Method, query: &str, credential: AzureCredential) -> HttpRequest {
        let credentials: AzureCredentialProvider = Arc::new(StaticCredentialProvider::new(credential));
        let access = Access { account: "a".to_owned(), credentials, lock: HeaderMap::new() };
        let url = format!("https://a.blob.core.windows.net/c/k{query}");
        let mut request = Ask::new(method, &Key::from("k")).to(Url::parse(&url).unwrap()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(access.sign(&mut request)).unwrap();
        runtime.block_on(access.amend(&mut request)).unwrap();
        request
    }

    fn key() -> AzureCredential {
        AzureCredential::AccessKey(AzureAccessKey::try_new("c2VjcmV0").unwrap())
    }

    /// Two backups to one name at the same moment: the second list of blocks replaced the first blob.
    #[test]
    fn only_the_request_that_completes_a_blob_is_made_conditional_and_signed_with_it() {
        for other in ["?comp=block&blockid=MQ%3D%3D", ""] {
            assert!(!amended(Method::PUT, other, key()).headers().contains_key(IF_NONE_MATCH), "{other}");
        }
        assert!(!amended(Method::GET, "?comp=blocklist", key()).headers().contains_key(IF_NONE_MATCH));
        let made = amended(Method::PUT, "?comp=blocklist", key());
        assert_eq!(made.headers().get(IF_NONE_MATCH).unwrap(), "*");
        let signatures: Vec<_> = made.headers().get_all(AUTHORIZATION).iter().collect();
        assert_eq!(signatures.len(), 1, "{signatures:?}");
        let token = AzureCredential::BearerToken("t".to_owned());
        let made = amended(Method::PUT, "?comp=blocklist", token);
        assert_eq!(made.headers().get(AUTHORIZATION).unwrap(), "Bearer t");
        assert_eq!(made.headers().get(IF_NONE_MATCH).unwrap(), "*");
    }

    /// A connection string in the wrong variable was shown, with the key in it.
    #[test]
    fn an_address_that_is_none_is_not_repeated() {
        for wrong in [
            "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=c2VjcmV0;EndpointSuffix=core.windows.net",
            "https://a.blob.core.windows.net/?sv=2021-12-02&sig=c2VjcmV0",
            "https://a:c2VjcmV0@store.example/a",
            "ftp://store.example/c2VjcmV0",
        ] {
            let error = parsed(wrong).unwrap_err();
            assert!(!error.to_string().contains("c2VjcmV0"), "{error}");
        }
        assert!(parsed("https://store.example:10000/a").is_ok());
    }
}
