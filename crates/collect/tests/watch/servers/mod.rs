//! Real servers, each in a directory of its own, on a free port, under an account without rights.

pub(crate) mod disk;
pub(crate) mod mariadb;
pub(crate) mod mysql;
pub(crate) mod postgres;
mod process;

use iostall_collect::{Address, Engine, Secret, Source, grants, open};
use iostall_connect::mysql::Login;
use iostall_model::{Change, Row, Sample, delta};

pub(crate) use process::*;

/// How long a source may take to answer: as long.
const LIMIT: std::time::Duration = std::time::Duration::from_secs(600);

/// A source as a user opens it.
pub(crate) fn source(url: &str) -> Box<dyn Source> {
    let address: Address = url.parse().unwrap();
    open(address, Secret::typed("secret".into()), LIMIT).unwrap()
}

/// Reads until the server answers.
pub(crate) fn read(source: &mut dyn Source) -> Sample {
    let mut last = String::new();
    for _ in 0..ATTEMPTS {
        match source.read() {
            Ok(sample) => return sample,
            Err(error) => last = error.to_string(),
        }
        pause();
    }
    panic!("no answer: {last}")
}

/// What the row that `is_it` picks did between two samples.
pub(crate) fn change(before: &Sample, now: &Sample, is_it: impl Fn(&Row) -> bool) -> Change {
    let changes = delta::compare(before, now);
    let place = now.rows.iter().position(is_it).expect("the row is there");
    changes[place].clone()
}

/// The statements that `iostall collect grants` prints, one by one, as an administrator would run them.
pub(crate) fn statements(engine: Engine) -> Vec<String> {
    let text: Vec<&str> = grants::text(engine).lines().map(|line| line.split("--").next().unwrap()).collect();
    text.join("\n").split(';').map(str::trim).filter(|one| !one.is_empty()).map(str::to_owned).collect()
}

/// Runs a statement on a server that speaks MySQL's protocol, and returns the first number of its answer.
pub(crate) fn mysql_sql(port: u16, user: &str, text: &str) -> Result<Option<u64>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let address: Address = format!("mysql://{user}@127.0.0.1:{port}?tls=off").parse().unwrap();
        let login = Login::new(address, Secret::default()).map_err(|error| error.to_string())?;
        let mut connection = login.connect().await.map_err(|error| error.to_string())?;
        let answer = connection.query(text).await.map_err(|error| error.to_string())?;
        connection.disconnect().await;
        Ok(answer.rows.first().and_then(|row| row.number(0)))
    })
}
