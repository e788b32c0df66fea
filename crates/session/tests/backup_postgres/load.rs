//! Transactions beside a backup, and which of them are committed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use tokio_postgres::NoTls;

use crate::statements::sql_with;

/// A session that commits transfers until it is dropped.
pub(crate) struct Load {
    committed: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
    session: Option<JoinHandle<()>>,
}

impl Load {
    pub(crate) fn on(port: u16) -> Self {
        let (committed, is_over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (counted, asked) = (Arc::clone(&committed), Arc::clone(&is_over));
        let session = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let address = format!("host=127.0.0.1 port={port} user=postgres dbname=postgres");
                let (client, connection) = tokio_postgres::connect(&address, NoTls).await.unwrap();
                let connection = tokio::spawn(connection);
                for number in 1.. {
                    if asked.load(Ordering::Relaxed) {
                        break;
                    }
                    let (from, to) = (number * 7919 % 30_000 + 1, number * 104_729 % 30_000 + 1);
                    let transfer = sql_with("transfer", &[("from", &from), ("to", &to), ("number", &number)]);
                    client.batch_execute(&transfer).await.unwrap();
                    counted.store(number, Ordering::Relaxed);
                }
                drop(client);
                let _ = connection.await;
            });
        });
        Self { committed, is_over, session: Some(session) }
    }

    /// How many transfers are committed.
    pub(crate) fn committed(&self) -> u64 {
        self.committed.load(Ordering::Relaxed)
    }

    /// Waits for so many more.
    pub(crate) fn wait_for(&self, more: u64) {
        let until = self.committed() + more;
        crate::servers::until("transactions", || (self.committed() >= until).then_some(()));
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(session) = self.session.take() {
            let answer = session.join();
            if !std::thread::panicking() {
                answer.unwrap();
            }
        }
    }
}
