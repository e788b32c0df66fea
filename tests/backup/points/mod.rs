//! Points in time of PostgreSQL: the log is archived by a real server, and fetched by the recovery of a real one.

mod archive;
mod combined;
mod in_store;
mod prune;
mod receive;
mod restore;
mod server;
mod standby;
