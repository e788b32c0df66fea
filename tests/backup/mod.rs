//! `iostall backup` end to end.

mod at_once;
mod attacks;
mod create;
mod device;
mod drill;
mod drill_postgres;
mod keep;
mod keys;
mod killed;
mod mariadb;
mod moto;
mod object_lock;
mod objects;
mod plan;
mod relations;
mod restore;
mod restore_full;
mod restore_tune;
mod sqlserver;
mod sqlserver_drill;
mod sqlserver_tune;
mod sqlserver_verify;
mod store_proxy;
mod traps;
mod tune;
mod upload_kills;
