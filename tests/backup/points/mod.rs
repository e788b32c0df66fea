//! Points in time of PostgreSQL: the log is archived by a real server, and fetched by the recovery of a real one.

mod archive;
mod restore;
mod server;
